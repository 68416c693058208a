//! The flush queue: what several accesses demand of several objects, in one go.

use super::flight::{Flight, Landing, Tracked, land};
use crate::error::{Result, grow};
use crate::units::LineRange;

/// What one access demands of one object.
pub trait Work<'a> {
    /// Lines that were taken, and what is done to them.
    type Lines;

    /// Does it; between the fences of the queue.
    ///
    /// # Errors
    /// What keeps it from being done.
    fn perform(lines: &Self::Lines) -> Result<()>;

    /// The object.
    fn object(&self) -> &'a Tracked;

    /// The lines that the work is about; `None` if the access demands nothing, whatever is pending.
    ///
    /// Called before any flight begins, so it may wait for the GPU. Work that finds nothing pending
    /// is work all the same: another thread may have taken what was, and not be done with it
    /// ([`Tracked::is_settled`]).
    ///
    /// # Errors
    /// What keeps the access from happening.
    fn prepare(&mut self) -> Result<Option<LineRange>>;

    /// Takes from `flight` what the access demands, drains it at once, and hands the lines to `batch`.
    ///
    /// # Errors
    /// What went wrong; what the flight took is given back.
    fn carry_out(&mut self, flight: &mut Flight<'a>, batch: &mut Batch<'_, Self::Lines>) -> Result<()>;
}

/// The line operations of a whole queue, many at a time, and the fences around them: one before the first, one
/// after the last, none if there are no lines.
///
/// To take a page's lines is a locked instruction, and that waits for the line operations before it (Intel SDM
/// vol. 2A, CLFLUSHOPT and CLWB: ordered with locked read-modify-writes). So lines are taken from many pages
/// before one is touched; taken and touched in turn, a page with one dirty line costs twenty times as much.
pub struct Batch<'f, L> {
    fence: &'f dyn Fn(),
    perform: fn(&L) -> Result<()>,
    pending: Vec<L>,
    begun: bool,
}

/// What is taken before lines are touched, at most: it stays in the first cache.
const BATCH: usize = 256;

impl<L> Batch<'_, L> {
    /// Adds lines; they are dealt with before the trailing fence.
    ///
    /// # Errors
    /// What dealing with these or earlier ones answers.
    pub fn push(&mut self, lines: L) -> Result<()> {
        grow(&mut self.pending, "a flush", 1)?;
        self.pending.push(lines);
        if self.pending.len() < BATCH { Ok(()) } else { self.perform() }
    }

    fn perform(&mut self) -> Result<()> {
        if !self.begun && !self.pending.is_empty() {
            self.begun = true;
            (self.fence)();
        }
        self.pending.drain(..).try_for_each(|lines| (self.perform)(&lines))
    }

    /// Deals with what is left, and issues the trailing fence, if there were lines.
    fn end(mut self) -> Result<()> {
        self.perform()?;
        if self.begun {
            (self.fence)();
        }
        Ok(())
    }
}

/// Carries out all of `works` between one pair of fences; memory and caches are right for them then,
/// also with regard to what other threads took.
///
/// The order is the protocol: every flight is announced before anything is taken; nothing lands before
/// the trailing fence; all land at once, so that queues over the same objects in any order do not wait
/// in a circle. If another thread's flight failed meanwhile, all begins again.
///
/// # Errors
/// The first error of `works`. Then everything that was pending still is.
pub fn run_queue<'a, W: Work<'a>>(works: &mut [W], fence: &dyn Fn()) -> Result<()> {
    loop {
        // Most accesses find nothing to do, and then nothing is allocated.
        let mut open = Vec::new();
        for work in works.iter_mut() {
            if let Some(range) = work.prepare()? {
                grow(&mut open, "a flush", 1)?;
                open.push((work, range, None));
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        for (work, range, flight) in &mut open {
            *flight = Some(work.object().begin_flight(*range)?);
        }
        let mut batch = Batch { fence, perform: W::perform, pending: Vec::new(), begun: false };
        for (work, _, flight) in &mut open {
            // An error drops the flights, which marks again what they took.
            flight.as_mut().map_or(Ok(()), |flight| work.carry_out(flight, &mut batch))?;
        }
        batch.end()?;
        match land(open.into_iter().filter_map(|(_, _, flight)| flight)) {
            Landing::InMemory => return Ok(()),
            Landing::Again => tracing::debug!("another thread's flush failed: again"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::error::Error;
    use crate::units::PageLines;
    use crate::vocabulary::CacheLevel;

    /// What happened, in order.
    type Log = RefCell<Vec<&'static str>>;

    /// Work that flushes everything that is dirty.
    struct All<'a> {
        object: &'a Tracked,
        log: &'a Log,
        refuses: bool,
    }

    impl<'a> Work<'a> for All<'a> {
        type Lines = (&'a Log, bool, PageLines);

        fn perform((log, refuses, _): &Self::Lines) -> Result<()> {
            log.borrow_mut().push("lines");
            if *refuses { Err(Error::BadSize { size: 0, why: "refused" }) } else { Ok(()) }
        }

        fn object(&self) -> &'a Tracked {
            self.object
        }

        fn prepare(&mut self) -> Result<Option<LineRange>> {
            Ok(Some(self.object.dirty().all()))
        }

        fn carry_out(&mut self, flight: &mut Flight<'a>, batch: &mut Batch<'_, Self::Lines>) -> Result<()> {
            let mut pushed = Ok(());
            flight.take_dirty_pages(|page| {
                self.log.borrow_mut().push("take");
                if pushed.is_ok() {
                    pushed = batch.push((self.log, self.refuses, page));
                }
            });
            pushed
        }
    }

    /// Objects of which `dirty` pages each are dirty, and what a queue over them does.
    fn run(objects: &[Tracked], dirty: u64, refuses: bool) -> (Result<()>, Vec<&'static str>) {
        let log = Log::default();
        for page in 0..dirty {
            objects
                .iter()
                .for_each(|object| object.dirty().mark(LineRange::new(page * 64, page * 64 + 1)).unwrap());
        }
        let mut works: Vec<_> = objects.iter().map(|object| All { object, log: &log, refuses }).collect();
        let result = run_queue(&mut works, &|| log.borrow_mut().push("fence"));
        drop(works);
        (result, log.into_inner())
    }

    fn objects(count: usize) -> Vec<Tracked> {
        (0..count).map(|_| Tracked::new(1 << 21, CacheLevel::None).unwrap()).collect()
    }

    #[test]
    fn lines_of_all_objects_are_taken_before_any_is_touched_between_one_pair_of_fences() {
        let (result, log) = run(&objects(2), 2, false);
        result.unwrap();
        let take = ["take"; 4].into_iter();
        let lines = ["lines"; 4].into_iter();
        let expected: Vec<_> = take.chain(["fence"]).chain(lines).chain(["fence"]).collect();
        assert_eq!(log, expected);
    }

    #[test]
    fn more_than_a_batch_is_dealt_with_in_parts_between_the_same_fences() {
        let objects = objects(1);
        let (result, log) = run(&objects, BATCH as u64 + 1, false);
        result.unwrap();
        let count = |what| log.iter().filter(|&&one| one == what).count();
        assert_eq!((count("take"), count("lines"), count("fence")), (BATCH + 1, BATCH + 1, 2));
        assert_eq!(log.iter().position(|&one| one == "lines"), Some(BATCH + 1));
        assert!(objects.iter().all(|object| object.dirty().is_clean()));
    }

    #[test]
    fn without_lines_there_is_no_fence() {
        let (result, log) = run(&objects(2), 0, false);
        result.unwrap();
        assert_eq!(log, Vec::<&str>::new());
    }

    #[test]
    fn lines_that_could_not_be_dealt_with_stay_dirty() {
        let objects = objects(2);
        let (result, log) = run(&objects, 1, true);
        result.unwrap_err();
        assert_eq!(log, ["take", "take", "fence", "lines"]);
        assert!(objects.iter().all(|object| !object.dirty().is_clean()));
    }
}
