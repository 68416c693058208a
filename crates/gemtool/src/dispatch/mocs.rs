//! MOCS entries by which surfaces of shaders select a class.

use std::fmt;

use gem_coherency::device::Device;
use gem_coherency::vocabulary::MocsClass;
use gem_coherency_exercise::commands::shaders;

/// MOCS entries that a command can select; by convention 0 is an error from graphics version 12 on.
const ENTRIES: std::ops::Range<u8> = 1..64;

/// Graphics 8, which has no entries: the control bits "uncached", with the L3 and the LLC as targets.
const GEN8_UNCACHED: u8 = 0x38;

/// A device has no MOCS entry of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEntry {
    /// The class.
    pub class: MocsClass,
    /// The platform's name.
    pub platform: &'static str,
    /// The classes that surfaces of shaders can select there.
    pub has: Vec<MocsClass>,
}

impl fmt::Display for NoEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, platform, has } = self;
        let has: Vec<_> = has.iter().map(|class| class.name()).collect();
        let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
        write!(f, "{platform} has no MOCS entry of class {class} for surfaces of shaders (it has: {has})")
    }
}

impl std::error::Error for NoEntry {}

/// Returns the MOCS entry by which surfaces of shaders select `class`; on graphics 8, the control bits; `None` for the page table's class.
///
/// # Errors
/// The device runs no shaders, or has no such entry.
pub fn entry_of_shaders(device: &Device, class: MocsClass) -> Result<Option<u8>, NoEntry> {
    find(device, class).ok_or_else(|| NoEntry {
        class,
        platform: device.machine().platform.name,
        has: MocsClass::ALL.iter().copied().filter(|&class| find(device, class).is_some()).collect(),
    })
}

fn find(device: &Device, class: MocsClass) -> Option<Option<u8>> {
    let entries: Vec<u8> = match device.machine().platform.graphics.major {
        _ if shaders::copy(device.machine()).is_err() => return None,
        ..8 => Vec::new(),
        8 => vec![GEN8_UNCACHED],
        9..12 => ENTRIES.chain([0]).collect(),
        12.. => ENTRIES.collect(),
    };
    match class {
        MocsClass::PageTable => Some(None),
        MocsClass::Uncached | MocsClass::BypassLlc => {
            entries.into_iter().find(|&entry| device.mocs_class(entry) == class).map(Some)
        }
    }
}
