//! Several threads mark lines of one BO: a mark, in processor time.

use std::sync::Barrier;
use std::thread;

use gem_coherency::tracking::LineMap;
use gem_coherency::units::{LineRange, PAGE_LINES};

use crate::clock::thread_ns;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "threads";

/// Number of threads.
const THREADS: u64 = 8;
/// Number of pages of each thread.
const PAGES: u64 = 256;

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

/// Runs [`mark`] on all threads at once; returns the mean.
fn mark_by_all(map: &LineMap, share: Share, marks: u64) -> Result<f64, Error> {
    let ready = Barrier::new(THREADS as usize);
    let times = thread::scope(|scope| {
        let start = |thread| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                mark(map, share, thread, marks)
            })
        };
        let running: Vec<_> = (0..THREADS).map(start).collect();
        let stopped = || Error::Panicked { row: NAME };
        running.into_iter().map(|thread| thread.join().map_err(|_| stopped())?).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let marks = context.effort.pick(100_000, 1_000);
    let cases = [
        (Share::Block, "marks, a block of pages each", Some(0.97)),
        (Share::Interleaved, "marks, every eighth page each", None),
    ];
    for (share, case, target) in cases {
        let map = LineMap::new(THREADS * PAGES * 4096)?;
        let mut rounds = Rounds::new(|| {
            map.take_pages(map.all(), |_| {});
            Ok(())
        });
        rounds.side("8 threads", || mark_by_all(&map, share, marks));
        rounds.side("1 thread", || mark(&map, share, 0, marks));
        let times = rounds.measure(context.effort)?;
        found.push(times.line((NAME, case), "8 threads", "1 thread", target));
    }
    Ok(())
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
            mark_by_all(&map, share, 100).unwrap();
            assert!(map.count() > THREADS && map.count() <= THREADS * 100);
        }
    }
}
