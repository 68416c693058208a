//! Microbenchmarks of flushes and uploads, for work on them; `gemtool bench` compares them with alternatives.
//!
//! # Safety
//! Every range lies within a vector that outlives the call.

use divan::{Bencher, counter::BytesCount};
use gem_coherency::cacheops::{self, LineOp};
use gem_coherency_bench::peers::{Loop, flush};

/// Sizes of a range in bytes.
const SIZES: [usize; 4] = [64, 4 << 10, 64 << 10, 1 << 20];

fn main() {
    divan::main();
}

/// Measures `work` on memory in which every line is dirty.
fn on_dirty(bencher: Bencher<'_, '_>, len: usize, work: impl Fn(*const u8, usize) + Sync) {
    let bencher = bencher.counter(BytesCount::new(len));
    bencher.with_inputs(|| vec![1_u8; len]).bench_local_refs(|memory| work(memory.as_ptr(), len));
}

#[divan::bench(args = SIZES)]
fn write_back_range(bencher: Bencher<'_, '_>, len: usize) {
    // SAFETY: the vector's own bytes.
    on_dirty(bencher, len, |first, len| unsafe { cacheops::write_back_range(first, len) });
}

#[divan::bench(args = SIZES)]
fn flush_range(bencher: Bencher<'_, '_>, len: usize) {
    // SAFETY: the vector's own bytes.
    on_dirty(bencher, len, |first, len| unsafe { cacheops::flush_range(first, len) });
}

#[divan::bench(args = SIZES)]
fn clflush_loop(bencher: Bencher<'_, '_>, len: usize) {
    // SAFETY: the vector's own bytes; every x86_64 CPU has CLFLUSH.
    on_dirty(bencher, len, |first, len| unsafe { flush(Loop::Clflush, first, len) });
}

#[divan::bench(args = SIZES)]
fn copy_non_temporal(bencher: Bencher<'_, '_>, len: usize) {
    let from = vec![1; len];
    bencher.counter(BytesCount::new(len)).with_inputs(|| vec![0; len]).bench_local_refs(|to| {
        // SAFETY: both vectors are `len` bytes long.
        unsafe { cacheops::copy_non_temporal(to.as_mut_ptr(), &from) };
        cacheops::fence_for(LineOp::WriteBack);
    });
}
