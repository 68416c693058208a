//! Receivers of log lines: the process's callback, and those of single devices.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use gem_coherency::fork::PerProcess;
use gem_coherency::sync::Mutex;

/// Number of the levels of logging.
pub(crate) const LEVELS: usize = 6;

/// A callback of C.
#[derive(Clone, Copy)]
pub(crate) struct Sink {
    pub(crate) call: unsafe extern "C" fn(c_uint, *const c_char, *mut c_void),
    pub(crate) user: *mut c_void,
    /// The least severe level that it gets, less than [`LEVELS`].
    pub(crate) level: c_uint,
}

// SAFETY: the pointer is only passed to the callback, which may run on any thread, as its documentation says.
unsafe impl Send for Sink {}
// SAFETY: as for `Send`.
unsafe impl Sync for Sink {}

/// The place of a callback.
#[derive(Default)]
pub(crate) struct Receiver {
    sink: RwLock<Option<Sink>>,
    /// The callback's level plus one; 0 without a callback.
    level: AtomicU32,
}

/// The process's callback. There is none in a child process until it sets one.
pub(crate) static PROCESS: PerProcess<Receiver> = PerProcess::new();

/// The number of callbacks of each level.
static CALLBACKS: PerProcess<Mutex<[u32; LEVELS]>> = PerProcess::new();

/// The highest level of a callback.
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// Returns the highest level that a callback gets; 0 if nothing is logged.
#[inline]
pub(crate) fn highest() -> c_uint {
    // Relaxed suffices: this is a filter, and publishes no other data.
    HIGHEST.load(Ordering::Relaxed)
}

/// Counts the replacement of a callback, by their levels.
fn count(before: Option<Sink>, after: Option<Sink>) {
    let mut counts = CALLBACKS.get().lock();
    let place = |sink: Sink| usize::try_from(sink.level).unwrap_or(usize::MAX);
    if let Some(count) = before.and_then(|sink| counts.get_mut(place(sink))) {
        *count -= 1;
    }
    if let Some(count) = after.and_then(|sink| counts.get_mut(place(sink))) {
        *count += 1;
    }
    let highest = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    // Relaxed suffices: as in `highest`.
    HIGHEST.store(highest as u32, Ordering::Relaxed);
}

impl Receiver {
    /// Returns the callback's level; `None` without a callback.
    pub(crate) fn level(&self) -> Option<c_uint> {
        // Relaxed suffices: as in `highest`.
        self.level.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Replaces the callback. Waits until the previous one is not running; it is not called again.
    pub(crate) fn replace(&self, sink: Option<Sink>) {
        if sink.is_none() && self.level().is_none() {
            return;
        }
        let mut kept = self.sink.write().unwrap_or_else(PoisonError::into_inner);
        count(*kept, sink);
        *kept = sink;
        // Relaxed suffices: as in `highest`.
        self.level.store(sink.map_or(0, |sink| sink.level + 1), Ordering::Relaxed);
        drop(kept);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Passes lines of the callback's level to it; returns whether there is a callback.
    pub(crate) fn pass<'a>(&self, lines: impl IntoIterator<Item = (c_uint, &'a CStr)>) -> bool {
        let kept = self.sink.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Sink { call, user, level: most }) = *kept else { return false };
        for (level, text) in lines.into_iter().filter(|&(level, _)| level <= most) {
            // SAFETY: the function and its pointer are valid until they are replaced, which waits for this lock.
            unsafe { call(level, text.as_ptr(), user) };
        }
        true
    }
}
