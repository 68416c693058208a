//! What /proc says of an open file of a device (Documentation/gpu/drm-usage-stats.rst).

use std::fmt::Write;

use gem_coherency::platform::{Driver, EngineClass};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_sim::{EngineUse, MemoryUse, SimDevice, XE_CLOCK_HZ};

/// The first kernels of which i915 tells the times of engines, and the use of memory.
const I915_ENGINES: KernelVersion = KernelVersion::new(5, 19);
const I915_MEMORY: KernelVersion = KernelVersion::new(6, 7);

/// What the kernel says of any file: flags, mount and inode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) flags: u64,
    pub(crate) mount: u64,
    pub(crate) inode: u64,
}

/// Returns the text for a device's file, whose PCI function is `slot`.
pub(crate) fn text(device: &SimDevice, slot: &str, head: Head) -> String {
    let Head { flags, mount, inode } = head;
    let mut text = format!("pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t{mount}\nino:\t{inode}\n");
    let machine = device.machine();
    if machine.driver == Driver::I915 && machine.kernel < I915_ENGINES {
        return text;
    }
    // The server's own file is number 0.
    let (driver, id) = (machine.driver, device.file_number());
    let has_local = machine.platform.local_page_bytes.is_some();
    let has_memory = driver == Driver::Xe || machine.kernel >= I915_MEMORY;
    // Writing to a text does not fail.
    let _ = match has_memory {
        true => write!(text, "drm-driver:\t{driver}\ndrm-client-id:\t{id}\ndrm-pdev:\t{slot}\n"),
        // i915's own text, with ids from 0 (`i915_drm_client_fdinfo`).
        false => {
            let id = id.saturating_sub(1);
            write!(text, "drm-driver:\t{driver}\ndrm-pdev:\t{slot}\ndrm-client-id:\t{id}\n")
        }
    };
    let [system, local] = [false, true].map(|local| device.memory_use(local));
    match driver {
        Driver::I915 => {
            if has_memory {
                region(&mut text, "system0", system, true);
                if has_local {
                    region(&mut text, "local0", local, true);
                }
                let stolen = if has_local { "stolen-local0" } else { "stolen-system0" };
                region(&mut text, stolen, MemoryUse::default(), true);
            }
            if machine.platform.graphics.major >= 8 {
                device.engine_use().iter().for_each(|used| times(&mut text, used));
            }
        }
        Driver::Xe => {
            region(&mut text, "system", MemoryUse::default(), true);
            region(&mut text, "gtt", system, false);
            if has_local {
                region(&mut text, "vram0", local, false);
            }
            region(&mut text, "stolen", MemoryUse::default(), false);
            let now = device.timestamp();
            let mut used = device.engine_use();
            used.sort_by_key(|used| place(used.class));
            used.iter().for_each(|used| cycles(&mut text, used, now));
        }
    }
    text
}

/// Writes the sizes of a memory region (`drm_print_memory_stats`).
fn region(text: &mut String, name: &str, used: MemoryUse, can_purge: bool) {
    let purgeable = can_purge.then_some(("purgeable", used.purgeable));
    let sizes = [
        ("total", used.total),
        ("shared", used.shared),
        ("active", used.active),
        ("resident", used.resident),
    ];
    for (what, bytes) in sizes.into_iter().chain(purgeable) {
        let _ = writeln!(text, "drm-{what}-{name}:\t{}", size(bytes));
    }
}

/// Returns a size in the largest unit of which it is a multiple (`drm_fdinfo_print_size`).
fn size(bytes: u64) -> String {
    let units = [(1 << 20, " MiB"), (1 << 10, " KiB")];
    let unit = units.into_iter().find(|&(unit, _)| bytes > 0 && bytes.is_multiple_of(unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// Writes the time of a class of engines (`show_client_class`).
fn times(text: &mut String, used: &EngineUse) {
    let name = match used.class {
        EngineClass::Render => "render",
        EngineClass::Copy => "copy",
        EngineClass::Video => "video",
        EngineClass::VideoEnhance => "video-enhance",
        EngineClass::Compute => "compute",
    };
    let _ = writeln!(text, "drm-engine-{name}:\t{} ns", used.busy.as_nanos());
    if used.count > 1 {
        let _ = writeln!(text, "drm-engine-capacity-{name}:\t{}", used.count);
    }
}

/// The place of a class in the list of xe (`enum xe_engine_class`).
fn place(class: EngineClass) -> u8 {
    match class {
        EngineClass::Render => 0,
        EngineClass::Video => 1,
        EngineClass::VideoEnhance => 2,
        EngineClass::Copy => 3,
        EngineClass::Compute => 4,
    }
}

/// Writes the cycles of a class of engines (`show_run_ticks`).
fn cycles(text: &mut String, used: &EngineUse, now: u64) {
    let name = match used.class {
        EngineClass::Render => "rcs",
        EngineClass::Copy => "bcs",
        EngineClass::Video => "vcs",
        EngineClass::VideoEnhance => "vecs",
        EngineClass::Compute => "ccs",
    };
    let busy = used.busy.as_nanos() * u128::from(XE_CLOCK_HZ) / 1_000_000_000;
    let _ = write!(text, "drm-cycles-{name}:\t{busy}\ndrm-total-cycles-{name}:\t{now}\n");
    if used.count > 1 {
        let _ = writeln!(text, "drm-engine-capacity-{name}:\t{}", used.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_its_largest_unit() {
        let texts = [0, 1, 1024, 1025, 1536 << 10, 2 << 20, 3 << 30].map(size);
        assert_eq!(texts, ["0", "1", "1 KiB", "1025", "1536 KiB", "2 MiB", "3072 MiB"]);
    }

    /// Returns the keys of a new file's text, without those of engines.
    fn keys(name: &str) -> Vec<String> {
        let device = SimDevice::open_for_programs(name).unwrap();
        let text = text(&device, "0000:00:02.0", Head { flags: 0o2000002, mount: 15, inode: 7 });
        let (head, rest) = text.split_at(text.find("drm-").unwrap_or(text.len()));
        assert_eq!(head, "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t7\n");
        let all = rest.lines().map(|line| line.split(':').next().unwrap_or_default().to_owned());
        all.filter(|key| key.starts_with("drm-total") || key.starts_with("drm-engine-") || key == "drm-pdev")
            .collect()
    }

    #[test]
    fn each_driver_has_its_regions_and_engines() {
        let engines = ["rcs", "bcs", "ccs"].map(|name| format!("drm-total-cycles-{name}"));
        let regions = ["drm-pdev", "drm-total-system", "drm-total-gtt", "drm-total-stolen"];
        let lnl: Vec<_> = regions.map(str::to_owned).into_iter().chain(engines).collect();
        assert_eq!(keys("sim:lnl"), lnl);
        assert!(keys("sim:bmg").contains(&"drm-total-vram0".to_owned()));
        let jsl = ["drm-pdev", "drm-total-system0", "drm-total-stolen-system0"];
        let engines = ["render", "copy", "video", "video-enhance"].map(|name| format!("drm-engine-{name}"));
        let expected: Vec<_> = jsl.map(str::to_owned).into_iter().chain(engines).collect();
        assert_eq!(keys("sim:jsl"), expected);
        assert_eq!(keys("sim:jsl,kernel=5.10"), [""; 0]);
    }
}
