//! The open flushes of one object, and how threads wait for them.
//!
//! A flush that finds no other one open, and no thread waiting, is *alone*: a bit says that it is open, and it begins and
//! ends by one locked instruction each. All others are listed on the board, under a lock. The words are changed only by
//! read-modify-writes, so that a thread that finds a flush ended sees everything that it did.

use std::sync::PoisonError;

use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};

/// Bit of [`Flushes::open`]: a flush is open that is not on the board.
const ALONE: u64 = 1;
/// Bit of [`Flushes::open`]: the board is in use. No flush can begin alone. Changed under the lock.
const BOARD: u64 = 2;

/// The flushes that did not begin alone.
#[derive(Debug, Default)]
struct Board {
    /// The number of the next flush.
    next: u64,
    /// The numbers of the open flushes: one for each flushing thread.
    open: Vec<u64>,
    /// Number of threads that wait for flushes to end, or are about to.
    waiting: usize,
}

/// The open flushes of one object.
#[derive(Debug)]
pub(super) struct Flushes {
    /// [`ALONE`] and [`BOARD`]; 0 if no flush is open.
    open: AtomicU64,
    /// Number of flushes that ended with work that they took pending again: they failed, or the GPU was still writing.
    returns: AtomicU64,
    board: Mutex<Board>,
    ended: Condvar,
}

/// An open flush: its number on the board, unless it began alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open(Option<u64>);

/// A wait for the flushes that were open when one's own ended. It must be waited for.
#[must_use]
pub(super) struct Wait {
    /// The number of the first flush that is not waited for.
    until: u64,
}

impl Default for Flushes {
    fn default() -> Self {
        let (open, returns) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { open, returns, board: Mutex::default(), ended: Condvar::default() }
    }
}

impl Flushes {
    /// Begins a flush.
    #[inline]
    pub(super) fn begin(&self) -> Open {
        // Acquire: everything that a flush took that has ended is in memory, or marked again. The takes that follow release
        // the bit, so that a thread that finds something taken finds the flush open.
        match self.open.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Open(None),
            Err(_) => self.begin_on_board(),
        }
    }

    #[cold]
    fn begin_on_board(&self) -> Open {
        let mut board = self.board.lock();
        let number = board.next;
        board.next += 1;
        board.open.push(number);
        // Acquire: as in `begin`. The lock orders this after flushes of the board that have ended, but not after one that
        // was alone.
        self.open.fetch_or(BOARD, Ordering::Acquire);
        Open(Some(number))
    }

    /// Returns how many flushes returned the work that they took.
    #[inline]
    pub(super) fn returns(&self) -> u64 {
        // Acquire pairs with the Release of `count_return`: a flush that begins after a return finds the work.
        self.returns.load(Ordering::Acquire)
    }

    /// Counts a flush that returned the work that it took.
    pub(super) fn count_return(&self) {
        self.returns.fetch_add(1, Ordering::Release);
    }

    /// Returns whether no flush is open, and none has returned its work since there were `returns`. What a check between found not pending is then in
    /// memory: no flush took it that is open or has returned it.
    ///
    /// A flush that took the work before the check announced itself before that, so it is found open, or it has ended.
    /// If it returned the work meanwhile, the number of returns has changed; if it did so before, the check found the
    /// work again, or another flush that took it, of which the same holds.
    #[inline(always)]
    pub(super) fn is_idle_since(&self, returns: u64) -> bool {
        // Acquire pairs with the Release of `end`.
        self.open.load(Ordering::Acquire) == 0 && self.returns() == returns
    }

    /// Ends a flush; runs `sweep`, if there is one, while no flush is open and none can begin, unless others are open.
    /// Returns the wait for those.
    #[inline]
    pub(super) fn end(&self, flush: Open, sweep: Option<impl FnOnce()>) -> Option<Wait> {
        // Release pairs with the Acquire of `begin` and `is_idle_since`: a thread that finds the flush ended sees what it did.
        // Acquire: as in `begin`, for flushes that have ended since.
        let is_over = flush.0.is_none()
            && sweep.is_none()
            && self.open.compare_exchange(ALONE, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_over { None } else { self.end_on_board(flush, sweep) }
    }

    #[cold]
    fn end_on_board(&self, flush: Open, sweep: Option<impl FnOnce()>) -> Option<Wait> {
        let mut board = self.board.lock();
        let others = self.remove(&mut board, flush);
        if others {
            board.waiting += 1;
        } else if let Some(sweep) = sweep {
            sweep();
        }
        self.leave(&board, flush);
        others.then_some(Wait { until: board.next })
    }

    /// Ends a flush that has failed.
    pub(super) fn fail(&self, flush: Open) {
        let mut board = self.board.lock();
        self.remove(&mut board, flush);
        self.leave(&board, flush);
    }

    /// Removes a flush from the board; returns whether others are open. Its bit stays, so that none can begin alone.
    fn remove(&self, board: &mut Board, Open(number): Open) -> bool {
        board.open.retain(|open| Some(*open) != number);
        !board.open.is_empty() || (number.is_some() && self.has_alone())
    }

    /// Returns whether a flush that began alone is open. The caller holds the lock, and the board is in use.
    fn has_alone(&self) -> bool {
        // Relaxed: one that ended before the board was in use is ordered by the Acquire that put it in use, a later end by
        // the lock.
        self.open.load(Ordering::Relaxed) & ALONE != 0
    }

    /// Shows that `flush` is not open any more, and wakes the threads that wait.
    fn leave(&self, board: &Board, Open(number): Open) {
        // Release, here and below: as in `end`.
        if number.is_none() {
            self.open.fetch_and(!ALONE, Ordering::Release);
        }
        self.close(board);
        if board.waiting > 0 {
            self.ended.notify_all();
        }
    }

    /// Lets flushes begin alone, if the board is not in use.
    fn close(&self, board: &Board) {
        if board.open.is_empty() && board.waiting == 0 {
            self.open.fetch_and(!BOARD, Ordering::Release);
        }
    }

    /// Waits for the flushes that are open. One that begins later finds what this thread did before.
    pub(super) fn wait_for_open(&self) {
        let until = {
            let mut board = self.board.lock();
            board.waiting += 1;
            // Acquire: as in `is_idle_since`. A flush that begins later finds what this thread did by the lock, or alone by the
            // Release of `close`.
            self.open.fetch_or(BOARD, Ordering::Acquire);
            board.next
        };
        self.wait(Wait { until });
    }

    /// Waits for other flushes, after one's own has ended.
    pub(super) fn wait(&self, Wait { until }: Wait) {
        let mut board = self.board.lock();
        // While a thread waits, none begins alone: one that is open was so when this thread's flush ended.
        while board.open.iter().any(|&open| open < until) || self.has_alone() {
            board = self.ended.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        board.waiting -= 1;
        self.close(&board);
    }
}
