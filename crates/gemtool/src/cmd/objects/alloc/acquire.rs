//! The kernel's acquire of a BO's pages, as the rules predict it.

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Effect, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{CacheLevel, CachingMode};
use serde::Serialize;

use crate::cmd::model::explain::kernel::State;

/// PAT indices that userspace can choose.
const PAT_INDICES: u8 = 5;

/// What the kernel does when a BO gets its pages, which is at the first touch.
#[derive(Clone, Debug, Serialize)]
pub struct Acquire {
    /// The state of the BO without pages.
    pub before: State,
    /// Flushes and barriers, each with the rule that requires it.
    pub effects: Vec<Effect>,
    /// The state with pages.
    pub after: State,
    /// The rule that decided.
    pub rule: Rule,
    /// The rule's reason.
    pub reason: &'static str,
    /// The rule's source.
    pub source: &'static str,
    /// What a kernel without the rule does.
    pub without_rule: Without,
}

/// An acquire by a kernel that lacks the rule of another one.
#[derive(Clone, Debug, Serialize)]
pub struct Without {
    /// Flushes and barriers, each with the rule that requires it.
    pub effects: Vec<Effect>,
    /// The rule that decided.
    pub rule: Rule,
}

impl Acquire {
    /// Predicts the acquire of a BO that was allocated with a caching mode and has a level. `None` on discrete devices, whose memory
    /// depends on the placement, and if no request gives the BO its level.
    pub fn predicted(
        machine: &Machine,
        rules: &KernelRules,
        caching: Option<CachingMode>,
        level: CacheLevel,
    ) -> Option<Self> {
        let caps = machine.caps;
        if caps.contains(Caps::DISCRETE) {
            return None;
        }
        let with_pat = (0..PAT_INDICES).map(Creation::UserWithPat);
        let created = std::iter::once(Creation::User).chain(with_pat);
        let states = created.filter_map(|creation| Snapshot::created(caps, rules, creation).ok());
        let set = |state| match caching {
            Some(mode) => step(caps, rules, state, Event::SetCaching(mode)).map_or(state, |done| done.next),
            None => state,
        };
        let before = states.map(set).find(|state| state.level == level)?;
        let done = step(caps, rules, before, Event::Acquire).ok()?;
        let lacking = KernelRules { without: Some(done.rule), ..*rules };
        let without = step(caps, &lacking, before, Event::Acquire).ok()?;
        Some(Self {
            before: before.into(),
            effects: done.effects.iter().collect(),
            after: done.next.into(),
            rule: done.rule,
            reason: done.rule.reason(),
            source: done.rule.source(),
            without_rule: Without { effects: without.effects.iter().collect(), rule: without.rule },
        })
    }
}
