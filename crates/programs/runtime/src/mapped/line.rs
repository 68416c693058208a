//! Flushes of cache lines, by the program's own instructions.
//!
//! An object's bytes are in three files ([`Views`]): what the CPU sees through its caches, what memory holds, and what
//! each cached line had when it was last filled or written back. The state of a line follows from them ([`Found::of`]). The
//! order of the copies is the one that the device's crate describes (`gem_coherency_sim::Views`): the device may
//! access the same line meanwhile, and the program's other threads may store to it.

use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency_protocol::Found;

use super::mappings::{self, Mapping, Views};

/// Bytes of a cache line, and its words.
pub(crate) const LINE_BYTES: usize = 64;
const WORDS: usize = LINE_BYTES / size_of::<u64>();

/// A line of an object: the object's number, the line's, and the bytes that the CPU sees there.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) object: u64,
    pub(crate) line: u64,
    pub(crate) bytes: [u64; WORDS],
}

impl Place {
    /// Returns the line of an address in a mapping; `None` if the mapping shows no line.
    fn of(mapping: &Mapping, address: usize) -> Option<Self> {
        let offset = mapping.offset + (address - mapping.start) as u64;
        let bytes = load(Line::at(mapping, address)?.cached);
        Some(Self { object: mapping.object, line: offset / LINE_BYTES as u64, bytes })
    }
}

/// Flushes the line with an address; with `keep`, as CLWB, which leaves it in the cache. Returns the state in which it found the line,
/// and the line; `None` for an address in no mapping of an object, or in one that shows no line.
///
/// `before` is called first: from then on a store to the line's page is to be seen.
pub(crate) fn flush(
    address: usize,
    keep: bool,
    before: impl FnOnce(&Mapping, usize),
) -> Option<(Found, Place)> {
    mappings::at(address, |mapping| {
        before(mapping, address);
        let place = Place::of(mapping, address)?;
        let found = match Line::at(mapping, address)?.flush(keep) {
            // The program does not read the line through the cache.
            Found::Stale if !mapping.shows_cache => Found::Clean,
            found @ (Found::Dirty | Found::Stale | Found::Clean) => found,
        };
        Some((found, place))
    })?
}

/// Makes a clean line dirty, to which the program is about to store: it then counts as dirty whatever bytes it gets.
pub(crate) fn soil(mapping: &Mapping, address: usize) {
    let Some(line) = Line::at(mapping, address) else { return };
    if !line.is_dirty() {
        store(line.filled, &UNLIKELY);
    }
}

/// Bytes that no program stores: a line with them as those that it was filled with is dirty.
const UNLIKELY: [u64; WORDS] = [
    0x9ddf_ea08_eb38_2d69,
    0xc3a5_c85c_97cb_3127,
    0xb492_b66f_be98_f273,
    0x9ae1_6a3b_2f90_404f,
    0xcbf2_9ce4_8422_2325,
    0x8000_0100_0000_01b3,
    0xff51_afd7_ed55_8ccd,
    0xc4ce_b9fe_1a85_ec53,
];

/// Stores bytes past the cache, as a non-temporal store to a WB mapping; returns whether the address is in one. Calls
/// `stored` with each line, and with the effect of its flush.
///
/// The line leaves the cache, dirty bytes first, and memory gets the bytes.
pub(crate) fn store_non_temporal(address: usize, bytes: &[u8], stored: impl Fn(&(Found, Place))) -> bool {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let at = address + done;
        let room = LINE_BYTES - at % LINE_BYTES;
        let part = rest.get(..room).unwrap_or(rest);
        let done_here = mappings::at(at, |mapping| {
            let line = Line::at(mapping, at).filter(|_| mapping.shows_cache)?;
            let found = line.flush(false);
            line.put(at % LINE_BYTES, part);
            stored(&(found, Place::of(mapping, at)?));
            Some(())
        });
        if done_here.flatten().is_none() {
            return false;
        }
        done += part.len();
    }
    !bytes.is_empty()
}

/// Returns whether the line with an address has the bytes of memory, also if it is dirty.
pub(crate) fn is_silent(mapping: &Mapping, address: usize) -> bool {
    Line::at(mapping, address).is_some_and(|line| load(line.cached) == load(line.memory))
}

/// Returns whether one of the lines in `len` bytes of a mapping, at `address`, is dirty.
pub(crate) fn is_dirty(mapping: &Mapping, address: usize, len: usize) -> bool {
    (address..address + len)
        .step_by(LINE_BYTES)
        .filter_map(|at| Line::at(mapping, at))
        .any(|line| line.is_dirty())
}

/// Returns whether the line with an address is stale: it is clean, and memory has other bytes.
pub(crate) fn is_stale(mapping: &Mapping, address: usize) -> bool {
    let Some(line) = Line::at(mapping, address) else { return false };
    let [cached, memory, filled] = [line.cached, line.memory, line.filled].map(load);
    Found::of(&cached, &memory, &filled) == Found::Stale
}

/// Lets a load of `len` bytes of a page, at `address`, get memory's bytes, as one that drops clean lines first.
pub(crate) fn evict(mapping: &Mapping, address: usize, len: usize) {
    let first = address & !(LINE_BYTES - 1);
    for line in (first..address + len).step_by(LINE_BYTES).filter_map(|at| Line::at(mapping, at)) {
        if !line.is_dirty() {
            line.flush(false);
        }
    }
}

/// Returns whether a load of `len` bytes of one line, at `address`, gets bytes of a stale line that memory has others of.
pub(crate) fn misses(mapping: &Mapping, address: usize, len: usize) -> bool {
    let Some(line) = Line::at(mapping, address) else { return false };
    let [cached, memory, filled] = [line.cached, line.memory, line.filled].map(load);
    let differs = |byte: usize| {
        let bits = |words: [u64; WORDS]| words.get(byte / 8).map(|word| word.to_ne_bytes()[byte % 8]);
        bits(cached) != bits(memory)
    };
    let first = address % LINE_BYTES;
    Found::of(&cached, &memory, &filled) != Found::Dirty && (first..first + len).any(differs)
}

/// Copies to `bytes` what the program sees at an address of a mapping, a word at once; returns false if it sees no cached bytes.
pub(crate) fn read(mapping: &Mapping, address: usize, bytes: &mut [u8]) -> bool {
    let Some(Views { cached, .. }) = mapping.views.filter(|_| mapping.shows_cache) else { return false };
    let from = cached.wrapping_add(address - mapping.start);
    let is_aligned = address.is_multiple_of(bytes.len().max(1));
    // SAFETY: the view is mapped as long as the mapping is in the table, and has the page of the address, in which the bytes are; words
    // are aligned. Other processes and the program itself access them without a promise, as on hardware.
    unsafe {
        match bytes.len() {
            2 if is_aligned => bytes.copy_from_slice(&from.cast::<u16>().read_volatile().to_ne_bytes()),
            4 if is_aligned => bytes.copy_from_slice(&from.cast::<u32>().read_volatile().to_ne_bytes()),
            8 if is_aligned => bytes.copy_from_slice(&from.cast::<u64>().read_volatile().to_ne_bytes()),
            _ => {
                for (place, byte) in bytes.iter_mut().enumerate() {
                    *byte = from.add(place).read_volatile();
                }
            }
        }
    }
    true
}

/// A line's words in the three files.
struct Line<'a> {
    cached: &'a [AtomicU64; WORDS],
    memory: &'a [AtomicU64; WORDS],
    filled: &'a [AtomicU64; WORDS],
}

impl<'a> Line<'a> {
    /// Finds the line of an address in a mapping; `None` if the mapping shows no line.
    fn at(mapping: &'a Mapping, address: usize) -> Option<Self> {
        let offset = (address - mapping.start) / LINE_BYTES * LINE_BYTES;
        let Views { cached, memory, filled } = mapping.views?;
        // SAFETY: the views are mapped as long as the mapping is in the table, begin at a page, and have its length,
        // which is a whole number of pages. Every access to the words is atomic here; other processes and the
        // program itself access them without a promise, as on hardware.
        unsafe {
            Some(Self {
                cached: &*cached.add(offset).cast(),
                memory: &*memory.add(offset).cast(),
                filled: &*filled.add(offset).cast(),
            })
        }
    }

    /// Stores bytes to all three files: to memory, and to what the next load fills the line with.
    fn put(&self, offset: usize, bytes: &[u8]) {
        for file in [self.memory, self.cached, self.filled] {
            let first: *mut u8 = file.as_ptr().cast_mut().cast();
            for (n, &byte) in bytes.iter().enumerate() {
                // SAFETY: `offset` and the bytes are in the line; the files are shared memory, as in `at`.
                unsafe { first.add(offset + n).write_volatile(byte) };
            }
        }
    }

    fn flush(&self, keep: bool) -> Found {
        let [cached, memory, filled] = [self.cached, self.memory, self.filled].map(load);
        let found = Found::of(&cached, &memory, &filled);
        match found {
            Found::Dirty => {
                store(self.memory, &cached);
                store(self.filled, &cached);
            }
            Found::Stale if !keep => {
                let words = self.cached.iter().zip(&memory).zip(&filled);
                for ((word, &new), &old) in words {
                    if new != old {
                        word.store(new, Ordering::Relaxed);
                    }
                }
                store(self.filled, &memory);
            }
            Found::Stale | Found::Clean => {}
        }
        found
    }

    /// Returns whether the line is dirty, as [`Found::of`] does, without the bytes of memory.
    fn is_dirty(&self) -> bool {
        let [cached, filled] = [self.cached, self.filled].map(load);
        Found::of(&cached, &filled, &filled) == Found::Dirty
    }
}

// Relaxed in both: x86 performs loads and stores in order, and the flushed program orders them with its own fences.
fn load(words: &[AtomicU64; WORDS]) -> [u64; WORDS] {
    std::array::from_fn(|n| words[n].load(Ordering::Relaxed))
}

fn store(words: &[AtomicU64; WORDS], values: &[u64; WORDS]) {
    words.iter().zip(values).for_each(|(word, &value)| word.store(value, Ordering::Relaxed));
}
