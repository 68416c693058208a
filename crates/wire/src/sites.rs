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

/// Most bytes of a module's path.
const PATH_BYTES: usize = 184;
/// Most sites of a program.
pub const MOST_SITES: usize = 4096;
/// Bytes of a site's record.
pub const SITE_BYTES: usize = size_of::<SiteRecord>();

/// A flush instruction of a program, and what its executions did, in memory that the server reads, too.
#[derive(Debug)]
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
}

/// The values of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    /// The place.
    pub frame: Frame,
    /// The counts, in the order of [`SiteRecord`]: dirty, coherent, stale, clean, elsewhere.
    pub lines: [u64; 5],
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
}

impl SiteCounts {
    /// Returns the values of a record in bytes; `None` if it is free.
    pub fn from_bytes(bytes: &[u8; SITE_BYTES]) -> Option<Self> {
        let words = bytes.as_chunks().0;
        let word = |n: usize| words.get(n).map_or(0, |word| u64::from_ne_bytes(*word));
        let len = (word(7) as usize).min(PATH_BYTES);
        let path = bytes.get(64..64 + len).filter(|_| word(0) != 0)?;
        let frame = Frame { module: String::from_utf8_lossy(path).into_owned(), address: word(1) };
        Some(Self { frame, lines: [word(2), word(3), word(4), word(5), word(6)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_lines_of_text() {
        let found = frames(b"1f0 /usr/lib/a b.so\nnonsense\nzz /x\n0 /bin/c\n");
        let frame = |module: &str, address| Frame { module: module.to_owned(), address };
        assert_eq!(found, [frame("/usr/lib/a b.so", 0x1f0), frame("/bin/c", 0)]);
    }
}
