//! The object word's value: what it says, and its transitions as pure functions.

use std::fmt;

use super::blocked::Blocked;
use super::layout::{
    CHANGING, CLOSED, DONT_NEED, Field, GPU_WROTE, GTT_STORES, LEVEL, PINS, PURGED, READERS, SUBMITS,
    UNCONFIRMED, WC_STORES, WRITERS,
};
use crate::vocabulary::CacheLevel;

/// One value of the object word.
///
/// Every transition is a function of the value alone; [`super::ObjectWord`] makes it atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State(u64);

impl State {
    /// A new object of `level`, with nothing open and nothing pending.
    pub fn new(level: CacheLevel) -> Self {
        Self(0).with_level(level)
    }

    /// The value as the word holds it.
    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    /// The value that the word held.
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    const fn get(self, field: Field) -> u64 {
        (self.0 >> field.shift) & field.max()
    }

    const fn is(self, flag: Field) -> bool {
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

    /// One more in `count`.
    const fn more(self, count: Field) -> Result<Self, Blocked> {
        if self.get(count) == count.max() {
            return Err(Blocked::TooManyGuards { limit: count.max() as u32 });
        }
        Ok(Self(self.0 + (1 << count.shift)))
    }

    /// One fewer in `count`; none stays none, so that neighbouring fields are safe from an end
    /// without a begin.
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

    /// Submissions that have begun and not ended.
    pub const fn submits(self) -> u32 {
        self.get(SUBMITS) as u32
    }

    /// How many times the object is on screen.
    pub const fn screen_pins(self) -> u32 {
        self.get(PINS) as u32
    }

    /// The object's cache level; the last one that the kernel confirmed.
    pub const fn level(self) -> CacheLevel {
        match self.get(LEVEL) {
            0 => CacheLevel::None,
            1 => CacheLevel::Llc,
            2 => CacheLevel::L3Llc,
            _ => CacheLevel::Wt,
        }
    }

    /// Returns whether the level may be another one by now, which only the kernel knows.
    pub const fn is_unconfirmed(self) -> bool {
        self.is(UNCONFIRMED)
    }

    /// Returns whether the object was closed.
    pub const fn is_closed(self) -> bool {
        self.is(CLOSED)
    }

    /// Returns whether the kernel took the contents back.
    pub const fn is_purged(self) -> bool {
        self.is(PURGED)
    }

    /// Returns whether the contents are not needed.
    pub const fn is_dont_need(self) -> bool {
        self.is(DONT_NEED)
    }

    /// Returns whether the level is being changed.
    pub const fn is_changing(self) -> bool {
        self.is(CHANGING)
    }

    /// Returns whether stores through a WC or UC mapping may not have left the CPU.
    pub const fn has_wc_stores(self) -> bool {
        self.is(WC_STORES)
    }

    /// Returns whether stores through the aperture may not have left the chipset.
    pub const fn has_gtt_stores(self) -> bool {
        self.is(GTT_STORES)
    }

    /// Returns whether the GPU wrote through a path that allocates in the LLC since that was last flushed.
    pub const fn has_gpu_write(self) -> bool {
        self.is(GPU_WROTE)
    }

    /// Nothing, or why the object cannot be used at all.
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

    /// Nothing, or why the contents cannot be used.
    const fn check_contents(self) -> Result<(), Blocked> {
        match self.check_alive() {
            Ok(()) if self.is(DONT_NEED) => Err(Blocked::DontNeed),
            other => other,
        }
    }

    /// Nothing, or who uses the object.
    const fn check_idle(self) -> Result<(), Blocked> {
        if self.get(WRITERS) == 0 && self.get(READERS) == 0 && self.get(SUBMITS) == 0 {
            return Ok(());
        }
        Err(Blocked::InUse { writers: self.writers(), readers: self.readers(), submits: self.submits() })
    }

    /// Nothing, or that the object is on screen, perhaps at another level than `asked`.
    fn check_screen(self, asked: CacheLevel) -> Result<(), Blocked> {
        if self.get(PINS) == 0 || (self.level() == asked && !self.is(UNCONFIRMED)) {
            return Ok(());
        }
        Err(Blocked::OnScreen { level: self.level(), asked })
    }

    /// One more read guard.
    pub fn begin_read(self) -> Result<Self, Blocked> {
        self.check_contents()?;
        self.more(READERS)
    }

    /// One read guard fewer.
    pub fn end_read(self) -> Self {
        self.fewer(READERS)
    }

    /// One more write guard.
    pub fn begin_write(self) -> Result<Self, Blocked> {
        self.check_contents()?;
        self.more(WRITERS)
    }

    /// One write guard fewer.
    pub fn end_write(self) -> Self {
        self.fewer(WRITERS)
    }

    /// One more submission.
    pub fn begin_submit(self) -> Result<Self, Blocked> {
        self.check_contents()?;
        self.more(SUBMITS)
    }

    /// One submission fewer.
    pub fn end_submit(self) -> Self {
        self.fewer(SUBMITS)
    }

    /// One more request about the handle, counted as a submission; contents and level do not matter.
    pub fn begin_request(self) -> Result<Self, Blocked> {
        if self.is(CLOSED) {
            return Err(Blocked::Closed);
        }
        self.more(SUBMITS)
    }

    /// One request fewer.
    pub fn end_request(self) -> Self {
        self.fewer(SUBMITS)
    }

    /// The level is being changed to `to`: nothing else may begin until [`State::end_level_change`].
    pub fn begin_level_change(self, to: CacheLevel) -> Result<Self, Blocked> {
        self.check_alive()?;
        self.check_screen(to)?;
        self.check_idle()?;
        Ok(self.set(CHANGING))
    }

    /// The change is over, and the kernel says that the object has `level`: the new one, or the old one if it
    /// refused.
    pub fn end_level_change(self, level: CacheLevel) -> Self {
        self.clear(CHANGING).clear(UNCONFIRMED).with_level(level)
    }

    /// The change is over, and the kernel did not say which level the object has.
    pub fn end_level_change_unconfirmed(self) -> Self {
        self.clear(CHANGING).set(UNCONFIRMED)
    }

    /// On screen once more, or about to be: the display forces `level` on the object. Whether it did, or will
    /// yet, only the kernel knows ([`State::confirm_level`]).
    pub fn pin_screen(self, level: CacheLevel) -> Result<Self, Blocked> {
        self.check_contents()?;
        let pinned = self.more(PINS)?;
        Ok(if self.level() == level { pinned } else { pinned.set(UNCONFIRMED) })
    }

    /// The kernel says that the object has `level`, and the display forces `forced`.
    ///
    /// The forced level is final: nothing but a level change ends it, and that confirms its own. At any other
    /// level a show may still come, so the level stays unconfirmed. A state that is confirmed already stays as it
    /// is: the answer of the kernel may be older.
    pub fn confirm_level(self, level: CacheLevel, forced: CacheLevel) -> Self {
        if !self.is(UNCONFIRMED) {
            return self;
        }
        let known = self.with_level(level);
        if level == forced { known.clear(UNCONFIRMED) } else { known }
    }

    /// On screen once less; the level stays.
    pub fn unpin_screen(self) -> Self {
        self.fewer(PINS)
    }

    /// The GPU wrote through a path that allocates in the LLC.
    pub fn note_gpu_write(self) -> Self {
        self.set(GPU_WROTE)
    }

    /// Nothing is left of what [`State::note_gpu_write`] noted.
    pub fn take_gpu_write(self) -> Self {
        self.clear(GPU_WROTE)
    }

    /// Stores went through a WC or UC mapping.
    pub fn note_wc_store(self) -> Self {
        self.set(WC_STORES)
    }

    /// Nothing is left of what [`State::note_wc_store`] noted.
    pub fn take_wc_stores(self) -> Self {
        self.clear(WC_STORES)
    }

    /// Stores went through the aperture.
    pub fn note_gtt_store(self) -> Self {
        self.set(GTT_STORES)
    }

    /// Nothing is left of what [`State::note_gtt_store`] noted.
    pub fn take_gtt_stores(self) -> Self {
        self.clear(GTT_STORES)
    }

    /// The contents are not needed.
    pub fn set_dont_need(self) -> Result<Self, Blocked> {
        self.check_alive()?;
        self.check_idle()?;
        if self.get(PINS) != 0 {
            return Err(Blocked::Pinned);
        }
        Ok(self.set(DONT_NEED))
    }

    /// The contents are needed again.
    pub fn set_will_need(self) -> Result<Self, Blocked> {
        self.check_alive()?;
        Ok(self.clear(DONT_NEED))
    }

    /// The contents are gone, for good.
    pub fn purge(self) -> Result<Self, Blocked> {
        if self.is(CLOSED) {
            return Err(Blocked::Closed);
        }
        Ok(self.set(PURGED))
    }

    /// The object is closed; only the first close succeeds, and a purged object can be closed.
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

impl fmt::Debug for State {
    /// Prints `llc W1 R2 WC_STORES`: the level, the counts that are not zero, the flags that are set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level())?;
        for (letter, count) in [('W', WRITERS), ('R', READERS), ('S', SUBMITS), ('P', PINS)] {
            if self.get(count) != 0 {
                write!(f, " {letter}{}", self.get(count))?;
            }
        }
        let flags = [
            ("UNCONFIRMED", UNCONFIRMED),
            ("CLOSED", CLOSED),
            ("PURGED", PURGED),
            ("DONT_NEED", DONT_NEED),
            ("CHANGING", CHANGING),
            ("WC_STORES", WC_STORES),
            ("GTT_STORES", GTT_STORES),
            ("GPU_WROTE", GPU_WROTE),
        ];
        for (name, flag) in flags {
            if self.is(flag) {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}
