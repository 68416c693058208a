//! Tests copies and fills: they write exactly the requested bytes, at every alignment and length.
//!
//! A program cannot observe by itself that bytes are in memory: the write-backs that are executed are recorded.
//!
//! # Safety
//! As for the module above.
#![allow(unsafe_code)]

use super::super::store::{copy_non_temporal_by, copy_through_by, fill_non_temporal_by};
use super::*;

/// A function under test.
type Copy = unsafe fn(Chosen, *mut u8, &[u8]);

const COPIES: [Copy; 3] = [copy_non_temporal_by, copy_through_by, plain];

/// Wraps [`copy_in`], which needs no `Chosen`.
///
/// # Safety
/// As [`copy_in`].
unsafe fn plain(_: Chosen, to: *mut u8, from: &[u8]) {
    // SAFETY: the caller's obligations, passed on.
    unsafe { copy_in(to, from) }
}

/// Returns every kind of store with the best write-back, and one with CLFLUSH.
fn all() -> Vec<Chosen> {
    let stores = ways(StoreInstruction::ALL, Cpu::has_store, |chosen, one| chosen.store_by = one);
    let plain = stores.iter().map(|&it| Chosen { write_back_by: Instruction::Clflush, ..it });
    stores.iter().copied().chain(plain.take(1)).collect()
}

/// Returns bytes that differ from the memory's contents and from their neighbours.
fn data(len: usize) -> Vec<u8> {
    pattern(7, len).iter().map(|byte| !byte).collect()
}

/// Copies `data` to `at`, checks that it is there and that nothing beside it changed, and restores the
/// memory.
#[track_caller]
fn case(memory: &Fenced, chosen: Chosen, copy: Copy, at: usize, data: &[u8]) {
    recorded();
    // SAFETY:
    // - destination: in the accessible pages, or `put` below would panic;
    // - the CPU has the instructions.
    unsafe { copy(chosen, memory.byte(at), data) };
    if !std::ptr::fn_addr_eq(copy, plain as Copy) {
        let is_non_temporal = std::ptr::fn_addr_eq(copy, copy_non_temporal_by as Copy);
        assert_written_back(memory.byte(at).addr(), data.len(), chosen, is_non_temporal);
    }
    store_fence();
    assert_only_these_changed(memory, at, data, chosen);
}

/// Checks that the lines of a copy were written back, and no others: all of them, or, if it is non-temporal, those that
/// it stores to in part.
#[track_caller]
fn assert_written_back(first: usize, len: usize, chosen: Chosen, is_non_temporal: bool) {
    let end = first + len;
    let bypasses = |line: usize| {
        is_non_temporal && chosen.store_by != StoreInstruction::Mov && line >= first && line + 64 <= end
    };
    let expected: Vec<_> =
        (first & !63..end).step_by(64).filter(|&line| len > 0 && !bypasses(line)).collect();
    let mut lines: Vec<_> =
        recorded().into_iter().filter(|one| one.0 == chosen.write_back_by.name()).map(|one| one.1).collect();
    lines.iter_mut().for_each(|line| *line &= !63);
    // A block of a copy through the cache may end within a line, which the next block writes back, too.
    lines.dedup();
    assert_eq!(lines, expected, "{len} bytes at {first:#x}, {chosen:?}");
}

/// Checks that `data` is at `at` between unchanged bytes, then restores these.
#[track_caller]
fn assert_only_these_changed(memory: &Fenced, at: usize, data: &[u8], chosen: Chosen) {
    let (start, end) = (at.saturating_sub(130), (at + data.len() + 130).min(memory.bytes()));
    let mut expected = pattern(start, end - start);
    let before = expected.clone();
    expected[at - start..][..data.len()].copy_from_slice(data);
    assert!(memory.get(start, end - start) == expected, "{} bytes at {at}, {chosen:?}", data.len());
    memory.put(start, &before);
}

#[test]
fn every_alignment_of_the_destination_with_every_short_length() {
    let memory = Fenced::new();
    let data = data(200 + 64);
    for chosen in all() {
        for copy in COPIES {
            for at in 0..=66 {
                for len in 0..=200 {
                    case(&memory, chosen, copy, PAGE - 100 + at, &data[at % 3..][..len]);
                }
            }
        }
    }
    memory.assert_untouched();
}

#[test]
fn every_alignment_of_the_source() {
    let memory = Fenced::new();
    let data = data(200 + 64);
    for chosen in all() {
        for copy in COPIES {
            for (at, from) in
                [0, 1, 15, 16, 32, 63].into_iter().flat_map(|at| (0..=64).map(move |from| (at, from)))
            {
                for len in [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 192, 200] {
                    case(&memory, chosen, copy, PAGE + at, &data[from..][..len]);
                }
            }
        }
    }
    memory.assert_untouched();
}

#[test]
fn lengths_around_a_page_to_the_very_ends_of_memory() {
    let memory = Fenced::new();
    let source = Fenced::new();
    for chosen in all() {
        for copy in COPIES {
            for len in (PAGE - 66..=PAGE + 66).chain([BYTES - 1, BYTES]) {
                let data = data(len);
                for at in [0, BYTES - len] {
                    case(&memory, chosen, copy, at, &data);
                }
                // From the last readable bytes, and from the first.
                for from in [0, BYTES - len] {
                    // SAFETY: within the accessible pages, which are not written meanwhile.
                    let data = unsafe { std::slice::from_raw_parts(source.byte(from), len) };
                    case(&memory, chosen, copy, 0, data);
                }
            }
        }
    }
    memory.assert_untouched();
}

#[test]
fn copies_of_many_pages() {
    let pages = 22;
    let memory = Fenced::of_pages(pages);
    let data = data(pages * PAGE);
    // From 16 pages on, whole groups of four pages are interleaved, or none: with a line, a byte or a page more or less.
    let lens = [4, 16, 17, 20].into_iter().flat_map(|pages| {
        [-64, -1, 0, 1, 64, 65].map(move |more: isize| (pages * PAGE).wrapping_add_signed(more))
    });
    let both = |chosen| [true, false].map(|interleaves_pages| Chosen { interleaves_pages, ..chosen });
    for (chosen, len) in
        all().into_iter().flat_map(both).flat_map(|chosen| lens.clone().map(move |len| (chosen, len)))
    {
        for (at, from) in [(0, 0), (64, 1), (65, 0), (100, 33), (pages * PAGE - len, 7)] {
            case(&memory, chosen, copy_non_temporal_by, at, &data[from..][..len]);
        }
    }
    memory.assert_untouched();
}

#[test]
fn a_fill_is_a_copy_of_one_byte() {
    let memory = Fenced::new();
    let lens = || (0..=200).chain(PAGE - 2..=PAGE + 2);
    for chosen in all() {
        for at in (0..=66).chain(BYTES - 66..=BYTES) {
            for len in lens().filter(|len| at + len <= BYTES) {
                // SAFETY:
                // - destination: within the accessible pages;
                // - the CPU has the instructions.
                unsafe { fill_non_temporal_by(chosen, memory.byte(at), 0xa5, len) };
                store_fence();
                assert_only_these_changed(&memory, at, &vec![0xa5; len], chosen);
            }
        }
    }
    memory.assert_untouched();
}

#[test]
fn what_is_chosen_is_used() {
    let memory = Fenced::new();
    let data = data(300);
    // SAFETY: within the accessible pages.
    unsafe {
        copy_non_temporal(memory.byte(1), &data);
        copy_through(memory.byte(401), &data);
        fill_non_temporal(memory.byte(801), 9, 300);
    }
    store_fence();
    assert_eq!(memory.get(1, 300), data);
    assert_eq!(memory.get(401, 300), data);
    assert_eq!(memory.get(801, 300), [9; 300]);
}

#[test]
fn a_copy_that_is_a_byte_too_long_faults() {
    dies("tests::stores::a_copy_that_is_a_byte_too_long_faults", || {
        let memory = Fenced::new();
        // SAFETY: none: the last byte is in a page that faults, which ends this process.
        unsafe { copy_non_temporal(memory.byte(BYTES - 128), &data(129)) };
    });
}
