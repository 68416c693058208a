//! The object word: one atomic, updated by one loop; counts are decremented by one subtraction.

use std::fmt;

use super::blocked::Blocked;
use super::state::State;
use crate::sync::{AtomicU64, Ordering};
use crate::vocabulary::CacheLevel;

/// An object's [`State`], shared by threads.
///
/// A transition happens completely or, when it is [`Blocked`], not at all. Functions return the state after
/// the transition, unless they say otherwise.
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

    /// Replaces the state by the result of `transition`; the only loop that writes the word.
    ///
    /// Returns the states before and after.
    #[inline]
    fn update<E>(&self, mut transition: impl FnMut(State) -> Result<State, E>) -> Result<(State, State), E> {
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
                Ok(_) => return Ok((before, after)),
                Err(now) => before = State::from_bits(now),
            }
        }
    }

    /// Makes a transition that can be blocked.
    #[inline]
    fn attempt(&self, transition: impl FnMut(State) -> Result<State, Blocked>) -> Result<State, Blocked> {
        self.update(transition).map(|(_, after)| after)
    }

    /// Makes a transition that always succeeds; returns the states before and after.
    #[inline]
    fn always(&self, mut transition: impl FnMut(State) -> State) -> (State, State) {
        match self.update(|state| Ok::<_, std::convert::Infallible>(transition(state))) {
            Ok(states) => states,
            Err(never) => match never {},
        }
    }

    /// Ends what is counted, by a transition that decrements its count or finds it 0.
    ///
    /// The count that this thread increased is not 0 before it ends, so one subtraction is enough, and waits for no load.
    #[inline]
    fn end(&self, transition: impl Fn(State) -> State) {
        let before = self.state();
        let less = before.to_bits() - transition(before).to_bits();
        if less != 0 {
            // AcqRel: as in `update`.
            self.0.fetch_sub(less, Ordering::AcqRel);
        }
    }

    /// Clears a note by `transition`, if it is set; returns the state before.
    #[inline]
    fn take(&self, is_noted: fn(State) -> bool, transition: fn(State) -> State) -> State {
        // The load finds a note that happened before this call, by coherence. If another thread's take cleared it, that
        // thread's flush began before this one ends, which the in-flight flushes order.
        let state = self.state();
        if is_noted(state) { self.always(transition).0 } else { state }
    }

    /// Opens a read guard.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::Purged`], [`Blocked::DontNeed`], [`Blocked::Changing`],
    /// [`Blocked::TooManyGuards`].
    #[inline]
    pub fn begin_read(&self) -> Result<State, Blocked> {
        self.attempt(State::begin_read)
    }

    /// Closes a read guard; a no-op without an open one.
    #[inline]
    pub fn end_read(&self) {
        self.end(State::end_read);
    }

    /// Opens a write guard, before the first store.
    ///
    /// # Errors
    /// As [`ObjectWord::begin_read`].
    #[inline]
    pub fn begin_write(&self) -> Result<State, Blocked> {
        self.attempt(State::begin_write)
    }

    /// Closes a write guard, after its stores were marked or noted; a no-op without an open one.
    #[inline]
    pub fn end_write(&self) {
        self.end(State::end_write);
    }

    /// Begins a submission: until [`ObjectWord::end_submit`], after the ioctl, the object can neither be
    /// closed nor change its level, so the handle and the decision stay valid.
    ///
    /// # Errors
    /// As [`ObjectWord::begin_read`].
    #[inline]
    pub fn begin_submit(&self) -> Result<State, Blocked> {
        self.attempt(State::begin_submit)
    }

    /// Ends a submission; a no-op without one.
    #[inline]
    pub fn end_submit(&self) {
        self.end(State::end_submit);
    }

    /// Begins a request that uses the handle but is not a submission: until [`ObjectWord::end_request`],
    /// after the ioctl, the object cannot be closed, so its handle cannot be reassigned.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::TooManyGuards`].
    pub fn begin_request(&self) -> Result<State, Blocked> {
        self.attempt(State::begin_request)
    }

    /// Ends a request; a no-op without one.
    pub fn end_request(&self) {
        self.end(State::end_request);
    }

    /// Begins a change of the level to `to`: until [`ObjectWord::end_level_change`], after the ioctl, nothing
    /// else can begin.
    ///
    /// # Errors
    /// [`Blocked::OnScreen`] if the object is on screen at another level; [`Blocked::InUse`] while guards or
    /// submissions are open; [`Blocked::Closed`]; [`Blocked::Purged`]; [`Blocked::Changing`].
    pub fn begin_level_change(&self, to: CacheLevel) -> Result<State, Blocked> {
        self.attempt(|state| state.begin_level_change(to))
    }

    /// Ends a level change: the kernel reports that the object now has `level`, which is the old one if it
    /// refused.
    pub fn end_level_change(&self, level: CacheLevel) {
        self.always(|state| state.end_level_change(level));
    }

    /// Ends a level change after which the kernel did not report the object's level.
    pub fn end_level_change_unconfirmed(&self) {
        self.always(State::end_level_change_unconfirmed);
    }

    /// Begins a change of the mappings: until [`ObjectWord::end_unmap`] no access can begin, and the object can neither be
    /// closed nor change its level. Submissions and shows can begin.
    ///
    /// # Errors
    /// [`Blocked::InUse`] while guards are open; as [`ObjectWord::begin_read`].
    pub fn begin_unmap(&self) -> Result<State, Blocked> {
        self.attempt(State::begin_unmap)
    }

    /// Ends a change of the mappings.
    pub fn end_unmap(&self) {
        self.always(State::end_unmap);
    }

    /// Records the level reported by the kernel, where the display may have forced `forced`; returns the
    /// resulting state.
    ///
    /// Until the kernel reports the forced level, the level stays unconfirmed: the display may still force
    /// it.
    pub fn confirm_level(&self, level: CacheLevel, forced: CacheLevel) -> State {
        self.always(|state| state.confirm_level(level, forced)).1
    }

    /// Adds a screen pin, for an object that is on screen or about to be: the display forces `level` on it.
    /// If the present level differs, it becomes unconfirmed.
    ///
    /// # Errors
    /// As [`ObjectWord::begin_submit`].
    ///
    /// # Source
    /// `i915_gem_object_pin_to_display_plane`.
    pub fn pin_screen(&self, level: CacheLevel) -> Result<State, Blocked> {
        self.attempt(|state| state.pin_screen(level))
    }

    /// Removes a screen pin; a no-op without one.
    pub fn unpin_screen(&self) {
        self.always(State::unpin_screen);
    }

    /// Notes that the GPU wrote through a path that allocates in the LLC: lines may be dirty there.
    pub fn note_gpu_write(&self) {
        self.always(State::note_gpu_write);
    }

    /// Notes write-combining stores; call it after the stores, on the thread that made them.
    ///
    /// A write-combining buffer belongs to one core, and no other core can drain it; the locked instruction
    /// of this note drains those of the caller (Intel SDM vol. 3, 13.3.1).
    pub fn note_wc_store(&self) {
        self.always(State::note_wc_store);
    }

    /// Notes stores through the aperture; like [`ObjectWord::note_wc_store`].
    pub fn note_gtt_store(&self) {
        self.always(State::note_gtt_store);
    }

    /// Clears what [`ObjectWord::note_gpu_write`] noted; returns the state before.
    #[inline]
    pub(super) fn take_gpu_write(&self) -> State {
        self.take(State::has_gpu_write, State::take_gpu_write)
    }

    /// Clears what [`ObjectWord::note_wc_store`] noted; returns the state before.
    #[inline]
    pub(super) fn take_wc_stores(&self) -> State {
        self.take(State::has_wc_stores, State::take_wc_stores)
    }

    /// Clears what [`ObjectWord::note_gtt_store`] noted; returns the state before.
    #[inline]
    pub(super) fn take_gtt_stores(&self) -> State {
        self.take(State::has_gtt_stores, State::take_gtt_stores)
    }

    /// Begins to mark the contents as not needed: until [`ObjectWord::end_advice`] nothing else can begin. Returns the state before.
    ///
    /// # Errors
    /// [`Blocked::InUse`], [`Blocked::Pinned`], [`Blocked::Closed`], [`Blocked::Purged`],
    /// [`Blocked::Changing`].
    pub fn begin_dont_need(&self) -> Result<State, Blocked> {
        self.update(State::begin_dont_need).map(|(before, _)| before)
    }

    /// Begins to mark the contents as needed again; if they are marked as not needed, nothing else can begin until
    /// [`ObjectWord::end_advice`]. Returns the state before.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::Purged`], [`Blocked::Changing`].
    pub fn begin_will_need(&self) -> Result<State, Blocked> {
        self.update(State::begin_will_need).map(|(before, _)| before)
    }

    /// Ends what [`ObjectWord::begin_dont_need`] or [`ObjectWord::begin_will_need`] began, with what the kernel does now.
    pub fn end_advice(&self, is_needed: bool) {
        self.always(|state| state.end_advice(is_needed));
    }

    /// Marks the contents as purged, which is final.
    ///
    /// # Errors
    /// [`Blocked::Closed`].
    pub fn purge(&self) -> Result<State, Blocked> {
        self.attempt(State::purge)
    }

    /// Closes the object; of several callers one succeeds, which then closes the handle.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::InUse`], [`Blocked::Pinned`], [`Blocked::Changing`].
    pub fn close(&self) -> Result<State, Blocked> {
        self.attempt(State::close)
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
