//! The mappings of one object, each created at first use, and the tracking of stale lines, which starts with
//! the first cached mapping.
//!
//! While an object has no cached mapping, lines written around the caches are not tracked individually; only
//! the fact that there were any is recorded. The thread that creates a cached mapping takes over: if memory
//! was written around the caches before, it marks every line as stale. Both sides use read-modify-writes of
//! one word, so one of them comes first: either the creator finds the note of the write, or the writer finds
//! the mapping and marks its lines itself. No thread gets a mapping before its creator has marked the lines
//! that may be stale.

use super::lines::LineMap;
use crate::sync::{AtomicU64, Mutex, OnceLock, Ordering};
use crate::units::LineRange;
use crate::vocabulary::MmapMode;

/// The bit for writes around the caches; below it there is one bit for each mode.
const WRITTEN_AROUND: u64 = 1 << MmapMode::ALL.len();

/// Returns the bit of a mode. In the account: its mapping exists, is being created, or existed.
const fn bit(mode: MmapMode) -> u64 {
    1 << mode as u64
}

/// A mapping whose pages can be replaced in place, because threads may keep references to it.
pub trait Remap {
    /// Takes over the pages of `new`, if its own were released.
    fn remap(&self, new: Self);
}

/// The mappings of an object: at most one for each mode, kept as long as the object or until [`Mappings::forget`].
#[derive(Debug)]
pub struct Mappings<T> {
    slots: [OnceLock<T>; MmapMode::ALL.len()],
    /// The modes whose mappings exist, and can be used.
    usable: AtomicU64,
    /// The word that both sides use: which mappings exist, and whether memory was written around the caches.
    account: AtomicU64,
    /// The mode that accesses use: its index in [`MmapMode::ALL`] plus one, or 0 for none yet.
    current: AtomicU64,
    /// Held while a mapping is created, so that each is created once.
    making: Mutex<()>,
}

/// The knowledge of writes around the CPU's caches before tracking began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Memory was not written around the caches.
    Known,
    /// All memory may have been written around the caches.
    Unknown,
}

impl<T: Remap> Mappings<T> {
    /// Creates the mappings of an object with that past; none exists yet.
    pub fn new(past: Past) -> Self {
        let account = match past {
            Past::Known => 0,
            Past::Unknown => WRITTEN_AROUND,
        };
        Self {
            slots: Default::default(),
            usable: AtomicU64::new(0),
            account: AtomicU64::new(account),
            current: AtomicU64::new(0),
            making: Mutex::new(()),
        }
    }

    #[inline]
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

    /// Returns the mapping of a mode, if there is one.
    #[inline]
    pub fn get(&self, mode: MmapMode) -> Option<&T> {
        // Acquire pairs with the Release of `get_or_make`: a thread that finds the bit finds the pages.
        if self.usable.load(Ordering::Acquire) & bit(mode) == 0 { None } else { self.slot(mode).get() }
    }

    /// Returns the mapping that accesses use.
    #[inline]
    pub fn current(&self) -> Option<&T> {
        // Relaxed: `usable` publishes the mapping. A thread that sees the choice but not the mapping is
        // treated as if it came before the choice.
        let place = self.current.load(Ordering::Relaxed).checked_sub(1)?;
        self.get(*MmapMode::ALL.get(place as usize)?)
    }

    /// Returns the mode of the mapping that accesses use.
    #[inline]
    pub fn current_mode(&self) -> Option<MmapMode> {
        // Relaxed, both: nothing is read through the mapping.
        let place = self.current.load(Ordering::Relaxed).checked_sub(1)?;
        let mode = *MmapMode::ALL.get(place as usize)?;
        (self.usable.load(Ordering::Relaxed) & bit(mode) != 0).then_some(mode)
    }

    /// Makes accesses use the mapping of this mode, which must exist.
    pub fn choose(&self, mode: MmapMode) {
        // Relaxed: as in `current`. A read-modify-write, as in `choose_if_none`, so that the two are ordered.
        self.current.swap(mode as u64 + 1, Ordering::Relaxed);
    }

    /// Like [`Mappings::choose`], unless a mode was chosen before.
    pub fn choose_if_none(&self, mode: MmapMode) {
        // Relaxed: as in `current`. One step, so that no choice is replaced.
        let _ = self.current.compare_exchange(0, mode as u64 + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Makes accesses use no mapping; the mappings stay. Call it only while no other thread accesses the object.
    pub fn forget_choice(&self) {
        // Relaxed: another thread gets the object from this one only through a lock or the object word.
        self.current.store(0, Ordering::Relaxed);
    }

    /// Returns the mapping of this mode; if there is none yet, creates it by `make`.
    ///
    /// `is_cached` returns whether a mode's mapping goes through the CPU's caches. If this one does and
    /// writes around the caches were not tracked before, every line of `stale` is marked. They are tracked since the
    /// first mapping of the mode, also while it is forgotten.
    ///
    /// # Errors
    /// Those of `make`; then no mapping is created.
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
        let _making = self.making.lock();
        if let Some(mapping) = self.get(mode) {
            return Ok(mapping);
        }
        Ok(self.install(mode, make()?, stale, is_cached))
    }

    /// Makes `mapping` the mapping of its mode, which has none. The caller holds `making`.
    fn install(
        &self,
        mode: MmapMode,
        mapping: T,
        stale: &LineMap,
        is_cached: impl Fn(MmapMode) -> bool,
    ) -> &T {
        // Acquire pairs with the Release of `note_uncached_write`: the write noted there happened before the
        // marks here, so an invalidate that takes them finds it in memory. A write noted later marks its lines itself.
        let before = self.account.fetch_or(bit(mode), Ordering::Acquire);
        if before & WRITTEN_AROUND != 0 && before & bit(mode) == 0 && is_cached(mode) {
            stale.mark_all();
        }
        let slot = self.slot(mode);
        let mapping = match slot.get() {
            Some(forgotten) => {
                forgotten.remap(mapping);
                forgotten
            }
            None => slot.get_or_init(|| mapping),
        };
        // Only now: a thread that gets the mapping reads through it, and must find the marks. Release pairs with the
        // Acquire of `get`.
        self.usable.fetch_or(bit(mode), Ordering::Release);
        mapping
    }

    /// Forgets every mapping, of which `detach` takes the pages; returns the pages. Accesses use `next` from now on, or none
    /// until one is created again. `stale` and `is_cached`: as for [`Mappings::get_or_make`].
    ///
    /// The caller excludes accesses. A flush that began before the call may use the pages until it ends
    /// ([`super::Tracked::wait_for_flushes`]).
    ///
    /// The account stays: lines that were cached through a mapping may still be in the cache.
    pub fn forget<P>(
        &self,
        next: Option<(MmapMode, T)>,
        stale: &LineMap,
        is_cached: impl Fn(MmapMode) -> bool,
        detach: impl Fn(&T) -> P,
    ) -> [Option<P>; MmapMode::ALL.len()] {
        let _making = self.making.lock();
        self.forget_choice();
        // Relaxed: accesses are ordered by the object word, and flushes by the wait for them.
        let usable = self.usable.swap(0, Ordering::Relaxed);
        let pages = std::array::from_fn(|place| {
            let mode = MmapMode::ALL.get(place).filter(|&&mode| usable & bit(mode) != 0)?;
            self.slot(*mode).get().map(&detach)
        });
        if let Some((mode, mapping)) = next {
            self.install(mode, mapping, stale, is_cached);
            self.choose(mode);
        }
        pages
    }

    /// Notes that memory of `lines` was written around the CPU's caches: marks them in `stale` if there is a
    /// mapping whose mode `is_cached`.
    ///
    /// Lines outside the object are not marked.
    pub fn note_uncached_write(
        &self,
        lines: LineRange,
        stale: &LineMap,
        is_cached: impl Fn(MmapMode) -> bool,
    ) {
        // Release pairs with the Acquire of `install`.
        let account = self.account.fetch_or(WRITTEN_AROUND, Ordering::Release);
        if MmapMode::ALL.iter().any(|&mode| account & bit(mode) != 0 && is_cached(mode)) {
            let _ = stale.mark(lines);
        }
    }

    /// Returns whether a write around the CPU's caches was ever noted.
    pub fn has_uncached_writes(&self) -> bool {
        // Acquire pairs with the Release of `note_uncached_write`.
        self.account.load(Ordering::Acquire) & WRITTEN_AROUND != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Of(MmapMode);

    impl Remap for Of {
        fn remap(&self, _: Self) {}
    }

    #[test]
    fn each_mode_has_a_mapping_of_its_own() {
        let (mappings, stale) = (Mappings::new(Past::Known), LineMap::new(64).unwrap());
        for &mode in MmapMode::ALL {
            let made = mappings.get_or_make(mode, &stale, |_| false, || Ok::<_, Infallible>(Of(mode)));
            assert_eq!(made, Ok(&Of(mode)));
        }
    }
}
