//! Two writers that store to different parts of one stale line.
//!
//! Invariant: a writer that finds no stale line, because the other one took it, does not store before the line
//! was invalidated. Otherwise the store makes the stale rest of the line dirty, and the other writer's
//! invalidate writes the rest back, over the bytes of the GPU.
//! Preemption bound: 3. Time: 1 s.
#![cfg(loom)]

use gem_coherency::engine::{Overwrite, overwrite, prepare_store};
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::Path;
use gem_coherency::tracking::{Marks, Tracked, complete};
use gem_coherency::units::{ByteRange, LineRange};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{Agent, Data, Object, Unfenced, race};

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

impl Data for Line {
    fn flush(&self, _: LineRange) {
        self.flush();
    }

    /// CLFLUSH writes a dirty line back before it drops it.
    fn invalidate(&self, _: LineRange) {
        self.flush();
    }
}

/// An object of one stale line.
fn object() -> Object<Line> {
    let tracked = Tracked::new(64, CacheLevel::None).expect("a small map");
    tracked.stale().mark_all();
    Object { tracked, memory: Line::stale() }
}

/// A writer's preparation of a store.
type Prepare = fn(&Agent<'_, Line>, ByteRange);

/// The store of the writer with number `byte`, after `prepare`.
fn store(object: &Object<Line>, byte: u64, prepare: Prepare) {
    let unfenced = Unfenced::default();
    let writer = Agent::new(object, &unfenced);
    prepare(&writer, ByteRange::within(byte, 1, 64).expect("a byte of the line"));
    object.memory.store(byte, 2);
    object.tracked.dirty().mark(LineRange::new(0, 1)).expect("the line");
}

fn two_writers(prepare: Prepare) {
    race(
        Some(3),
        object,
        move |object| store(object, 0, prepare),
        move |object| store(object, 1, prepare),
        |object| assert_eq!(object.memory.bytes(), 0x01_0202, "bytes of the GPU are overwritten"),
    );
}

/// The store of a library that trusts the map of stale lines.
struct Trusting<'a>(&'a Object<Line>);

impl Overwrite for Trusting<'_> {
    type Lines = LineRange;
    type Error = Error;

    fn is_stale(&self, lines: LineRange) -> bool {
        self.0.tracked.stale().any(lines)
    }

    fn invalidate(&mut self, lines: LineRange) -> Result<()> {
        let mut in_flight = self.0.tracked.begin_flush(lines)?;
        in_flight.take_stale(|_| self.0.memory.flush());
        let _ = complete([in_flight]);
        Ok(())
    }

    fn forget_stale(&mut self, lines: LineRange) {
        self.0.tracked.stale().take(lines, |_| {});
    }
}

#[test]
fn no_writer_stores_before_the_line_was_invalidated() {
    two_writers(|writer, range| {
        prepare_store(writer, range, Path::Cpu(MmapMode::Wb), Marks::Shared).expect("nothing fails");
    });
}

#[test]
fn no_writer_that_looks_at_one_page_stores_before_the_line_was_invalidated() {
    two_writers(|writer, range| {
        let lines = range.lines_of_page().expect("a byte is on one page");
        if writer.object.tracked.may_be_stale_in(lines) {
            prepare_store(writer, range, Path::Cpu(MmapMode::Wb), Marks::Shared).expect("nothing fails");
        }
    });
}

#[test]
#[should_panic(expected = "bytes of the GPU are overwritten")]
fn a_writer_that_trusts_the_map_of_stale_lines_overwrites_bytes_of_the_gpu() {
    two_writers(|writer, range| {
        overwrite(&mut Trusting(writer.object), range.lines(), Some(range.lines())).expect("nothing fails");
    });
}

#[test]
#[should_panic(expected = "bytes of the GPU are overwritten")]
fn a_store_without_an_invalidate_overwrites_bytes_of_the_gpu() {
    two_writers(|_, _| {});
}
