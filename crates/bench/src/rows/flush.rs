//! Flushing a dirty range by CLWB (`write_back_range`) or CLFLUSHOPT (`flush_range`), and waiting until it is in memory.
//!
//! Of 64 MiB, on memory in no cache, CLFLUSH and CLFLUSHOPT are up to 6 % faster than CLWB, which `write_back_range` uses because the lines
//! stay in the cache.

use super::size_text;
use crate::bytes::{Bytes, Flusher, loops};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::ordinary::{self, Part};
use crate::report::{Found, Maker};
use crate::rounds::Rounds;

pub const NAME: &str = "flush";

/// Bytes of the range: 64 bytes to 64 MiB, each four times the one before.
const SIZES: [u64; 11] =
    [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
/// Bytes flushed in a turn: small ranges are flushed one after the other, each with its fences.
const BATCH_BYTES: u64 = 64 << 10;
/// Largest number of ranges in a turn.
const BATCH: u64 = 256;

/// The target for equal speed, within the noise.
const AS_FAST: f64 = 0.97;

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let device = ordinary::device(Part::NoLlc)?;
    for size in context.effort.sizes(&SIZES) {
        let count = (BATCH_BYTES / size).clamp(1, BATCH);
        let bo = ordinary::bo(&device, size * count)?;
        let bytes_of_bo = Bytes::of(&bo)?;
        let ranges =
            (0..count).map(|index| bytes_of_bo.range(index * size, size)).collect::<Result<Vec<_>, _>>()?;
        let mut rounds = Rounds::new(|| {
            ranges.iter().for_each(|&range| bytes_of_bo.dirty(range));
            Ok(())
        });
        let pmem = context.pmem(found);
        let by_loops: Vec<_> = loops(&context.support).into_iter().map(Flusher::Loop).collect();
        let by_pmem = [pmem.map(Flusher::Persist), pmem.map(Flusher::FlushAndDrain)];
        let flushers = [Flusher::WriteBack, Flusher::Flush];
        for by in flushers.into_iter().chain(by_pmem.into_iter().flatten()).chain(by_loops.iter().copied()) {
            let ranges = &ranges;
            rounds.side(by.name(), move || {
                per_operation(count, || {
                    ranges.iter().for_each(|&range| bytes_of_bo.flush(by, range));
                    Ok(())
                })
            });
        }
        let times = rounds.measure(context.effort)?;
        let case = (NAME, size_text(size));
        let mut line = |ours, theirs, target| found.push(times.line((case.0, &case.1), ours, theirs, target));
        // Intel's processors order CLFLUSH after the one before; AMD's execute it as fast as CLFLUSHOPT.
        let is_slow = context.maker == Maker::Intel && (4 << 10..=1 << 20).contains(&size);
        let names: Vec<_> = by_loops.iter().map(|by| by.name()).collect();
        line("write_back_range", "pmem_persist", Some(AS_FAST));
        line("write_back_range", "pmem_flush+drain", Some(AS_FAST));
        if let Some(best) = times.best(&names) {
            line("write_back_range", best, Some(AS_FAST));
        }
        line("write_back_range", "clflush loop", is_slow.then_some(1.3));
        line("flush_range", "clflushopt loop", Some(AS_FAST));
    }
    Ok(())
}
