//! Flushes and invalidates under way.
//!
//! Between the moment a thread takes dirty lines from the map and the moment they are in memory, the
//! map says "clean" and memory is old. A second thread that trusted the map would hand old memory to
//! the GPU or the display. So a thread announces a *flight* before it takes anything, and *lands*
//! after its fence; who lands waits for the flights of others that began before.
//!
//! Nobody waits while a flight of its own is open, so that flights over several objects, in any
//! order, cannot wait for each other in a circle; and nobody waits for a flight that began later, so
//! that no thread waits for ever. Flights over other lines of the same object are waited for too: one
//! of them may have taken a note of stores, which is about the whole object.

use std::sync::PoisonError;

use super::gpu_writes::GpuWrites;
use super::lines::LineMap;
use super::state::State;
use super::word::ObjectWord;
use crate::error::Result;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::units::{LineRange, PageLines};
use crate::vocabulary::CacheLevel;

/// Everything that is tracked of one object.
#[derive(Debug)]
pub struct Tracked {
    word: ObjectWord,
    dirty: LineMap,
    stale: LineMap,
    gpu_writes: GpuWrites,
    flights: Flights,
}

impl Tracked {
    /// A new object of `size_bytes` bytes and `level`: no line dirty, none stale.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`] if there is none for the maps.
    pub fn new(size_bytes: u64, level: CacheLevel) -> Result<Self> {
        Ok(Self {
            word: ObjectWord::new(level),
            dirty: LineMap::new(size_bytes)?,
            stale: LineMap::new(size_bytes)?,
            gpu_writes: GpuWrites::default(),
            flights: Flights::default(),
        })
    }

    /// The object word.
    pub fn word(&self) -> &ObjectWord {
        &self.word
    }

    /// The lines whose newest data may be in the CPU cache only.
    pub fn dirty(&self) -> &LineMap {
        &self.dirty
    }

    /// The lines whose newest data may be in memory only.
    pub fn stale(&self) -> &LineMap {
        &self.stale
    }

    /// The GPU's writes.
    pub fn gpu_writes(&self) -> &GpuWrites {
        &self.gpu_writes
    }

    /// Returns whether nothing is pending that `is_pending` looks for, in the word or in the maps, and nobody
    /// has taken such a thing and is dealing with it: then an access that wants nothing else dealt with needs
    /// no flight.
    pub fn is_settled(&self, is_pending: impl Fn(State) -> bool) -> bool {
        if is_pending(self.word.state()) {
            return false;
        }
        // Who takes something has a flight open by then, and one that fails gives it back before it ends. So
        // the second look finds what was given back; under the lock, so that nobody takes it before that.
        let board = self.flights.lock();
        board.open.is_empty() && !is_pending(self.word.state())
    }

    /// Announces a flush or an invalidate of lines in `range`.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`] if `range` leaves the object.
    pub fn begin_flight(&self, range: LineRange) -> Result<Flight<'_>> {
        self.dirty.check(range)?;
        let mut board = self.flights.lock();
        let number = board.next;
        board.next += 1;
        board.open.push(number);
        Ok(Flight {
            object: self,
            range,
            number,
            failures: board.failures,
            took: Took::default(),
            landed: false,
        })
    }
}

/// The flights of one object.
#[derive(Debug, Default)]
struct Board {
    /// The number of the next flight.
    next: u64,
    /// Flights that ended without landing.
    failures: u64,
    /// The numbers of the flights that have not ended: one for each thread that is flushing.
    open: Vec<u64>,
    /// Threads that wait for flights to end: nobody is woken, by a system call, if there is none.
    waiting: usize,
}

/// The board, and who waits for it to change.
#[derive(Debug, Default)]
struct Flights {
    board: Mutex<Board>,
    ended: Condvar,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, Board> {
        // A panic elsewhere leaves no board half changed: every change is one statement.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a flight took, and gives back if it fails.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    dirty: bool,
    stale: bool,
    gpu_write: bool,
    wc_stores: bool,
    gtt_stores: bool,
}

/// Whether there was something to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Taken {
    /// There was, and it is the taker's to flush or drain.
    Pending,
    /// There was nothing, or another thread took it; [`land`] waits for that thread.
    Nothing,
}

impl Taken {
    fn new(pending: bool) -> Self {
        if pending { Self::Pending } else { Self::Nothing }
    }
}

/// A flush or an invalidate of one object that is under way.
///
/// Others that need the same memory wait until it [`land`]s. Dropped before, it has failed: what it
/// took is marked and noted again, as far as its range goes, so that no line is lost.
#[derive(Debug)]
#[must_use = "a flight that does not land has failed"]
pub struct Flight<'a> {
    object: &'a Tracked,
    range: LineRange,
    number: u64,
    failures: u64,
    took: Took,
    landed: bool,
}

impl<'a> Flight<'a> {
    /// The object.
    pub fn object(&self) -> &'a Tracked {
        self.object
    }

    /// The lines that the flight is about.
    pub fn range(&self) -> LineRange {
        self.range
    }

    /// Takes the dirty lines of the range, by runs: [`LineMap::take`].
    pub fn take_dirty(&mut self, visit: impl FnMut(LineRange)) -> u64 {
        self.took.dirty = true;
        self.object.dirty.take_in_flight(self.range, visit)
    }

    /// Takes the dirty lines of the range, by pages: [`LineMap::take_pages`].
    pub fn take_dirty_pages(&mut self, visit: impl FnMut(PageLines)) -> u64 {
        self.took.dirty = true;
        self.object.dirty.take_pages_in_flight(self.range, visit)
    }

    /// Takes the stale lines of the range, to be invalidated: [`LineMap::take`]. An invalidate writes a dirty line
    /// back before it drops it, so these lines are dirty no longer. If the GPU has been told to write and nobody
    /// waited since, the lines stay marked: what it writes makes them stale, or dirty, again.
    pub fn take_stale(&mut self, mut visit: impl FnMut(LineRange)) -> u64 {
        (self.took.stale, self.took.dirty) = (true, true);
        let Tracked { stale, dirty, gpu_writes, .. } = self.object;
        // After the take: a mark that was taken finds the write that it is about.
        let keep_if_pending = |map: &LineMap, run| {
            if !gpu_writes.are_over() {
                let _ = map.mark(run);
            }
        };
        stale.take_in_flight(self.range, |run| {
            keep_if_pending(stale, run);
            dirty.take_in_flight(run, |run| keep_if_pending(dirty, run));
            visit(run);
        })
    }

    /// Takes the note that the GPU wrote into the LLC: the whole object has to be flushed. If the GPU
    /// has been told to write and nobody waited since, the note stays, too.
    pub fn take_gpu_write(&mut self) -> Taken {
        let Tracked { word, gpu_writes, .. } = self.object;
        let pending = word.take_gpu_write().has_gpu_write();
        // After the take, as in `take_stale`.
        if pending && !gpu_writes.are_over() {
            word.note_gpu_write();
        }
        self.took.gpu_write |= pending;
        Taken::new(pending)
    }

    /// Takes the note of stores through a WC or UC mapping: they have to be drained.
    pub fn take_wc_stores(&mut self) -> Taken {
        let pending = self.object.word.take_wc_stores().has_wc_stores();
        self.took.wc_stores |= pending;
        Taken::new(pending)
    }

    /// Takes the note of stores through the aperture: they have to be drained.
    pub fn take_gtt_stores(&mut self) -> Taken {
        let pending = self.object.word.take_gtt_stores().has_gtt_stores();
        self.took.gtt_stores |= pending;
        Taken::new(pending)
    }

    /// Makes the summaries of what was taken say so; under the board's lock, while nothing else is open.
    fn sweep(&self) {
        let Tracked { dirty, stale, .. } = self.object;
        for (map, taken) in [(dirty, self.took.dirty), (stale, self.took.stale)] {
            if taken {
                map.sweep();
            }
        }
    }

    /// Ends the flight; returns what it came to, or what is left to wait for.
    fn end(mut self) -> Ended<'a> {
        self.landed = true;
        let flights = &self.object.flights;
        let mut board = flights.lock();
        board.open.retain(|&open| open != self.number);
        if board.open.is_empty() && self.range == self.object.dirty.all() {
            self.sweep();
        }
        if board.waiting > 0 {
            flights.ended.notify_all();
        }
        let wait = Wait { object: self.object, until: board.next, failures: self.failures };
        // What was taken before this flight began has landed by now, or was given back.
        if board.open.is_empty() { Ended::Known(wait.landing(&board)) } else { Ended::Open(wait) }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        // First give back, then end: who waits for this flight finds the lines when it looks again.
        // The range was checked when the flight began.
        let Tracked { word, dirty, stale, flights, gpu_writes: _ } = self.object;
        if self.took.dirty {
            let _ = dirty.mark(self.range);
        }
        if self.took.stale {
            let _ = stale.mark(self.range);
        }
        if self.took.gpu_write {
            word.note_gpu_write();
        }
        if self.took.wc_stores {
            word.note_wc_store();
        }
        if self.took.gtt_stores {
            word.note_gtt_store();
        }
        let mut board = flights.lock();
        board.failures += 1;
        board.open.retain(|&open| open != self.number);
        if board.waiting > 0 {
            flights.ended.notify_all();
        }
    }
}

/// A flight that has ended.
enum Ended<'a> {
    /// No other was open.
    Known(Landing),
    /// Others were.
    Open(Wait<'a>),
}

/// A flight that has ended, and the flights it may have to wait for: those that began before `until`.
struct Wait<'a> {
    object: &'a Tracked,
    until: u64,
    failures: u64,
}

impl Wait<'_> {
    fn wait(self) -> Landing {
        let flights = &self.object.flights;
        let mut board = flights.lock();
        while board.open.iter().any(|&open| open < self.until) {
            board.waiting += 1;
            board = flights.ended.wait(board).unwrap_or_else(PoisonError::into_inner);
            board.waiting -= 1;
        }
        self.landing(&board)
    }

    /// What the flight came to, now that nothing is left to wait for.
    fn landing(&self, board: &Board) -> Landing {
        if board.failures == self.failures { Landing::InMemory } else { Landing::Again }
    }
}

/// What is known when the last flight has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Landing {
    /// Everything that was dirty, stale or noted when the flights began has been dealt with.
    InMemory,
    /// A flight of another thread failed meanwhile, and what it took is marked again: begin again.
    Again,
}

/// Ends `flights`, after the fence that completes them, and waits for those of other threads that
/// may have taken lines which these did not find.
///
/// All flights of the calling thread end here in one call: a thread that waits while it keeps a
/// flight open can wait for ever.
pub fn land<'a>(flights: impl IntoIterator<Item = Flight<'a>>) -> Landing {
    let mut landing = Landing::InMemory;
    let mut note = |one| match one {
        Landing::InMemory => {}
        Landing::Again => landing = Landing::Again,
    };
    let mut waits = Vec::new();
    for flight in flights {
        match flight.end() {
            Ended::Known(one) => note(one),
            Ended::Open(wait) => waits.push(wait),
        }
    }
    waits.into_iter().map(Wait::wait).for_each(note);
    landing
}
