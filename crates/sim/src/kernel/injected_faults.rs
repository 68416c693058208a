//! Fault injection: a device's requests fail, or its objects change, as a test asks for it.

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use gem_coherency::error::{Error, Result};
use gem_coherency::vocabulary::words;

words! {
    /// A fault to inject into a device.
    InjectedFault, "fault" {
        /// One request that allocates memory fails with ENOMEM.
        NoMemory = "enomem",
        /// The GPU is wedged permanently: EXECBUFFER2, CONTEXT_CREATE and THROTTLE fail with EIO. Everything
        /// else, GEM_WAIT included, works as in the kernel, because submissions are cancelled.
        Wedged = "eio",
        /// One request is interrupted by a signal and restarted.
        Interrupted = "eintr",
        /// The device is unplugged permanently: every request fails with ENODEV.
        Unplugged = "enodev",
        /// Memory is short: every object that is marked as not needed is purged.
        Purge = "purge",
        /// The GPU corrupts the first byte of an object that it is given.
        Stray = "stray",
    }
}

/// The resources that a request needs and a fault can take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// No such resource.
    Nothing,
    /// Memory, for objects, page tables or pages.
    Memory,
    /// Memory, and a working GPU.
    Gpu,
}

/// A fault that has not happened yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    fault: InjectedFault,
    /// Requests that it could hit and lets pass first.
    after: u64,
}

#[derive(Clone, Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    wedged: bool,
    unplugged: bool,
    stray: bool,
    restarts: u64,
}

/// The action before a request that may proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Nothing.
    Clear,
    /// Run the shrinker.
    Shrink,
}

/// The injected faults of one device.
#[derive(Debug, Default)]
pub(crate) struct InjectedFaults(Mutex<State>);

impl InjectedFaults {
    /// Makes `fault` hit the request after the next `after` ones that it could hit.
    pub(crate) fn inject(&self, fault: InjectedFault, after: u64) {
        self.state().waiting.push(Waiting { fault, after });
    }

    /// Returns how many requests were interrupted and restarted.
    pub(crate) fn restarts(&self) -> u64 {
        self.state().restarts
    }

    /// Returns whether the GPU is wedged permanently (`intel_gt_terminally_wedged`).
    pub(crate) fn is_wedged(&self) -> bool {
        self.state().wedged
    }

    /// Returns whether the GPU runs nothing any more: it is wedged, or the device is unplugged.
    pub(crate) fn is_dead(&self) -> bool {
        let state = self.state();
        state.wedged || state.unplugged
    }

    /// Returns whether the GPU corrupts the object that it is given now, and clears the fault.
    pub(crate) fn take_stray(&self) -> bool {
        std::mem::take(&mut self.state().stray)
    }

    /// Applies the faults that are due to `request`.
    ///
    /// # Errors
    /// The fault's errno, if it fails the request.
    pub(crate) fn enter(&self, request: &'static str, needs: Needs) -> Result<Entry> {
        let mut state = self.state();
        let mut entry = Entry::Clear;
        let mut failed = None;
        for fault in due(&mut state.waiting, needs) {
            tracing::debug!(request, %fault, "fault");
            match fault {
                InjectedFault::NoMemory => failed = Some(Errno::ENOMEM),
                InjectedFault::Wedged => state.wedged = true,
                // The request is restarted, and succeeds the second time.
                InjectedFault::Interrupted => state.restarts += 1,
                InjectedFault::Unplugged => state.unplugged = true,
                InjectedFault::Purge => entry = Entry::Shrink,
                InjectedFault::Stray => state.stray = true,
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

    /// Returns the faults, to be restored by [`Self::restore`].
    pub(crate) fn saved(&self) -> InjectedFaults {
        Self(Mutex::new(self.state().clone()))
    }

    /// Restores the faults from before a request that will be made again, which then counts once.
    pub(crate) fn restore(&self, saved: InjectedFaults) {
        *self.state() = saved.0.into_inner();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock()
    }
}

/// Removes and returns the faults that hit a request with these needs; counts down the others that could.
fn due(waiting: &mut Vec<Waiting>, needs: Needs) -> Vec<InjectedFault> {
    let mut due = Vec::new();
    waiting.retain_mut(|one| {
        let can_hit = match one.fault {
            InjectedFault::NoMemory => needs != Needs::Nothing,
            InjectedFault::Stray => needs == Needs::Gpu,
            InjectedFault::Wedged
            | InjectedFault::Interrupted
            | InjectedFault::Unplugged
            | InjectedFault::Purge => true,
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
        let faults = InjectedFaults::default();
        faults.inject(InjectedFault::NoMemory, 1);
        let enter = |needs| faults.enter("request", needs).map_err(|error| error.errno());
        assert_eq!(enter(Needs::Nothing), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Nothing), Ok(Entry::Clear));
        assert_eq!(enter(Needs::Memory), Err(Errno::ENOMEM));
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
    }

    #[test]
    fn unplugged_and_wedged_last() {
        let faults = InjectedFaults::default();
        let enter = |needs| faults.enter("request", needs).map_err(|error| error.errno());
        assert!(!faults.is_wedged());
        faults.inject(InjectedFault::Wedged, 0);
        assert_eq!(enter(Needs::Memory), Ok(Entry::Clear));
        assert!(faults.is_wedged());
        faults.inject(InjectedFault::Unplugged, 0);
        assert_eq!(enter(Needs::Nothing), Err(Errno::ENODEV));
        assert_eq!(enter(Needs::Gpu), Err(Errno::ENODEV));
    }
}
