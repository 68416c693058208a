//! The kernel's acquire of a BO's pages, as the rules predict it.

use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Effect, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{CacheLevel, CachingMode};
use serde::Serialize;

use crate::cmd::model::explain::kernel::State;

/// PAT indices that userspace can choose.
const PAT_INDICES: u8 = 5;

/// The kernel's actions when a BO gets its pages, which is at the first touch.
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
    /// The acquire by a kernel without the rule.
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
    /// Predicts the acquire of a BO that was allocated with a caching mode and has a level.
    ///
    /// # Errors
    /// The reason why there is no prediction.
    pub fn predicted(
        machine: &Machine,
        rules: &KernelRules,
        caching: Option<CachingMode>,
        level: CacheLevel,
    ) -> Result<Self, &'static str> {
        let caps = machine.caps;
        if caps.contains(Caps::DISCRETE) {
            return Err("on a discrete device it depends on the placement");
        }
        let with_pat = (0..PAT_INDICES).map(Creation::UserWithPat);
        let created = std::iter::once(Creation::User).chain(with_pat);
        let states = created.filter_map(|creation| Snapshot::created(caps, rules, creation).ok());
        let set = |state| match caching {
            Some(mode) => step(caps, rules, state, Event::SetCaching(mode)).map_or(state, |done| done.next),
            None => state,
        };
        let before = states.map(set).find(|state| state.level == level);
        let before = before.ok_or("no request of the model gives a BO this level")?;
        let done = step(caps, rules, before, Event::Acquire).map_err(|refusal| refusal.rule.reason())?;
        let lacking = KernelRules { without: Some(done.rule), ..*rules };
        let without =
            step(caps, &lacking, before, Event::Acquire).map_err(|refusal| refusal.rule.reason())?;
        Ok(Self {
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
