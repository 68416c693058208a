//! Stores to pages that programs map write-combining, by the fences between them, in memory that the server reads, too.
//!
//! The CPU's write-combining buffers hold such stores until a fence or a request drains them. An epoch is the time between two drains of a
//! process, and its number is the time of its start. Of a page, the table has the last epoch with a store: the page's bytes before it, and,
//! once the epoch is over, the dwords that differ from them. Pages of other mappings have records, too, if batches poll them: the server lists
//! these. A program and its children share one table. Each record has a few possible places, by its page; the oldest record there makes room for a
//! new one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a page, and its dwords.
pub const PAGE_WORDS: usize = 512;
const PAGE_DWORDS: usize = 2 * PAGE_WORDS;
/// Dwords that one word of a set has, a bit each, and such words of a page.
const SET_DWORDS: usize = u64::BITS as usize;
const SET_WORDS: usize = PAGE_DWORDS / SET_DWORDS;

/// Words of the table before the records: the number of records, and the pages that batches poll, each as object + 1 and page.
const RECORDS_AT: usize = 32;
const POLLED_AT: usize = 2;
// The places of words in a record: its state, which is odd while it is written, object, page, epoch, whether the epoch is over, the changed
// dwords, and the page's bytes before.
const STATE: usize = 0;
const OBJECT: usize = 1;
const PAGE: usize = 2;
const EPOCH: usize = 3;
const IS_OVER: usize = 4;
const CHANGED_AT: usize = 8;
const BEFORE_AT: usize = CHANGED_AT + SET_WORDS;
const RECORD_WORDS: usize = BEFORE_AT + PAGE_WORDS;
const RECORD_BYTES: usize = RECORD_WORDS * size_of::<u64>();

const PLACES: u64 = 1 << 12;
/// Places that a record may have.
const WAYS: u64 = 4;

/// Bytes of a table. Pages take no memory before they are written.
pub const EPOCHS_BYTES: usize = (RECORDS_AT + PLACES as usize * RECORD_WORDS) * size_of::<u64>();

/// Returns the words at which a page's record may begin.
fn places(object: u64, page: u64) -> impl Iterator<Item = usize> {
    let hash = (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ page).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (0..WAYS).map(move |way| RECORDS_AT + (((hash >> 32) + way) % PLACES) as usize * RECORD_WORDS)
}

/// Notes that batches poll a page of an object. `read` and `write` access bytes of the table at an offset. The first fifteen pages are noted.
pub fn note_polled(
    mut read: impl FnMut(u64, &mut [u8]) -> bool,
    mut write: impl FnMut(u64, &[u8]) -> bool,
    (object, page): (u64, u64),
) {
    let mut head = [0; RECORDS_AT * size_of::<u64>()];
    if !read(0, &mut head) {
        return;
    }
    for at in (POLLED_AT..RECORDS_AT).step_by(2) {
        let offset = (at * size_of::<u64>()) as u64;
        match (word_in(&head, at), word_in(&head, at + 1)) {
            (0, _) => {
                // The object last: the program sees both or none.
                write(offset + size_of::<u64>() as u64, &page.to_ne_bytes());
                write(offset, &(object + 1).to_ne_bytes());
                return;
            }
            known if known == (object + 1, page) => return,
            _ => {}
        }
    }
}

/// Returns the pages that batches poll: object, page. Async-signal-safe.
pub fn polled(table: &[AtomicU64]) -> impl Iterator<Item = (u64, u64)> {
    let pairs = table.get(POLLED_AT..RECORDS_AT).unwrap_or_default().chunks(2);
    pairs.filter_map(|pair| Some((word(pair, 0).checked_sub(1)?, word(pair, 1))))
}

fn word(record: &[AtomicU64], number: usize) -> u64 {
    record.get(number).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Notes that a page of an object is about to be stored to, for the first time in the epoch with a number; `bytes` are the page's.
/// Async-signal-safe.
pub fn begin_epoch(table: &[AtomicU64], (object, page): (u64, u64), epoch: u64, bytes: &[AtomicU64]) {
    let records = || places(object, page).filter_map(|at| table.get(at..at + RECORD_WORDS));
    let is_own = |record: &&[AtomicU64]| (word(record, OBJECT), word(record, PAGE)) == (object, page);
    let oldest = || records().min_by_key(|record| word(record, EPOCH));
    let Some(record) = records().find(is_own).or_else(oldest) else { return };
    change(record, |record| {
        if word(record, OBJECT) == 0
            && let Some(count) = table.first()
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let head = [object, page, epoch, 0];
        let before = bytes.iter().map(|word| word.load(Ordering::Relaxed));
        let changed = [0; CHANGED_AT - 1 - 4 + SET_WORDS];
        let values = head.into_iter().chain(changed).chain(before);
        // Release: a reader that sees one of them sees that the record is being written.
        record.iter().skip(OBJECT).zip(values).for_each(|(word, value)| word.store(value, Ordering::Release));
    });
}

/// Notes that the epoch of a page's stores is over; `bytes` are the page's. Async-signal-safe.
pub fn end_epoch(table: &[AtomicU64], (object, page): (u64, u64), bytes: &[AtomicU64]) {
    let own = places(object, page).filter_map(|at| table.get(at..at + RECORD_WORDS)).find(|record| {
        (word(record, OBJECT), word(record, PAGE), word(record, IS_OVER)) == (object, page, 0)
    });
    let Some(record) = own else { return };
    change(record, |record| {
        for (set, words) in bytes.chunks(SET_DWORDS / 2).enumerate() {
            let mut changed = 0;
            for (place, now) in words.iter().enumerate() {
                let now = now.load(Ordering::Relaxed);
                changed |= differing(now, word(record, BEFORE_AT + set * words.len() + place)) << (2 * place);
            }
            if let Some(word) = record.get(CHANGED_AT + set) {
                word.store(changed, Ordering::Release);
            }
        }
        if let Some(word) = record.get(IS_OVER) {
            word.store(1, Ordering::Release);
        }
    });
}

/// Returns the dwords in which two words differ, a bit each.
fn differing(one: u64, other: u64) -> u64 {
    let differ = one ^ other;
    u64::from(differ as u32 != 0) | u64::from(differ >> 32 != 0) << 1
}

/// Changes a record, unless another thread changes it now.
fn change(record: &[AtomicU64], act: impl FnOnce(&[AtomicU64])) {
    let Some(state) = record.first() else { return };
    let before = state.load(Ordering::Acquire);
    let odd = before | 1;
    if before == odd || state.compare_exchange(before, odd, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    act(record);
    state.store(odd.wrapping_add(1), Ordering::Release);
}

/// Reads of a record that a program changes meanwhile, which takes it some microseconds.
const MOST_TRIES: usize = 100;

/// Reads the record of a page from a table, of which `read` reads bytes at an offset; returns where it is, too.
fn record_in(
    mut read: impl FnMut(u64, &mut [u8]) -> bool,
    (object, page): (u64, u64),
) -> Option<(u64, Box<[u8; RECORD_BYTES]>)> {
    let mut count = [0; size_of::<u64>()];
    if !read(0, &mut count) || u64::from_ne_bytes(count) == 0 {
        return None;
    }
    let (mut first, mut second) = (Box::new([0; RECORD_BYTES]), Box::new([0; RECORD_BYTES]));
    places(object, page).find_map(|at| {
        let offset = (at * size_of::<u64>()) as u64;
        for _ in 0..MOST_TRIES {
            let is_own = read(offset, &mut first[..CHANGED_AT * size_of::<u64>()])
                && (word_in(&first[..], OBJECT), word_in(&first[..], PAGE)) == (object, page);
            if !is_own || !read(offset, &mut first[..]) || !read(offset, &mut second[..]) {
                return None;
            }
            // Equal twice: no thread was changing it.
            if first == second && word_in(&first[..], STATE).is_multiple_of(2) {
                return Some((offset, first.clone()));
            }
        }
        None
    })
}

/// Returns the last epoch in which a page was stored to, and the dwords that were, of those that `now` has from the first dword on; `None` if
/// none of these was. `read` reads bytes of the table at an offset.
///
/// What a store does not change, or changes back, is no store.
pub fn epoch_in(
    read: impl FnMut(u64, &mut [u8]) -> bool,
    of: (u64, u64),
    first: usize,
    now: &[u32],
) -> Option<(u64, Vec<usize>)> {
    let (_, record) = record_in(read, of)?;
    let is_over = word_in(&record[..], IS_OVER) != 0;
    let is_changed = |&(dword, &now): &(usize, &u32)| {
        if is_over {
            word_in(&record[..], CHANGED_AT + dword / SET_DWORDS) >> (dword % SET_DWORDS) & 1 != 0
        } else {
            dword < PAGE_DWORDS
                && now != (word_in(&record[..], BEFORE_AT + dword / 2) >> (32 * (dword % 2))) as u32
        }
    };
    let stored: Vec<_> = (first..).zip(now).filter(is_changed).map(|(dword, _)| dword).collect();
    (!stored.is_empty()).then(|| (word_in(&record[..], EPOCH), stored))
}

/// Notes that an agent wrote to a page of an object, whose bytes in `range` are `new` since: they are no store of a program. `read` and `write`
/// access bytes of the table at an offset.
pub fn overwrite(
    read: impl FnMut(u64, &mut [u8]) -> bool,
    mut write: impl FnMut(u64, &[u8]) -> bool,
    of: (u64, u64),
    range: Range<usize>,
    new: &[u8],
) {
    let Some((offset, record)) = record_in(read, of) else { return };
    let at = |word: usize| offset + (word * size_of::<u64>()) as u64;
    // A program that changes the record now takes the bytes of the page, which are these.
    write(at(BEFORE_AT) + range.start as u64, new);
    let dwords = range.start / 4..range.end.div_ceil(4);
    for set in dwords.start / SET_DWORDS..dwords.end.div_ceil(SET_DWORDS) {
        let mut changed = word_in(&record[..], CHANGED_AT + set);
        for dword in dwords.start.max(SET_DWORDS * set)..dwords.end.min(SET_DWORDS * (set + 1)) {
            changed &= !(1 << (dword % SET_DWORDS));
        }
        write(at(CHANGED_AT + set), &changed.to_ne_bytes());
    }
}

fn word_in(bytes: &[u8], number: usize) -> u64 {
    bytes.as_chunks().0.get(number).map_or(0, |word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A table, and a page of memory.
    struct Program {
        table: Vec<AtomicU64>,
        page: Vec<AtomicU64>,
    }

    const OF: (u64, u64) = (7, 3);

    impl Program {
        fn new() -> Self {
            let zeroes = |words| (0..words).map(|_| AtomicU64::new(0)).collect();
            Self { table: zeroes(EPOCHS_BYTES / 8), page: zeroes(PAGE_WORDS) }
        }

        fn store(&self, dword: usize, value: u32) {
            let word = &self.page[dword / 2];
            let shift = 32 * (dword % 2);
            let kept = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
            word.store(kept | u64::from(value) << shift, Ordering::Relaxed);
        }

        fn read(&self, offset: u64, to: &mut [u8]) -> bool {
            let bytes = self.table[offset as usize / 8..].iter();
            let from = bytes.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
            to.iter_mut().zip(from.skip(offset as usize % 8)).for_each(|(to, from)| *to = from);
            true
        }

        fn epoch(&self, dwords: Range<usize>) -> Option<u64> {
            let now: Vec<u32> = dwords
                .clone()
                .map(|dword| (self.page[dword / 2].load(Ordering::Relaxed) >> (32 * (dword % 2))) as u32)
                .collect();
            let found = epoch_in(|offset, to| self.read(offset, to), OF, dwords.start, &now);
            let (epoch, stored) = found?;
            assert!(stored.iter().all(|dword| dwords.contains(dword)), "{stored:?}");
            Some(epoch)
        }
    }

    #[test]
    fn a_dword_has_the_epoch_of_its_last_change() {
        let program = Program::new();
        assert_eq!(program.epoch(0..1024), None);
        program.store(5, 1);
        begin_epoch(&program.table, OF, 100, &program.page);
        assert_eq!(program.epoch(0..1024), None, "nothing is stored yet");
        program.store(8, 1);
        program.store(1023, 1);
        let epochs = || [0..8, 8..9, 9..1023, 1000..1024].map(|of| program.epoch(of));
        assert_eq!(epochs(), [None, Some(100), None, Some(100)]);
        end_epoch(&program.table, OF, &program.page);
        program.store(9, 1);
        assert_eq!(epochs(), [None, Some(100), None, Some(100)], "what comes after the epoch is not of it");
        begin_epoch(&program.table, OF, 200, &program.page);
        assert_eq!(program.epoch(0..1024), None);
        // The twin: of another page, and of another object.
        let other = |of| epoch_in(|offset, to| program.read(offset, to), of, 0, &[1; 1024]);
        assert_eq!([other((7, 4)), other((8, 3))], [None, None]);
        assert!(other(OF).is_some());
    }

    #[test]
    fn what_another_agent_writes_is_no_store() {
        let program = RefCell::new(Program::new());
        let by_gpu = |dword: usize, value: u32| {
            program.borrow().store(dword, value);
            let write = |offset: u64, bytes: &[u8]| {
                let program = program.borrow();
                for (at, &byte) in (offset..).zip(bytes) {
                    let word = &program.table[at as usize / 8];
                    let mut whole = word.load(Ordering::Relaxed).to_ne_bytes();
                    whole[at as usize % 8] = byte;
                    word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
                }
                true
            };
            let range = 4 * dword..4 * dword + 4;
            overwrite(|offset, to| program.borrow().read(offset, to), write, OF, range, &value.to_ne_bytes());
        };
        begin_epoch(&program.borrow().table, OF, 100, &program.borrow().page);
        program.borrow().store(70, 1);
        by_gpu(71, 1);
        let epochs = || [70..71, 71..72].map(|of| program.borrow().epoch(of));
        assert_eq!(epochs(), [Some(100), None]);
        end_epoch(&program.borrow().table, OF, &program.borrow().page);
        assert_eq!(epochs(), [Some(100), None]);
        by_gpu(70, 2);
        assert_eq!(epochs(), [None, None]);
    }

    #[test]
    fn polled_pages_are_listed_once() {
        let program = RefCell::new(Program::new());
        let note = |of| {
            let read = |offset: u64, to: &mut [u8]| program.borrow().read(offset, to);
            let write = |offset: u64, bytes: &[u8]| {
                let word = &program.borrow().table[offset as usize / 8];
                word.store(u64::from_ne_bytes(bytes.try_into().unwrap()), Ordering::Relaxed);
                true
            };
            note_polled(read, write, of);
        };
        let listed = || polled(&program.borrow().table).collect::<Vec<_>>();
        assert_eq!(listed(), []);
        [(0, 3), OF, (0, 3), OF].into_iter().for_each(note);
        assert_eq!(listed(), [(0, 3), OF]);
        (0..100).for_each(|page| note((9, page)));
        assert_eq!(listed().len(), 15);
        assert_eq!(program.borrow().epoch(0..1024), None, "no record");
    }

    #[test]
    fn the_oldest_record_makes_room() {
        let program = Program::new();
        let begin = |page| begin_epoch(&program.table, (1, page), page + 1, &program.page);
        (0..2 * PLACES).for_each(begin);
        let is_known = |page| epoch_in(|offset, to| program.read(offset, to), (1, page), 0, &[1]).is_some();
        let newer = (PLACES..2 * PLACES).step_by(16);
        let known = newer.clone().filter(|&page| is_known(page)).count();
        assert!(known > newer.count() / 2, "{known} records");
        assert!(is_known(2 * PLACES - 1) && !is_known(0));
    }
}
