//! The mappings of one object, each made when it is first needed, and the account of stale lines that
//! begins with the first one through the CPU's caches.
//!
//! As long as an object has no cached mapping, nobody keeps account of lines that are written behind
//! the caches; that there were any is remembered. Who makes a cached mapping takes over: if memory was
//! written around the caches before, any line may be stale. Both sides go through one word by
//! read-modify-writes, so one of the two comes first: either the maker finds the note of the write, or
//! the writer finds the mapping and marks its lines itself. And no thread gets hold of a mapping before
//! its maker has marked what may be stale.

use std::sync::PoisonError;

use super::lines::LineMap;
use crate::sync::{AtomicU64, Mutex, OnceLock, Ordering};
use crate::units::LineRange;
use crate::vocabulary::MmapMode;

/// The bit that says that memory was written behind the caches; below it, one bit for each mode.
const WRITTEN_AROUND: u64 = 1 << MmapMode::ALL.len();

/// The bit of a mode: a mapping is there, or is about to be.
const fn bit(mode: MmapMode) -> u64 {
    1 << mode as u64
}

/// The mappings of an object: at most one for each mode, kept until the object goes.
#[derive(Debug)]
pub struct Mappings<T> {
    slots: [OnceLock<T>; MmapMode::ALL.len()],
    /// What both sides of the account agree about.
    account: AtomicU64,
    /// The mode that accesses use, by its place in [`MmapMode::ALL`] and one more; 0: none yet.
    current: AtomicU64,
    /// Held by who makes a mapping, so that nobody makes the same one.
    making: Mutex<()>,
}

/// Whether memory was written behind the CPU's caches before anybody kept account of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Nothing was.
    Known,
    /// For all that is known, everything was.
    Unknown,
}

impl<T> Mappings<T> {
    /// No mapping, of an object with that past.
    pub fn new(past: Past) -> Self {
        let account = match past {
            Past::Known => 0,
            Past::Unknown => WRITTEN_AROUND,
        };
        Self {
            slots: Default::default(),
            account: AtomicU64::new(account),
            current: AtomicU64::new(0),
            making: Mutex::new(()),
        }
    }

    fn slot(&self, mode: MmapMode) -> &OnceLock<T> {
        let [wb, wc, uc, gtt, fixed] = &self.slots;
        match mode {
            MmapMode::Wb => wb,
            MmapMode::Wc => wc,
            MmapMode::Uc => uc,
            MmapMode::Gtt => gtt,
            MmapMode::Fixed => fixed,
        }
    }

    /// The mapping of that mode, if it was made.
    pub fn get(&self, mode: MmapMode) -> Option<&T> {
        self.slot(mode).get()
    }

    /// The mapping that accesses use.
    pub fn current(&self) -> Option<&T> {
        // Relaxed: the slot publishes the mapping. Who sees the choice and not the mapping comes before
        // the choice.
        let place = self.current.load(Ordering::Relaxed).checked_sub(1)?;
        self.get(*MmapMode::ALL.get(place as usize)?)
    }

    /// Accesses use the mapping of that mode from now on; it was made before.
    pub fn choose(&self, mode: MmapMode) {
        // Relaxed: as in `current`. A read-modify-write, as in `choose_if_none`: they come one after the
        // other.
        self.current.swap(mode as u64 + 1, Ordering::Relaxed);
    }

    /// The same, unless a mode was chosen before.
    pub fn choose_if_none(&self, mode: MmapMode) {
        // Relaxed: as in `current`. One step, so that no choice is replaced.
        let _ = self.current.compare_exchange(0, mode as u64 + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Accesses use no mapping; the mappings stay. For an object that begins a new life: nobody else
    /// has it.
    pub fn forget_choice(&self) {
        // Relaxed: whoever gets the object from this thread gets it through some lock.
        self.current.store(0, Ordering::Relaxed);
    }

    /// The mapping of that mode; if there is none yet, the one that `make` makes.
    ///
    /// `is_cached` says of a mode whether its mapping goes through the CPU's caches. Every line of
    /// `stale` is marked if this one does and nobody has kept account before.
    ///
    /// # Errors
    /// `make`'s; then there is no mapping.
    pub fn get_or_make<E>(
        &self,
        mode: MmapMode,
        stale: &LineMap,
        is_cached: impl Fn(MmapMode) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        if let Some(mapping) = self.get(mode) {
            return Ok(mapping);
        }
        // A panic in `make` leaves nothing half done.
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapping) = self.get(mode) {
            return Ok(mapping);
        }
        let mapping = make()?;
        // Acquire pairs with the Release of `note_written_around`: what was noted there happened
        // before the marks here, and an invalidate that takes them finds the write in memory.
        // Release pairs with the Acquire there: a write that is noted later marks its lines itself.
        let before = self.account.fetch_or(bit(mode), Ordering::AcqRel);
        if before & WRITTEN_AROUND != 0 && is_cached(mode) {
            stale.mark_all();
        }
        // Only now: who gets the mapping reads through it, and must find the marks.
        Ok(self.slot(mode).get_or_init(|| mapping))
    }

    /// Notes that memory of `lines` was written behind the CPU's caches: they are marked in `stale` if
    /// there is a mapping through the caches, as `is_cached` says of its mode.
    ///
    /// Lines outside the object are not marked.
    pub fn note_written_around(
        &self,
        lines: LineRange,
        stale: &LineMap,
        is_cached: impl Fn(MmapMode) -> bool,
    ) {
        // Release pairs with the Acquire of `get_or_make`, and Acquire with its Release.
        let account = self.account.fetch_or(WRITTEN_AROUND, Ordering::AcqRel);
        if MmapMode::ALL.iter().any(|&mode| account & bit(mode) != 0 && is_cached(mode)) {
            let _ = stale.mark(lines);
        }
    }

    /// Returns whether memory was ever written behind the CPU's caches, as far as that was noted.
    pub fn is_written_around(&self) -> bool {
        // Acquire pairs with the Release of `note_written_around`.
        self.account.load(Ordering::Acquire) & WRITTEN_AROUND != 0
    }
}
