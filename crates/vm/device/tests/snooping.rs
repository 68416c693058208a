//! Which accesses snoop, for the values that the driver writes.

#[path = "../src/snooping.rs"]
mod snooping;

use snooping::{Access, KEPT_GEN6, KEPT_GEN11, KEPT_GEN12, KEPT_HASWELL, Keeping, Snooping};

/// Registers with these values, and zero in all others.
fn registers<const COUNT: usize>(values: [(u32, u32); COUNT]) -> impl Fn(u32) -> u32 {
    move |register| values.iter().find(|(at, _)| *at == register).map_or(0, |(_, value)| *value)
}

/// No register has a say.
fn none(register: u32) -> u32 {
    panic!("register {register:#x} was read")
}

/// An entry with these bits, of a page of any size.
fn entry(bits: &[u32]) -> u64 {
    bits.iter().fold(0x12_3460_0003, |entry, bit| entry | 1 << bit)
}

/// Whether accesses through entries with these bits snoop, in order.
fn each(
    snooping: Snooping,
    access: fn(u64) -> Access,
    entries: &[&[u32]],
    register: impl Fn(u32) -> u32,
) -> Vec<bool> {
    entries.iter().map(|bits| snooping.snoops(access(entry(bits)), &register)).collect()
}

const ENTRIES: [Access; 3] = [Access::Global(u64::MAX), Access::Page(u64::MAX), Access::HugePage(u64::MAX)];
const OTHERS: [Access; 2] = [Access::Walk, Access::Aperture];
/// Those without an LLC that snoop at all.
const PARTLY: [Snooping; 4] =
    [Snooping::ByEntry(6), Snooping::ByEntry(4), Snooping::ByPrivatePat, Snooping::ByPat];

#[test]
fn entries_have_no_say_where_all_or_none_snoop() {
    for access in ENTRIES.into_iter().chain(OTHERS).chain([Access::Global(1), Access::Page(1)]) {
        assert!(Snooping::Always.snoops(access, none));
        assert!(Snooping::UnlessMocs.snoops(access, none));
        assert!(!Snooping::Never.snoops(access, none));
    }
}

#[test]
fn the_aperture_misses_the_caches_without_an_llc() {
    for snooping in PARTLY {
        assert!(!snooping.snoops(Access::Aperture, |_| u32::MAX));
        // Entries full of ones do snoop, so that the access above could.
        for access in ENTRIES {
            assert!(snooping.snoops(access, |_| u32::MAX));
        }
    }
}

#[test]
fn page_walks_find_the_caches_with_an_llc_and_on_valleyview() {
    let walk = |snooping: Snooping| snooping.snoops(Access::Walk, |_| u32::MAX);
    assert_eq!(PARTLY.map(walk), [true, true, false, false]);
}

#[test]
fn all_bits_of_a_32_bit_entry_count() {
    let snoops = |bits, entry| Snooping::ByEntry(bits).snoops(Access::Global(entry), none);
    // Gen3: uncached, local memory, cached system memory; bits 2..1.
    assert_eq!([1, 3, 5, 7].map(|entry| snoops(6, entry)), [false, false, false, true]);
    // Valleyview: bit 2, whether writeable (bit 1) or not.
    assert_eq!([1, 3, 5, 7].map(|entry| snoops(4, entry)), [false, false, true, true]);
    let page = |entry| Snooping::ByEntry(4).snoops(Access::Page(entry), none);
    assert_eq!([3, 7].map(page), [false, true]);
}

#[test]
fn the_private_pat_decides_by_the_bits_of_the_entry() {
    // As the driver writes it: entries 0, and 4 to 7.
    let driver = || registers([(0x40e0, 0x40), (0x40e4, 0x4040_4040)]);
    let pages: [&[u32]; 5] = [&[], &[3], &[4], &[3, 4], &[7]];
    assert_eq!(
        each(Snooping::ByPrivatePat, Access::Page, &pages, driver()),
        [true, false, false, false, true]
    );
    // One entry at a time: each is found, and no other one.
    for number in 0..8 {
        let at = if number < 4 { 0x40e0 } else { 0x40e4 };
        let only = registers([(at, 0x40 << (8 * (number % 4)))]);
        let bits: [&[u32]; 8] = [&[], &[3], &[4], &[3, 4], &[7], &[3, 7], &[4, 7], &[3, 4, 7]];
        let found = each(Snooping::ByPrivatePat, Access::Page, &bits, only);
        assert_eq!(found.iter().position(|snoops| *snoops), Some(number as usize));
        assert_eq!(found.iter().filter(|snoops| **snoops).count(), 1);
    }
}

#[test]
fn the_size_bit_of_a_huge_page_is_no_pat() {
    let driver = || registers([(0x40e0, 0x40), (0x40e4, 0x4040_4040)]);
    // Bit 7: it is huge. Uncached ones have bits 3 and 4 too.
    let pages: [&[u32]; 3] = [&[7], &[3, 4, 7], &[3, 4, 7, 12]];
    assert_eq!(each(Snooping::ByPrivatePat, Access::HugePage, &pages, driver()), [true, false, true]);
    let mtl = || registers([(0x480c, 2)]);
    assert_eq!(each(Snooping::ByPat, Access::HugePage, &pages, mtl()), [false, true, false]);
}

#[test]
fn the_global_table_goes_by_entry_0_of_the_private_pat() {
    let access = [0, u64::MAX].map(Access::Global);
    let by = |low| access.map(|access| Snooping::ByPrivatePat.snoops(access, registers([(0x40e0, low)])));
    assert_eq!(by(0x40), [true; 2]);
    // All but the snoop bit of entry 0.
    assert_eq!(by(!0x40), [false; 2]);
}

#[test]
fn meteor_lake_goes_by_the_coherency_of_its_pat() {
    // As the driver writes it: write-back, write-through, uncached, and coherent in one and in two directions.
    let driver = || registers([(0x4800, 0), (0x4804, 4), (0x4808, 0xc), (0x480c, 2), (0x4810, 3)]);
    let pages: [&[u32]; 5] = [&[], &[3], &[4], &[3, 4], &[7]];
    let expected = [false, false, false, true, true];
    assert_eq!(each(Snooping::ByPat, Access::Page, &pages, driver()), expected);
    let entries: [&[u32]; 4] = [&[], &[52], &[53], &[52, 53]];
    assert_eq!(each(Snooping::ByPat, Access::Global, &entries, driver()), [false, false, false, true]);
    // Bit 62: the second eight.
    let pages: [&[u32]; 3] = [&[62], &[3, 62], &[3, 4, 7, 62]];
    let second = registers([(0x4848, 2), (0x4864, 3)]);
    assert_eq!(each(Snooping::ByPat, Access::Page, &pages, second), [true, false, true]);
}

#[test]
fn from_lunar_lake_on_five_bits_select_one_of_32_entries() {
    // One entry at a time: each is found by the bits of its number, in a page and in a huge one, and no other one.
    let bits_of = |number: u32, bits: [u32; 5]| {
        let set = bits.iter().enumerate().filter(move |(place, _)| number >> place & 1 != 0);
        set.map(|(_, bit)| *bit).collect::<Vec<_>>()
    };
    for number in 0..32 {
        let at = if number < 8 { 0x4800 + 4 * number } else { 0x4848 + 4 * (number - 8) };
        let found = |access: fn(u64) -> Access, bits| {
            let snoops = |other: &u32| {
                Snooping::ByPat.snoops(access(entry(&bits_of(*other, bits))), registers([(at, 2)]))
            };
            (0..32).filter(snoops).collect::<Vec<_>>()
        };
        assert_eq!(found(Access::Page, [3, 4, 7, 62, 61]), [number]);
        assert_eq!(found(Access::HugePage, [3, 4, 12, 62, 61]), [number]);
    }
}

#[test]
fn a_mocs_entry_with_the_snoop_control_bypasses_on_two_platforms() {
    // Entries 2, 3, 16, 17 and 18 as the driver writes them for the render engine.
    let driver =
        || registers([(0xc808, 0x37), (0xc80c, 5), (0xc840, 0x4005), (0xc844, 0x4005), (0xc848, 0x6_0037)]);
    let by = |snooping: Snooping| [2, 3, 16, 17, 18].map(|entry| snooping.bypasses(entry, driver()));
    assert_eq!(by(Snooping::UnlessMocs), [false, false, true, true, false]);
    assert_eq!(by(Snooping::Always), [false; 5]);
    assert_eq!(by(Snooping::ByPat), [false; 5]);
}

#[test]
fn a_mocs_entry_that_is_not_write_back_leaves_nothing_in_the_last_level_cache() {
    // The page table's, uncached, written through, and write-back.
    let entries = || registers([(0xc800, 0x30), (0xc804, 5), (0xc808, 6), (0xc80c, 0x37)]);
    let by = |snooping: Snooping| [0, 1, 2, 3].map(|entry| snooping.mocs_keeps(entry, entries()));
    assert_eq!(by(Snooping::UnlessMocs), [true, false, false, true]);
    assert_eq!(by(Snooping::Always), [true; 4]);
}

#[test]
fn the_last_level_cache_keeps_writes_through_its_entries() {
    let kept = |keeping: Keeping, entries: &[u64]| -> Vec<bool> {
        entries.iter().map(|entry| keeping.keeps(Access::Page(*entry), none)).collect()
    };
    // Uncached, and cached in the LLC; on Ivybridge in the third level, too.
    assert_eq!(kept(KEPT_GEN6, &[3, 5, 7]), [false, true, true]);
    // Uncached, the four write-back entries, and the two write-through ones.
    assert_eq!(
        kept(KEPT_HASWELL, &[1, 5, 7, 0x801, 0x807, 0xd, 0xf]),
        [false, true, true, true, true, false, false]
    );
    let nothing = [Access::Global(u64::MAX), Access::Page(u64::MAX), Access::Walk]
        .map(|access| Keeping::Nothing.keeps(access, none));
    assert_eq!(nothing, [false; 3]);
}

#[test]
fn the_last_level_cache_keeps_writes_by_write_back_entries_of_the_pat() {
    // As the driver writes them: write-back, write-combining, write-through, uncached, write-back four times.
    let gen8 = || registers([(0x40e0, 0x0006_050f), (0x40e4, 0x3b2b_1b0b)]);
    let pages: [u64; 5] = [0x1, 0x9, 0x11, 0x19, 0x81];
    let by = |keeping: Keeping, register: &dyn Fn(u32) -> u32| {
        pages.map(|page| keeping.keeps(Access::Page(page), register))
    };
    assert_eq!(by(Keeping::ByPrivatePat, &gen8()), [true, false, false, false, true]);
    let gen11 = registers([(0x40e0, 3), (0x40e4, 1), (0x40e8, 2), (0x40f0, 3)]);
    assert_eq!(by(KEPT_GEN11, &gen11), [true, false, false, false, true]);
    let gen12 = registers([(0x4800, 3), (0x4804, 1), (0x4808, 2), (0x4810, 3)]);
    assert_eq!(by(KEPT_GEN12, &gen12), [true, false, false, false, true]);
    // The global table goes by entry 0.
    assert!(Keeping::ByPrivatePat.keeps(Access::Global(0x19), gen8()));
    for keeping in [KEPT_GEN6, KEPT_HASWELL, Keeping::ByPrivatePat, KEPT_GEN11] {
        assert!(!keeping.keeps(Access::Aperture, gen8()));
    }
    assert!(!KEPT_GEN12.keeps(Access::Global(0x1), registers([(0x4800, 0)])));
}
