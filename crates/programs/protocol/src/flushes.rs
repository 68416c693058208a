//! The log of a program's flushes, line by line, and of the pages whose stores are not seen, in memory that the server reads, too.
//!
//! It lies after the [`SiteRecord`](crate::SiteRecord)s, in the same file. An entry is written by the thread that flushes,
//! and read by the server before the program's next request.

use std::sync::atomic::{AtomicU64, Ordering};

/// Entries of a log; a later one replaces the oldest.
pub const LOG_ENTRIES: u64 = 1 << 20;
/// Words of a line.
pub const LINE_WORDS: usize = 8;
/// Words of an entry: its number, object, line, one of site, effect and what was found, and the line's bytes.
const ENTRY_WORDS: usize = 4 + LINE_WORDS;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = ENTRY_WORDS * size_of::<u64>();
/// The offset of the first entry in the log; before it is the number of entries that were begun.
pub const ENTRIES_AT: usize = 64;
/// Bytes of a log. Pages take no memory before they are written.
pub const LOG_BYTES: usize = ENTRIES_AT + LOG_ENTRIES as usize * ENTRY_BYTES;

/// The number of memory that userptr objects have, in place of an object's.
pub const USER_MEMORY: u64 = 0;

/// The first bits of the effect and of what was found, in the word of the site.
const EFFECT_AT: u32 = 32;
const FOUND_AT: u32 = 40;

/// The kind of an entry in the log of flushes: the effect of an instruction on a line, or what became of the line's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum LogEntryKind {
    /// CLFLUSH and CLFLUSHOPT.
    Flush = 1,
    /// CLWB.
    WriteBack = 2,
    /// A non-temporal store.
    NonTemporal = 3,
    /// Not an instruction: from now on loads of the line's page, and stores to it, are not seen. The first word of the bytes has a bit for each line
    /// of the page to which the first store went.
    Opened = 4,
    /// Not an instruction: from now on a store to the line's page is seen.
    Closed = 5,
    /// Not an instruction: from now on loads of the line's page are not seen.
    Shown = 6,
}

/// The state in which an instruction found a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Found {
    /// Cache and memory had the same bytes.
    Clean = 1,
    /// The cache had newer bytes.
    Dirty = 2,
    /// Memory had newer bytes.
    Stale = 3,
}

impl Found {
    /// Returns the state of a line by its bytes: those that the CPU sees, those of memory, and those that the line had when it was last
    /// filled or written back. It is dirty if the first and the last differ, and otherwise stale if memory has other bytes.
    #[must_use]
    pub fn of<T: PartialEq>(cached: &T, memory: &T, filled: &T) -> Self {
        if cached != filled {
            Self::Dirty
        } else if filled != memory {
            Self::Stale
        } else {
            Self::Clean
        }
    }
}

/// An instruction that was executed for a line, or a page that was opened or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// The object's number.
    pub object: u64,
    /// The line of the object.
    pub line: u64,
    /// The number of the place's record ([`SiteRecord`](crate::SiteRecord)); `u32::MAX` for none.
    pub site: u32,
    /// The effect.
    pub effect: LogEntryKind,
    /// The line's state before.
    pub found: Found,
    /// The line's bytes, before a flush and after a store.
    pub bytes: [u64; LINE_WORDS],
}

/// Appends to the log in `words`, which has [`LOG_BYTES`] bytes.
pub fn append(words: &[AtomicU64], flushed: &Flushed) {
    let Some(begun) = words.first() else { return };
    // Relaxed: the number is unique; the entry's first word, stored last, publishes the rest.
    let number = begun.fetch_add(1, Ordering::Relaxed);
    let at = ENTRIES_AT / size_of::<u64>() + (number % LOG_ENTRIES) as usize * ENTRY_WORDS;
    let Some([own, rest @ ..]) = words.get(at..at + ENTRY_WORDS) else { return };
    own.store(0, Ordering::Relaxed);
    let kinds = (flushed.effect as u64) << EFFECT_AT | (flushed.found as u64) << FOUND_AT;
    let site = u64::from(flushed.site) | kinds;
    let values = [flushed.object, flushed.line, site].into_iter().chain(flushed.bytes);
    // Release: a reader that sees one of them sees that the entry is being written.
    rest.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Release));
    own.store(number + 1, Ordering::Release);
}

/// An entry as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It is complete.
    Complete(Flushed),
    /// It is being written.
    Unfinished,
    /// A later one has replaced it, or its bytes are none of an entry.
    Lost,
}

impl Entry {
    /// Returns entry `number` in the bytes at its place.
    pub fn from_bytes(number: u64, bytes: &[u8; ENTRY_BYTES]) -> Self {
        let mut words = [0; ENTRY_WORDS];
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, of)| *word = u64::from_ne_bytes(*of));
        let [own, object, line, site, bytes @ ..] = words;
        if own < number + 1 {
            return Self::Unfinished;
        }
        let effect = match site >> EFFECT_AT & 0xff {
            1 => LogEntryKind::Flush,
            2 => LogEntryKind::WriteBack,
            3 => LogEntryKind::NonTemporal,
            4 => LogEntryKind::Opened,
            5 => LogEntryKind::Closed,
            6 => LogEntryKind::Shown,
            _ => return Self::Lost,
        };
        let found = match site >> FOUND_AT {
            1 => Found::Clean,
            2 => Found::Dirty,
            3 => Found::Stale,
            _ => return Self::Lost,
        };
        if own > number + 1 {
            return Self::Lost;
        }
        Self::Complete(Flushed { object, line, site: site as u32, effect, found, bytes })
    }
}

/// Returns the offset of an entry in the log.
pub fn entry_at(number: u64) -> u64 {
    ENTRIES_AT as u64 + number % LOG_ENTRIES * ENTRY_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flushed(line: u64) -> Flushed {
        let bytes = [line; LINE_WORDS];
        Flushed { object: 7, line, site: 3, effect: LogEntryKind::WriteBack, found: Found::Stale, bytes }
    }

    /// Returns entry `number` of a log as the server reads it.
    fn entry(words: &[AtomicU64], number: u64) -> Entry {
        let first = entry_at(number) as usize / 8;
        let words = &words[first..first + ENTRY_WORDS];
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        Entry::from_bytes(number, &bytes.try_into().unwrap())
    }

    #[test]
    fn an_entry_is_complete_and_later_lost() {
        let words: Vec<AtomicU64> = (0..LOG_BYTES / 8).map(|_| AtomicU64::new(0)).collect();
        append(&words, &flushed(1));
        append(&words, &flushed(2));
        assert_eq!(entry(&words, 1), Entry::Complete(flushed(2)));
        assert_eq!(entry(&words, 2), Entry::Unfinished);
        words[0].store(LOG_ENTRIES, Ordering::Relaxed);
        append(&words, &flushed(3));
        assert_eq!(entry(&words, 0), Entry::Lost);
        assert_eq!(entry(&words, LOG_ENTRIES), Entry::Complete(flushed(3)));
    }

    #[test]
    fn a_log_that_is_too_short_is_left_alone() {
        let words = [const { AtomicU64::new(0) }; 4];
        append(&words, &flushed(1));
        assert_eq!(words[1].load(Ordering::Relaxed), 0);
    }
}
