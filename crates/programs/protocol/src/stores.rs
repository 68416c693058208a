//! The first store to each page of the objects that a program maps, in memory that the server reads, too: also after the program
//! has unmapped the page, or has ended.
//!
//! A program and its children share one table. Each record has a few possible places, by its page; the oldest record there makes
//! room for a new one.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Frame;

/// Words of the table before the modules: the number of records.
const MODULES_AT: usize = 8;
/// Most modules that frames are in.
const MOST_MODULES: usize = 256;
/// Words of a module: the length of its path + 1, or [`BEING_WRITTEN`], and the path.
const MODULE_WORDS: usize = 32;
/// Most bytes of a module's path; a longer path loses its beginning.
const PATH_BYTES: usize = (MODULE_WORDS - 1) * size_of::<u64>();
const BEING_WRITTEN: u64 = u64::MAX;

const RECORDS_AT: usize = MODULES_AT + MOST_MODULES * MODULE_WORDS;
/// Most frames of a record.
const MOST_FRAMES: usize = 14;
/// Words of a record: its state, which is odd while it is written, object, page, time, and the frames.
const RECORD_WORDS: usize = 4 + MOST_FRAMES;
/// Consecutive pages of an object, whose records are beside each other.
const GROUP: u64 = 16;
const GROUPS: u64 = 1 << 11;
/// Places that a record may have.
const WAYS: u64 = 4;

/// Bytes of a table. Pages take no memory before they are written.
pub const STORES_BYTES: usize = (RECORDS_AT + (GROUPS * GROUP) as usize * RECORD_WORDS) * size_of::<u64>();
/// Bytes of a record.
const RECORD_BYTES: usize = RECORD_WORDS * size_of::<u64>();

/// The bits of a frame that are the address in the module; above is the number of the module, from 1 on.
const ADDRESS_BITS: u32 = 48;

/// Returns the words at which a page's record may begin.
fn places(object: u64, page: u64) -> impl Iterator<Item = usize> {
    let hash =
        (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (page / GROUP)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let group = move |way: u64| ((hash >> 32) + way) % GROUPS;
    (0..WAYS).map(move |way| RECORDS_AT + (group(way) * GROUP + page % GROUP) as usize * RECORD_WORDS)
}

/// Adds the record of a page of an object, in place of one that it has: frames as path and address in the file, innermost first.
/// `time` is of a clock that all programs share. Async-signal-safe.
pub fn add_store<'a>(
    table: &[AtomicU64],
    (object, page): (u64, u64),
    time: u64,
    frames: impl Iterator<Item = (&'a [u8], u64)>,
) {
    let is_free = |record: &&[AtomicU64]| word(record, 1) == 0;
    let records = || places(object, page).filter_map(|at| table.get(at..at + RECORD_WORDS));
    let is_own = |record: &&[AtomicU64]| (word(record, 1), word(record, 2)) == (object, page);
    let oldest = || records().min_by_key(|record| word(record, 3));
    let chosen = records().find(is_own).or_else(|| records().find(is_free)).or_else(oldest);
    let Some(record) = chosen else { return };
    let mut encoded = [0; MOST_FRAMES];
    let known = frames.filter_map(|(path, address)| {
        let number = module(table, path)? as u64;
        Some((number + 1) << ADDRESS_BITS | address & ((1 << ADDRESS_BITS) - 1))
    });
    encoded.iter_mut().zip(known).for_each(|(to, frame)| *to = frame);
    change(table, record, [object, page, time].into_iter().chain(encoded));
}

/// Removes the record of a page.
pub fn remove_store(table: &[AtomicU64], of: (u64, u64)) {
    records(table, of).for_each(|record| change(table, record, [0; 3].into_iter()));
}

/// Returns whether a page has a record.
pub fn has_store(table: &[AtomicU64], of: (u64, u64)) -> bool {
    records(table, of).next().is_some()
}

/// Returns the records of a page: at most one, unless two threads added it at the same time.
fn records(table: &[AtomicU64], (object, page): (u64, u64)) -> impl Iterator<Item = &[AtomicU64]> {
    // Relaxed: a program that stores later looks later.
    let is_empty = table.first().is_none_or(|count| count.load(Ordering::Relaxed) == 0);
    let all = places(object, page).filter(move |_| !is_empty);
    all.filter_map(|at| table.get(at..at + RECORD_WORDS))
        .filter(move |record| (word(record, 1), word(record, 2)) == (object, page))
}

fn word(record: &[AtomicU64], number: usize) -> u64 {
    record.get(number).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Changes a record from its second word on, unless another thread changes it now.
fn change(table: &[AtomicU64], record: &[AtomicU64], values: impl Iterator<Item = u64>) {
    let (Some(count), [state, rest @ ..]) = (table.first(), record) else { return };
    let before = state.load(Ordering::Acquire);
    let odd = before | 1;
    if before == odd || state.compare_exchange(before, odd, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let had = word(record, 1) != 0;
    // Release: a reader that sees one of them sees that the record is being written.
    rest.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Release));
    match (had, word(record, 1) != 0) {
        (false, true) => _ = count.fetch_add(1, Ordering::Relaxed),
        (true, false) => _ = count.fetch_sub(1, Ordering::Relaxed),
        _ => {}
    }
    state.store(odd.wrapping_add(1), Ordering::Release);
}

/// Returns the number of a module, a new one if it has none; `None` if there are too many.
fn module(table: &[AtomicU64], path: &[u8]) -> Option<usize> {
    let path = path.get(path.len().saturating_sub(PATH_BYTES)..).unwrap_or_default();
    let chunk = |bytes: &[u8]| {
        let mut whole = [0; 8];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(whole)
    };
    let own = path.len() as u64 + 1;
    (0..MOST_MODULES).find(|number| {
        let at = MODULES_AT + number * MODULE_WORDS;
        let Some([len, words @ ..]) = table.get(at..at + MODULE_WORDS) else { return false };
        let is_new = len.compare_exchange(0, BEING_WRITTEN, Ordering::AcqRel, Ordering::Acquire).is_ok();
        let mut chunks = words.iter().zip(path.chunks(8));
        if is_new {
            chunks.for_each(|(word, bytes)| word.store(chunk(bytes), Ordering::Relaxed));
            len.store(own, Ordering::Release);
            return true;
        }
        len.load(Ordering::Acquire) == own
            && chunks.all(|(word, bytes)| word.load(Ordering::Relaxed) == chunk(bytes))
    })
}

/// Reads the record of a page from a table, of which `read` reads bytes at an offset: its time, and the call stack, innermost
/// first. `None` without one.
pub fn store_in(
    mut read: impl FnMut(u64, &mut [u8]) -> bool,
    (object, page): (u64, u64),
) -> Option<(u64, Vec<Frame>)> {
    let offset = |word: usize| (word * size_of::<u64>()) as u64;
    let mut count = [0; size_of::<u64>()];
    if !read(0, &mut count) || u64::from_ne_bytes(count) == 0 {
        return None;
    }
    let records = places(object, page).filter_map(|at| {
        let (mut first, mut second) = ([0; RECORD_BYTES], [0; RECORD_BYTES]);
        let is_read =
            read(offset(at), &mut first) && word_in(&first, 1) == object && word_in(&first, 2) == page;
        // Equal twice: no thread was changing it.
        (is_read && read(offset(at), &mut second) && first == second && word_in(&first, 0).is_multiple_of(2))
            .then_some(first)
    });
    let record = records.max_by_key(|record| word_in(record, 3))?;
    let mut frames = Vec::new();
    for frame in (4..RECORD_WORDS).map(|number| word_in(&record, number)).take_while(|&frame| frame != 0) {
        let mut bytes = [0; MODULE_WORDS * size_of::<u64>()];
        let number = (frame >> ADDRESS_BITS).checked_sub(1).filter(|&number| number < MOST_MODULES as u64)?;
        if !read(offset(MODULES_AT + number as usize * MODULE_WORDS), &mut bytes) {
            return None;
        }
        let len = (word_in(&bytes, 0).saturating_sub(1) as usize).min(PATH_BYTES);
        let path = bytes.get(size_of::<u64>()..).and_then(|path| path.get(..len)).unwrap_or_default();
        let module = String::from_utf8_lossy(path).into_owned();
        frames.push(Frame { module, address: frame & ((1 << ADDRESS_BITS) - 1) });
    }
    Some((word_in(&record, 3), frames))
}

/// Returns the objects of the records in a table's bytes.
pub fn stored_objects(table: &[u8]) -> impl Iterator<Item = u64> {
    let records = table.get(RECORDS_AT * size_of::<u64>()..).unwrap_or_default().chunks(RECORD_BYTES);
    records.map(|record| word_in(record, 1)).filter(|&object| object != 0)
}

fn word_in(bytes: &[u8], number: usize) -> u64 {
    bytes.as_chunks().0.get(number).map_or(0, |word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<AtomicU64> {
        (0..STORES_BYTES / size_of::<u64>()).map(|_| AtomicU64::new(0)).collect()
    }

    fn read(table: &[AtomicU64], at: (u64, u64)) -> Option<(u64, Vec<Frame>)> {
        let read = |offset: u64, to: &mut [u8]| {
            let from = table[offset as usize / 8..]
                .iter()
                .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            true
        };
        store_in(read, at)
    }

    fn add(table: &[AtomicU64], at: (u64, u64), time: u64, address: u64) {
        add_store(table, at, time, [(&b"/bin/app"[..], address), (b"/lib/l.so", 5)].into_iter());
    }

    #[test]
    fn a_record_is_read_until_it_is_replaced_or_removed() {
        let table = table();
        let frame = |module: &str, address| Frame { module: module.to_owned(), address };
        assert_eq!(read(&table, (1, 2)), None);
        add(&table, (1, 2), 10, 7);
        let first = Some((10, vec![frame("/bin/app", 7), frame("/lib/l.so", 5)]));
        assert_eq!((read(&table, (1, 2)), read(&table, (2, 2)), read(&table, (1, 3))), (first, None, None));
        add(&table, (1, 2), 11, 8);
        add(&table, (1, 3), 12, 9);
        assert_eq!(read(&table, (1, 2)), Some((11, vec![frame("/bin/app", 8), frame("/lib/l.so", 5)])));
        remove_store(&table, (1, 2));
        remove_store(&table, (1, 4));
        assert_eq!((read(&table, (1, 2)), read(&table, (1, 3)).map(|(time, _)| time)), (None, Some(12)));
        assert_eq!([(1, 2), (1, 3), (2, 3)].map(|of| has_store(&table, of)), [false, true, false]);
        assert_eq!(word(&table, 0), 1, "the number of records");
        let bytes: Vec<u8> =
            table.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        assert_eq!((stored_objects(&bytes).collect::<Vec<_>>(), bytes.len()), (vec![1], STORES_BYTES));
    }

    #[test]
    fn the_oldest_record_makes_room() {
        let table = table();
        let pages = 2 * GROUPS * GROUP;
        (0..pages).for_each(|page| add(&table, (1, page), page, 1));
        let of_newer = (pages / 2..pages).step_by(64);
        let known = of_newer.clone().filter(|&page| read(&table, (1, page)).is_some()).count();
        assert!(known > of_newer.count() * 3 / 4, "{known} records");
        assert!(read(&table, (1, pages - 1)).is_some() && read(&table, (1, 0)).is_none());
    }

    #[test]
    fn a_long_path_loses_its_beginning() {
        let table = table();
        let path = [b'x'; 2 * PATH_BYTES];
        for (page, path) in [(0, &path[..]), (1, b""), (2, &path[..PATH_BYTES]), (3, b"/a"), (4, b"/b")] {
            add_store(&table, (1, page), 1, [(path, 3)].into_iter());
        }
        let module = |page| read(&table, (1, page)).unwrap().1[0].module.clone();
        assert_eq!([0, 1, 2].map(|page| module(page).len()), [PATH_BYTES, 0, PATH_BYTES]);
        assert_eq!([module(3), module(4)], ["/a", "/b"]);
    }
}
