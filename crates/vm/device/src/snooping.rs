//! Which accesses to system memory look into the CPU's caches. A platform says what decides ([`Snooping`]); what the driver
//! wrote into page tables, PAT registers and MOCS registers is decoded here. Results depend on nothing but arguments, so that
//! `tests/snooping.rs` runs without QEMU.
//!
//! The display is not among the accesses: it never snoops (the xe driver's xe_ttm_tt_create: "Display scanout is always
//! non-coherent with the CPU cache").
//!
//! The status page of `i915g` to `i965gm` has a physical address and is snooped: the driver reads it through the CPU's caches and flushes
//! nothing. On `jsl` and `ehl` the LLC keeps no write by an uncached or write-through MOCS entry. Surface states and STATE_BASE_ADDRESS name
//! entries; other commands snoop. The driver sets bit 14 in entries 16 and 17 of other platforms, too, where it has no effect here. Not
//! known: whether the "ignore PAT" bit of MOCS entries of `mtl` concerns coherency (here it does not); the PAT entries of `mtl` that the driver
//! leaves alone (here not coherent; no page has one).

/// The part of the hardware that decides on a platform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Snooping {
    /// No access snoops.
    Never,
    /// Every access does: CPU and GT share the last-level cache (LLC), or PCI Express snoops.
    Always,
    /// Every access does, except by a MOCS entry that goes past the LLC.
    UnlessMocs,
    /// Accesses through a 32-bit page-table entry with all of these bits do.
    ByEntry(u32),
    /// The private PAT decides, as on Cherryview, Broxton and Gemini Lake.
    ByPrivatePat,
    /// The PAT decides, from Meteor Lake on.
    ByPat,
}

/// The page-table bits by which the last-level cache keeps the GPU's writes, so that memory has them later. MOCS entries may say
/// otherwise; they are looked at where accesses can go past that cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// The CPU and the GPU share no cache.
    Nothing,
    /// Those through 32-bit entries with one of these values in these bits.
    ByEntry { bits: u32, values: &'static [u32] },
    /// Those by a write-back entry of the private PAT.
    ByPrivatePat,
    /// Those by a write-back entry of the PAT that starts with this register.
    ByPat(u32),
}

/// GEN6_PTE_CACHE_LLC and GEN7_PTE_CACHE_L3_LLC.
pub const KEPT_GEN6: Keeping = Keeping::ByEntry { bits: 7 << 1, values: &[2 << 1, 3 << 1] };
/// HSW_WB_LLC_AGE3, HSW_WB_LLC_AGE0, HSW_WB_ELLC_LLC_AGE3, HSW_WB_ELLC_LLC_AGE0: the fourth bit of their number is bit 11.
pub const KEPT_HASWELL: Keeping =
    Keeping::ByEntry { bits: 1 << 11 | 7 << 1, values: &[2 << 1, 3 << 1, 1 << 11, 1 << 11 | 3 << 1] };
/// GEN10_PAT_INDEX(0) and GEN12_PAT_INDEX(0).
pub const KEPT_GEN11: Keeping = Keeping::ByPat(0x40e0);
pub const KEPT_GEN12: Keeping = Keeping::ByPat(0x4800);
/// GEN8_PPAT_WB, and the bits it is in.
const WRITE_BACK: u32 = 3;

impl Keeping {
    /// Whether the last-level cache keeps what such an access writes, given the values of registers.
    pub fn keeps(self, access: Access, register: impl Fn(u32) -> u32) -> bool {
        let number = match access {
            Access::Global(_) | Access::Walk | Access::Aperture => 0,
            Access::Page(entry) => selected(entry, &OF_PAGE[PRIVATE]),
            Access::HugePage(entry) => selected(entry, &OF_HUGE_PAGE[PRIVATE]),
        };
        match (self, access) {
            // "System agent ggtt writes (i.e. cpu gtt mmaps)" are uncached, and snoop, whatever entry 0 says
            // (bdw_setup_private_ppat). Frames drawn there would not be on screen otherwise: no flush follows.
            (Self::Nothing, _) | (_, Access::Aperture) => false,
            (Self::ByEntry { bits, values }, Access::Global(entry) | Access::Page(entry)) => {
                values.contains(&(entry as u32 & bits))
            }
            (Self::ByEntry { .. }, Access::HugePage(_) | Access::Walk) => false,
            (Self::ByPrivatePat, _) => private_pat(number, register) & WRITE_BACK == WRITE_BACK,
            (Self::ByPat(first), _) => register(first + 4 * number) & WRITE_BACK == WRITE_BACK,
        }
    }
}

/// An entry of the private PAT.
fn private_pat(number: u32, register: impl Fn(u32) -> u32) -> u32 {
    register(PRIVATE_PAT + number / 4 * 4) >> (8 * (number % 4)) & 0xff
}

/// The way of an access to system memory.
#[derive(Clone, Copy)]
pub enum Access {
    /// An entry of the global table.
    Global(u64),
    /// An entry of a per-process table, for a page of 4 or 64 KiB.
    Page(u64),
    /// The same for a page of 2 MiB.
    HugePage(u64),
    /// A per-process table is read for a translation.
    Walk,
    /// The CPU, through the aperture.
    Aperture,
}

/// GEN8_PRIVATE_PAT_LO, _HI: a byte for each of eight entries. CHV_PPAT_SNOOP is the only bit of it with a meaning on
/// Cherryview, Broxton and Gemini Lake.
const PRIVATE_PAT: u32 = 0x40e0;
const PRIVATE_PAT_SNOOP: u32 = 1 << 6;
/// XEHP_PAT_INDEX(0) and (8): a register for each of sixteen entries, or of 32. MTL_PAT_INDEX_COH_MODE_MASK: 2 is coherency in one
/// direction (the GPU snoops), 3 in both (XE2_COH_MODE has the same bits). On Meteor Lake the driver writes entries 0 to 4, and no page has another
/// one (max_pat_index).
const PAT: [u32; 2] = [0x4800, 0x4848];
const PAT_COHERENCY: u32 = 3;
const PAT_ONE_WAY: u32 = 2;
/// The bits of an entry that select one of the PAT, from bit 0 of its number on. For 4 and 64 KiB _PAGE_PWT, _PAGE_PCD and
/// _PAGE_PAT, which on gen12 are GEN12_PPGTT_PTE_PAT0 to PAT2; then MTL_PPGTT_PTE_PAT3, and from Lunar Lake on XE2_PPGTT_PTE_PAT4. In the entry of a huge page bit 7
/// says that it is one, so that the third is bit 12 (_PAGE_PAT_LARGE; the xe driver's XE_PPGTT_PDE_PDPE_PAT2). In the global
/// table MTL_GGTT_PTE_PAT0 and PAT1; before, an access through it is by entry 0 (chv_setup_private_ppat).
const OF_PAGE: [u32; 5] = [3, 4, 7, 62, 61];
const OF_HUGE_PAGE: [u32; 5] = [3, 4, 12, 62, 61];
const OF_GLOBAL: [u32; 2] = [52, 53];
/// The private PAT has eight entries, which three bits select.
const PRIVATE: std::ops::RangeTo<usize> = ..3;

/// GEN9_GFX_MOCS(0): the LLC's part of the render engine's MOCS entries. Of the commands that are executed here, those of
/// shaders are the only ones of gen11 that name an entry: commands of the copy engine do since gen12.
const MOCS: u32 = 0xc800;
/// LE_SCF, the snoop control: entries 16 and 17 of gen11's table, "Bypass LLC", differ from 3 and 4 by this bit alone. The
/// driver writes the entries on every platform of gen11 and most of gen12, but calls them those of Elkhart and Jasper Lake,
/// and these two are all that i915_gem_object_can_bypass_llc names.
const MOCS_SNOOP_CONTROL: u32 = 1 << 14;
/// LE_CACHEABILITY, and its values LE_1_UC and LE_2_WT: the others are the page table's and write-back.
const MOCS_CACHEABILITY: u32 = 3;
const NOT_KEPT: [u32; 2] = [1, 2];

impl Snooping {
    /// Whether an access snoops, given the values of registers.
    pub fn snoops(self, access: Access, register: impl Fn(u32) -> u32) -> bool {
        let private = |entry: u32| private_pat(entry, &register) & PRIVATE_PAT_SNOOP != 0;
        let coherent = |entry: u32| {
            let [first, second] = PAT;
            let at = if entry < 8 { first + 4 * entry } else { second + 4 * (entry - 8) };
            register(at) & PAT_COHERENCY >= PAT_ONE_WAY
        };
        match (self, access) {
            (Self::Always | Self::UnlessMocs, _) => true,
            // Valleyview: the driver stores entries through the CPU's caches and flushes none (gen6_ppgtt_insert_entries);
            // the first to flush them for gen8 called Cherryview and Broxton the only exceptions (kunmap_page_dma, 4.x).
            (Self::ByEntry(_), Access::Walk) => true,
            // chv_setup_private_ppat says that walks never snoop on Cherryview, and xe_ttm_tt_create the same of graphics
            // 12.70. Without an LLC "access to snoopable pages through the GTT is incoherent" (vm_fault_gtt).
            (Self::Never, _) | (_, Access::Walk | Access::Aperture) => false,
            (Self::ByEntry(bits), Access::Global(entry) | Access::Page(entry) | Access::HugePage(entry)) => {
                entry as u32 & bits == bits
            }
            (Self::ByPrivatePat, Access::Global(_)) => private(0),
            (Self::ByPrivatePat, Access::Page(entry)) => private(selected(entry, &OF_PAGE[PRIVATE])),
            (Self::ByPrivatePat, Access::HugePage(entry)) => private(selected(entry, &OF_HUGE_PAGE[PRIVATE])),
            (Self::ByPat, Access::Global(entry)) => coherent(selected(entry, &OF_GLOBAL)),
            (Self::ByPat, Access::Page(entry)) => coherent(selected(entry, &OF_PAGE)),
            (Self::ByPat, Access::HugePage(entry)) => coherent(selected(entry, &OF_HUGE_PAGE)),
        }
    }

    /// Whether the LLC may keep what is written by a MOCS entry.
    pub fn mocs_keeps(self, entry: u8, register: impl Fn(u32) -> u32) -> bool {
        self != Self::UnlessMocs
            || !NOT_KEPT.contains(&(register(MOCS + 4 * u32::from(entry)) & MOCS_CACHEABILITY))
    }

    /// Whether reads by a MOCS entry go past the LLC. i915_gem_object_can_bypass_llc speaks of reads; what becomes of writes
    /// is not known.
    pub fn bypasses(self, entry: u8, register: impl Fn(u32) -> u32) -> bool {
        self == Self::UnlessMocs && register(MOCS + 4 * u32::from(entry)) & MOCS_SNOOP_CONTROL != 0
    }
}

/// The number in these bits of a page-table entry, from its lowest bit on.
fn selected(entry: u64, bits: &[u32]) -> u32 {
    bits.iter().rev().fold(0, |number, bit| number << 1 | (entry >> bit & 1) as u32)
}
