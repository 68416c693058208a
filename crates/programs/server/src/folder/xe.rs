//! What xe shows of a device in sysfs and debugfs: the engines' times and the GT's frequencies, the device's properties, and its PAT table.

use std::fmt::Write;

use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::{Device, PatTable};
use gem_coherency_sim::SimDevice;

use super::tree::{MAX_MEGAHERTZ, MIN_MEGAHERTZ};

/// The files of an engine class, and the times that they show (`xe_hw_engine_setup_default_*`, `CONFIG_DRM_XE_*`): the job timeout in
/// milliseconds, the others in microseconds.
///
/// A written value changes nothing but the file.
const TIMES: [(&str, u32); 9] = [
    ("job_timeout_ms", 5000),
    ("job_timeout_min", 1),
    ("job_timeout_max", 10_000),
    ("preempt_timeout_us", 640_000),
    ("preempt_timeout_min", 1),
    ("preempt_timeout_max", 10_000_000),
    ("timeslice_duration_us", 1000),
    ("timeslice_duration_min", 1),
    ("timeslice_duration_max", 10_000_000),
];

/// The kernel that has `pat_sw_config`, and the folders of tiles in debugfs.
const LINUX_7_2: KernelVersion = KernelVersion::new(7, 2);

/// A file, by its path below the device's folder.
pub(super) type Shown = (String, String);

/// Returns the files in sysfs.
pub(super) fn of_sysfs(device: &SimDevice) -> Vec<Shown> {
    let mut files = vec![
        ("tile0/gt0/freq0/min_freq".to_owned(), format!("{MIN_MEGAHERTZ}\n")),
        ("tile0/gt0/freq0/max_freq".to_owned(), format!("{MAX_MEGAHERTZ}\n")),
    ];
    for (gt, class) in device.engine_classes() {
        let class = match class {
            EngineClass::Render => "rcs",
            EngineClass::Copy => "bcs",
            EngineClass::Video => "vcs",
            EngineClass::VideoEnhance => "vecs",
            EngineClass::Compute => "ccs",
        };
        for (name, value) in TIMES {
            for folder in ["", ".defaults/"] {
                files.push((format!("tile0/gt{gt}/engines/{class}/{folder}{name}"), format!("{value}\n")));
            }
        }
    }
    files
}

/// Returns the files in debugfs, and the links, with their targets.
pub(super) fn of_debugfs(device: &SimDevice, xe: &Device) -> (Vec<Shown>, Vec<Shown>) {
    let (id, revision) = device.pci_id();
    let graphics = u32::from(xe.graphics.major) * 100 + u32::from(xe.graphics.minor);
    let discrete = if xe.platform.discrete { "yes" } else { "no" };
    // The emulated devices' compression is off.
    let info = format!(
        "graphics_verx100 {graphics}\nis_dgfx {discrete}\ndevid {id:#x}\nrevid {revision}\ntile_count 1\nhas_flat_ccs no\n"
    );
    // Test suites keep the device awake by an open file.
    let mut files = vec![("info".to_owned(), info), ("forcewake_all".to_owned(), String::new())];
    let mut links = Vec::new();
    let is_7_2 = xe.kernel >= LINUX_7_2;
    let gts = device.engine_classes().into_iter().map(|(gt, _)| gt).max().unwrap_or(0);
    for gt in 0..=gts {
        let folder = if is_7_2 { format!("tile0/gt{gt}") } else { format!("gt{gt}") };
        let table = table(xe.pat, graphics, is_7_2);
        if is_7_2 {
            links.push((format!("gt{gt}"), folder.clone()));
            files.push((format!("{folder}/pat_sw_config"), table.clone() + &own(xe.pat, graphics)));
        }
        files.push((format!("{folder}/pat"), table));
    }
    (files, links)
}

/// Returns the PAT table as the driver prints it (`xe_pat_dump`): from graphics version 20 on with the fields "no promote", compression, class
/// of service, L3, L4 and coherency, and from 7.2 on with a mark of reserved entries.
fn table(pat: &PatTable, graphics: u32, is_7_2: bool) -> String {
    let mut text = "PAT table:".to_owned();
    let is_marked = graphics >= 2000 && is_7_2;
    text += if is_marked { " (* = reserved entry)\n" } else { "\n" };
    for (entry, index) in pat.entries.iter().zip(0..) {
        let value = pat.register(index).unwrap_or(0);
        let field = |shift: u32, bits: u32| value >> shift & ((1 << bits) - 1);
        // Writing to a string does not fail.
        let _ = match graphics {
            2000.. => {
                let fields = [(10, 1), (9, 1), (6, 2), (4, 2), (2, 2), (0, 2)];
                let fields = fields.map(|(shift, bits)| field(shift, bits).to_string()).join(", ");
                let reserved = if is_marked && entry.is_none() { " *" } else { "" };
                writeln!(text, "PAT[{index:2}] = [ {fields} ]  ({value:#8x}){reserved}")
            }
            1270..=1299 => {
                writeln!(text, "PAT[{index:2}] = [ {}, {} ] ({value:#8x})", field(2, 2), field(0, 2))
            }
            _ => {
                let name = ["UC", "WC", "WT", "WB"][field(0, 2) as usize];
                writeln!(text, "PAT[{index:2}] = {name} ({value:#8x})")
            }
        };
    }
    text
}

/// Returns the lines of `pat_sw_config` after the table: the register of address translation, and the indices of the driver's own mappings
/// (`xe->pat.idx`; 65535 for one that it does not use).
fn own(pat: &PatTable, graphics: u32) -> String {
    let mut text = String::new();
    if graphics >= 2000 {
        text += "PCIe ATS/PASID:\nPAT_ATS = [ 0, 0, 0, 0, 3, 3 ]  (     0xf)\n";
    }
    let indices = pat.own;
    text += &format!(
        "Cache Level:\nIDX[XE_CACHE_NONE] = {}\nIDX[XE_CACHE_WT] = {}\nIDX[XE_CACHE_WB] = {}\n",
        indices.none, indices.wt, indices.wb
    );
    if graphics >= 2000 {
        let compressed = if graphics >= 3000 { 16 } else { u16::MAX };
        text +=
            &format!("IDX[XE_CACHE_NONE_COMPRESSION] = 12\nIDX[XE_CACHE_WB_COMPRESSION] = {compressed}\n");
    }
    text
}
