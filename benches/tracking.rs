//! The cost of every store, submission and decision, for work on them; `gemtool bench constant` judges.

use divan::{Bencher, black_box};
use gem_coherency::platform::{Caps, by_name};
use gem_coherency::policy::{Path, needs_flush};
use gem_coherency::tracking::LineMap;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};

/// Bytes of a BO.
const SIZES: [u64; 3] = [4 << 10, 8 << 20, 1 << 30];

fn main() {
    divan::main();
}

fn map(size: u64) -> LineMap {
    LineMap::new(size).expect("there is memory for a line map")
}

#[divan::bench(args = SIZES)]
fn mark_of_a_line(bencher: Bencher<'_, '_>, size: u64) {
    let map = map(size);
    bencher.bench_local(|| map.mark(black_box(LineRange::new(5, 6))));
}

#[divan::bench(args = SIZES)]
fn clean_check(bencher: Bencher<'_, '_>, size: u64) {
    let map = map(size);
    bencher.bench_local(|| black_box(&map).is_clean());
}

#[divan::bench]
fn decision(bencher: Bencher<'_, '_>) {
    let platform = by_name("jsl").expect("a platform of the table");
    let caps: Caps = platform.machine(KernelVersion::new(6, 12), false).caps;
    let (store, fetch) = (Path::Cpu(MmapMode::Wb), Path::Gpu(MocsClass::BypassLlc));
    bencher.bench_local(|| {
        needs_flush(black_box(caps), black_box(CacheLevel::Llc), store, black_box(fetch), Access::Read)
    });
}
