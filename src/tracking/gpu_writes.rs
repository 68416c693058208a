//! Tracks which of the GPU's writes to an object were waited for.

use crate::sync::{AtomicU64, Ordering};

/// Counts how often the GPU was told to write an object, and up to which of these writes a thread waited.
///
/// A thread that tells the GPU to write first counts the write ([`GpuWrites::tell`]), then notes its effect
/// on lines (stale marks, or [`super::State::note_gpu_write`]). A thread that takes such notes leaves
/// them in place if a counted write was not waited for ([`super::InFlightFlush`]): what is flushed or invalidated
/// before the GPU writes must be flushed or invalidated again.
#[derive(Debug)]
pub struct GpuWrites {
    told: AtomicU64,
    waited: AtomicU64,
}

impl Default for GpuWrites {
    fn default() -> Self {
        Self { told: AtomicU64::new(0), waited: AtomicU64::new(0) }
    }
}

impl GpuWrites {
    /// Counts a write that the GPU was told, or is about to be told, to make; call it before noting the
    /// write's effects.
    pub fn tell(&self) {
        // Release pairs with the Acquire of `wait`: what is counted here was submitted before the kernel is
        // asked to wait.
        self.told.fetch_add(1, Ordering::Release);
    }

    /// Returns whether every counted write was waited for.
    #[inline]
    pub fn are_over(&self) -> bool {
        // Acquire pairs with the Release of `wait`: a caller that goes on without waiting is ordered after
        // that wait. `waited` is loaded first: writes counted in between then make the result false.
        let waited = self.waited.load(Ordering::Acquire);
        // Relaxed: a caller that has found the note of a write finds its count, which was made before; one that looks for the
        // note afterwards finds it, or comes before the write.
        waited >= self.told.load(Ordering::Relaxed)
    }

    /// Calls `wait`, which waits in the kernel, for every write counted so far.
    ///
    /// # Errors
    /// Those of `wait`; then no write counts as waited for.
    pub fn wait<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Acquire: see `tell`. Loaded before the wait, which does not cover writes counted later.
        let told = self.told.load(Ordering::Acquire);
        wait()?;
        // Release pairs with the Acquire of `are_over`.
        self.waited.fetch_max(told, Ordering::Release);
        Ok(())
    }

    /// Calls [`GpuWrites::wait`] unless every counted write was waited for.
    ///
    /// # Errors
    /// As [`GpuWrites::wait`].
    #[inline]
    pub fn wait_if_told<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if self.are_over() { Ok(()) } else { self.wait(wait) }
    }
}
