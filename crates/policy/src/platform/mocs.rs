//! The MOCS tables that i915 programs, as far as the LLC is concerned.
//!
//! A batch selects a MOCS entry per surface; the entry's control word determines whether the access is cached
//! in the LLC. Source: `intel_mocs.c`, the tables named below.

use core::fmt;

use super::{Basis, Caps, Machine, Platform, kernels};
use crate::vocabulary::{KernelVersion, MocsClass};

/// A table of control words (`LE_*`), without those of the L3, which only the GPU uses.
struct MocsTable {
    /// Index and control word of the listed entries.
    entries: &'static [(u8, u32)],
    /// The control word that the kernel programs for unlisted entries (`unused_entries_index`).
    unlisted: u32,
    /// The meaning of cacheability 0.
    cacheability_0: MocsClass,
}

/// Bits 1:0, cacheability: 0 page table, 1 uncached, 2 write-through, 3 write-back.
const CACHEABILITY: u32 = 0x3;
/// The value "uncached".
const UNCACHED: u32 = 1;
/// Bit 14, `LE_SCF`: bypass of the LLC, which only JSL and EHL obey.
const AROUND_LLC: u32 = 1 << 14;

/// Bits 6:5 of graphics 8: 0 page table, 1 uncached, 2 write-through, 3 write-back.
const GEN8_MEMORY_TYPE: u8 = 0x60;
/// The value "uncached".
const GEN8_UNCACHED: u8 = 0x20;

/// `skl_mocs_table` (SKL, KBL, CFL, CML).
static GEN9_BIG_CORE: MocsTable = MocsTable {
    entries: &[(0, 0x9), (1, 0x30), (2, 0x3b), (63, 0x37)],
    unlisted: 0x30,
    cacheability_0: MocsClass::PageTable,
};

/// `broxton_mocs_table` (BXT, GLK).
static GEN9_LOW_POWER: MocsTable = MocsTable {
    entries: &[(0, 0x9), (1, 0x30), (2, 0x39), (63, 0x37)],
    unlisted: 0x30,
    cacheability_0: MocsClass::PageTable,
};

/// `GEN11_MOCS_ENTRIES`, which the tables of graphics versions 11 and 12 share, from entry 2 on, and the
/// entries that each table adds.
macro_rules! gen11_entries {
    ($($more:expr),*) => {
        &[
            (2, 0x37), (3, 0x5), (4, 0x5), (5, 0x37), (6, 0x17), (7, 0x17), (8, 0x27), (9, 0x27),
            (10, 0x77), (11, 0x77), (12, 0x57), (13, 0x57), (14, 0x67), (15, 0x67),
            (16, 0x4005), (17, 0x4005), (18, 0x60037),
            (19, 0x737), (20, 0x337), (21, 0x137), (22, 0x3b7), (23, 0x7b7), (62, 0x37), (63, 0x37),
            $($more),*
        ]
    };
}

/// `icl_mocs_table` (ICL, EHL, JSL).
static GEN11: MocsTable = MocsTable {
    entries: gen11_entries![(0, 0x5), (1, 0x0)],
    unlisted: 0x0,
    cacheability_0: MocsClass::PageTable,
};

/// `tgl_mocs_table` (TGL, RKL): cacheability 0 means uncached, as do entry 1 and all unlisted ones.
static TIGER_LAKE: MocsTable = MocsTable {
    entries: gen11_entries![(48, 0x37), (49, 0x5), (50, 0x37), (51, 0x5), (60, 0x37), (61, 0x5)],
    unlisted: 0x0,
    cacheability_0: MocsClass::Uncached,
};

/// `gen12_mocs_table` (ADL-S, ADL-P; Meteor Lake before 6.5): unlisted entries equal entry 2.
static GEN12: MocsTable = MocsTable {
    entries: gen11_entries![(48, 0x37), (49, 0x5), (50, 0x37), (51, 0x5), (60, 0x37), (61, 0x5)],
    unlisted: 0x37,
    cacheability_0: MocsClass::Uncached,
};

/// Returns the table that i915 programs on `machine`, if its entries concern an LLC.
///
/// There is none before graphics version 9 (commands carry control bits), on discrete devices (no
/// LLC), and on Meteor Lake from 6.5 on (no LLC; the PAT index determines coherency).
fn table(machine: &Machine) -> Option<&'static MocsTable> {
    let platform = machine.platform;
    let is = |others: &[&Platform]| others.contains(&platform);
    if is(&[&super::BXT, &super::GLK]) {
        Some(&GEN9_LOW_POWER)
    } else if machine.caps.intersects(Caps::DISCRETE | Caps::PAT_AT_CREATE) {
        None
    } else if is(&[&super::TGL, &super::RKL]) {
        Some(&TIGER_LAKE)
    } else {
        match platform.graphics.major {
            ..9 => None,
            9 | 10 => Some(&GEN9_BIG_CORE),
            11 => Some(&GEN11),
            12.. => Some(&GEN12),
        }
    }
}

/// Returns how MOCS entry `index` treats the LLC on `machine`.
///
/// On graphics version 8, which has no entries, `index` is the MOCS field of a command: 7 control bits, of which 6:5 are the memory type
/// (`MEMORY_OBJECT_CONTROL_STATE` in Mesa's `gen8.xml`; Programmer's Reference Manual of Broadwell, volume 2d).
///
/// Entries 16 and 17 request a bypass of the LLC in every table of graphics versions 11 and 12. Only JSL and
/// EHL obey ([`Caps::LLC_BYPASS_MOCS`]); elsewhere the entries mean uncached. Kernels whose tables lack the two
/// entries ([`BypassEntries`]) are treated alike, which can only add a flush.
pub fn mocs_class(machine: &Machine, index: u8) -> MocsClass {
    if machine.platform.graphics.major == 8 {
        let is_uncached = index & GEN8_MEMORY_TYPE == GEN8_UNCACHED;
        return if is_uncached { MocsClass::Uncached } else { MocsClass::PageTable };
    }
    let bypass_possible = machine.caps.contains(Caps::LLC_BYPASS_MOCS);
    let Some(table) = table(machine) else {
        // An unknown device may have the two entries.
        let bypass = bypass_possible && matches!(index, 16 | 17);
        return if bypass { MocsClass::BypassLlc } else { MocsClass::PageTable };
    };
    let listed = table.entries.iter().find(|(entry, _)| *entry == index);
    let control = listed.map_or(table.unlisted, |(_, control)| *control);
    if control & AROUND_LLC != 0 && bypass_possible {
        return MocsClass::BypassLlc;
    }
    match control & CACHEABILITY {
        0 => table.cacheability_0,
        UNCACHED => MocsClass::Uncached,
        _ => MocsClass::PageTable,
    }
}

/// Changes to the entries 16 and 17 of `GEN11_MOCS_ENTRIES`: the first kernel, whether it has them, the commit.
static BYPASS_ENTRIES: [(KernelVersion, bool, &str); 3] = [
    (KernelVersion::new(5, 3), true, "f4071997f1de"),
    (KernelVersion::new(5, 4), false, "ed77d88752ae"),
    (KernelVersion::new(6, 1), true, "af4e20d335d4"),
];

/// The kernels whose stable releases were not searched for a change of the table.
static NOT_SEARCHED: [KernelVersion; 1] = [KernelVersion::new(5, 15)];

/// Whether the MOCS tables of graphics versions 11 and 12 have, under a kernel, the entries 16 and 17 that bypass
/// the LLC.
///
/// A table that was not read counts as having them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BypassEntries {
    /// The kernel.
    pub kernel: KernelVersion,
    /// The table has the entries.
    pub present: bool,
    /// How that is known.
    pub basis: Basis,
    /// The last commit that changed it.
    commit: &'static str,
}

impl BypassEntries {
    /// Returns the fact about the tables of `kernel`.
    pub fn of(kernel: KernelVersion) -> Self {
        let last = BYPASS_ENTRIES.iter().rev().find(|(first, ..)| *first <= kernel.series());
        let (present, commit) = last.map_or((false, "none"), |&(_, present, commit)| (present, commit));
        let basis = match Basis::of(kernel) {
            _ if NOT_SEARCHED.contains(&kernel) || kernels::is_later_than_known(kernel) => Basis::Assumed,
            // The history of this part of the file was read, whatever is known about the rest of the kernel.
            Basis::Assumed | Basis::Read => Basis::Read,
            // The values that the driver writes into the registers.
            Basis::Run => Basis::Run,
        };
        Self { kernel, present: present || basis == Basis::Assumed, basis, commit }
    }
}

impl fmt::Display for BypassEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, present, basis, commit } = self;
        match (basis, present) {
            (Basis::Assumed, _) => {
                write!(
                    f,
                    "assumed: the table of {kernel} was not read, and counts as having entries that bypass the LLC"
                )
            }
            (_, true) => write!(
                f,
                "{basis}: the table of {kernel} has entries that bypass the LLC, 16 and 17 ({commit})"
            ),
            (_, false) => {
                write!(f, "{basis}: the table of {kernel} has no entry that bypasses the LLC ({commit})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{all, by_name};
    use MocsClass::{BypassLlc, PageTable, Uncached};

    const KERNEL: KernelVersion = KernelVersion::new(6, 12);

    #[track_caller]
    fn case(platform: &str, entries: &[u8], want: MocsClass) {
        let machine = by_name(platform).unwrap().machine(KERNEL, false);
        for &entry in entries {
            assert_eq!(mocs_class(&machine, entry), want, "{platform} entry {entry}");
        }
    }

    #[test]
    fn each_generations_table_says_which_entries_are_cached() {
        for big_core in ["skl", "kbl", "cfl", "cml"] {
            case(big_core, &[0], Uncached);
            case(big_core, &[1, 2, 3, 16, 17, 62, 63], PageTable);
        }
        for low_power in ["bxt", "glk"] {
            case(low_power, &[0, 2], Uncached);
            case(low_power, &[1, 3, 16, 17, 63], PageTable);
        }
        case("icl", &[0, 3, 4, 16, 17], Uncached);
        case("icl", &[1, 2, 5, 6, 15, 18, 23, 24, 47, 63], PageTable);
        for bypassing in ["jsl", "ehl"] {
            case(bypassing, &[16, 17], BypassLlc);
            case(bypassing, &[0, 3, 4], Uncached);
            case(bypassing, &[1, 2, 5, 15, 18, 23, 24, 62], PageTable);
        }
        for tiger in ["tgl", "rkl"] {
            case(tiger, &[0, 1, 3, 4, 16, 17, 24, 47, 49, 51, 52, 61], Uncached);
            case(tiger, &[2, 5, 9, 15, 18, 19, 23, 48, 50, 60, 62, 63], PageTable);
        }
        for alder in ["adls", "adlp"] {
            case(alder, &[3, 4, 16, 17, 49, 51, 61], Uncached);
            case(alder, &[0, 1, 2, 5, 18, 23, 24, 47, 48, 52, 60, 63], PageTable);
        }
    }

    #[test]
    fn the_kernel_tells_whether_its_tables_have_the_bypassing_entries() {
        for (text, present, basis) in [
            ("5.3", true, Basis::Read),
            ("5.4", false, Basis::Read),
            ("5.10", false, Basis::Run),
            ("5.14", false, Basis::Read),
            ("5.15.0", false, Basis::Read),
            ("5.15", true, Basis::Assumed),
            ("5.16", false, Basis::Read),
            ("6.0", false, Basis::Read),
            ("6.1.0", true, Basis::Read),
            ("6.1", true, Basis::Run),
            ("6.12", true, Basis::Run),
            ("7.3", true, Basis::Read),
            ("8.0", true, Basis::Assumed),
        ] {
            let entries = BypassEntries::of(text.parse().unwrap());
            assert_eq!((entries.present, entries.basis), (present, basis), "{text}");
            assert!(entries.to_string().starts_with(basis.name()), "{entries}");
        }
    }

    #[test]
    fn the_library_takes_the_entries_as_bypassing_under_every_kernel() {
        for kernel in ["5.3", "5.10", "5.14", "6.0", "6.1", "8.0"] {
            let machine = by_name("jsl").unwrap().machine(kernel.parse().unwrap(), false);
            assert_eq!([16, 17].map(|entry| mocs_class(&machine, entry)), [BypassLlc; 2], "{kernel}");
        }
    }

    #[test]
    fn without_an_llc_table_every_entry_is_the_page_tables() {
        let every_entry: Vec<u8> = (0..64).collect();
        for platform in ["i915gm", "ivb", "hsw", "dg1", "dg2", "atsm", "mtl"] {
            case(platform, &every_entry, PageTable);
        }
        let mtl_before = by_name("mtl").unwrap().machine(KernelVersion::new(6, 1), false);
        assert_eq!(mocs_class(&mtl_before, 3), Uncached);
    }

    #[test]
    fn graphics_8_has_control_bits() {
        for platform in ["bdw", "chv"] {
            case(platform, &[0x20, 0x38, 0x3f], Uncached);
            case(platform, &[0, 0x18, 0x58, 0x78, 16, 17], PageTable);
        }
    }

    #[test]
    fn only_jasper_and_elkhart_lake_go_around_the_llc_and_only_with_16_and_17() {
        for platform in all() {
            let machine = platform.machine(KERNEL, true);
            let bypassing: Vec<u8> = (0..=255).filter(|&i| mocs_class(&machine, i) == BypassLlc).collect();
            let want: &[u8] = if matches!(platform.name, "jsl" | "ehl") { &[16, 17] } else { &[] };
            assert_eq!(bypassing, want, "{platform}");
        }
        let unknown = crate::platform::CONSERVATIVE.machine(KERNEL, false);
        assert_eq!(
            [15, 16, 17, 18].map(|i| mocs_class(&unknown, i)),
            [PageTable, BypassLlc, BypassLlc, PageTable]
        );
    }
}
