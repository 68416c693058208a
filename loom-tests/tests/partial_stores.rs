//! Two writers that store to different parts of one stale line.
//!
//! Invariant: a writer that finds no stale line, because the other one took it, does not store before the line
//! was invalidated. Otherwise the store makes the stale rest of the line dirty, and the other writer's
//! invalidate writes the rest back, over the bytes of the GPU.
//! Preemption bound: 3. Time: 2 s.
#![cfg(loom)]

use std::cell::Cell;

use gem_coherency::cacheops::{CacheLines, LineOp};
use gem_coherency::engine::{Object, Overwrite, overwrite, prepare_store};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::{CpuMemory, Path};
use gem_coherency::policy::{DecisionTable, Decisions, Rule};
use gem_coherency::tracking::Tracked;
use gem_coherency::units::{ByteRange, LineRange, Lines};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::race;

/// A cache line of three bytes in memory and in the coherent caches: one byte for each writer, and one of the
/// GPU's alone.
struct Line(AtomicU64);

/// The line leaves the caches or is dirty there.
const DIRTY: u64 = 1 << 56;
const CACHED: u64 = 1 << 57;
/// The bytes in memory, and the distance to those in the cache.
const BYTES: u64 = 0xff_ffff;
const CACHE: u32 = 24;

impl Line {
    /// The GPU has written 1 to every byte of a line that the caches hold with the value 0.
    fn stale() -> Self {
        Self(AtomicU64::new(CACHED | 0x01_0101))
    }

    /// Changes the line. Relaxed: the change orders nothing else.
    fn update(&self, change: impl Fn(u64) -> u64) {
        let mut before = self.0.load(Ordering::Relaxed);
        while let Err(now) =
            self.0.compare_exchange(before, change(before), Ordering::Relaxed, Ordering::Relaxed)
        {
            before = now;
        }
    }

    /// The CPU stores `value` into a byte; a line that is not cached is fetched first.
    fn store(&self, byte: u64, value: u64) {
        self.update(|line| {
            let cached = if line & CACHED == 0 { (line & BYTES) << CACHE | line & BYTES } else { line };
            let place = CACHE + 8 * byte as u32;
            cached & !(0xff << place) | value << place | CACHED | DIRTY
        });
    }

    /// CLFLUSH: the line leaves the caches, after it was written back if it is dirty.
    fn flush(&self) {
        self.update(|line| if line & DIRTY == 0 { line & BYTES } else { line >> CACHE & BYTES });
    }

    /// The bytes in memory after a flush.
    fn bytes(&self) -> u64 {
        self.flush();
        self.0.load(Ordering::Relaxed)
    }
}

/// A buffer of one line.
struct Buffer {
    tracked: Tracked,
    line: Line,
}

impl Buffer {
    fn new() -> Self {
        let tracked = Tracked::new(64, CacheLevel::None).expect("a small map");
        tracked.stale().mark_all();
        Self { tracked, line: Line::stale() }
    }
}

/// One thread's view of the buffer. Its invalidate happens at the fence after it, not earlier.
struct Writer<'a> {
    buffer: &'a Buffer,
    is_unfenced: Cell<bool>,
}

impl CacheLines for Writer<'_> {
    fn perform(&self, op: LineOp, _: Lines) -> Result<()> {
        assert_eq!(op, LineOp::Invalidate);
        self.is_unfenced.set(true);
        Ok(())
    }
}

impl Object for Writer<'_> {
    type Mapping = Self;

    fn tracked(&self) -> &Tracked {
        &self.buffer.tracked
    }

    fn decisions(&self, next: Path, access: Access) -> &Decisions {
        static NO_LLC: DecisionTable = DecisionTable::of(Caps::SNOOP.union(Caps::APERTURE));
        NO_LLC.get(CacheLevel::None, next, access)
    }

    fn refused(&self, _: Path, rule: Rule) -> Error {
        Error::BadSize { size: 0, why: rule.reason() }
    }

    fn mode(&self) -> MmapMode {
        MmapMode::Wb
    }

    fn is_conservative(&self) -> bool {
        false
    }

    fn wait_for_gpu(&self) -> Result<()> {
        Ok(())
    }

    fn flush_mapping(&self) -> Result<&Self> {
        Ok(self)
    }

    fn drain(&self, _: CpuMemory) -> Result<()> {
        Ok(())
    }

    fn fence(&self, _: LineOp) {
        if self.is_unfenced.take() {
            self.buffer.line.flush();
        }
    }

    fn has_uncached_writes(&self) -> bool {
        false
    }

    fn enter_cpu_domain(&self) -> Result<()> {
        Ok(())
    }
}

/// The store of the writer with number `byte`, after `prepare`.
fn store(buffer: &Buffer, byte: u64, prepare: fn(&Writer<'_>, ByteRange)) {
    let writer = Writer { buffer, is_unfenced: Cell::new(false) };
    prepare(&writer, ByteRange::within(byte, 1, 64).expect("a byte of the line"));
    buffer.line.store(byte, 2);
    buffer.tracked.dirty().mark(LineRange::new(0, 1)).expect("the line");
}

fn two_writers(prepare: fn(&Writer<'_>, ByteRange)) {
    race(
        Some(3),
        Buffer::new,
        move |buffer| store(buffer, 0, prepare),
        move |buffer| store(buffer, 1, prepare),
        |buffer| assert_eq!(buffer.line.bytes(), 0x01_0202, "bytes of the GPU are overwritten"),
    );
}

/// The store of a library that trusts the map of stale lines.
struct Trusting<'a>(&'a Writer<'a>);

impl Overwrite for Trusting<'_> {
    type Lines = LineRange;
    type Error = Error;

    fn is_stale(&self, lines: LineRange) -> bool {
        self.0.tracked().stale().any(lines)
    }

    fn invalidate(&mut self, lines: LineRange) -> Result<()> {
        let mut in_flight = self.0.tracked().begin_flush(lines)?;
        in_flight.take_stale(|_| self.0.buffer.line.flush());
        let _ = gem_coherency::tracking::complete([in_flight]);
        Ok(())
    }

    fn forget_stale(&mut self, lines: LineRange) {
        self.0.tracked().stale().take(lines, |_| {});
    }
}

#[test]
fn no_writer_stores_before_the_line_was_invalidated() {
    two_writers(|writer, range| {
        prepare_store(writer, range, Path::Cpu(MmapMode::Wb)).expect("nothing fails");
    });
}

#[test]
#[should_panic(expected = "bytes of the GPU are overwritten")]
fn a_writer_that_trusts_the_map_of_stale_lines_overwrites_bytes_of_the_gpu() {
    two_writers(|writer, range| {
        overwrite(&mut Trusting(writer), range.lines(), Some(range.lines())).expect("nothing fails");
    });
}

#[test]
#[should_panic(expected = "bytes of the GPU are overwritten")]
fn a_store_without_an_invalidate_overwrites_bytes_of_the_gpu() {
    two_writers(|_, _| {});
}
