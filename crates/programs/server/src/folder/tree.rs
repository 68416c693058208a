//! The folder that stands for /dev/dri and the devices' places in sysfs and debugfs.
//!
//! A node is a socket that nobody listens to: open(2) of it fails with ENXIO, by which the preloaded library knows
//! that the server has to open it, however a program came to the path.

use std::fs::{create_dir, create_dir_all, write};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gem_coherency::platform::{Caps, Driver, Machine};
use gem_coherency_sim::SimDevice;
use nix::sys::stat::{Mode, SFlag, mknod};

use super::debug_files;
use super::node::Node;
use super::xe;
use crate::error::ServeError;

/// The vendor of all devices, and the subsystem of all.
const INTEL: u16 = 0x8086;
const SUBSYSTEM: u16 = 0x2212;

/// Bytes of a PCI function's first header.
const HEADER_BYTES: usize = 64;

/// The file of a server's folder that tells it from any other folder; programs do not see it.
pub(crate) const MARK: &str = ".gem-coherency";

/// A folder in the making.
struct Tree<'a> {
    root: &'a Path,
}

/// Makes the folder `root` for these devices.
///
/// # Errors
/// If a file cannot be created.
pub(crate) fn make(root: &Path, devices: &[SimDevice]) -> Result<(), ServeError> {
    let tree = Tree { root };
    // Not what it is in, which a server that has ended has removed.
    create_dir(root).map_err(|error| ServeError::File { path: root.to_path_buf(), error })?;
    tree.file(MARK, "Files of gem-coherency's server, which removes them when it ends.\n")?;
    for folder in ["dev/dri/by-path", "sys/dev/char", "sys/class/drm", "sys/bus/pci/devices"] {
        tree.folder(folder)?;
    }
    tree.file("sys/class/drm/version", "drm 1.1.0 20060810\n")?;
    for &driver in Driver::ALL {
        if devices.iter().any(|device| device.machine().driver == driver) {
            tree.driver(driver)?;
        }
    }
    for (index, device) in devices.iter().enumerate() {
        tree.device(index, device)?;
    }
    for node in Node::all(devices.len()) {
        if let Some(device) = devices.get(node.device) {
            tree.node(node, device)?;
        }
    }
    Ok(())
}

impl Tree<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn folder(&self, path: &str) -> Result<(), ServeError> {
        let path = self.path(path);
        create_dir_all(&path).map_err(|error| ServeError::File { path, error })
    }

    /// Writes a file in a folder that is there.
    fn file(&self, path: &str, contents: impl AsRef<[u8]>) -> Result<(), ServeError> {
        let path = self.path(path);
        write(&path, contents).map_err(|error| ServeError::File { path, error })
    }

    /// Writes files below `place`, and makes their folders.
    fn files(&self, place: &str, files: Vec<xe::Shown>) -> Result<(), ServeError> {
        files.into_iter().try_for_each(|(name, contents)| {
            let path = format!("{place}/{name}");
            if let Some((folder, _)) = path.rsplit_once('/') {
                self.folder(folder)?;
            }
            self.file(&path, contents)
        })
    }

    fn link(&self, path: &str, target: &str) -> Result<(), ServeError> {
        let path = self.path(path);
        symlink(target, &path).map_err(|error| ServeError::File { path, error })
    }

    /// Makes a driver's place on the PCI bus, and its module.
    fn driver(&self, driver: Driver) -> Result<(), ServeError> {
        self.folder(&format!("sys/bus/pci/drivers/{driver}"))?;
        let parameters = format!("sys/module/{driver}/parameters");
        self.folder(&parameters)?;
        for (name, value) in parameters_of(driver) {
            self.file(&format!("{parameters}/{name}"), format!("{value}\n"))?;
        }
        Ok(())
    }

    /// Makes a device's place on the PCI bus.
    fn device(&self, index: usize, device: &SimDevice) -> Result<(), ServeError> {
        let (slot, driver) = (slot(index), device.machine().driver);
        let place = format!("sys/devices/pci0000:00/{slot}");
        self.folder(&format!("{place}/drm"))?;
        let facts = Facts::of(device);
        let Facts { id, revision } = facts;
        let lines = [
            ("vendor", format!("{INTEL:#06x}")),
            ("device", format!("{id:#06x}")),
            ("subsystem_vendor", format!("{INTEL:#06x}")),
            ("subsystem_device", format!("{SUBSYSTEM:#06x}")),
            ("revision", format!("{revision:#04x}")),
            ("class", "0x030000".to_owned()),
            ("boot_vga", u8::from(index == 0).to_string()),
            ("enable", "1".to_owned()),
            ("irq", "16".to_owned()),
            ("numa_node", "-1".to_owned()),
            ("modalias", modalias(id)),
            ("resource", resources(index, device.machine())),
            ("uevent", uevent(id, &slot, driver)),
        ];
        for (name, line) in lines {
            self.file(&format!("{place}/{name}"), format!("{line}\n"))?;
        }
        self.file(&format!("{place}/config"), facts.header())?;
        self.link(&format!("{place}/subsystem"), "../../../bus/pci")?;
        self.link(&format!("{place}/driver"), &format!("../../../bus/pci/drivers/{driver}"))?;
        if driver == Driver::Xe {
            self.files(&place, xe::of_sysfs(device))?;
        }
        self.link(&format!("sys/bus/pci/devices/{slot}"), &format!("../../../devices/pci0000:00/{slot}"))?;
        self.link(
            &format!("sys/bus/pci/drivers/{driver}/{slot}"),
            &format!("../../../../devices/pci0000:00/{slot}"),
        )
    }

    /// Makes a node of a device, and its places in sysfs and debugfs.
    fn node(&self, node: Node, device: &SimDevice) -> Result<(), ServeError> {
        let driver = device.machine().driver;
        let (name, number, slot) = (node.name(), node.number(), slot(node.device));
        let path = self.path(&format!("dev/dri/{name}"));
        let made = mknod(&path, SFlag::S_IFSOCK, Mode::from_bits_truncate(0o666), 0);
        made.map_err(|errno| ServeError::File { path, error: io::Error::from(errno) })?;
        let kind = if name.starts_with("card") { "card" } else { "render" };
        self.link(&format!("dev/dri/by-path/pci-{slot}-{kind}"), &format!("../{name}"))?;
        let place = format!("sys/devices/pci0000:00/{slot}/drm/{name}");
        self.folder(&place)?;
        self.file(&format!("{place}/dev"), format!("226:{number}\n"))?;
        let uevent = format!("MAJOR=226\nMINOR={number}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor\n");
        self.file(&format!("{place}/uevent"), uevent)?;
        // Programs take the function's address from the link's text.
        self.link(&format!("{place}/device"), &format!("../../../{slot}"))?;
        self.link(&format!("{place}/subsystem"), "../../../../../class/drm")?;
        let target = format!("devices/pci0000:00/{slot}/drm/{name}");
        self.link(&format!("sys/dev/char/226:{number}"), &format!("../../{target}"))?;
        self.link(&format!("sys/class/drm/{name}"), &format!("../../{target}"))?;
        if kind == "card" && driver == Driver::I915 {
            for (file, megahertz) in [
                ("gt_min_freq_mhz", MIN_MEGAHERTZ),
                ("gt_max_freq_mhz", MAX_MEGAHERTZ),
                ("gt_boost_freq_mhz", MAX_MEGAHERTZ),
                ("gt_act_freq_mhz", 0),
            ] {
                self.file(&format!("{place}/{file}"), format!("{megahertz}\n"))?;
            }
        }
        let debug = debug_files::folder(node);
        self.folder(&debug)?;
        self.file(&format!("{debug}/name"), format!("{driver} dev={slot} unique={slot}\n"))?;
        match device.xe() {
            None => DEBUG_FILES
                .into_iter()
                .try_for_each(|(file, value)| self.file(&format!("{debug}/{file}"), format!("{value}\n"))),
            Some(xe) => {
                let (files, links) = xe::of_debugfs(device, &xe);
                self.files(&debug, files)?;
                links.iter().try_for_each(|(link, target)| self.link(&format!("{debug}/{link}"), target))
            }
        }
    }
}

/// The frequencies of a device's engines, which programs read.
pub(super) const MIN_MEGAHERTZ: u32 = 300;
pub(super) const MAX_MEGAHERTZ: u32 = 1000;

/// Returns the parameters of a driver's module that programs may read, and their values: of i915 those that test suites use, of xe all that
/// are not root's alone (`xe_module.c`).
fn parameters_of(driver: Driver) -> &'static [(&'static str, &'static str)] {
    match driver {
        Driver::I915 => {
            &[("reset", "3"), ("enable_hangcheck", "Y"), ("prefault_disable", "N"), ("modeset", "-1")]
        }
        Driver::Xe => &[("force_execlist", "N"), ("probe_display", "Y")],
    }
}

/// The files of i915 in debugfs that test suites write to, and the values that they show (`i915_debugfs_files`).
///
/// A written value changes nothing but the file: the device retires requests and frees objects at once, and ends
/// batches that hang.
const DEBUG_FILES: [(&str, &str); 2] = [("i915_gem_drop_caches", "0x000001ff"), ("i915_wedged", "0")];

/// A line of `resource`: a base address register that is not there.
const EMPTY_RESOURCE: &str = "0x0000000000000000 0x0000000000000000 0x0000000000000000";

/// The flags of prefetchable memory in `resource` (`IORESOURCE_MEM`, `IORESOURCE_PREFETCH`, 64 bits).
const PREFETCHABLE: u64 = 0x14_220c;

/// Addresses of the first aperture, and from one to the next.
const FIRST_APERTURE: u64 = 0x40_0000_0000;
const APERTURE_DISTANCE: u64 = 1 << 32;

/// Largest aperture: the usual size.
const APERTURE_BYTES: u64 = 256 << 20;

/// Returns the lines of `resource`. Of the registers, only the aperture is there, whose size programs look up.
fn resources(index: usize, machine: Machine) -> String {
    let mut lines = [EMPTY_RESOURCE; 7].map(str::to_owned);
    // The aperture is the first register on graphics 2, later the third (`GEN2_GMADR_BAR`, `GEN4_GMADR_BAR`).
    let number = if machine.platform.graphics.major < 3 { 0 } else { 2 };
    let caps = match machine.driver {
        Driver::I915 => machine.caps,
        // It has no use for the aperture, whose register is there all the same.
        Driver::Xe => machine.platform.caps,
    };
    if caps.contains(Caps::APERTURE)
        && let Some(line) = lines.get_mut(number)
    {
        let start = FIRST_APERTURE + index as u64 * APERTURE_DISTANCE;
        let end = start + APERTURE_BYTES.min(machine.global_gtt_bytes()) - 1;
        *line = format!("{start:#018x} {end:#018x} {PREFETCHABLE:#018x}");
    }
    lines.join("\n")
}

/// The PCI function of a device.
pub(crate) fn slot(index: usize) -> String {
    format!("0000:00:{:02x}.0", 2 + index)
}

fn modalias(id: u16) -> String {
    format!("pci:v0000{INTEL:04X}d0000{id:04X}sv0000{INTEL:04X}sd0000{SUBSYSTEM:04X}bc03sc00i00")
}

fn uevent(id: u16, slot: &str, driver: Driver) -> String {
    let subsystem = format!("{INTEL:04X}:{SUBSYSTEM:04X}");
    let modalias = modalias(id);
    format!(
        "DRIVER={driver}\nPCI_CLASS=30000\nPCI_ID={INTEL:04X}:{id:04X}\nPCI_SUBSYS_ID={subsystem}\n\
         PCI_SLOT_NAME={slot}\nMODALIAS={modalias}"
    )
}

/// The properties of a device on the PCI bus.
#[derive(Clone, Copy)]
struct Facts {
    id: u16,
    revision: u8,
}

impl Facts {
    fn of(device: &SimDevice) -> Self {
        let (id, revision) = device.pci_id();
        Self { id, revision }
    }

    /// Returns the first bytes of the configuration space.
    fn header(self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let [vendor, other_vendor] = INTEL.to_le_bytes();
        let [id, other_id] = self.id.to_le_bytes();
        let [subsystem, other_subsystem] = SUBSYSTEM.to_le_bytes();
        header[..4].copy_from_slice(&[vendor, other_vendor, id, other_id]);
        // Memory space and bus master are enabled; a VGA controller.
        header[4] = 6;
        header[8] = self.revision;
        header[11] = 3;
        header[44..48].copy_from_slice(&[vendor, other_vendor, subsystem, other_subsystem]);
        header
    }
}
