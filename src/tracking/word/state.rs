//! The value of the object word: its fields, and its transitions as pure functions.

use super::blocked::Blocked;
use super::layout::{
    CHANGING, CLOSED, DONT_NEED, Field, GPU_WROTE, GTT_STORES, LEVEL, PINS, PURGED, READERS, SUBMITS,
    UNCONFIRMED, UNMAPPING, WC_STORES, WRITERS,
};
use crate::tracking::lines::Marks;
use crate::vocabulary::CacheLevel;
use gem_coherency_policy::xe::most_cached;

/// One value of the object word.
///
/// Every transition is a function of the value alone; [`super::ObjectWord`] makes it atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State(u64);

impl State {
    /// Creates the state of a new object at `level`, with nothing open and nothing pending.
    pub fn new(level: CacheLevel) -> Self {
        Self(0).with_level(level)
    }

    /// Returns the value as the word stores it.
    #[inline]
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// Converts a value that the word stored.
    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn get(self, field: Field) -> u64 {
        (self.0 >> field.shift) & field.max()
    }

    #[inline]
    pub(super) const fn is(self, flag: Field) -> bool {
        self.get(flag) != 0
    }

    const fn set(self, flag: Field) -> Self {
        Self(self.0 | flag.mask())
    }

    const fn clear(self, flag: Field) -> Self {
        Self(self.0 & !flag.mask())
    }

    fn with_level(self, level: CacheLevel) -> Self {
        let bits = match level {
            CacheLevel::None => 0,
            CacheLevel::Llc => 1,
            CacheLevel::L3Llc => 2,
            CacheLevel::Wt => 3,
        };
        Self((self.0 & !LEVEL.mask()) | (bits << LEVEL.shift))
    }

    /// Increments `count`.
    #[inline]
    const fn more(self, count: Field) -> Result<Self, Blocked> {
        if self.get(count) == count.max() {
            return Err(Blocked::TooManyGuards { limit: count.max() as u32 });
        }
        Ok(Self(self.0 + (1 << count.shift)))
    }

    /// Decrements `count`, unless it is 0: an end without a begin must not borrow from neighbouring fields.
    #[inline]
    const fn fewer(self, count: Field) -> Self {
        if self.get(count) == 0 { self } else { Self(self.0 - (1 << count.shift)) }
    }

    /// Open write guards.
    pub const fn writers(self) -> u32 {
        self.get(WRITERS) as u32
    }

    /// Open read guards.
    pub const fn readers(self) -> u32 {
        self.get(READERS) as u32
    }

    /// Submissions that have begun but not ended.
    pub const fn submits(self) -> u32 {
        self.get(SUBMITS) as u32
    }

    /// Returns the number of times that the object is on screen.
    pub const fn screen_pins(self) -> u32 {
        self.get(PINS) as u32
    }

    /// Returns the place for the marks of a write guard or a submission, whose begin gave this state: its own words if no
    /// other one is open. Others that begin before it ends find it open.
    #[inline]
    pub const fn marks(self) -> Marks {
        if self.get(WRITERS) + self.get(SUBMITS) == 1 { Marks::Own } else { Marks::Shared }
    }

    /// The object's cache level: the last one that the kernel confirmed.
    #[inline]
    pub const fn level(self) -> CacheLevel {
        match self.get(LEVEL) {
            0 => CacheLevel::None,
            1 => CacheLevel::Llc,
            2 => CacheLevel::L3Llc,
            _ => CacheLevel::Wt,
        }
    }

    /// Returns whether the level may have changed since; only the kernel knows.
    #[inline]
    pub const fn is_unconfirmed(self) -> bool {
        self.is(UNCONFIRMED)
    }

    /// Returns whether the kernel confirmed `level`.
    #[inline]
    pub const fn is_at(self, level: CacheLevel) -> bool {
        self.level() as u8 == level as u8 && !self.is_unconfirmed()
    }

    /// Returns whether the object was closed.
    pub const fn is_closed(self) -> bool {
        self.is(CLOSED)
    }

    /// Returns whether the kernel purged the contents.
    pub const fn is_purged(self) -> bool {
        self.is(PURGED)
    }

    /// Returns whether the contents are marked as not needed.
    pub const fn is_dont_need(self) -> bool {
        self.is(DONT_NEED)
    }

    /// Returns whether the level is being changed, or the contents' advice.
    pub const fn is_changing(self) -> bool {
        self.is(CHANGING)
    }

    /// Returns whether stores may still be in the CPU's write-combining buffers.
    #[inline]
    pub const fn has_wc_stores(self) -> bool {
        self.is(WC_STORES)
    }

    /// Returns whether stores through the aperture may still be in the chipset.
    #[inline]
    pub const fn has_gtt_stores(self) -> bool {
        self.is(GTT_STORES)
    }

    /// Returns whether the GPU wrote through a path that allocates in the LLC since the last flush for it.
    #[inline]
    pub const fn has_gpu_write(self) -> bool {
        self.is(GPU_WROTE)
    }

    /// Returns whether there is one of these notes.
    #[inline]
    pub const fn has_notes(self) -> bool {
        self.0 & (WC_STORES.mask() | GTT_STORES.mask() | GPU_WROTE.mask()) != 0
    }

    /// Returns whether a submission can use the object at its level, which the kernel has confirmed.
    #[inline]
    pub const fn can_submit(self) -> bool {
        let excluded = CLOSED.mask() | PURGED.mask() | CHANGING.mask() | DONT_NEED.mask();
        self.0 & (excluded | UNCONFIRMED.mask()) == 0
    }

    /// Checks that the object can be used at all.
    #[inline]
    const fn check_alive(self) -> Result<(), Blocked> {
        if self.is(CLOSED) {
            Err(Blocked::Closed)
        } else if self.is(PURGED) {
            Err(Blocked::Purged)
        } else if self.is(CHANGING) {
            Err(Blocked::Changing)
        } else {
            Ok(())
        }
    }

    /// Checks that the contents can be used.
    #[inline]
    const fn check_contents(self) -> Result<(), Blocked> {
        match self.check_alive() {
            Ok(()) if self.is(DONT_NEED) => Err(Blocked::DontNeed),
            other => other,
        }
    }

    /// Checks that an access can use the mappings.
    #[inline]
    const fn check_access(self) -> Result<(), Blocked> {
        match self.check_contents() {
            Ok(()) if self.is(UNMAPPING) => Err(Blocked::Changing),
            other => other,
        }
    }

    /// Returns the open guards and submissions as the reason why a transition is blocked.
    const fn in_use(self) -> Blocked {
        Blocked::InUse { writers: self.writers(), readers: self.readers(), submits: self.submits() }
    }

    /// Makes `transition`, which open submissions block, while `listed` submissions use the object that it does not count
    /// ([`crate::tracking::Submissions`]).
    ///
    /// # Errors
    /// Those of `transition`; [`Blocked::InUse`] with all submissions.
    pub fn with_listed(
        self,
        listed: usize,
        transition: impl FnOnce(Self) -> Result<Self, Blocked>,
    ) -> Result<Self, Blocked> {
        if listed == 0 {
            return transition(self);
        }
        let counted = (self.get(SUBMITS) + listed as u64).min(SUBMITS.max());
        let all = Self((self.0 & !SUBMITS.mask()) | (counted << SUBMITS.shift));
        transition(all)?;
        Err(all.in_use())
    }

    /// Checks that no guard or submission is open, and that the mappings are not being changed.
    const fn check_idle(self) -> Result<(), Blocked> {
        if self.is(UNMAPPING) {
            Err(Blocked::Changing)
        } else if self.get(WRITERS) != 0 || self.get(READERS) != 0 || self.get(SUBMITS) != 0 {
            Err(self.in_use())
        } else {
            Ok(())
        }
    }

    /// Checks that the object is not on screen, unless it is known to have the level `asked` already.
    fn check_screen(self, asked: CacheLevel) -> Result<(), Blocked> {
        if self.get(PINS) == 0 || self.is_at(asked) {
            return Ok(());
        }
        Err(Blocked::OnScreen { level: self.level(), asked })
    }

    /// Opens a read guard.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::Purged`], [`Blocked::DontNeed`], [`Blocked::Changing`],
    /// [`Blocked::TooManyGuards`].
    #[inline]
    pub fn begin_read(self) -> Result<Self, Blocked> {
        self.check_access()?;
        self.more(READERS)
    }

    /// Closes a read guard; a no-op without an open one.
    #[inline]
    pub fn end_read(self) -> Self {
        self.fewer(READERS)
    }

    /// Opens a write guard, before the first store.
    ///
    /// # Errors
    /// As [`State::begin_read`].
    #[inline]
    pub fn begin_write(self) -> Result<Self, Blocked> {
        self.check_access()?;
        self.more(WRITERS)
    }

    /// Closes a write guard, after its stores were marked or noted; a no-op without an open one.
    #[inline]
    pub fn end_write(self) -> Self {
        self.fewer(WRITERS)
    }

    /// Begins a submission: until [`State::end_submit`], after the ioctl, the object can neither be closed nor change its
    /// level, so the handle and the decision stay valid.
    ///
    /// # Errors
    /// As [`State::begin_read`]; a change of the mappings excludes none.
    #[inline]
    pub fn begin_submit(self) -> Result<Self, Blocked> {
        self.check_contents()?;
        self.more(SUBMITS)
    }

    /// Ends a submission; a no-op without one.
    #[inline]
    pub fn end_submit(self) -> Self {
        self.fewer(SUBMITS)
    }

    /// Begins a request that uses the handle but is not a submission, though it is counted as one: until
    /// [`State::end_request`], after the ioctl, the object cannot be closed, so its handle cannot be reassigned. Contents and
    /// level do not matter.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::TooManyGuards`].
    pub fn begin_request(self) -> Result<Self, Blocked> {
        if self.is(CLOSED) {
            return Err(Blocked::Closed);
        }
        self.more(SUBMITS)
    }

    /// Ends a request; a no-op without one.
    pub fn end_request(self) -> Self {
        self.fewer(SUBMITS)
    }

    /// Begins a change of the level to `to`: until [`State::end_level_change`], after the ioctl, nothing else can begin.
    ///
    /// # Errors
    /// [`Blocked::OnScreen`] if the object is on screen at another level; [`Blocked::InUse`] while guards or
    /// submissions are open; [`Blocked::Closed`]; [`Blocked::Purged`]; [`Blocked::Changing`].
    pub fn begin_level_change(self, to: CacheLevel) -> Result<Self, Blocked> {
        self.check_alive()?;
        self.check_screen(to)?;
        self.check_idle()?;
        Ok(self.set(CHANGING))
    }

    /// Ends a level change after which the kernel reports `level`: the new one, or the old one if it refused.
    pub fn end_level_change(self, level: CacheLevel) -> Self {
        self.clear(CHANGING).clear(UNCONFIRMED).with_level(level)
    }

    /// Ends a level change after which the kernel did not report the object's level.
    pub fn end_level_change_unconfirmed(self) -> Self {
        self.clear(CHANGING).set(UNCONFIRMED)
    }

    /// Raises the level to that of another mapping of the GPU's under xe. Nothing that is open excludes it: what was noted at the level before came
    /// by the mappings before.
    ///
    /// # Errors
    /// [`Blocked::Closed`]; [`Blocked::Purged`]; [`Blocked::Changing`].
    pub fn raise_level(self, to: CacheLevel) -> Result<Self, Blocked> {
        self.check_alive()?;
        Ok(self.with_level(most_cached(self.level(), to)))
    }

    /// Begins a change of the mappings, counted as a submission: until [`State::end_unmap`] no access can begin, and the
    /// object can neither be closed nor change its level. Submissions and shows can begin.
    ///
    /// # Errors
    /// [`Blocked::InUse`] while guards are open; as [`State::begin_read`].
    pub fn begin_unmap(self) -> Result<Self, Blocked> {
        self.check_access()?;
        if self.get(WRITERS) != 0 || self.get(READERS) != 0 {
            return Err(self.in_use());
        }
        Ok(self.more(SUBMITS)?.set(UNMAPPING))
    }

    /// Ends a change of the mappings.
    pub fn end_unmap(self) -> Self {
        self.fewer(SUBMITS).clear(UNMAPPING)
    }

    /// Adds a screen pin, for an object that is on screen or about to be: the display forces `level` on it. Only the kernel
    /// knows whether it has done so already ([`State::confirm_level`]).
    ///
    /// # Errors
    /// As [`State::begin_submit`].
    ///
    /// # Source
    /// `i915_gem_object_pin_to_display_plane`.
    pub fn pin_screen(self, level: CacheLevel) -> Result<Self, Blocked> {
        self.check_contents()?;
        let pinned = self.more(PINS)?;
        Ok(if self.level() == level { pinned } else { pinned.set(UNCONFIRMED) })
    }

    /// Records that the kernel reports `level`, where the display forces `forced`.
    ///
    /// The forced level is final: only a level change ends it, and that confirms its own level. At any other
    /// level the display may still force its own, so the level stays unconfirmed. A confirmed state is left
    /// unchanged, because the kernel's report may be older.
    pub fn confirm_level(self, level: CacheLevel, forced: CacheLevel) -> Self {
        if !self.is(UNCONFIRMED) {
            return self;
        }
        let known = self.with_level(level);
        if level == forced { known.clear(UNCONFIRMED) } else { known }
    }

    /// Removes a screen pin, or nothing without one; the level stays.
    pub fn unpin_screen(self) -> Self {
        self.fewer(PINS)
    }

    /// Notes that the GPU wrote through a path that allocates in the LLC: lines may be dirty there.
    pub fn note_gpu_write(self) -> Self {
        self.set(GPU_WROTE)
    }

    /// Clears what [`State::note_gpu_write`] noted.
    pub fn take_gpu_write(self) -> Self {
        self.clear(GPU_WROTE)
    }

    /// Notes write-combining stores, after them, on the thread that made them ([`super::ObjectWord::update`]).
    pub fn note_wc_store(self) -> Self {
        self.set(WC_STORES)
    }

    /// Clears what [`State::note_wc_store`] noted.
    pub fn take_wc_stores(self) -> Self {
        self.clear(WC_STORES)
    }

    /// Notes stores through the aperture; like [`State::note_wc_store`].
    pub fn note_gtt_store(self) -> Self {
        self.set(GTT_STORES)
    }

    /// Clears what [`State::note_gtt_store`] noted.
    pub fn take_gtt_stores(self) -> Self {
        self.clear(GTT_STORES)
    }

    /// Begins to mark the contents as not needed: until [`State::end_advice`] nothing else can begin.
    ///
    /// # Errors
    /// [`Blocked::InUse`], [`Blocked::Pinned`], [`Blocked::Closed`], [`Blocked::Purged`],
    /// [`Blocked::Changing`].
    pub fn begin_dont_need(self) -> Result<Self, Blocked> {
        self.check_alive()?;
        self.check_idle()?;
        if self.get(PINS) != 0 {
            return Err(Blocked::Pinned);
        }
        Ok(self.set(DONT_NEED).set(CHANGING))
    }

    /// Begins to mark the contents as needed again, if they are marked as not needed: until [`State::end_advice`] nothing
    /// else can begin. Contents that are needed stay as they are.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::Purged`], [`Blocked::Changing`].
    pub fn begin_will_need(self) -> Result<Self, Blocked> {
        self.check_alive()?;
        Ok(if self.is(DONT_NEED) { self.set(CHANGING) } else { self })
    }

    /// Ends what [`State::begin_dont_need`] or [`State::begin_will_need`] began, with what the kernel does now.
    pub fn end_advice(self, is_needed: bool) -> Self {
        let ended = self.clear(CHANGING);
        if is_needed { ended.clear(DONT_NEED) } else { ended.set(DONT_NEED) }
    }

    /// Marks the contents as purged, which is final.
    ///
    /// # Errors
    /// [`Blocked::Closed`].
    pub fn purge(self) -> Result<Self, Blocked> {
        if self.is(CLOSED) {
            return Err(Blocked::Closed);
        }
        Ok(self.set(PURGED))
    }

    /// Closes the object; of several callers one succeeds, which then closes the handle. A purged object can be closed.
    ///
    /// # Errors
    /// [`Blocked::Closed`], [`Blocked::InUse`], [`Blocked::Pinned`], [`Blocked::Changing`].
    pub fn close(self) -> Result<Self, Blocked> {
        if self.is(CLOSED) {
            return Err(Blocked::Closed);
        }
        if self.is(CHANGING) {
            return Err(Blocked::Changing);
        }
        self.check_idle()?;
        if self.get(PINS) != 0 {
            return Err(Blocked::Pinned);
        }
        Ok(self.set(CLOSED))
    }
}
