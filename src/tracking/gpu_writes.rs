//! Which of the GPU's writes of an object are over, for all that anybody waited.

use crate::sync::{AtomicU64, Ordering};

/// How many times the GPU was told to write an object, and up to which of these times somebody waited.
///
/// Who tells it notes first that it did ([`GpuWrites::tell`]), then what its write does to lines (stale
/// marks, or [`super::ObjectWord::note_gpu_write`]). Who takes such notes and finds a write that was
/// told and not waited for leaves them in place ([`super::Flight`]): what is flushed or invalidated
/// before the GPU writes has to be flushed or invalidated again.
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
    /// The GPU was told to write, or is about to be: before the notes about its write.
    pub fn tell(&self) {
        // Release pairs with the Acquire of `wait`: the kernel was given what is counted here before it
        // is asked to wait.
        self.told.fetch_add(1, Ordering::Release);
    }

    /// Returns whether somebody waited for every write that was told.
    pub fn are_over(&self) -> bool {
        // Acquire pairs with the Release of `wait`: who goes on without waiting comes after it. First
        // the waits: more may be told meanwhile, and then they are not over.
        let waited = self.waited.load(Ordering::Acquire);
        // Acquire pairs with the Release of `tell`. Relaxed would do for who took a note: the note was
        // made after its write was told.
        waited >= self.told.load(Ordering::Acquire)
    }

    /// Waits by `wait`, in the kernel, for every write that was told so far.
    ///
    /// # Errors
    /// `wait`'s; then nothing is known to be over.
    pub fn wait<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Acquire: see `tell`. Before the wait, which knows nothing of what is told later.
        let told = self.told.load(Ordering::Acquire);
        wait()?;
        // Release pairs with the Acquire of `are_over`.
        self.waited.fetch_max(told, Ordering::Release);
        Ok(())
    }

    /// The same, if not everything is over.
    ///
    /// # Errors
    /// As [`GpuWrites::wait`].
    pub fn wait_if_told<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if self.are_over() { Ok(()) } else { self.wait(wait) }
    }
}
