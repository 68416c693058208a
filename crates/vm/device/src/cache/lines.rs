//! The lines of the guest's memory: what the CPU sees through write-back mappings, what is in memory, and which lines
//! are in the CPU's cache.
//!
//! There are three copies of each byte. `ram` is QEMU's: the cache's contents, and memory where the cache has nothing.
//! `memory` is what is in DRAM. `base` is what both were when they were last equal. A line is *dirty* where `ram`
//! differs from `base`, or a store to it was seen; it is *stale* where `memory` differs from `base`: something wrote
//! behind the cache. It is *absent* if no cache has it: then all three are equal, and it is filled by the CPU's
//! next access.
//!
//! The CPU's accesses to cached pages are not seen, except on *watched* pages: those with an absent or a stale line,
//! where it matters whether a line was read, and whether one was stored to without a change of its bytes.
//!
//! Non-temporal stores that take effect late wait in a *buffer* of their line ([`super::buffers`]). `ram` has their bytes
//! already, and these make no line dirty.

use super::bits::Bits;
use super::buffers::{Buffer, Buffers};
use std::ops::Range;

pub const LINE: u64 = 64;
pub const PAGE: u64 = 4096;
/// All lines of a page, as bits.
const ALL_LINES: u64 = u64::MAX;
/// Memory below it belongs to the firmware and to legacy devices: no GPU is given any of it.
pub const FIRST: u64 = 1 << 20;

/// The guest's RAM as QEMU has it.
pub trait Ram {
    fn read(&self, at: u64, buffer: &mut [u8]);
    fn write(&self, at: u64, data: &[u8]);
}

/// How a write of a device treats the CPU's caches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It stays in the shared last-level cache.
    Allocates,
    /// It takes the line out of the CPU's caches first.
    Snoops,
    /// It goes to memory.
    Bypasses,
}

/// Counts of events, for the report.
#[derive(Default)]
pub struct Counts {
    pub written_back: u64,
    pub dropped: u64,
    /// Dirty lines whose write-back overwrote what something else had written to memory.
    pub overwritten: u64,
    /// Bytes that a device read from memory while the CPU's cache had newer ones.
    pub stale_bytes: u64,
    pub watched_pages: u64,
}

pub struct Lines<R> {
    ram: R,
    memory: Vec<u8>,
    base: Vec<u8>,
    absent: Bits,
    stored: Bits,
    watched: Bits,
    /// For each page, at which write-back of everything it was last accessed; a page that was not accessed since is
    /// absent as a whole.
    accessed: Vec<u32>,
    emptied: u32,
    /// The lines of the last store on a watched page, and whether they were dirty before. Whether it was a non-temporal one is
    /// known only after it.
    last_store: Vec<(u64, bool)>,
    buffers: Buffers,
    /// A page is watched that was not: what the CPU's TLB has must go.
    pub newly_watched: bool,
    pub counts: Counts,
}

/// The parts of a range of bytes that do not cross a line.
fn parts(at: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let start = done;
        let here = at + start as u64;
        done = length.min(start + (LINE - here % LINE) as usize);
        (start < done).then_some((here, start..done))
    })
}

impl<R: Ram> Lines<R> {
    /// All of RAM, of `size` bytes, in memory and in no cache.
    pub fn new(ram: R, size: u64) -> Self {
        let mut memory = vec![0; size as usize];
        let mut base = vec![0; size as usize];
        let mut page = [0; PAGE as usize];
        for at in (FIRST..size).step_by(PAGE as usize) {
            ram.read(at, &mut page);
            // Zeros are left to the kernel: they take no memory.
            if page.iter().any(|byte| *byte != 0) {
                memory[at as usize..][..PAGE as usize].copy_from_slice(&page);
                base[at as usize..][..PAGE as usize].copy_from_slice(&page);
            }
        }
        Self {
            ram,
            memory,
            base,
            absent: Bits::new(size / LINE),
            stored: Bits::new(size / LINE),
            watched: Bits::new(size / PAGE),
            accessed: vec![0; (size / PAGE) as usize],
            emptied: 1,
            last_store: Vec::new(),
            buffers: Buffers::default(),
            newly_watched: false,
            counts: Counts::default(),
        }
    }

    /// Whether this is memory that the cache may hold.
    pub fn holds(&self, at: u64) -> bool {
        (FIRST..self.memory.len() as u64).contains(&at)
    }

    pub fn is_watched(&self, at: u64) -> bool {
        self.watched.has(at / PAGE)
    }

    /// What the cache would have of a line if it had it: not what waits in a buffer.
    fn cached(&self, line: u64) -> [u8; LINE as usize] {
        let mut bytes = [0; LINE as usize];
        self.ram.read(line, &mut bytes);
        for (index, _) in self.buffers.of(line).into_iter().flat_map(Buffer::bytes) {
            bytes[index] = self.base[line as usize + index];
        }
        bytes
    }

    fn is_dirty(&self, line: u64) -> bool {
        self.stored.has(line / LINE) || self.cached(line) != self.base[line as usize..][..LINE as usize]
    }

    fn is_stale(&self, line: u64) -> bool {
        let range = line as usize..(line + LINE) as usize;
        self.memory[range.clone()] != self.base[range]
    }

    fn is_present(&self, line: u64) -> bool {
        let accessed = self.accessed[(line / PAGE) as usize] == self.emptied;
        accessed && !self.absent.has(line / LINE) || self.is_dirty(line)
    }

    fn watch(&mut self, at: u64) {
        let page = at / PAGE;
        if !self.watched.has(page) {
            self.watched.insert(page);
            self.newly_watched = true;
            self.counts.watched_pages += 1;
        }
    }

    /// Stops watching a page that has neither an absent nor a stale line. Entries that the TLB still has of it do no harm.
    fn unwatch_if_settled(&mut self, at: u64) {
        let page = (at & !(PAGE - 1)) as usize..(at | (PAGE - 1)) as usize + 1;
        if self.absent.word(at / LINE) == 0 && self.memory[page.clone()] == self.base[page] {
            self.watched.remove(at / PAGE);
        }
    }

    /// From now on each line of a page counts, not the page as a whole.
    fn split(&mut self, at: u64) {
        let accessed = &mut self.accessed[(at / PAGE) as usize];
        if *accessed != self.emptied {
            *accessed = self.emptied;
            self.absent.set_word(at / LINE, ALL_LINES);
            self.watch(at);
        }
    }

    /// The line leaves the cache.
    fn leave(&mut self, line: u64) {
        self.split(line);
        self.absent.insert(line / LINE);
        self.watch(line);
    }

    /// A dirty line is copied to memory as a whole, and is clean.
    pub fn write_back(&mut self, line: u64) {
        if !self.is_dirty(line) {
            return;
        }
        if self.buffers.of(line).is_some() {
            return self.complete(line);
        }
        if self.is_stale(line) {
            self.counts.overwritten += 1;
        }
        self.counts.written_back += 1;
        self.stored.remove(line / LINE);
        let bytes = self.cached(line);
        self.memory[line as usize..][..LINE as usize].copy_from_slice(&bytes);
        self.base[line as usize..][..LINE as usize].copy_from_slice(&bytes);
    }

    /// A line leaves the cache: a dirty one is written back, a clean one is dropped. What waits in its buffer takes effect.
    pub fn evict(&mut self, line: u64) {
        if self.buffers.of(line).is_some() {
            return self.complete(line);
        }
        if self.is_dirty(line) {
            self.write_back(line);
        } else if self.is_stale(line) {
            self.counts.dropped += 1;
            let range = line as usize..(line + LINE) as usize;
            self.base[range.clone()].copy_from_slice(&self.memory[range.clone()]);
            self.ram.write(line, &self.memory[range]);
        }
        self.leave(line);
    }

    /// A line leaves the cache if it is there: the CPU, past its caches, or a snooping device accesses it.
    pub fn leave_if_present(&mut self, line: u64) {
        if self.is_present(line) {
            self.evict(line);
        }
    }

    /// A line enters the cache.
    pub fn fill(&mut self, line: u64) {
        self.split(line);
        self.absent.remove(line / LINE);
        if self.absent.word(line / LINE) == 0 {
            self.unwatch_if_settled(line);
        }
    }

    /// The CPU accesses a page through a write-back mapping. If it does so for the first time since everything was
    /// written back, all of the page counts as filled.
    pub fn touch(&mut self, at: u64) {
        let accessed = &mut self.accessed[(at / PAGE) as usize];
        if *accessed != self.emptied {
            *accessed = self.emptied;
            self.absent.set_word(at / LINE, 0);
        }
    }

    /// The CPU is about to store to all of a page.
    pub fn overwrite(&mut self, page: u64) {
        self.touch(page);
        self.absent.set_word(page / LINE, 0);
        self.stored.set_word(page / LINE, ALL_LINES);
        self.watched.remove(page / PAGE);
    }

    /// Everything is written back and leaves the cache.
    pub fn empty(&mut self) {
        let mut cached = [0; PAGE as usize];
        for page in (FIRST..self.memory.len() as u64).step_by(PAGE as usize) {
            self.ram.read(page, &mut cached);
            let range = page as usize..(page + PAGE) as usize;
            let changed =
                cached != self.base[range.clone()] || self.memory[range.clone()] != self.base[range];
            if changed || self.stored.word(page / LINE) != 0 {
                for line in (page..page + PAGE).step_by(LINE as usize) {
                    self.evict(line);
                }
            }
            self.watched.remove(page / PAGE);
        }
        self.emptied += 1;
        self.newly_watched = true;
    }

    /// The CPU fetches instructions from a watched page. Fetches cannot be watched: all of the page is
    /// exchanged with memory and filled.
    pub fn fetch_code(&mut self, at: u64) {
        let page = at & !(PAGE - 1);
        for line in (page..page + PAGE).step_by(LINE as usize) {
            self.evict(line);
        }
        self.absent.set_word(page / LINE, !ALL_LINES);
        self.watched.remove(page / PAGE);
    }

    /// The CPU loads from a watched page.
    pub fn load(&mut self, at: u64, buffer: &mut [u8]) {
        for (at, _) in parts(at, buffer.len()) {
            self.fill(at & !(LINE - 1));
        }
        self.ram.read(at, buffer);
    }

    /// The CPU stores to a watched page.
    pub fn store(&mut self, at: u64, data: &[u8]) {
        self.last_store.clear();
        for (at, _) in parts(at, data.len()) {
            let line = at & !(LINE - 1);
            self.last_store.push((line, self.is_dirty(line)));
            self.fill(line);
            self.stored.insert(line / LINE);
        }
        self.ram.write(at, data);
    }

    /// The CPU does something else than to store: the last store was an ordinary one.
    pub fn end_store(&mut self) {
        self.last_store.clear();
    }

    /// Whether the last store may be a non-temporal one to this line, which takes nothing else of the line along.
    pub fn may_be_non_temporal(&self, line: u64) -> bool {
        self.last_store.iter().any(|(last, _)| *last == line)
    }

    /// Whether a line was dirty before the non-temporal store to these bytes of it, which `ram` has already.
    fn was_dirty(&mut self, line: u64, stored: &Range<usize>) -> bool {
        let last = self.last_store.iter().position(|(last, _)| *last == line);
        let seen = last.map_or(self.stored.has(line / LINE), |index| self.last_store.swap_remove(index).1);
        let (cached, base) = (self.cached(line), &self.base[line as usize..][..LINE as usize]);
        seen || (0..LINE as usize).any(|index| !stored.contains(&index) && cached[index] != base[index])
    }

    /// A non-temporal store of the CPU, which `ram` has already. If other bytes of the line are dirty, the line is written
    /// back, and leaves the cache; else the stored bytes wait until [`Self::complete`]. Returns the lines that have a buffer
    /// now, and had none.
    pub fn store_non_temporal(&mut self, at: u64, length: usize) -> Vec<u64> {
        let mut new = Vec::new();
        for (at, part) in parts(at, length) {
            let line = at & !(LINE - 1);
            let first = (at - line) as usize;
            if self.was_dirty(line, &(first..first + part.len())) {
                self.stored.insert(line / LINE);
                self.evict(line);
                continue;
            }
            self.stored.remove(line / LINE);
            let mut bytes = vec![0; part.len()];
            self.ram.read(at, &mut bytes);
            if self.buffers.add(at, &bytes) {
                new.push(line);
            }
        }
        new
    }

    /// What waits in the buffer of a line takes effect: its bytes alone are in memory, unless others are dirty by now, and
    /// the line leaves the cache.
    pub fn complete(&mut self, line: u64) {
        let dirty = self.is_dirty(line);
        let Some(buffer) = self.buffers.take(line) else {
            return;
        };
        if dirty {
            self.stored.insert(line / LINE);
        }
        for (index, byte) in buffer.bytes() {
            self.memory[line as usize + index] = byte;
            self.base[line as usize + index] = byte;
        }
        self.evict(line);
    }

    /// Reads what the CPU or a device sees in memory, without a look at the cache.
    pub fn read_memory(&self, at: u64, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.memory[at as usize..][..buffer.len()]);
    }

    /// The number of bytes of a range that the CPU has stored, and that are not in memory. A byte that something else wrote
    /// to memory is not among them.
    pub fn stale_bytes(&self, at: u64, length: usize) -> usize {
        let mut cached = vec![0; length];
        self.ram.read(at, &mut cached);
        let range = at as usize..at as usize + length;
        let stored = &self.memory[range.clone()];
        if cached == stored {
            return 0;
        }
        let bytes = cached.iter().zip(stored).zip(&self.base[range]);
        bytes.filter(|((cached, stored), base)| cached != stored && cached != base).count()
    }

    /// A device reads without a look at the CPU's caches.
    pub fn device_read(&mut self, at: u64, buffer: &mut [u8]) {
        self.counts.stale_bytes += self.stale_bytes(at, buffer.len()) as u64;
        self.read_memory(at, buffer);
    }

    /// A device reads what the CPU's caches have, else memory. A clean line is found in the last-level cache,
    /// `shared`; where there is none, the snoop of a clean line leaves the answer to memory.
    pub fn snooping_read(&self, at: u64, buffer: &mut [u8], shared: bool) {
        for (at, part) in parts(at, buffer.len()) {
            let line = at & !(LINE - 1);
            if self.is_dirty(line) || shared && self.is_present(line) {
                let bytes = &self.cached(line)[(at - line) as usize..][..part.len()];
                buffer[part].copy_from_slice(bytes);
            } else {
                self.read_memory(at, &mut buffer[part]);
            }
        }
    }

    /// A device, or the CPU past its caches, writes.
    pub fn write(&mut self, at: u64, data: &[u8], write: Write) {
        for (at, part) in parts(at, data.len()) {
            let (line, data) = (at & !(LINE - 1), &data[part]);
            match write {
                Write::Allocates => {
                    self.fill(line);
                    self.stored.insert(line / LINE);
                    self.ram.write(at, data);
                }
                Write::Bypasses if self.is_present(line) => {
                    self.memory[at as usize..][..data.len()].copy_from_slice(data);
                    self.watch(at);
                }
                Write::Bypasses => self.write_everywhere(at, data),
                Write::Snoops => {
                    self.leave_if_present(line);
                    self.write_everywhere(at, data);
                }
            }
        }
    }

    fn write_everywhere(&mut self, at: u64, data: &[u8]) {
        self.memory[at as usize..][..data.len()].copy_from_slice(data);
        self.base[at as usize..][..data.len()].copy_from_slice(data);
        self.ram.write(at, data);
    }
}
