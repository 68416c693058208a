//! Several threads mark lines of one BO, or submit BOs of their own: a mark or a submission, in processor time.

use std::sync::Barrier;
use std::thread;

use gem_coherency::device::{Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::tracking::LineMap;
use gem_coherency::units::{LineRange, PAGE_LINES};
use gem_coherency::vocabulary::{Access, MocsClass};

use crate::clock::thread_ns;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "threads";

/// Number of threads.
const THREADS: u64 = 8;
/// Number of pages of each thread.
const PAGES: u64 = 256;
/// Number of BOs of each thread that submits.
const BOS: usize = 8;
/// The sides.
const SIDES: [&str; 2] = ["8 threads", "1 thread"];

/// The division of pages among threads.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// A contiguous range.
    Block,
    /// Every eighth page, so that the words of eight threads share a cache line.
    Interleaved,
}

impl Share {
    /// Returns the page with `index` among those of `thread`.
    const fn page(self, thread: u64, index: u64) -> u64 {
        match self {
            Self::Block => thread * PAGES + index,
            Self::Interleaved => index * THREADS + thread,
        }
    }
}

/// Marks `marks` lines of `thread`; returns the processor time of each mark.
fn mark(map: &LineMap, share: Share, thread: u64, marks: u64) -> Result<f64, Error> {
    let mut numbers = Numbers::new();
    let start = thread_ns()?;
    for _ in 0..marks {
        let number = numbers.below(PAGES * PAGE_LINES);
        let line = share.page(thread, number / PAGE_LINES) * PAGE_LINES + number % PAGE_LINES;
        map.mark(LineRange::new(line, line + 1))?;
    }
    Ok((thread_ns()? - start) / marks as f64)
}

/// Submits the BOs of a thread `submissions` times, each time after a store to the first of them; returns the processor time of
/// each submission.
fn submit(device: &Device, bos: &[Bo], submissions: u64) -> Result<f64, Error> {
    let batch: Vec<_> =
        bos.iter().map(|bo| Submission { bo, access: Access::Read, mocs: MocsClass::PageTable }).collect();
    let start = thread_ns()?;
    for _ in 0..submissions {
        if let Some(bo) = bos.first() {
            bo.write_bytes(0, &[1; 64])?;
        }
        device.submit_with(&batch, |_| Ok(()))?;
    }
    Ok((thread_ns()? - start) / submissions as f64)
}

/// Runs `work` on all threads at once, with the number of each; returns the mean of what it returns.
fn by_all(work: impl Fn(u64) -> Result<f64, Error> + Sync) -> Result<f64, Error> {
    let ready = Barrier::new(THREADS as usize);
    let times = thread::scope(|scope| {
        let start = |thread| {
            let (ready, work) = (&ready, &work);
            scope.spawn(move || {
                ready.wait();
                work(thread)
            })
        };
        let running: Vec<_> = (0..THREADS).map(start).collect();
        let stopped = || Error::Panicked { row: NAME };
        running.into_iter().map(|thread| thread.join().map_err(|_| stopped())?).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

/// Measures `work` on all threads at once, and on one; `prepare` runs before each turn.
fn compare(
    context: &Context,
    found: &mut Found,
    (case, target): (&str, Option<f64>),
    prepare: impl FnMut() -> Result<(), Error>,
    work: impl Fn(u64) -> Result<f64, Error> + Sync,
) -> Result<(), Error> {
    let [all, one] = SIDES;
    let mut rounds = Rounds::new(prepare);
    rounds.side(all, || by_all(&work));
    rounds.side(one, || work(0));
    let times = rounds.measure(context.effort)?;
    found.push(times.line((NAME, case), all, one, target));
    Ok(())
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let marks = context.effort.pick(100_000, 1_000);
    let cases = [
        (Share::Block, "marks, a block of pages each", Some(0.97)),
        (Share::Interleaved, "marks, every eighth page each", None),
    ];
    for (share, case, target) in cases {
        let map = LineMap::new(THREADS * PAGES * 4096)?;
        let prepare = || {
            map.take_pages(map.all(), |_| {});
            Ok(())
        };
        compare(context, found, (case, target), prepare, |thread| mark(&map, share, thread, marks))?;
    }
    let submissions = context.effort.pick(10_000, 100);
    let device = ordinary::device(Part::NoLlc)?;
    let bos =
        (0..THREADS as usize * BOS).map(|_| ordinary::bo(&device, 4 << 10)).collect::<Result<Vec<_>, _>>()?;
    let of = |thread: u64| bos.chunks(BOS).nth(thread as usize).unwrap_or_default();
    let case = ("submissions, 8 BOs each", Some(0.8));
    compare(context, found, case, || Ok(()), |thread| submit(&device, of(thread), submissions))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_pages_of_the_threads_are_disjoint_and_all_of_the_map() {
        for share in [Share::Block, Share::Interleaved] {
            let pages =
                (0..THREADS).flat_map(|thread| (0..PAGES).map(move |index| share.page(thread, index)));
            assert_eq!(pages.collect::<BTreeSet<_>>().into_iter().max(), Some(THREADS * PAGES - 1));
            let map = LineMap::new(THREADS * PAGES * 4096).unwrap();
            by_all(|thread| mark(&map, share, thread, 100)).unwrap();
            assert!(map.count() > THREADS && map.count() <= THREADS * 100);
        }
    }
}
