//! The PAT tables: how the GPU caches and snoops the pages of a mapping, by PAT index.
//!
//! The tables are those of `xe_pat.c` of Linux 7.2; the entries that 6.12 has are the same there. No request tells a program its table.

use super::platforms::LINUX_6_12;
use super::rules::Rule;
use crate::platform::GraphicsVersion;
use crate::vocabulary::{KernelVersion, words};

use CachePolicy::{Uc, Wb, Wc, Wt, Xa, Xd};
use PatCoherency::{None as No, OneWay, TwoWay};

words! {
    /// How the GPU's accesses by a PAT index are coherent with the CPU's caches (`XE_COH_*`).
    PatCoherency, "coherency" {
        /// The GPU does not snoop (`XE_COH_NONE`).
        None = "none",
        /// The GPU's accesses snoop the CPU's caches (`XE_COH_1WAY`).
        OneWay = "1-way",
        /// As `OneWay`, and the CPU's accesses see lines in the GPU's caches (`XE_COH_2WAY`).
        TwoWay = "2-way",
    }
}

impl PatCoherency {
    /// Returns whether the GPU's accesses snoop the CPU's caches.
    pub const fn snoops(self) -> bool {
        match self {
            Self::None => false,
            Self::OneWay | Self::TwoWay => true,
        }
    }
}

words! {
    /// How a cache treats the lines of a mapping.
    CachePolicy, "cache policy" {
        /// Write-back.
        Wb = "wb",
        /// Write-through.
        Wt = "wt",
        /// Write-combining: not cached.
        Wc = "wc",
        /// Uncached.
        Uc = "uc",
        /// Write-back, transient: the lines are flushed for the display.
        Xd = "xd",
        /// Write-back, transient: the lines are flushed at the end of each submission, for the CPU.
        Xa = "xa",
    }
}

/// An entry of a PAT table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatEntry {
    /// The coherency with the CPU's caches.
    pub coherency: PatCoherency,
    /// The policy of the GPU's L3; before graphics version 20, that of all its caches as far as the entry has one.
    pub l3: Option<CachePolicy>,
    /// The policy of the L4; `None` where entries have none (before graphics version 12.70).
    pub l4: Option<CachePolicy>,
    /// Set if the pages hold compressed data.
    pub compressed: bool,
    /// Set if a line does not move to the L3 when it is read.
    pub no_promote: bool,
    /// The class of service, 0 to 3: the share of the L3 that the lines may take.
    pub clos: u8,
}

/// The fields of a table's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registers {
    /// A memory type.
    XeLp,
    /// An L4 policy and a coherency.
    XeLpg,
    /// All fields of [`PatEntry`].
    Xe2,
}

/// The PAT table of a device.
#[derive(Debug, PartialEq, Eq)]
pub struct PatTable {
    /// The table's name in the driver: `xe2_pat_table`.
    pub name: &'static str,
    /// The entries by index; `None` for a reserved one.
    pub entries: &'static [Option<PatEntry>],
    /// The indices that the driver itself uses for memory that is not cached, written through for the display, and written back.
    pub own: OwnIndices,
    registers: Registers,
}

/// The indices that the driver uses for its own mappings (`xe->pat.idx`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnIndices {
    /// Uncached (`XE_CACHE_NONE`).
    pub none: u16,
    /// Written through, for the display (`XE_CACHE_WT`).
    pub wt: u16,
    /// Written back, and snooped (`XE_CACHE_WB`).
    pub wb: u16,
}

impl PatTable {
    /// Returns the entry of `index`.
    ///
    /// # Errors
    /// [`Rule::PatIndexBeyond`], [`Rule::PatIndexReserved`].
    pub fn entry(&self, index: u16) -> Result<&'static PatEntry, Rule> {
        match self.entries.get(usize::from(index)) {
            None => Err(Rule::PatIndexBeyond),
            Some(None) => Err(Rule::PatIndexReserved),
            Some(Some(entry)) => Ok(entry),
        }
    }

    /// Returns the indices with entries.
    pub fn indices(&self) -> impl Iterator<Item = (u16, &'static PatEntry)> + use<> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| Some((u16::try_from(index).ok()?, entry.as_ref()?)))
    }

    /// Returns the value that the driver writes to the register of `index` (`pat` in debugfs); 0 for a reserved one. `None`: there is
    /// no such register.
    pub fn register(&self, index: u16) -> Option<u32> {
        let entry = self.entries.get(usize::from(index))?;
        Some(entry.as_ref().map_or(0, |entry| self.registers.value(entry)))
    }
}

impl Registers {
    /// Returns the register of an entry.
    fn value(self, entry: &PatEntry) -> u32 {
        let memory_type = |policy| match policy {
            Uc => 0,
            Wc => 1,
            Wt => 2,
            Wb | Xd | Xa => 3,
        };
        let field = |policy| match policy {
            Wb => 0,
            Wt | Xd => 1,
            Xa => 2,
            Wc | Uc => 3,
        };
        let coherency = match entry.coherency {
            No => 0,
            OneWay => 2,
            TwoWay => 3,
        };
        let (l3, l4, clos) = (entry.l3, entry.l4, u32::from(entry.clos));
        match self {
            Self::XeLp => l3.map_or(0, memory_type),
            Self::XeLpg => l4.map_or(0, field) << 2 | coherency,
            Self::Xe2 => {
                u32::from(entry.no_promote) << 10
                    | u32::from(entry.compressed) << 9
                    | clos << 6
                    | l3.map_or(0, field) << 4
                    | l4.map_or(0, field) << 2
                    | coherency
            }
        }
    }
}

/// Returns an entry with a memory type.
const fn typed(memory_type: CachePolicy, coherency: PatCoherency) -> Option<PatEntry> {
    Some(PatEntry {
        coherency,
        l3: Some(memory_type),
        l4: None,
        compressed: false,
        no_promote: false,
        clos: 0,
    })
}

/// Returns an entry with an L4 policy alone.
const fn l4(policy: CachePolicy, coherency: PatCoherency) -> Option<PatEntry> {
    Some(PatEntry { coherency, l3: None, l4: Some(policy), compressed: false, no_promote: false, clos: 0 })
}

/// Returns an entry of graphics version 20 or later. Lines of the transient policies are not promoted.
const fn xe2(l3: CachePolicy, l4: CachePolicy, coherency: PatCoherency, clos: u8) -> Option<PatEntry> {
    let no_promote = matches!(l3, Xd | Xa);
    Some(PatEntry { coherency, l3: Some(l3), l4: Some(l4), compressed: false, no_promote, clos })
}

/// Returns [`xe2`]'s entry for compressed data.
const fn compressed(l3: CachePolicy, l4: CachePolicy, coherency: PatCoherency, clos: u8) -> Option<PatEntry> {
    match xe2(l3, l4, coherency, clos) {
        Some(entry) => Some(PatEntry { compressed: true, ..entry }),
        None => None,
    }
}

/// Graphics versions 12.0 to 12.55: Tiger Lake to DG2. The hardware of the integrated ones is coherent by each index; the driver refuses all
/// the same.
static XELP: PatTable = PatTable {
    name: "xelp_pat_table",
    entries: &[typed(Wb, OneWay), typed(Wc, No), typed(Wt, No), typed(Uc, No)],
    own: OwnIndices { none: 3, wt: 2, wb: 0 },
    registers: Registers::XeLp,
};

/// Graphics versions 12.70 to 12.74: Meteor Lake and Arrow Lake.
static XELPG: PatTable = PatTable {
    name: "xelpg_pat_table",
    entries: &[l4(Wb, No), l4(Wt, No), l4(Uc, No), l4(Wb, OneWay), l4(Wb, TwoWay)],
    own: OwnIndices { none: 2, wt: 1, wb: 3 },
    registers: Registers::XeLpg,
};

/// Entries 0 to 15 of graphics versions 20 to 35.10.
const XE2_LOW: [Option<PatEntry>; 16] = [
    xe2(Wb, Uc, No, 0),
    xe2(Wb, Uc, OneWay, 0),
    xe2(Wb, Uc, TwoWay, 0),
    xe2(Uc, Uc, No, 0),
    xe2(Uc, Wb, OneWay, 0),
    xe2(Uc, Uc, OneWay, 0),
    xe2(Xd, Uc, No, 0),
    xe2(Uc, Wb, TwoWay, 0),
    xe2(Uc, Wb, No, 0),
    compressed(Wb, Uc, No, 0),
    compressed(Uc, Wb, No, 0),
    compressed(Xd, Uc, No, 0),
    compressed(Uc, Uc, No, 0),
    xe2(Wb, Wb, No, 0),
    compressed(Wb, Wb, No, 0),
    compressed(Xd, Wt, No, 0),
];

/// Returns the table of graphics versions 20 to 35.10 with entries 16 to 19, which tell them apart. From 20 on, each class of service has
/// four entries.
const fn from_xe2(middle: [Option<PatEntry>; 4]) -> [Option<PatEntry>; 32] {
    let mut entries = [None; 32];
    let mut at = 0;
    while at < 16 {
        entries[at] = XE2_LOW[at];
        at += 1;
    }
    while at < 20 {
        entries[at] = middle[at - 16];
        at += 1;
    }
    while at < 32 {
        let clos = ((at - 16) / 4) as u8;
        entries[at] = xe2(Wb, Uc, No, clos);
        entries[at + 1] = compressed(Wb, Uc, No, clos);
        entries[at + 2] = xe2(Wb, Uc, OneWay, clos);
        entries[at + 3] = xe2(Wb, Uc, TwoWay, clos);
        at += 4;
    }
    entries
}

static XE2_ENTRIES: [Option<PatEntry>; 32] = from_xe2([None; 4]);

/// Graphics version 20: Lunar Lake and Battlemage.
static XE2: PatTable = PatTable {
    name: "xe2_pat_table",
    entries: &XE2_ENTRIES,
    own: OwnIndices { none: 3, wt: 15, wb: 2 },
    registers: Registers::Xe2,
};

/// Graphics version 20.01: class of service 3 is the driver's (Wa_16023588340), so that indices 28 to 31 do not exist.
static XE2_WITHOUT_CLOS3: PatTable = PatTable {
    name: "xe2_pat_table",
    entries: XE2_ENTRIES.split_at(28).0,
    own: OwnIndices { none: 3, wt: 15, wb: 2 },
    registers: Registers::Xe2,
};

/// Graphics version 30: Panther Lake, Wildcat Lake and Nova Lake-S.
static XE3: PatTable = PatTable {
    name: "xe3_lpg_pat_table",
    entries: &from_xe2([compressed(Wb, Uc, OneWay, 0), None, None, None]),
    own: OwnIndices { none: 3, wt: 15, wb: 2 },
    registers: Registers::Xe2,
};

/// Graphics version 35.10: Nova Lake-P.
static XE3P: PatTable = PatTable {
    name: "xe3p_lpg_pat_table",
    entries: &from_xe2([compressed(Wb, Uc, OneWay, 0), None, xe2(Xa, Uc, No, 0), xe2(Xa, Uc, OneWay, 0)]),
    own: OwnIndices { none: 3, wt: 15, wb: 2 },
    registers: Registers::Xe2,
};

/// Graphics version 35.11: Crescent Island. What the fields call L3 and L4 are its L2 and L3.
static XE3P_XPC: PatTable = PatTable {
    name: "xe3p_xpc_pat_table",
    entries: &{
        let mut entries = [None; 32];
        let mut at = 0;
        while at < 3 {
            let coherency = PatCoherency::ALL[at];
            entries[at] = xe2(Wb, Wb, coherency, 0);
            entries[5 + at] = xe2(Uc, Wb, coherency, 0);
            entries[8 + at] = xe2(Wb, Uc, coherency, 0);
            entries[23 + at] = xe2(Wb, Wb, coherency, 1);
            entries[26 + at] = xe2(Wb, Wb, coherency, 2);
            entries[29 + at] = xe2(Wb, Wb, coherency, 3);
            at += 1;
        }
        entries[3] = xe2(Uc, Uc, No, 0);
        entries[4] = xe2(Uc, Uc, OneWay, 0);
        entries
    },
    own: OwnIndices { none: 3, wt: 3, wb: 2 },
    registers: Registers::Xe2,
};

/// Returns the table that the driver of `kernel` takes for a graphics version; `None` if it does not know the version, and refuses the device.
///
/// Source: `xe_pat_init_early`; `graphics_ips` of `xe_pci.c`.
pub(super) fn table_of(graphics: GraphicsVersion, kernel: KernelVersion) -> Option<&'static PatTable> {
    let newer = kernel > LINUX_6_12;
    match (graphics.major, graphics.minor) {
        (12, 0 | 10 | 55) => Some(&XELP),
        (12, 70 | 71 | 74) => Some(&XELPG),
        (20, 1) => Some(&XE2_WITHOUT_CLOS3),
        (20, 4) => Some(&XE2),
        (20, 2) if newer => Some(&XE2),
        (30, 0 | 1 | 3 | 4 | 5) if newer => Some(&XE3),
        (35, 10) if newer => Some(&XE3P),
        (35, 11) if newer => Some(&XE3P_XPC),
        _ => None,
    }
}
