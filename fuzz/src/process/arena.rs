//! The simulated process's memory: good addresses and bad ones, and a place for what structs point to.

use gem_coherency_sim::{Pages, Process};

const PAGE: u64 = 4096;

/// The address of a request's struct.
pub const ARGS: u64 = 0x1_0000_0000;
/// The address of the data that structs point to: lists, extensions, items.
pub const LISTS: u64 = ARGS + PAGE;
/// Bytes of it.
pub const LISTS_LEN: u64 = 2 * PAGE;
/// Bytes to copy from and to; a read-only page follows, a hole, and a page.
pub const DATA: u64 = LISTS + LISTS_LEN;
const READ_ONLY: u64 = DATA + 2 * PAGE;
const HOLE: u64 = READ_ONLY + PAGE;
const ISLAND: u64 = HOLE + PAGE;
const NO_ACCESS: u64 = ISLAND + PAGE;
/// More bytes, of whole pages: also a user's memory that becomes an object.
pub const LARGE: u64 = ARGS + 0x10_0000;
const LARGE_LEN: u64 = 64 * PAGE;

/// Addresses worth trying.
pub const PLACES: &[u64] = &[
    DATA,
    LARGE,
    LISTS,
    ARGS,
    DATA + 100,
    DATA + PAGE - 60,
    READ_ONLY - 64,
    READ_ONLY,
    HOLE - 64,
    HOLE,
    ISLAND - 10,
    ISLAND,
    NO_ACCESS,
    LARGE + PAGE,
    LARGE + LARGE_LEN - 8,
    0,
    1,
    0x7fff_ffff_f000,
    0x7fff_ffff_effc,
    0x8000_0000_0000,
    0xffff_8000_0000_0000,
    0xffff_ffff_ffff_ff00,
    u64::MAX,
];

/// Maps the arena.
///
/// # Panics
/// If the process has something there already.
pub fn make(process: &mut Process) {
    for (address, len, pages) in [
        (ARGS, READ_ONLY - ARGS, Pages::ReadWrite),
        (READ_ONLY, PAGE, Pages::ReadOnly),
        (ISLAND, PAGE, Pages::ReadWrite),
        (NO_ACCESS, PAGE, Pages::None),
        (LARGE, LARGE_LEN, Pages::ReadWrite),
        (LARGE + LARGE_LEN, PAGE, Pages::ReadOnly),
    ] {
        process.allocate(address, len, pages).expect("a fresh process has nothing there");
    }
}
