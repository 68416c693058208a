//! Tests streaming loads: they return exactly the requested bytes, at every alignment and length, and read no
//! page beside them.
//!
//! # Safety
//! As for the module above.
#![allow(unsafe_code)]

use super::super::load::load_streaming_by;
use super::*;

fn all() -> Vec<Chosen> {
    ways(LoadInstruction::ALL, Cpu::has_load, |chosen, one| chosen.load_by = one)
}

/// Loads `len` bytes from `at` to position `to` of a buffer, and checks that nothing else in it changes.
#[track_caller]
fn case(memory: &Fenced, chosen: Chosen, at: usize, to: usize, len: usize) {
    let mut buffer = vec![0xee; to + len + 70];
    // SAFETY:
    // - source: within the accessible pages, or `get` below would panic;
    // - the CPU has the instruction.
    unsafe { load_streaming_by(chosen, &mut buffer[to..to + len], memory.byte(at)) };
    assert!(buffer[to..to + len] == memory.get(at, len), "{len} bytes at {at}, {chosen:?}");
    assert!(buffer[..to].iter().chain(&buffer[to + len..]).all(|&byte| byte == 0xee), "{len} bytes at {at}");
}

#[test]
fn every_alignment_of_the_source_with_every_short_length() {
    let memory = Fenced::new();
    for chosen in all() {
        for at in (0..=66).chain(PAGE - 66..=PAGE) {
            for len in 0..=200 {
                case(&memory, chosen, at, 0, len);
            }
        }
    }
}

#[test]
fn every_alignment_of_the_destination() {
    let memory = Fenced::new();
    for chosen in all() {
        for (at, to) in [0, 1, 15, 16, 63].into_iter().flat_map(|at| (0..=64).map(move |to| (at, to))) {
            for len in [1, 15, 16, 17, 63, 64, 65, 128, 200] {
                case(&memory, chosen, at, to, len);
            }
        }
    }
}

#[test]
fn lengths_around_a_page_to_the_very_ends_of_memory() {
    let memory = Fenced::new();
    for chosen in all() {
        for len in (0..=66).chain(PAGE - 66..=PAGE + 66).chain([BYTES - 1, BYTES]) {
            case(&memory, chosen, 0, 0, len);
            case(&memory, chosen, BYTES - len, 0, len);
        }
    }
    memory.assert_untouched();
}

#[test]
fn what_is_chosen_is_used() {
    let memory = Fenced::new();
    let mut bytes = [0; 300];
    fence();
    // SAFETY: within the accessible pages.
    unsafe { load_streaming(&mut bytes, memory.byte(3)) };
    assert_eq!(bytes, pattern(3, 300)[..]);
}

#[test]
fn a_load_that_is_a_byte_too_long_faults() {
    dies("tests::loads::a_load_that_is_a_byte_too_long_faults", || {
        let memory = Fenced::new();
        let mut bytes = [0; 129];
        // SAFETY: none: the last byte is in a page that faults, which ends this process.
        unsafe { load_streaming(&mut bytes, memory.byte(BYTES - 128)) };
        std::hint::black_box(bytes);
    });
}
