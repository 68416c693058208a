//! Checks that every rule is needed, by repeating the check without it.

use std::num::NonZeroUsize;

use crate::premises::condition::Condition;
use crate::premises::mutant::{Mutant, Mutation};
use crate::premises::setting::{Caller, Setting};
use crate::searches::check::{Outcome, Scope, Search};
use crate::searches::thread_pool::in_parallel;
use crate::searches::trace::Trace;
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::words;
use gem_coherency_memory_model::Assumption;

words! {
    /// The reason why a rule exists.
    Need, "need" {
        /// Without it a property breaks.
        Needed = "needed",
        /// No property breaks without it in the model; it is kept for the listed reason.
        Conservative = "conservative",
        /// It spares work; doing the work anyway is also correct.
        Exemption = "exemption",
        /// It refuses something, or concerns something outside the model: no search uses it.
        NotMet = "not-met",
        /// No property breaks without it, and no reason to keep it is listed.
        Redundant = "redundant",
        /// It is listed as conservative, but a property breaks without it.
        WronglyListed = "wrongly-listed",
    }
}

/// The result of removing one rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The reason why it exists.
    pub need: Need,
    /// The reason to keep it although no property breaks without it.
    pub why: Option<&'static str>,
    /// Number of searches made without it.
    pub searches: usize,
    /// A counterexample, if there is one.
    pub trace: Option<Trace>,
}

/// Rules that require work without which no property breaks in the model, and why they are kept.
const CONSERVATIVE: &[(Rule, &str)] = &[
    (
        Rule::AcquireUncachedLlc,
        "Engines find the zeroes in the LLC, and a dirty object is flushed when it is shown. The kernel \
         flushes early because an uncached object is usually shown.",
    ),
    (
        Rule::EnterDomainBarrier,
        "It orders instructions, which the model executes in order; leaving a write domain drains pending \
         stores.",
    ),
    (
        Rule::HibernateWbinvd,
        "In the model caches keep their contents, and no image is read from memory. The release (for a \
         framebuffer, suspend) has flushed the object.",
    ),
    (
        Rule::ResumeWbinvd,
        "Suspend leaves every object dirty that is not coherent, and its next use flushes it.",
    ),
];

/// Rules that no search uses, and why.
const NOT_MET: &[(Rule, &str)] = &[
    (Rule::UncachedStore, "An uncached store leaves nothing to track."),
    (Rule::GttNeedsAperture, "It refuses a mapping."),
    (Rule::DiscreteNeedsFixed, "It refuses a mapping."),
    (Rule::FixedNeedsDiscrete, "It refuses a mapping."),
    (Rule::NoSnoop, "It refuses a level."),
    (Rule::WtNeedsEdram, "It refuses a level."),
    (Rule::DisplayNeedsLocal, "It refuses scanout."),
    (Rule::DisplayNeverWrites, "It refuses an access."),
    (Rule::NothingDirty, "Reports name it where no line was dirty."),
    (Rule::NothingStale, "Reports name it where no line was stale."),
    (Rule::CloseFlushesNothing, "Reports name it for a close; the model hands the pages over."),
    (Rule::PagesPresent, "An acquire that finds pages reports it; no call acquires pages alone."),
    (Rule::PhysCopy, "Physically contiguous copies for cursors are not modelled."),
    (Rule::PagesPinned, "It keeps pages that are on screen; no search swaps them out."),
    (Rule::LevelChangeHangs, "It refuses a call."),
    (Rule::DiscreteRefuses, "It refuses a call."),
    (Rule::PatReplacesCaching, "It refuses a call."),
    (Rule::NotOnPlatform, "It refuses a call."),
    (Rule::NoSuchOperation, "It refuses a call."),
];

/// Assumptions that make the model stricter, and their purpose.
const CAUTIONS: &[(Assumption, &str)] = &[(
    Assumption::SnoopedWriteStaysCached,
    "A caution: without it GPU writes are in memory, and gpu-write-may-be-cached would be unnecessary where \
     the GPU snoops.",
)];

/// Number of searches made without an exemption: more flushes break nothing, so a few suffice.
const EXEMPTION_SEARCHES: usize = 2;

/// The searches of a scope with all rules, and their outcomes.
#[derive(Clone, Debug)]
pub struct Baseline(Vec<(Search, Outcome)>);

impl Baseline {
    /// Runs the searches on `jobs` threads; calls `done` after each.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn new(scope: &Scope, jobs: NonZeroUsize, done: impl Fn(&Outcome) + Sync) -> Result<Self> {
        let made = in_parallel(&scope.searches()?, jobs, |search| {
            let outcome = search.run(|_| ())?;
            done(&outcome);
            Ok((search.clone(), outcome))
        });
        let mut searches = made.into_iter().collect::<Result<Vec<_>>>()?;
        // Small searches first: most counterexamples are found there.
        searches.sort_by_key(|(_, outcome)| outcome.size.states);
        Ok(Self(searches))
    }

    /// Returns the outcome of each search.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.0.iter().map(|(_, outcome)| outcome)
    }

    /// Returns the first violation, if any; it makes all further results meaningless.
    pub fn violation(&self) -> Option<&Trace> {
        self.outcomes().find_map(|outcome| outcome.violation.as_ref())
    }

    /// Returns the first violation after `change` in the searches that `meets` selects, and how many were
    /// made.
    fn first_violation(
        &self,
        change: impl Fn(&mut Setting),
        limit: usize,
        meets: impl Fn(&Search, &Outcome) -> bool,
    ) -> Result<(usize, Option<Trace>)> {
        let mut made = 0;
        for (search, _) in self.0.iter().filter(|(search, outcome)| meets(search, outcome)).take(limit) {
            let mut search = search.clone();
            change(&mut search.setting);
            made += 1;
            if let Some(trace) = search.run(|_| ())?.violation {
                return Ok((made, Some(trace)));
            }
        }
        Ok((made, None))
    }

    /// Determines why `rule` exists.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without(&self, rule: Rule) -> Result<Finding> {
        let change = |setting: &mut Setting| setting.mutation = Mutation::Without(rule);
        let required = |_: &Search, outcome: &Outcome| outcome.used.required.has(rule);
        let exempts = |_: &Search, outcome: &Outcome| outcome.used.exempted.has(rule);
        let met = |meets: &dyn Fn(&Search, &Outcome) -> bool| {
            self.0.iter().any(|(search, outcome)| meets(search, outcome))
        };
        let ((searches, trace), need) = if met(&required) {
            (self.first_violation(change, usize::MAX, required)?, Need::Conservative)
        } else if met(&exempts) {
            // A level change issues nothing, but marks the object dirty.
            let limit = if rule == Rule::LevelChange { usize::MAX } else { EXEMPTION_SEARCHES };
            (self.first_violation(change, limit, exempts)?, Need::Exemption)
        } else {
            let limit = if is_map_refusal(rule) { usize::MAX } else { 0 };
            (self.first_violation(change, limit, |_, _| true)?, Need::NotMet)
        };
        let listed = |list: &[(Rule, &'static str)]| {
            list.iter().find(|(other, _)| *other == rule).map(|(_, why)| *why)
        };
        let (conservative, not_met) = (listed(CONSERVATIVE), listed(NOT_MET));
        let (need, why) = match (need, &trace) {
            (_, Some(_)) if conservative.or(not_met).is_some() => {
                (Need::WronglyListed, conservative.or(not_met))
            }
            (_, Some(_)) => (Need::Needed, None),
            (Need::Conservative, None) if conservative.is_none() => (Need::Redundant, None),
            (Need::NotMet, None) if not_met.is_none() => (Need::Redundant, None),
            (Need::NotMet, None) => (need, not_met),
            (_, None) => (need, conservative),
        };
        Ok(Finding { rule, need, why, searches, trace })
    }

    /// Runs the check with a planted fault; returns a counterexample, or `None` if the fault is not detected.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn with(&self, mutant: Mutant) -> Result<Option<Trace>> {
        let change = |setting: &mut Setting| setting.mutation = Mutation::Planted(mutant);
        Ok(self.first_violation(change, usize::MAX, |_, _| true)?.1)
    }

    /// Runs the check without an assumption; returns a counterexample, or the reason why there is none.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without_assumption(&self, assumption: Assumption) -> Result<Carried> {
        let change = |setting: &mut Setting| setting.held = setting.held.without(assumption);
        let caution = CAUTIONS.iter().find(|(other, _)| *other == assumption).map(|(_, why)| *why);
        let (_, trace) = self.first_violation(change, usize::MAX, |_, _| true)?;
        Ok(Carried { trace, caution })
    }

    /// Runs the check without a condition; returns a counterexample, if there is one.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without_condition(&self, condition: Condition) -> Result<Carried> {
        let change = |setting: &mut Setting| setting.kept = setting.kept.without(condition);
        let (_, trace) = self.first_violation(change, usize::MAX, |_, _| true)?;
        Ok(Carried { trace, caution: None })
    }

    /// Searches, on parts without an LLC, for a leak that appears if asynchronous flushes never happen:
    /// security must not depend on them. Meteor Lake is excluded because its objects start cached: as on LLC
    /// parts, the zeroes of a shown object are flushed at the first flip, by a worker that the display waits
    /// for.
    ///
    /// Source: kernel-doc of cache_dirty (df94fd05e69e).
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without_async_flushes(&self) -> Result<Option<Trace>> {
        let change = |setting: &mut Setting| setting.mutation = Mutation::NoAsyncFlush;
        let hostile = |search: &Search, _: &Outcome| {
            let starts_cached = Caps::LLC | Caps::PAT_AT_CREATE;
            search.setting.caller == Caller::Hostile && !search.setting.machine.caps.intersects(starts_cached)
        };
        Ok(self.first_violation(change, usize::MAX, hostile)?.1)
    }
}

/// The result of dropping an assumption or a condition.
#[derive(Clone, Debug)]
pub struct Carried {
    /// A counterexample, if there is one.
    pub trace: Option<Trace>,
    /// The known reason why there is none.
    pub caution: Option<&'static str>,
}

/// Returns whether the rule refuses a mapping that the model could make.
fn is_map_refusal(rule: Rule) -> bool {
    rule == Rule::GttSnoopedFaults
}
