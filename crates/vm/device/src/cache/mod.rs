//! A write-back cache between the guest's CPU and its memory, so that a forgotten flush shows old bytes. There is one
//! only with `run --cache`: without, all accesses go to QEMU's RAM.
//!
//! * [`lines`]: what is where: the CPU's bytes and memory's, and which lines are cached;
//! * [`late`]: flushes and stores that take effect late;
//! * [`adversary`]: what a cache may do at any time, at random;
//! * [`instructions`]: the instructions of the CPU that matter;
//! * [`ignored`]: functions of the kernel whose flushes are left out.
//!
//! [`crate::qemu`] brings the CPU's accesses and instructions here, [`crate::gpu::memory`] the GPU's.

mod adversary;
mod bits;
mod buffers;
mod ignored;
pub mod instructions;
mod late;
mod lines;

use adversary::Adversary;
pub use ignored::Ignored;
use instructions::Flush;
use late::{Late, Waiting};
use lines::Lines;
pub use lines::{FIRST, LINE, PAGE, Ram, Write};
use std::fmt::Write as _;

/// The options of a machine's cache.
#[derive(Clone, Copy, Default)]
pub struct Settings {
    /// The seed of the adversary, if there is one.
    pub adversary: Option<u64>,
    /// Uncached accesses of the CPU to lines in its own cache go to memory, and leave the line there.
    pub aliases: bool,
    /// The GPU shares the last-level cache.
    pub shared: bool,
}

pub struct Cache<R> {
    lines: Lines<R>,
    waiting: Waiting,
    adversary: Option<Adversary>,
    settings: Settings,
    pub ignored: Ignored,
    flushes: u64,
    emptied: u64,
}

impl<R: Ram> Cache<R> {
    /// An empty cache over RAM of `size` bytes.
    pub fn new(ram: R, size: u64, settings: Settings, ignored: Ignored) -> Self {
        Self {
            lines: Lines::new(ram, size),
            waiting: Waiting::default(),
            adversary: settings.adversary.map(Adversary::new),
            settings,
            ignored,
            flushes: 0,
            emptied: 0,
        }
    }

    /// Whether the CPU's cached accesses to this page have to come here.
    pub fn is_watched(&self, at: u64) -> bool {
        self.lines.is_watched(at)
    }

    /// Whether a page is watched since the last call that was not watched before.
    pub fn take_newly_watched(&mut self) -> bool {
        std::mem::take(&mut self.lines.newly_watched)
    }

    /// The CPU's TLB is filled for a cached access to this page.
    pub fn touch(&mut self, at: u64) {
        self.lines.touch(at);
    }

    /// The CPU is about to store to all of this page.
    pub fn overwrite(&mut self, page: u64) {
        self.lines.overwrite(page);
    }

    /// The CPU fetches instructions from a watched page.
    pub fn fetch_code(&mut self, at: u64) {
        self.lines.fetch_code(at);
    }

    /// The CPU's cached load from a watched page.
    pub fn load(&mut self, at: u64, buffer: &mut [u8]) {
        self.lines.end_store();
        self.lines.load(at, buffer);
    }

    /// The CPU's cached store to a watched page.
    pub fn store(&mut self, at: u64, data: &[u8]) {
        self.lines.store(at, data);
    }

    fn later(&mut self, late: Late) {
        match &mut self.adversary {
            Some(adversary) => {
                self.waiting.push(late);
                adversary.limit(&mut self.waiting, &mut self.lines);
            }
            None => late.apply(&mut self.lines),
        }
    }

    fn notice(&mut self, at: u64) {
        if let Some(adversary) = &mut self.adversary {
            adversary.notice(at);
        }
    }

    /// The CPU's non-temporal store, which QEMU's RAM has already.
    pub fn store_non_temporal(&mut self, at: u64, length: usize) {
        for line in self.lines.store_non_temporal(at, length) {
            self.later(Late::Around { line });
        }
    }

    /// The CPU flushes a line.
    pub fn flush(&mut self, at: u64, flush: &Flush) {
        self.lines.end_store();
        self.flushes += 1;
        self.notice(at);
        let line = at & !(LINE - 1);
        let late = Late::Flush { line, drops: *flush != Flush::WriteBack };
        match flush {
            Flush::Strong => late.apply(&mut self.lines),
            Flush::Weak | Flush::WriteBack => self.later(late),
        }
    }

    /// WBINVD.
    pub fn empty(&mut self) {
        self.emptied += 1;
        self.waiting.drain(&mut self.lines);
        self.lines.empty();
    }

    /// The CPU fences.
    pub fn fence(&mut self) {
        self.lines.end_store();
        self.waiting.drain(&mut self.lines);
    }

    /// The CPU accesses something uncached.
    pub fn uncached_access(&mut self) {
        self.lines.end_store();
        self.waiting.drain_stores(&mut self.lines);
    }

    /// The CPU's load through an uncached or write-combining mapping.
    pub fn uncached_load(&mut self, at: u64, buffer: &mut [u8]) {
        for line in (at & !(LINE - 1)..at + buffer.len() as u64).step_by(LINE as usize) {
            self.combine(line);
            if !self.settings.aliases {
                self.lines.leave_if_present(line);
            }
        }
        self.lines.read_memory(at, buffer);
    }

    /// Stores to the line that wait take effect: the CPU loads from it through a write-combining mapping.
    pub fn combine(&mut self, at: u64) {
        self.waiting.drain_stores_to(&mut self.lines, at & !(LINE - 1));
    }

    /// The CPU's store of at most eight bytes through a write-combining mapping.
    pub fn combined_store(&mut self, at: u64, data: &[u8], write: Write) {
        let (mut bytes, length) = ([0; 8], data.len().min(8));
        bytes[..length].copy_from_slice(&data[..length]);
        self.later(Late::Combined { at, bytes, length, write });
    }

    /// The CPU's store through an uncached or (`combines`) write-combining mapping, of at most eight bytes.
    pub fn uncached_store(&mut self, at: u64, data: &[u8], combines: bool) {
        let write = if self.settings.aliases { Write::Bypasses } else { Write::Snoops };
        if combines {
            self.combined_store(at, data, write);
        } else {
            self.uncached_access();
            self.lines.write(at, data, write);
        }
    }

    /// A device reads; `snoops`: it looks into the CPU's caches.
    pub fn device_read(&mut self, at: u64, buffer: &mut [u8], snoops: bool) {
        self.notice(at);
        if snoops {
            self.lines.snooping_read(at, buffer, self.settings.shared);
        } else {
            self.lines.device_read(at, buffer);
        }
    }

    /// A device writes.
    pub fn device_write(&mut self, at: u64, data: &[u8], write: Write) {
        self.notice(at);
        self.lines.write(at, data, write);
    }

    /// The number of bytes that the CPU has stored and a device does not find in memory.
    pub fn stale_bytes(&self, at: u64, length: usize) -> usize {
        self.lines.stale_bytes(at, length)
    }

    /// The adversary intervenes; after how many nanoseconds it wants to do so again.
    pub fn intervene(&mut self) -> Option<u64> {
        let adversary = self.adversary.as_mut()?;
        Some(adversary.intervene(&mut self.waiting, &mut self.lines))
    }

    /// Returns the counts so far, in a line.
    pub fn report(&self) -> String {
        let counts = &self.lines.counts;
        let mut report = format!(
            "{} lines flushed, {} times all; {} lines written back, {} dropped, {} overwrote memory; \
             {} stale bytes read by devices; {} pages watched",
            self.flushes,
            self.emptied,
            counts.written_back,
            counts.dropped,
            counts.overwritten,
            counts.stale_bytes,
            counts.watched_pages
        );
        if let Some(adversary) = &self.adversary {
            let _ = write!(report, "; {} interventions of the adversary", adversary.interventions);
        }
        if let Some(ignored) = self.ignored.report() {
            let _ = write!(report, "; {ignored}");
        }
        report
    }
}
