//! Uploads that go to memory at once, to memory that is in no cache.
//!
//! Beside `pmem_memcpy_persist` the copy is as fast, but `Bo::upload` counts the access before and after it. Two locked adds (`floor`) cost 5
//! to 7 % from 16 KiB on, because the CPU fetches nothing while they wait; the library takes 1 to 2 % more from 64 KiB on. At 4 KiB the rest
//! is 40 ns of instructions (AMD).

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::object::Upload;

use super::size_text;
use crate::bytes::{Bytes, Copier, Flusher};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "upload";

/// The side of the copy between two locked adds, the least that begins and ends an access.
const FLOOR: &str = "floor";
/// Sizes of an upload in bytes.
const SIZES: [u64; 8] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20, 64 << 20];
/// Bytes uploaded in a turn: small uploads follow each other.
const BATCH_BYTES: u64 = 256 << 10;

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let device = ordinary::device(Part::NoLlc)?;
    let mut missed = Vec::new();
    for size in context.effort.sizes(&SIZES) {
        let count = (BATCH_BYTES / size).max(1);
        let bo = ordinary::bo(&device, size * count)?;
        let view = Bytes::of(&bo)?;
        let data = vec![0x5a; size as usize];
        let (wrong, counter) = (Cell::new(false), AtomicU64::new(0));
        let mut rounds = Rounds::new(|| {
            view.flush(Flusher::Flush, view.all());
            // Brings the source into the cache, as far as it fits.
            black_box(data.iter().step_by(64).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
            Ok(())
        });
        rounds.side("Bo::upload", || {
            let took = per_operation(count, || {
                for index in 0..count {
                    bo.upload(index * size, &data, Upload::Auto)?;
                }
                Ok(())
            });
            wrong.set(wrong.get() || bo.dirty_lines() != 0);
            took
        });
        let pmem = context.pmem(found);
        let stored = context.support.clflushopt.then_some(Copier::StoreAndFlush);
        let copiers = [Some(Copier::NonTemporal), stored, pmem.map(Copier::Pmem)];
        for by in copiers.into_iter().flatten() {
            let data = &data;
            rounds.side(by.name(), move || {
                per_operation(count, || (0..count).try_for_each(|index| view.copy(by, index * size, data)))
            });
        }
        rounds.side(FLOOR, || {
            per_operation(count, || {
                for index in 0..count {
                    counter.fetch_add(1, Ordering::SeqCst);
                    view.copy(Copier::NonTemporal, index * size, &data)?;
                    counter.fetch_add(1, Ordering::SeqCst);
                }
                Ok(())
            })
        });
        let times = rounds.measure(context.effort)?;
        let case = size_text(size);
        let mut line = |ours, theirs, target| found.push(times.line((NAME, &case), ours, theirs, target));
        let least = if size > 8 << 20 { 1.2 } else { 1.5 };
        line("Bo::upload", "store+clflushopt", Some(least));
        line("Bo::upload", "pmem_memcpy_persist", Some(0.95));
        line("Bo::upload", FLOOR, Some(0.95));
        line("copy_non_temporal", "pmem_memcpy_persist", None);
        let of_floor = times.line((NAME, &case), FLOOR, "pmem_memcpy_persist", Some(0.95));
        if let Some(line) = of_floor.filter(|line| line.reached == Some(false)) {
            missed.push(format!("{case} ({:.2})", line.ratio.median));
        }
        if wrong.get() {
            found.wrong.push(format!("{NAME}: lines were dirty after an upload of {case}"));
        }
    }
    if !missed.is_empty() {
        let sizes = missed.join(", ");
        found.notes.push(format!("upload: the hardware misses the target, because the floor does: {sizes}"));
    }
    Ok(())
}
