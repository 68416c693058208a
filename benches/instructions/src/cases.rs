//! The counted cases: one function for each, called twice by the function that sets it up.
//!
//! A function that is counted is never inlined, and its name begins with `counted_`. Nothing else's does.

use std::hint::black_box;

use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::platform::Caps;
use gem_coherency::policy::{Decision, DecisionTable, Path, pending};
use gem_coherency::tracking::LineMap;
use gem_coherency::units::{LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, MmapMode, MocsClass};
use gem_coherency_exercise::Batch;

use super::Result;

/// The number of times that a case calls its function; the last call counts, when everything lazy is done.
pub(super) const CALLS: usize = 2;

/// Words that a line has.
const WORDS_OF_LINE: u64 = 16;

/// Whose way a case takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The library's.
    Library,
    /// One that does the same, too slowly.
    Planted,
}

impl Way {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Planted => "planted",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Library, Self::Planted].into_iter().find(|way| way.name() == name)
    }
}

/// Something that is counted.
pub(super) struct Case {
    /// Its name, as `limits.txt` has it.
    pub(super) name: &'static str,
    /// The number of operations in a call; counts are of one.
    pub(super) divisor: u64,
    /// Sets up, and has the function called [`CALLS`] times.
    pub(super) run: fn(Way) -> Result<()>,
}

/// Every case, in the order in which they run.
pub(super) const CASES: [Case; 17] = [
    Case { name: "decision", divisor: 1, run: decision },
    Case { name: "mark of a 64-byte write", divisor: 1, run: |way| mark(way, LINE_BYTES) },
    Case { name: "mark of a 4 KiB write", divisor: 1, run: |way| mark(way, PAGE_BYTES) },
    Case { name: "mark_written of 64 bytes, glk", divisor: 1, run: mark_written },
    Case { name: "stream of 4 KiB, glk", divisor: 1, run: stream },
    Case { name: "clean check of 4 KiB", divisor: 1, run: |way| clean(way, PAGE_BYTES) },
    Case { name: "clean check of 1 GiB", divisor: 1, run: |way| clean(way, 1 << 30) },
    Case { name: "submit_with of 1 BO, tgl", divisor: 1, run: |way| prepare(way, "sim:tgl", 1) },
    Case { name: "submit_with of 1 BO, glk", divisor: 1, run: |way| prepare(way, "sim:glk", 1) },
    Case { name: "a BO of 1,000, tgl", divisor: 1000, run: |way| prepare(way, "sim:tgl", 1000) },
    Case { name: "a BO of 1,000, glk", divisor: 1000, run: |way| prepare(way, "sim:glk", 1000) },
    Case { name: "submit of 1 BO, 10 live, jsl", divisor: 1, run: |way| submit(way, 10) },
    Case { name: "submit of 1 BO, 1,000 live, jsl", divisor: 1, run: |way| submit(way, 1000) },
    Case { name: "batch of 1 BO, 10 live, jsl", divisor: 1, run: |way| batch(way, 10) },
    Case { name: "batch of 1 BO, 1,000 live, jsl", divisor: 1, run: |way| batch(way, 1000) },
    Case { name: "a BO's life, 10 live, jsl", divisor: 1, run: |way| life(way, 10) },
    Case { name: "a BO's life, 1,000 live, jsl", divisor: 1, run: |way| life(way, 1000) },
];

/// Decides the work that dirty lines require before the GPU reads.
fn decision(way: Way) -> Result<()> {
    let caps = Caps::SNOOP | Caps::APERTURE;
    let decisions = &DecisionTable::of(caps);
    let (level, gpu) = (CacheLevel::None, Path::Gpu(MocsClass::PageTable));
    for _ in 0..CALLS {
        let decision = match way {
            Way::Library => counted_decision(
                black_box(decisions),
                black_box(level),
                black_box(gpu),
                black_box(Access::Read),
            ),
            Way::Planted => counted_decision_anew(
                black_box(caps),
                black_box(level),
                black_box(gpu),
                black_box(Access::Read),
            ),
        };
        decision.ok_or("no decision")?;
    }
    Ok(())
}

#[inline(never)]
fn counted_decision(
    decisions: &DecisionTable,
    level: CacheLevel,
    path: Path,
    access: Access,
) -> Option<Decision> {
    decisions.get(level, path, access).required.dirty
}

#[inline(never)]
fn counted_decision_anew(caps: Caps, level: CacheLevel, path: Path, access: Access) -> Option<Decision> {
    pending::required_work(caps, level, path, access).dirty
}

/// A write of `bytes` bytes is marked, each time in a page of its own.
fn mark(way: Way, bytes: u64) -> Result<()> {
    let map = LineMap::new(8 << 20)?;
    for page in 0..CALLS as u64 {
        let first = page * PAGE_LINES;
        let lines = black_box(LineRange::new(first, first + bytes / LINE_BYTES));
        match way {
            Way::Library => counted_mark(black_box(&map), lines)?,
            Way::Planted => counted_mark_by_word(black_box(&map), lines)?,
        }
    }
    Ok(())
}

#[inline(never)]
fn counted_mark(map: &LineMap, lines: LineRange) -> gem_coherency::Result<()> {
    map.mark(lines)
}

/// As one would who marks every store of a word.
#[inline(never)]
fn counted_mark_by_word(map: &LineMap, lines: LineRange) -> gem_coherency::Result<()> {
    (lines.first()..lines.end()).try_for_each(|line| {
        (0..WORDS_OF_LINE).try_for_each(|_| map.mark(black_box(LineRange::new(line, line + 1))))
    })
}

/// A driver says that it stored 64 bytes.
fn mark_written(way: Way) -> Result<()> {
    on_pages(match way {
        Way::Library => counted_mark_written,
        Way::Planted => counted_mark_written_by_word,
    })
}

/// Calls a function on a BO that is mapped through the cache, each time with the offset of another page.
fn on_pages(counted: fn(&Bo, u64) -> gem_coherency::Result<()>) -> Result<()> {
    let device = gem_coherency_sim::open("sim:glk")?;
    let bo = device.alloc(AllocRequest::new(1 << 20).caching(CachingMode::None))?;
    bo.map(MmapMode::Wb)?;
    (0..CALLS as u64).try_for_each(|page| Ok(counted(black_box(&bo), black_box(page * PAGE_BYTES))?))
}

#[inline(never)]
fn counted_mark_written(bo: &Bo, offset: u64) -> gem_coherency::Result<()> {
    bo.mark_written(offset, LINE_BYTES)
}

#[inline(never)]
fn counted_mark_written_by_word(bo: &Bo, offset: u64) -> gem_coherency::Result<()> {
    let bytes = LINE_BYTES / WORDS_OF_LINE;
    (0..WORDS_OF_LINE).try_for_each(|word| bo.mark_written(offset + word * bytes, bytes))
}

/// A stream of a page is opened and ended. The driver's stores are not counted.
fn stream(way: Way) -> Result<()> {
    on_pages(match way {
        Way::Library => counted_stream,
        Way::Planted => counted_streams_by_line,
    })
}

#[inline(never)]
fn counted_stream(bo: &Bo, offset: u64) -> gem_coherency::Result<()> {
    let mut stream = bo.stream(offset, PAGE_BYTES)?;
    stream.advance(PAGE_BYTES)?;
    stream.finish();
    Ok(())
}

/// As one would who begins a stream for each line.
#[inline(never)]
fn counted_streams_by_line(bo: &Bo, offset: u64) -> gem_coherency::Result<()> {
    (0..PAGE_LINES).try_for_each(|line| {
        let mut stream = bo.stream(offset + line * LINE_BYTES, LINE_BYTES)?;
        stream.advance(LINE_BYTES)?;
        stream.finish();
        Ok(())
    })
}

/// A map of an object of `bytes` bytes is found clean.
fn clean(way: Way, bytes: u64) -> Result<()> {
    let map = LineMap::new(bytes)?;
    for _ in 0..CALLS {
        let is_clean = match way {
            Way::Library => counted_is_clean(black_box(&map)),
            Way::Planted => counted_is_clean_by_counting(black_box(&map)),
        };
        is_clean.then_some(()).ok_or("the map is not clean")?;
    }
    Ok(())
}

#[inline(never)]
fn counted_is_clean(map: &LineMap) -> bool {
    map.is_clean()
}

/// As one would who has no masks and no summary.
#[inline(never)]
fn counted_is_clean_by_counting(map: &LineMap) -> bool {
    let mut first_page = (0..PAGE_LINES).map(|line| LineRange::new(line, line + 1));
    !first_page.any(|line| map.any(black_box(line))) && map.count() == 0
}

/// `bos` clean BOs are made ready for a GPU that reads them.
fn prepare(way: Way, device: &str, bos: usize) -> Result<()> {
    let device = gem_coherency_sim::open(device)?;
    let bos = (0..bos).map(|_| clean_bo(&device)).collect::<Result<Vec<_>>>()?;
    let submissions = reads(&bos);
    for _ in 0..CALLS {
        match way {
            Way::Library => counted_prepare(black_box(&device), black_box(&submissions))?,
            Way::Planted => counted_prepare_one_by_one(black_box(&device), black_box(&submissions))?,
        }
    }
    Ok(())
}

/// A BO that is mapped through the cache, and was written and flushed.
fn clean_bo(device: &Device) -> Result<Bo> {
    let bo = device.alloc(AllocRequest::new(PAGE_BYTES).caching(CachingMode::None))?;
    bo.map(MmapMode::Wb)?;
    let mut guard = bo.write(0, PAGE_BYTES)?;
    guard.fill(b"pattern!")?;
    guard.finish();
    bo.flush()?;
    match bo.dirty_lines() {
        0 => Ok(bo),
        lines => Err(format!("{lines} lines are dirty after a flush").into()),
    }
}

#[inline(never)]
fn counted_prepare(device: &Device, submissions: &[Submission<'_>]) -> gem_coherency::Result<()> {
    device.submit_with(submissions, |_| Ok(()))
}

/// As one would who prepares each BO by itself, for both accesses.
#[inline(never)]
fn counted_prepare_one_by_one(device: &Device, submissions: &[Submission<'_>]) -> gem_coherency::Result<()> {
    submissions.iter().try_for_each(|&one| {
        let write = Submission { access: Access::Write, ..one };
        [one, write].iter().try_for_each(|one| device.submit_with(std::slice::from_ref(one), |_| Ok(())))
    })
}

/// A software Jasper Lake with live BOs that the GPU has bound.
fn bound(live: usize) -> Result<(Device, Vec<Bo>)> {
    let device = gem_coherency_sim::open("sim:jsl")?;
    let bos = (0..live).map(|_| clean_bo(&device)).collect::<Result<Vec<_>>>()?;
    device.submit(&reads(&bos))?;
    Ok((device, bos))
}

fn reads(bos: &[Bo]) -> Vec<Submission<'_>> {
    let (access, mocs) = (Access::Read, MocsClass::PageTable);
    bos.iter().map(|bo| Submission { bo, access, mocs }).collect()
}

/// The BOs that a call refers to: one, or as one would who visits all that live.
fn referred(way: Way, bos: &[Bo]) -> &[Bo] {
    match way {
        Way::Library => bos.get(..1).unwrap_or(bos),
        Way::Planted => bos,
    }
}

/// One BO is submitted while others live.
fn submit(way: Way, live: usize) -> Result<()> {
    let (device, bos) = bound(live)?;
    for _ in 0..CALLS {
        counted_submit(black_box(&device), black_box(referred(way, &bos)))?;
    }
    Ok(())
}

#[inline(never)]
fn counted_submit(device: &Device, bos: &[Bo]) -> gem_coherency::Result<()> {
    device.submit(&reads(bos)).map(drop)
}

/// A batch that stores to one BO runs while others live.
fn batch(way: Way, live: usize) -> Result<()> {
    let (device, bos) = bound(live)?;
    for _ in 0..CALLS {
        counted_batch(black_box(&device), black_box(referred(way, &bos)))?;
    }
    Ok(())
}

#[inline(never)]
fn counted_batch(device: &Device, bos: &[Bo]) -> gem_coherency_exercise::Result<()> {
    let mut batch = Batch::new(device)?;
    bos.iter().try_for_each(|bo| batch.store(bo, 0, 1).map(drop))?;
    batch.submit().map(drop)
}

/// A BO is made, written, submitted and closed while others live.
fn life(way: Way, live: usize) -> Result<()> {
    let (device, bos) = bound(live)?;
    for _ in 0..CALLS {
        match way {
            Way::Library => counted_life(black_box(&device), &[])?,
            Way::Planted => counted_life(black_box(&device), black_box(&bos))?,
        }
    }
    Ok(())
}

#[inline(never)]
fn counted_life(device: &Device, others: &[Bo]) -> Result<()> {
    let bo = clean_bo(device)?;
    device.submit(&reads(std::slice::from_ref(&bo)))?;
    device.submit(&reads(others))?;
    Ok(bo.release().map(drop)?)
}
