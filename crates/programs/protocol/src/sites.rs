//! Places in a program: call stacks, and the records of those that flush.

use std::sync::atomic::{AtomicU64, Ordering};

/// An address in a file that is mapped in a program, as a line of a payload: the address in hexadecimal, a space, the
/// file's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The file.
    pub module: String,
    /// The address in the file: what objdump and DWARF call it.
    pub address: u64,
}

/// Returns the frames in a payload, innermost first.
pub fn frames(payload: &[u8]) -> Vec<Frame> {
    let text = String::from_utf8_lossy(payload);
    let frame = |line: &str| {
        let (address, module) = line.split_once(' ')?;
        Some(Frame { module: module.to_owned(), address: u64::from_str_radix(address, 16).ok()? })
    };
    text.lines().filter_map(frame).collect()
}

/// Runs of lines that a site's record keeps.
const RUNS: usize = 4;

/// Most bytes of a call stack's text.
const TEXT_BYTES: usize = 1024;
/// Most sites of a program.
pub const MOST_SITES: usize = 4096;
/// The words of a record at which its runs and its text begin.
const RUNS_AT: usize = std::mem::offset_of!(SiteRecord, runs) / size_of::<u64>();
const TEXT_AT: usize = std::mem::offset_of!(SiteRecord, text) / size_of::<u64>();
/// Bytes of a site's record.
pub const SITE_BYTES: usize = size_of::<SiteRecord>();

/// A place of a program that flushes, which is a call stack, in memory that the server reads, too.
#[derive(Debug)]
#[repr(C)]
pub struct SiteRecord {
    /// A number of the call stack that no other one has; 0 if the record is free.
    key: AtomicU64,
    /// Length of the text, and one; 0 while there is none.
    len: AtomicU64,
    /// Number of flushes of an address in no object.
    pub elsewhere: AtomicU64,
    /// A thread changes the runs.
    busy: AtomicU64,
    /// Number of runs that were begun; the last one is at its remainder by [`RUNS`].
    begun: AtomicU64,
    runs: [RunRecord; RUNS],
    /// The call stack, as [`frames`] reads it.
    text: [AtomicU64; TEXT_BYTES / 8],
}

/// Consecutive lines of an object that a site flushed one after the other: the object's number, the first line, and the
/// one after the last.
#[derive(Debug, Default)]
#[repr(C)]
struct RunRecord {
    object: AtomicU64,
    first: AtomicU64,
    end: AtomicU64,
}

/// The values of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The object's number.
    pub object: u64,
    /// The first line.
    pub first: u64,
    /// The line after the last.
    pub end: u64,
}

/// The values of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    /// The call stack: the instruction, then return addresses.
    pub stack: Vec<Frame>,
    /// As [`SiteRecord::elsewhere`].
    pub elsewhere: u64,
    /// The last runs of lines, in the order of the record.
    pub runs: Vec<Run>,
}

impl SiteRecord {
    /// Finds the record of a call stack by its number, or takes a free one for it; returns the index, the record, and whether
    /// it is new, so that it is to be described. `None` if all are taken, and for the number 0.
    pub fn find(records: &[Self], key: u64) -> Option<(usize, &Self, bool)> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        (0..records.len()).filter(|_| key != 0).find_map(|n| {
            let number = (first + n) % records.len();
            let record = records.get(number)?;
            // Relaxed: the length of the text publishes the rest.
            match record.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => Some((number, record, true)),
                Err(known) => (known == key).then_some((number, record, false)),
            }
        })
    }

    /// Describes a new record by the text of a call stack; a longer one loses its end.
    pub fn describe(&self, text: &[u8]) {
        let text = text.get(..TEXT_BYTES).unwrap_or(text);
        for (word, bytes) in self.text.iter().zip(text.chunks(8)) {
            let mut whole = [0; 8];
            whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            // Relaxed: the length is stored last.
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        // Release: a reader that sees the length sees the text.
        self.len.store(text.len() as u64 + 1, Ordering::Release);
    }

    /// Keeps the line of an object that was flushed: a line beside those of the last run extends it.
    pub fn add_line(&self, object: u64, line: u64) {
        // Another thread flushes at the same place: its line is kept.
        if self.busy.swap(1, Ordering::Acquire) != 0 {
            return;
        }
        // Relaxed: one thread at a time changes the runs; the server reads them while the program waits for a request.
        let begun = self.begun.load(Ordering::Relaxed);
        let run = |number: u64| self.runs.get(number as usize % RUNS);
        let Some(last) = run(begun) else { return };
        let [first, end] = [&last.first, &last.end].map(|at| at.load(Ordering::Relaxed));
        if last.object.load(Ordering::Relaxed) != object || line > end || line + 1 < first {
            if let Some(next) = run(begun + 1) {
                next.object.store(object, Ordering::Relaxed);
                next.first.store(line, Ordering::Relaxed);
                next.end.store(line + 1, Ordering::Relaxed);
            }
            self.begun.store(begun + 1, Ordering::Relaxed);
        } else {
            last.first.store(first.min(line), Ordering::Relaxed);
            last.end.store(end.max(line + 1), Ordering::Relaxed);
        }
        self.busy.store(0, Ordering::Release);
    }
}

impl SiteCounts {
    /// Returns the values of a record in bytes; `None` if it is free.
    pub fn from_bytes(bytes: &[u8; SITE_BYTES]) -> Option<Self> {
        let words = bytes.as_chunks().0;
        let word = |n: usize| words.get(n).map_or(0, |word| u64::from_ne_bytes(*word));
        let len = usize::try_from(word(1)).ok()?.checked_sub(1)?.min(TEXT_BYTES);
        let text = bytes.get(TEXT_AT * size_of::<u64>()..)?.get(..len)?;
        let runs = (0..RUNS).map(|n| RUNS_AT + 3 * n);
        let runs = runs.map(|at| Run { object: word(at), first: word(at + 1), end: word(at + 2) });
        let runs = runs.filter(|run| run.object != 0).collect();
        Some(Self { stack: frames(text), elsewhere: word(2), runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns free records.
    fn free(count: usize) -> Vec<SiteRecord> {
        let zero = || AtomicU64::new(0);
        let one = || SiteRecord {
            key: zero(),
            len: zero(),
            elsewhere: zero(),
            busy: zero(),
            begun: zero(),
            runs: Default::default(),
            text: std::array::from_fn(|_| zero()),
        };
        std::iter::repeat_with(one).take(count).collect()
    }

    /// Returns a record as the server reads it.
    fn bytes_of(record: &SiteRecord) -> [u8; SITE_BYTES] {
        let words = [&record.key, &record.len, &record.elsewhere, &record.busy, &record.begun];
        let runs = record.runs.iter().flat_map(|run| [&run.object, &run.first, &run.end]);
        let words = words.into_iter().chain(runs).chain(&record.text);
        let bytes: Vec<u8> = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        bytes.try_into().unwrap()
    }

    #[test]
    fn lines_beside_each_other_are_one_run() {
        let records = free(2);
        let (_, record, is_new) = SiteRecord::find(&records, 1).unwrap();
        assert!(is_new && SiteCounts::from_bytes(&bytes_of(record)).is_none(), "not described yet");
        record.describe(b"2 /bin/c\n1f /lib/d");
        for line in [5, 6, 7, 6, 4, 9] {
            record.add_line(3, line);
        }
        record.add_line(8, 9);
        let counts = SiteCounts::from_bytes(&bytes_of(record)).unwrap();
        let frame = |module: &str, address| Frame { module: module.to_owned(), address };
        assert_eq!(counts.stack, [frame("/bin/c", 2), frame("/lib/d", 0x1f)]);
        let run = |object, first, end| Run { object, first, end };
        // The first record is the one that the last run has left.
        assert_eq!(counts.runs, [run(3, 4, 8), run(3, 9, 10), run(8, 9, 10)]);
        for line in [20, 30] {
            record.add_line(8, line);
        }
        let runs = SiteCounts::from_bytes(&bytes_of(record)).unwrap().runs;
        assert_eq!(
            runs,
            [run(8, 20, 21), run(8, 30, 31), run(3, 9, 10), run(8, 9, 10)],
            "the oldest is gone"
        );
    }

    #[test]
    fn a_call_stack_has_one_record() {
        let records = free(3);
        let found = |key| SiteRecord::find(&records, key).map(|(at, _, is_new)| (at, is_new));
        let known = [7, 8, 9].map(|key| found(key).unwrap());
        assert!(known.iter().all(|(_, is_new)| *is_new));
        assert_eq!(found(8), Some((known[1].0, false)));
        assert_eq!((found(10), found(0)), (None, None), "all are taken");
        let text = [b'x'; 2 * TEXT_BYTES];
        records[0].describe(&text);
        assert_eq!(records[0].len.load(Ordering::Relaxed) as usize, TEXT_BYTES + 1);
    }

    #[test]
    fn frames_are_lines_of_text() {
        let found = frames(b"1f0 /usr/lib/a b.so\nnonsense\nzz /x\n0 /bin/c\n");
        let frame = |module: &str, address| Frame { module: module.to_owned(), address };
        assert_eq!(found, [frame("/usr/lib/a b.so", 0x1f0), frame("/bin/c", 0)]);
    }
}
