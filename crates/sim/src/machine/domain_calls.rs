//! Judges the calls by which a program moves an object to a domain of the CPU: whether the kernel did anything for them.
//!
//! A call is useful if it may have waited for the GPU, flushed, issued a barrier, or brought pages in. Otherwise it may have
//! changed what the kernel does later: SET_DOMAIN for a CPU write makes the next submission flush, where the GPU does not see
//! the cache. So a copy of the object's state lives on as if the call had not been made, through every later event
//! ([`Pending`]). The call is useful if the two states lead to different flushes, and the flush in fact wrote lines back or
//! dropped stale ones; it is useless once the two states are equal. What is not known in the end is not called useless.
//!
//! A call may only have waited if the GPU has used the object since a request waited for this object. On the software GPU
//! most batches are done at once, and on hardware they are not; so the state of the GPU says nothing.
//!
//! Of two calls that each do what the other does, only one is called useless: a call that changes nothing is left out of the
//! others' copies of the state, and a call that makes an earlier one useless counts as useful.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::object::{Object, State};
use gem_coherency::policy::kernel::{self, Action, Backing, Event, Snapshot, Step};
use gem_coherency::uapi::dma_buf::DMA_BUF_IOCTL_SYNC;
use gem_coherency::uapi::i915::{DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SW_FINISH};
use gem_coherency::vocabulary::Access;

/// Most calls of an object that are judged at a time; later ones count as useful.
const MOST_PENDING: usize = 8;

/// Most entries of the log; later ones are dropped, and their calls are never called useless.
const KEPT: usize = 1 << 16;

/// A call of a program that moves an object to a domain of the CPU, or ends its accesses there.
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

/// A call that is not judged yet.
#[derive(Debug)]
struct Pending {
    made: DomainCall,
    /// The object's state if the call had not been made.
    without: Snapshot,
}

/// The calls of an object that are not judged yet, and the uses by the GPU that no request has waited for.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pending: Vec<Pending>,
    read_by_gpu: bool,
    written_by_gpu: bool,
}

/// What the kernel's flushes in an event did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlushResult {
    /// Number of lines that were written back.
    pub(crate) written: u64,
    /// Stale lines were dropped.
    pub(crate) dropped_stale: bool,
}

impl FlushResult {
    /// Returns whether any byte that an agent reads differs from what it was.
    fn had_effect(self) -> bool {
        self.written > 0 || self.dropped_stale
    }
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
    /// Judges the calls of the object after an event of a request: `step`, from the state `before`, whose flushes had a result.
    pub(crate) fn judge(
        &self,
        state: &mut State,
        call: &'static str,
        event: Event,
        before: Snapshot,
        step: &Step,
        flushed: FlushResult,
    ) {
        if let Event::Exec(access) = event {
            state.judged.used(access);
        }
        if !self.system().incoherent.is_on() {
            return;
        }
        let is_call = is_domain_call(call);
        let changes = step.next != before || step.effects.iter().next().is_some();
        let is_relied_on = if is_call && !changes {
            false
        } else {
            self.compare(&mut state.judged.pending, event, step, flushed)
        };
        if !is_call {
            return;
        }
        let waited = awaited(event).is_some_and(|access| state.judged.waited(access));
        let is_useful = waited
            || is_relied_on
            || step.effects.iter().next().is_some()
            || before.pages != step.next.pages
            // Others may use these pages, and the call checks those of a process.
            || matches!(before.backing, Backing::Userptr | Backing::Import)
            || state.attached > 0
            || state.judged.pending.len() == MOST_PENDING;
        let useful = match (is_useful, changes) {
            (true, _) => Some(true),
            (false, false) => Some(false),
            (false, true) => None,
        };
        tracing::debug!(call, object = self.id(), %event, ?useful, "domain call");
        // Relaxed: a unique number; it publishes no other data.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let made = DomainCall { number, call, useful, thread: thread::current().id() };
        if useful.is_none() {
            state.judged.pending.push(Pending { made, without: before });
        }
        self.system().domain_calls.push(made);
    }

    /// Applies an event to the states without the calls; returns whether it made one of them useless.
    fn compare(&self, pending: &mut Vec<Pending>, event: Event, step: &Step, flushed: FlushResult) -> bool {
        let system = self.system();
        let mut is_relied_on = false;
        pending.retain_mut(|call| {
            let useful = match kernel::step(system.machine.caps, &system.rules, call.without, event) {
                Err(_) => Some(true),
                Ok(without) => {
                    call.without = without.next;
                    let matters = differ(step, &without)
                        && (flushed.had_effect() || !only_adds_flushes(step, &without));
                    match matters {
                        true => Some(true),
                        false => (without.next == step.next).then_some(false),
                    }
                }
            };
            is_relied_on |= useful == Some(false);
            if useful.is_some() {
                system.domain_calls.push(DomainCall { useful, ..call.made });
            }
            useful.is_none()
        });
        is_relied_on
    }
}

/// Returns whether two steps have different effects.
fn differ(step: &Step, without: &Step) -> bool {
    !step.effects.actions().eq(without.effects.actions())
}

/// Returns whether the effects of a step are those of another one and flushes of all pages, whose result is known.
fn only_adds_flushes(step: &Step, without: &Step) -> bool {
    let mut others = without.effects.actions().peekable();
    let is_known = |action| matches!(action, Action::FlushSync | Action::FlushAsync);
    let adds = step.effects.actions().all(|action| others.next_if_eq(&action).is_some() || is_known(action));
    adds && others.next().is_none()
}
