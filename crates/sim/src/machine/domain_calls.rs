//! The calls by which programs move objects to a domain of the CPU, and their judgements by the device's rules
//! ([`PendingCalls`]). A trace has the calls, too.
//!
//! A call may only have waited if the GPU has used the object since a request waited for this object. On the software GPU
//! most batches are done at once, and on hardware they are not; so the state of the GPU says nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::object::{Object, State};
use super::pending_calls::{Happened, PendingCalls};
use gem_coherency::policy::kernel::Event;
use gem_coherency::uapi::dma_buf::DMA_BUF_IOCTL_SYNC;
use gem_coherency::uapi::i915::{DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SW_FINISH};
use gem_coherency::vocabulary::Access;

/// Most entries of the log; later ones are dropped, and their calls are never called useless.
const KEPT: usize = 1 << 16;

/// A call of a program that moves an object to a domain of the CPU, or ends its accesses there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeCall {
    /// The call's number, which no other call in this process has.
    pub number: u64,
    /// The request, by its name in the uAPI header.
    pub call: &'static str,
    /// The thread that made the call.
    pub thread: ThreadId,
    /// It may have waited for the GPU.
    pub waited: bool,
    /// Other devices use the object's pages.
    pub attached: bool,
}

/// The judgement of a [`MadeCall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainCall {
    /// The call's number, which no other call in this process has.
    pub number: u64,
    /// The request, by its name in the uAPI header.
    pub call: &'static str,
    /// Whether it made a difference; `None` if that is not known yet. An entry with the same number then follows.
    pub useful: Option<bool>,
    /// The thread that made the call.
    pub thread: ThreadId,
}

/// The number of the next call.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The log of a device.
#[derive(Debug, Default)]
pub(crate) struct DomainCalls(Mutex<Vec<DomainCall>>);

/// The calls of an object that are not judged yet, and the uses by the GPU that no request has waited for.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pending: PendingCalls,
    read_by_gpu: bool,
    written_by_gpu: bool,
}

impl DomainCalls {
    /// Returns and clears the log.
    pub(crate) fn take(&self) -> Vec<DomainCall> {
        std::mem::take(&mut self.log())
    }

    fn push(&self, call: DomainCall) {
        let mut log = self.log();
        if log.len() < KEPT {
            log.push(call);
        }
    }

    fn log(&self) -> MutexGuard<'_, Vec<DomainCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judged {
    /// Notes that the GPU uses the object.
    pub(crate) fn used(&mut self, access: Access) {
        match access {
            Access::Read => self.read_by_gpu = true,
            Access::Write => self.written_by_gpu = true,
        }
    }

    /// Notes that a request waited as for an access; returns whether there was anything to wait for.
    pub(crate) fn waited(&mut self, access: Access) -> bool {
        let write = std::mem::take(&mut self.written_by_gpu);
        match access {
            Access::Read => write,
            Access::Write => write | std::mem::take(&mut self.read_by_gpu),
        }
    }

    /// Returns whether calls wait for their judgement.
    pub(crate) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// Returns whether programs make this call to move an object to a domain of the CPU; other calls do so on their way.
fn is_domain_call(call: &str) -> bool {
    [DRM_IOCTL_I915_GEM_SET_DOMAIN.name, DRM_IOCTL_I915_GEM_SW_FINISH.name, DMA_BUF_IOCTL_SYNC.name]
        .contains(&call)
}

/// Returns the access for which the call of an event waits; `None` if it does not wait.
fn awaited(event: Event) -> Option<Access> {
    if event == Event::DmaBufEnd {
        return Some(Access::Read);
    }
    let (Event::SetDomainCpu(access)
    | Event::SetDomainGtt(access)
    | Event::SetDomainWc(access)
    | Event::DmaBufBegin(access)) = event
    else {
        return None;
    };
    Some(access)
}

impl Object {
    /// Returns the call of a program behind an event, if the device is watched or traced.
    pub(super) fn made_call(&self, state: &mut State, call: &'static str, event: Event) -> Option<MadeCall> {
        let is_judged = self.system().incoherent.is_on() || self.system().trace.is_on();
        (is_judged && is_domain_call(call)).then(|| MadeCall {
            // Relaxed: a unique number; it publishes no other data.
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            call,
            thread: thread::current().id(),
            waited: awaited(event).is_some_and(|access| state.judged.waited(access)),
            attached: state.attached > 0,
        })
    }

    /// Judges the calls of the object after an event, behind which is the call `made`.
    pub(super) fn judge(&self, state: &mut State, happened: &Happened<'_>, made: Option<&MadeCall>) {
        if let Event::Exec(access) = happened.event {
            state.judged.used(access);
        }
        let system = self.system();
        if !system.incoherent.is_on() {
            return;
        }
        for call in state.judged.pending.judge(system.machine.caps, &system.rules, happened, made) {
            tracing::debug!(object = self.id(), event = %happened.event, ?call, "domain call");
            system.domain_calls.push(call);
        }
    }
}
