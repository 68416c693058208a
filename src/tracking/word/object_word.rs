//! The object word: one atomic, updated by one loop; counts are decremented by one subtraction.

use std::convert::Infallible;
use std::fmt;

use super::state::State;
use crate::sync::{AtomicU64, Ordering};
use crate::vocabulary::CacheLevel;

/// The states before and after a transition of an object word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub before: State,
    /// The state after.
    pub after: State,
}

/// An object's [`State`], shared by threads. Its transitions are those of `State`: `word.try_update(State::begin_write)`.
///
/// A transition happens completely or, when it is blocked ([`super::Blocked`]), not at all.
pub struct ObjectWord(AtomicU64);

impl ObjectWord {
    /// Creates the word of a new object at `level`.
    pub fn new(level: CacheLevel) -> Self {
        Self::from(State::new(level))
    }

    /// Returns the current state, which may change before the caller uses it.
    #[inline]
    pub fn state(&self) -> State {
        // Acquire pairs with the Release of `update`: a thread that reads an end or a note sees the stores
        // made before it.
        State::from_bits(self.0.load(Ordering::Acquire))
    }

    /// Makes a transition, which can be blocked: until its end ([`ObjectWord::end`], [`ObjectWord::update`]), or for ever,
    /// the object has the state after it. The only loop that writes the word.
    ///
    /// # Errors
    /// Those of `transition`; then the state is unchanged.
    #[inline]
    pub fn try_update<E>(
        &self,
        mut transition: impl FnMut(State) -> Result<State, E>,
    ) -> Result<Transition, E> {
        let mut before = self.state();
        loop {
            let after = transition(before)?;
            // Release pairs with the Acquire here and in `state` of any thread that sees this transition or a
            // later one (every write of the word is a read-modify-write, so the release sequence never
            // breaks): stores made before `end_write`, and before a note, are visible to the submission that
            // takes them; loads made before `end_read` are complete for the thread that closes. Acquire on
            // failure, because `transition` then uses the value that was read instead.
            match self.0.compare_exchange_weak(
                before.to_bits(),
                after.to_bits(),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(Transition { before, after }),
                Err(now) => before = State::from_bits(now),
            }
        }
    }

    /// Makes a transition that always succeeds.
    ///
    /// It is a locked instruction, which drains the write-combining buffers of its core (Intel SDM vol. 3, 13.3.1); no other
    /// core can drain them. A thread therefore notes its own stores, after them.
    #[inline]
    pub fn update(&self, mut transition: impl FnMut(State) -> State) -> Transition {
        match self.try_update(|state| Ok::<_, Infallible>(transition(state))) {
            Ok(states) => states,
            Err(never) => match never {},
        }
    }

    /// Ends what is counted, by a transition that decrements its count or finds it 0.
    ///
    /// The count that this thread increased is not 0 before it ends, so one subtraction is enough, and waits for no load.
    #[inline]
    pub fn end(&self, transition: impl Fn(State) -> State) {
        let before = self.state();
        let less = before.to_bits() - transition(before).to_bits();
        if less != 0 {
            // AcqRel: as in `try_update`.
            self.0.fetch_sub(less, Ordering::AcqRel);
        }
    }

    /// Clears a note by `transition`, if it is set; returns whether it was.
    #[inline]
    pub(in crate::tracking) fn take(
        &self,
        is_noted: fn(State) -> bool,
        transition: fn(State) -> State,
    ) -> bool {
        // The load finds a note that happened before this call, by coherence. If another thread's take cleared it, that
        // thread's flush began before this one ends, which the in-flight flushes order.
        is_noted(self.state()) && is_noted(self.update(transition).before)
    }
}

impl From<State> for ObjectWord {
    fn from(state: State) -> Self {
        Self(AtomicU64::new(state.to_bits()))
    }
}

impl fmt::Debug for ObjectWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().fmt(f)
    }
}
