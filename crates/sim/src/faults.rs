//! Things that go wrong on request.

use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;

use gem_coherency::error::{Error, Result};
use gem_coherency::vocabulary::words;

words! {
    /// Something that goes wrong with a device.
    Fault, "fault" {
        /// One request that needs memory gets none: ENOMEM.
        NoMemory = "enomem",
        /// The GPU is wedged for good: EXECBUFFER2, CONTEXT_CREATE and THROTTLE get EIO. Everything else
        /// goes on, as in the kernel, GEM_WAIT too: what was submitted is cancelled.
        Wedged = "eio",
        /// One request is interrupted by a signal, and restarted.
        Interrupted = "eintr",
        /// The device is unplugged for good: every request gets ENODEV.
        Unplugged = "enodev",
        /// Memory is short: the contents of every object that is marked as not needed are taken.
        Purge = "purge",
        /// The GPU changes the first byte of an object that it is given, which nobody told it to.
        Stray = "stray",
    }
}

/// What a request needs that faults can take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// Memory, for objects, page tables or pages.
    Memory,
    /// Memory, and a GPU that works.
    Gpu,
}

/// A fault that waits for its request.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    fault: Fault,
    /// Requests that go well before.
    after: u64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    wedged: bool,
    unplugged: bool,
    stray: bool,
    restarts: u64,
}

/// What happens to a request before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Nothing.
    Clear,
    /// The shrinker runs first.
    Shrink,
}

/// The faults of one device.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<State>);

impl Faults {
    /// Makes `fault` happen at the request that follows the next `after` that it can hit.
    pub(super) fn inject(&self, fault: Fault, after: u64) {
        self.state().waiting.push(Waiting { fault, after });
    }

    /// How often a request was interrupted and restarted.
    pub(super) fn restarts(&self) -> u64 {
        self.state().restarts
    }

    /// Whether the GPU is wedged for good (`intel_gt_terminally_wedged`).
    pub(super) fn is_wedged(&self) -> bool {
        self.state().wedged
    }

    /// Whether the GPU does nothing any more: it is wedged, or the device unplugged.
    pub(super) fn is_dead(&self) -> bool {
        let state = self.state();
        state.wedged || state.unplugged
    }

    /// Whether the GPU goes astray in the object that it is given now.
    pub(super) fn take_stray(&self) -> bool {
        std::mem::take(&mut self.state().stray)
    }

    /// What happens to `request` before it is done.
    ///
    /// # Errors
    /// The fault's errno, if it ends the request.
    pub(super) fn enter(&self, request: &'static str, needs: Needs) -> Result<Entry> {
        let mut state = self.state();
        let mut entry = Entry::Clear;
        let mut failed = None;
        for fault in due(&mut state.waiting, needs) {
            tracing::debug!(request, %fault, "fault");
            match fault {
                Fault::NoMemory => failed = Some(Errno::ENOMEM),
                Fault::Wedged => state.wedged = true,
                // The request is made again, and nothing stops it then.
                Fault::Interrupted => state.restarts += 1,
                Fault::Unplugged => state.unplugged = true,
                Fault::Purge => entry = Entry::Shrink,
                Fault::Stray => state.stray = true,
            }
        }
        if state.unplugged {
            failed = Some(Errno::ENODEV);
        }
        match failed {
            Some(errno) => Err(Error::Ioctl { request, errno }),
            None => Ok(entry),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the faults out that hit a request with these needs; the others of its kind come closer.
fn due(waiting: &mut Vec<Waiting>, needs: Needs) -> Vec<Fault> {
    let mut due = Vec::new();
    waiting.retain_mut(|one| {
        let can_hit = match one.fault {
            Fault::NoMemory => needs != Needs::Nothing,
            Fault::Stray => needs == Needs::Gpu,
            Fault::Wedged | Fault::Interrupted | Fault::Unplugged | Fault::Purge => true,
        };
        if can_hit && one.after == 0 {
            due.push(one.fault);
            return false;
        }
        one.after -= u64::from(can_hit);
        true
    });
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_waits_for_the_requests_it_can_hit() {
        let faults = Faults::default();
        faults.inject(Fault::NoMemory, 1);
        let enter = |needs| faults.enter("request", needs).map_err(|error| error.errno());
        assert_eq!(enter(Needs::Nothing), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Nothing), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Memory), Err(Errno::ENOMEM));
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
    }

    #[test]
    fn unplugged_and_wedged_last() {
        let faults = Faults::default();
        let enter = |needs| faults.enter("request", needs).map_err(|error| error.errno());
        assert!(!faults.is_wedged());
        faults.inject(Fault::Wedged, 0);
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
        assert!(faults.is_wedged());
        faults.inject(Fault::Unplugged, 0);
        assert_eq!(enter(Needs::Nothing), Err(Errno::ENODEV));
        assert_eq!(enter(Needs::Gpu), Err(Errno::ENODEV));
    }
}
