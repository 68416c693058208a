//! Judges the calls by which a program moves an object to a domain of the CPU: whether the kernel did anything for them.
//!
//! A call is needed if it may have waited for the GPU, flushed, issued a barrier, or brought pages in. Otherwise it may have
//! changed what the kernel does later: SET_DOMAIN for a CPU write makes the next submission flush, where the GPU does not see
//! the cache. So a copy of the object's state lives on as if the call had not been made, through every later event
//! ([`Pending`]). The call is needed if the two states lead to different flushes, and the flush in fact wrote lines back or
//! dropped stale ones; it is useless once the two states are equal. What is not known in the end is precautionary, as are calls for pages that others use.
//!
//! Of two calls that each do what the other does, only one is called useless: a call that changes nothing is left out of the
//! others' copies of the state, and a call that makes an earlier one useless counts as needed.

use std::thread::ThreadId;

use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{self, Action, Backing, Event, KernelRules, Snapshot, Step};
use gem_coherency_sim::MadeCall;

use crate::judging::need::Need;

/// Most calls of an object that are judged at a time; later ones are precautionary.
const MOST_PENDING: usize = 8;

/// The judgement of a [`MadeCall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DomainCall {
    /// The call's number.
    pub(super) number: u64,
    /// The request, by its name in the uAPI header.
    pub(super) call: &'static str,
    /// Whether it was needed; `None` if that is not known yet. A judgement with the same number then follows.
    pub(super) need: Option<Need>,
    /// The thread that made the call.
    pub(super) thread: ThreadId,
}

/// The calls for an object that are not judged yet, by the rules of one platform.
#[derive(Debug, Default)]
pub(super) struct PendingCalls(Vec<Pending>);

/// A call that is not judged yet.
#[derive(Debug)]
struct Pending {
    made: DomainCall,
    /// The object's state if the call had not been made.
    without: Snapshot,
}

/// An event of the kernel's rules that happened to an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happened<'a> {
    /// The event.
    pub(super) event: Event,
    /// The object's state before it.
    pub(super) before: Snapshot,
    /// The kernel's actions.
    pub(super) step: &'a Step,
    /// Whether the flushes among them wrote lines back, or dropped stale ones; precautionary if they may have.
    pub(super) flushed: Need,
}

impl PendingCalls {
    /// Applies an event, after which is the call `made`; returns the judgements of that call and of earlier ones.
    pub(super) fn judge(
        &mut self,
        caps: Caps,
        rules: &KernelRules,
        happened: &Happened<'_>,
        made: Option<&MadeCall>,
    ) -> Vec<DomainCall> {
        let Happened { before, step, .. } = *happened;
        let has_effects = step.effects.iter().next().is_some();
        let changes = step.next != before || has_effects;
        let mut judged = Vec::new();
        if made.is_none() || changes {
            self.compare(caps, rules, happened, &mut judged);
        }
        let Some(&MadeCall { number, call, thread, waited, attached }) = made else { return judged };
        let is_needed = waited
            // Another call is useless because of it.
            || judged.iter().any(|call| call.need == Some(Need::Useless))
            || has_effects
            || before.pages != step.next.pages;
        // Others may use these pages, and the call checks those of a process.
        let may_be_needed = matches!(before.backing, Backing::Userptr | Backing::Import)
            || attached
            || self.0.len() == MOST_PENDING;
        let need = match (is_needed, may_be_needed, changes) {
            (true, _, _) => Some(Need::Needed),
            (false, true, _) => Some(Need::Precautionary),
            (false, false, false) => Some(Need::Useless),
            (false, false, true) => None,
        };
        let made = DomainCall { number, call, need, thread };
        if need.is_none() {
            self.0.push(Pending { made, without: before });
        }
        judged.push(made);
        judged
    }

    /// Applies an event to the states without the calls; adds the judgements that follow.
    fn compare(
        &mut self,
        caps: Caps,
        rules: &KernelRules,
        happened: &Happened<'_>,
        judged: &mut Vec<DomainCall>,
    ) {
        let &Happened { event, step, flushed, .. } = happened;
        self.0.retain_mut(|call| {
            let need = match kernel::step(caps, rules, call.without, event) {
                Err(_) => Some(Need::Needed),
                Ok(without) => {
                    call.without = without.next;
                    let matters = match (differ(step, &without), only_adds_flushes(step, &without)) {
                        (false, _) => Need::Useless,
                        (true, false) => Need::Needed,
                        (true, true) => flushed,
                    };
                    match matters {
                        Need::Useless => (without.next == step.next).then_some(Need::Useless),
                        Need::Precautionary | Need::Needed => Some(matters),
                    }
                }
            };
            judged.extend(need.map(|_| DomainCall { need, ..call.made }));
            need.is_none()
        });
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
