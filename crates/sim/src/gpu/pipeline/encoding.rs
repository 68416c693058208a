//! The generation of an encoding, and the fields that commands and structures share.

use super::super::commands::{Streamer, wide};
use crate::gpu::commands::lengths;
use gem_coherency::platform::{CONSERVATIVE, Machine, mocs_class};
use gem_coherency::vocabulary::MocsClass;

/// The first generation whose commands are known here.
const FIRST: u16 = 60;

/// The encoding of a machine's commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoding {
    /// As Mesa numbers them: 75 for Haswell, 125 for graphics 12.5.
    pub(super) generation: u16,
    machine: Machine,
    /// The device's run is judged by other platforms, too.
    traced: bool,
}

impl Encoding {
    pub(super) fn new(on: &Streamer, traced: bool) -> Self {
        Self { generation: lengths::generation(&on.machine), machine: on.machine, traced }
    }

    /// Returns the platform's name.
    pub(super) fn platform(self) -> &'static str {
        self.machine.platform.name
    }

    pub(super) fn is_known(self) -> bool {
        self.generation >= FIRST
    }

    /// Returns whether addresses have two dwords, and buffers a size instead of an end.
    pub(super) fn is_wide(self) -> bool {
        self.generation >= 80
    }

    /// Returns the class of a MOCS field. From graphics 9 on it is the number of an entry above a reserved bit; on graphics 8,
    /// control bits; before, cache settings that leave the LLC to the page table. In a traced run, an entry that bypasses the
    /// LLC on some platform does so: the hardware of the others ignores that.
    pub(super) fn mocs(self, field: u32) -> MocsClass {
        match self.generation {
            ..80 => return MocsClass::PageTable,
            80..90 => return mocs_class(&self.machine, field as u8),
            90.. => {}
        }
        let entry = (field >> 1) as u8;
        match mocs_class(&CONSERVATIVE.machine(self.machine.kernel, false), entry) {
            MocsClass::BypassLlc if self.traced => MocsClass::BypassLlc,
            MocsClass::PageTable | MocsClass::Uncached | MocsClass::BypassLlc => {
                mocs_class(&self.machine, entry)
            }
        }
    }

    /// Returns the address in the dword `at`, and in the next one where addresses have two.
    pub(super) fn address(self, words: &[u32], at: usize) -> Option<u64> {
        let low = *words.get(at)?;
        if self.is_wide() { Some(wide(low, *words.get(at + 1)?)) } else { Some(low.into()) }
    }
}

/// Returns the bits from `high` down to `low`.
pub(super) const fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & (u32::MAX >> (31 + low - high))
}
