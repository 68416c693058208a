//! Places in a program: call stacks, and the counts of its flush instructions.

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

/// Most bytes of a module's path.
const PATH_BYTES: usize = 184;
/// Most sites of a program.
pub const MOST_SITES: usize = 4096;
/// The word of a record at which its runs begin.
const RUNS_AT: usize = std::mem::offset_of!(SiteRecord, runs) / size_of::<u64>();
/// Bytes of a site's record.
pub const SITE_BYTES: usize = size_of::<SiteRecord>();

/// A flush instruction of a program, and what its executions did, in memory that the server reads, too.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SiteRecord {
    /// Its address in the process; 0 if the record is free.
    pub site: AtomicU64,
    /// Its address in the file.
    pub address: AtomicU64,
    /// The line was dirty, and other agents did not see it.
    pub dirty: AtomicU64,
    /// The line was dirty, and the GPU saw it in the cache.
    pub coherent: AtomicU64,
    /// The line was clean, and memory had newer bytes.
    pub stale: AtomicU64,
    /// The line was clean, and memory had the same bytes.
    pub clean: AtomicU64,
    /// The address was in no object.
    pub elsewhere: AtomicU64,
    /// Length of the path.
    len: AtomicU64,
    path: [AtomicU64; PATH_BYTES / 8],
    /// A thread changes the runs.
    busy: AtomicU64,
    /// Number of runs that were begun; the last one is at its remainder by [`RUNS`].
    begun: AtomicU64,
    runs: [RunRecord; RUNS],
}

/// Consecutive lines of an object that a site flushed one after the other: the object's number, the first line, and the
/// one behind the last.
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
    /// The line behind the last.
    pub end: u64,
}

/// The values of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    /// The place.
    pub frame: Frame,
    /// The counts, in the order of [`SiteRecord`]: dirty, coherent, stale, clean, elsewhere.
    pub lines: [u64; 5],
    /// The last runs of lines, in the order of the record.
    pub runs: Vec<Run>,
}

impl SiteRecord {
    /// Describes a free record; a longer path loses its beginning.
    pub fn describe(&self, site: u64, address: u64, path: &[u8]) {
        let path = path.get(path.len().saturating_sub(PATH_BYTES)..).unwrap_or_default();
        for (word, bytes) in self.path.iter().zip(path.chunks(8)) {
            let mut whole = [0; 8];
            whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            // Relaxed: the site is stored last.
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        self.len.store(path.len() as u64, Ordering::Relaxed);
        self.address.store(address, Ordering::Relaxed);
        // Release: a reader that sees the site sees the rest.
        self.site.store(site, Ordering::Release);
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
        let len = (word(7) as usize).min(PATH_BYTES);
        let path = bytes.get(64..64 + len).filter(|_| word(0) != 0)?;
        let frame = Frame { module: String::from_utf8_lossy(path).into_owned(), address: word(1) };
        let runs = (0..RUNS).map(|n| RUNS_AT + 3 * n);
        let runs = runs.map(|at| Run { object: word(at), first: word(at + 1), end: word(at + 2) });
        let runs = runs.filter(|run| run.object != 0).collect();
        Some(Self { frame, lines: [word(2), word(3), word(4), word(5), word(6)], runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a record as the server reads it.
    fn bytes_of(record: &SiteRecord) -> [u8; SITE_BYTES] {
        let counts =
            [&record.dirty, &record.coherent, &record.stale, &record.clean, &record.elsewhere, &record.len];
        let words = [&record.site, &record.address].into_iter().chain(counts).chain(&record.path);
        let runs = record.runs.iter().flat_map(|run| [&run.object, &run.first, &run.end]);
        let words = words.chain([&record.busy, &record.begun]).chain(runs);
        let bytes: Vec<u8> = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        bytes.try_into().unwrap()
    }

    #[test]
    fn lines_beside_each_other_are_one_run() {
        let record = SiteRecord::default();
        record.describe(1, 2, b"/bin/c");
        for line in [5, 6, 7, 6, 4, 9] {
            record.add_line(3, line);
        }
        record.add_line(8, 9);
        let counts = SiteCounts::from_bytes(&bytes_of(&record)).unwrap();
        assert_eq!(counts.frame, Frame { module: "/bin/c".to_owned(), address: 2 });
        let run = |object, first, end| Run { object, first, end };
        // The first record is the one that the last run has left.
        assert_eq!(counts.runs, [run(3, 4, 8), run(3, 9, 10), run(8, 9, 10)]);
        for line in [20, 30] {
            record.add_line(8, line);
        }
        let runs = SiteCounts::from_bytes(&bytes_of(&record)).unwrap().runs;
        assert_eq!(
            runs,
            [run(8, 20, 21), run(8, 30, 31), run(3, 9, 10), run(8, 9, 10)],
            "the oldest is gone"
        );
    }

    #[test]
    fn frames_are_lines_of_text() {
        let found = frames(b"1f0 /usr/lib/a b.so\nnonsense\nzz /x\n0 /bin/c\n");
        let frame = |module: &str, address| Frame { module: module.to_owned(), address };
        assert_eq!(found, [frame("/usr/lib/a b.so", 0x1f0), frame("/bin/c", 0)]);
    }
}
