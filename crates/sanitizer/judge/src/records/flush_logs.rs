//! The logs of programs' flushes, and the places in them. A program's log is closed when it was read after the program's end.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::sync::Mutex;
use gem_coherency_protocol::{
    ENTRY_BYTES, Entry, Flushed, Frame, LOG_ENTRIES, MOST_SITES, SITE_BYTES, SiteCounts, entry_at,
};
use gem_coherency_server::RecordWriters;

/// The offset of the log in the file of a program's records.
const LOG_AT: u64 = (MOST_SITES * SITE_BYTES) as u64;

/// The logs of all programs.
#[derive(Debug, Default)]
pub(crate) struct FlushLogs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: Vec<Log>,
    sites: Sites,
    lost: u64,
}

/// The call stacks that flush, of all programs, by number.
#[derive(Debug, Default)]
struct Sites {
    stacks: Vec<Vec<Frame>>,
    numbers: BTreeMap<Vec<Frame>, u64>,
}

/// A program's log of flushes.
#[derive(Clone, Debug)]
struct Log {
    file: Arc<File>,
    /// The processes that write it.
    writers: Weak<RecordWriters>,
    /// The number of the next entry.
    next: u64,
    /// Earlier ones that were being written.
    unfinished: Vec<u64>,
    /// The number of the call stack that each record describes.
    sites: BTreeMap<u32, u64>,
}

impl FlushLogs {
    /// Adds the log of a program's processes, which is after its records in `file`.
    pub(crate) fn add(&self, file: Arc<File>, writers: &Arc<RecordWriters>) {
        let writers = Arc::downgrade(writers);
        let log = Log { file, writers, next: 0, unfinished: Vec::new(), sites: BTreeMap::new() };
        self.state().open.push(log);
    }

    /// Passes what programs flushed since the last time to `take`, with the number of the place; `u64::MAX` if it is
    /// not known.
    pub(crate) fn read(&self, mut take: impl FnMut(u64, &Flushed)) {
        let mut state = self.state();
        let State { open, sites, lost } = &mut *state;
        open.retain_mut(|log| {
            let is_written = log.writers.strong_count() > 0;
            log.read(lost, |log, flushed| take(log.site(sites, flushed.site), flushed));
            is_written
        });
    }

    /// Passes to `take` what [`Self::read`] will pass first.
    pub(crate) fn peek(&self, mut take: impl FnMut(u64, &Flushed)) {
        let mut state = self.state();
        let State { open, sites, .. } = &mut *state;
        for mut log in open.iter().cloned() {
            log.read(&mut 0, |log, flushed| take(log.site(sites, flushed.site), flushed));
        }
    }

    /// Returns the call stack of a place.
    pub(crate) fn stack(&self, number: u64) -> Option<Vec<Frame>> {
        self.state().sites.stacks.get(usize::try_from(number).ok()?).cloned()
    }

    /// Returns the call stacks of all places, by their numbers.
    pub(crate) fn stacks(&self) -> Vec<Vec<Frame>> {
        self.state().sites.stacks.clone()
    }

    /// Returns the number of flushes that were lost, because programs made too many between two requests.
    pub(crate) fn lost(&self) -> u64 {
        self.state().lost
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl Sites {
    /// Returns the number of a call stack; a new one gets the next number.
    fn number(&mut self, stack: Vec<Frame>) -> u64 {
        if let Some(&known) = self.numbers.get(&stack) {
            return known;
        }
        let number = self.stacks.len() as u64;
        self.stacks.push(stack.clone());
        self.numbers.insert(stack, number);
        number
    }
}

impl Log {
    /// Passes the entries that are complete to `take`; counts those that are lost.
    fn read(&mut self, lost: &mut u64, mut take: impl FnMut(&mut Self, &Flushed)) {
        let Some(begun) = self.begun().filter(|&begun| begun != self.next || !self.unfinished.is_empty())
        else {
            return;
        };
        let oldest = begun.saturating_sub(LOG_ENTRIES);
        *lost = lost.saturating_add(oldest.saturating_sub(self.next));
        let mut earlier = std::mem::take(&mut self.unfinished);
        earlier.retain(|&number| number >= oldest);
        let numbers = earlier.into_iter().chain(oldest.max(self.next)..begun);
        self.next = begun;
        let mut read = Read::default();
        for number in numbers {
            match read.entry(&self.file, number) {
                Entry::Complete(flushed) => take(self, &flushed),
                Entry::Unfinished => self.unfinished.push(number),
                Entry::Lost => *lost = lost.saturating_add(1),
            }
        }
    }

    /// Returns the number of entries that were begun; `None` if the program made the file shorter.
    fn begun(&self) -> Option<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, LOG_AT).ok()?;
        Some(u64::from_ne_bytes(word))
    }

    /// Returns the number of the call stack that a record describes.
    fn site(&mut self, sites: &mut Sites, record: u32) -> u64 {
        if let Some(&known) = self.sites.get(&record) {
            return known;
        }
        let mut bytes = [0; SITE_BYTES];
        let read = self.file.read_exact_at(&mut bytes, u64::from(record) * SITE_BYTES as u64);
        let counts = read
            .ok()
            .filter(|()| (record as usize) < MOST_SITES)
            .and_then(|()| SiteCounts::from_bytes(&bytes));
        let Some(counts) = counts else { return u64::MAX };
        let number = sites.number(counts.stack);
        self.sites.insert(record, number);
        number
    }
}

/// Entries that are read at a time.
const AT_A_TIME: u64 = 1024;

/// Entries of a log that were read.
#[derive(Default)]
struct Read {
    first: u64,
    bytes: Vec<u8>,
}

impl Read {
    /// Returns an entry, which is read with those after it.
    fn entry(&mut self, file: &File, number: u64) -> Entry {
        if self.of(number).is_none() {
            let room = LOG_ENTRIES - number % LOG_ENTRIES;
            let mut bytes = vec![0; room.min(AT_A_TIME) as usize * ENTRY_BYTES];
            let len = file.read_at(&mut bytes, LOG_AT + entry_at(number)).unwrap_or(0);
            bytes.truncate(len / ENTRY_BYTES * ENTRY_BYTES);
            (self.first, self.bytes) = (number, bytes);
        }
        self.of(number).map_or(Entry::Lost, |bytes| Entry::from_bytes(number, bytes))
    }

    fn of(&self, number: u64) -> Option<&[u8; ENTRY_BYTES]> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.bytes.as_chunks().0.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency_protocol::{Found, LogEntryKind, append};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Writes the head of a log with flushes of `lines` by the instruction of a record.
    fn write(file: &File, words: &[AtomicU64], record: u32, lines: &[u64]) {
        for &line in lines {
            let (effect, found) = (LogEntryKind::Flush, Found::Clean);
            append(words, &Flushed { object: 7, line, site: record, effect, found, bytes: [0; 8] });
        }
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        file.write_all_at(&bytes, LOG_AT).unwrap();
    }

    fn read(logs: &FlushLogs) -> Vec<(u64, u64)> {
        let mut read = Vec::new();
        logs.read(|site, flushed| read.push((site, flushed.line)));
        read
    }

    #[test]
    fn each_flush_is_read_once_with_the_number_of_its_place() {
        let logs = FlushLogs::default();
        let file = Arc::new(tempfile::tempfile().unwrap());
        let writers = Arc::default();
        logs.add(Arc::clone(&file), &writers);
        assert_eq!(read(&logs), [], "a file without a log");
        // The record of a call stack: its number, and the length of its text, and one.
        file.write_all_at(&[1_u64, 1].map(u64::to_ne_bytes).concat(), SITE_BYTES as u64).unwrap();
        let words: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        write(&file, &words, 1, &[4, 5]);
        for _ in 0..2 {
            let mut next = Vec::new();
            logs.peek(|site, flushed| next.push((site, flushed.line)));
            assert_eq!(next, [(0, 4), (0, 5)], "stays to be read");
        }
        assert_eq!(read(&logs), [(0, 4), (0, 5)]);
        assert_eq!(read(&logs), []);
        assert_eq!(logs.stacks(), [vec![]]);
        write(&file, &words, u32::MAX, &[6]);
        assert_eq!(read(&logs), [(u64::MAX, 6)], "a place without a record");
        assert_eq!((logs.stack(u64::MAX), logs.lost()), (None, 0));
        // What a program wrote before its end is read, and then its file is closed.
        write(&file, &words, 1, &[7]);
        drop(writers);
        assert_eq!(Arc::strong_count(&file), 2);
        assert_eq!(read(&logs), [(0, 7)]);
        assert_eq!(Arc::strong_count(&file), 1);
    }

    #[test]
    fn flushes_for_which_there_was_no_room_are_counted() {
        let logs = FlushLogs::default();
        let file = Arc::new(tempfile::tempfile().unwrap());
        let writers = Arc::default();
        logs.add(Arc::clone(&file), &writers);
        file.write_all_at(&(LOG_ENTRIES + 3).to_ne_bytes(), LOG_AT).unwrap();
        file.set_len(LOG_AT + 64).unwrap();
        assert_eq!(read(&logs), []);
        assert_eq!(
            logs.lost(),
            LOG_ENTRIES + 3,
            "three were overwritten, and the file ends before the others"
        );
    }
}
