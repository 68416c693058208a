//! The calls of a traced run by which programs move objects between domains, judged by every class.

use std::collections::BTreeMap;

use gem_coherency::policy::kernel::{Event, Snapshot, Step};
use gem_coherency_sim::MadeCall;

use super::classes::{Classes, Mask};
use super::pending_calls::{DomainCall, Happened, PendingCalls};
use crate::domain_calls::DomainChange;
use crate::judging::need::Need;

/// The calls for an object that are not judged yet, one list for each class.
#[derive(Debug)]
pub(super) struct ObjectCalls(Vec<PendingCalls>);

/// What an event was on a class: its number, the object's state before, and the kernel's actions.
pub(super) type Stepped = (usize, Snapshot, Step);

impl ObjectCalls {
    /// Creates the empty lists.
    pub(super) fn new(classes: &Classes) -> Self {
        Self(classes.all.iter().map(|_| PendingCalls::default()).collect())
    }

    /// Judges the calls after an event, after which is the call `made`; on the classes `flushed` its flushes did something, and on
    /// those of `may_have` they may have. Returns the judgements, each with its class.
    pub(super) fn judge(
        &mut self,
        classes: &Classes,
        event: Event,
        made: Option<&MadeCall>,
        steps: &[Stepped],
        (flushed, may_have): (Mask, Mask),
    ) -> Vec<(Mask, DomainCall)> {
        let mut judged = Vec::new();
        for (number, before, step) in steps {
            let (Some(class), Some(calls)) = (classes.all.get(*number), self.0.get_mut(*number)) else {
                continue;
            };
            let bit = 1 << number;
            let flushed = match (flushed & bit != 0, may_have & bit != 0) {
                (true, _) => Need::Needed,
                (false, true) => Need::Precautionary,
                (false, false) => Need::Useless,
            };
            let happened = Happened { event, before: *before, step, flushed };
            let of_class = calls.judge(class.machine.caps, &classes.rules, &happened, made);
            judged.extend(of_class.into_iter().map(|call| (bit, call)));
        }
        judged
    }
}

/// What is known of a call by class.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    needed: Mask,
    precautionary: Mask,
    open: Mask,
}

/// The calls that a class has not judged yet, by number.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(BTreeMap<u64, Known>);

impl OpenCalls {
    /// Adds judgements of classes; returns what is known of these calls.
    pub(super) fn add(&mut self, classes: &Classes, judged: &[(Mask, DomainCall)]) -> Vec<DomainChange> {
        let mut calls: BTreeMap<u64, DomainCall> = BTreeMap::new();
        for &(bit, call) in judged {
            let Known { needed, precautionary, open } = self.0.entry(call.number).or_default();
            for of in [&mut *needed, &mut *precautionary, &mut *open] {
                *of &= !bit;
            }
            match call.need {
                Some(Need::Needed) => *needed |= bit,
                Some(Need::Precautionary) => *precautionary |= bit,
                Some(Need::Useless) => {}
                None => *open |= bit,
            }
            calls.insert(call.number, call);
        }
        let known = |(number, DomainCall { call, thread, .. })| {
            let Known { needed, precautionary, open } = self.0.get(&number).copied().unwrap_or_default();
            if open == 0 {
                self.0.remove(&number);
            }
            DomainChange {
                number,
                call,
                thread,
                needed_on: classes.platforms(needed),
                precautionary_on: classes.platforms(precautionary | open),
                is_open: open != 0,
            }
        };
        calls.into_iter().map(known).collect()
    }
}
