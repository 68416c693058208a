//! Whether every rule is there for something: the check without it, rule by rule.

use std::num::NonZeroUsize;

use super::check::{Outcome, Scope, Search};
use super::condition::Condition;
use super::mutant::{Mutant, Mutation};
use super::setting::{Caller, Setting};
use super::thread_pool::in_parallel;
use super::trace::Trace;
use gem_coherency::error::Result;
use gem_coherency::platform::Caps;
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::words;
use gem_coherency_hierarchy::Assumption;

words! {
    /// What a rule is there for.
    Need, "need" {
        /// Without it a property breaks.
        Needed = "needed",
        /// Without it nothing breaks in the model; it is kept for the reason that is listed.
        Conservative = "conservative",
        /// It says why nothing has to be done; what it spares may be done all the same.
        Exemption = "exemption",
        /// It says what cannot be done, or is about what is not modelled: no search meets it.
        NotMet = "not-met",
        /// Without it nothing breaks, and nobody says why it is kept.
        Redundant = "redundant",
        /// It is listed as conservative, but without it a property breaks.
        WronglyListed = "wrongly-listed",
    }
}

/// What came of taking one rule away.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// What it is there for.
    pub need: Need,
    /// Why it is kept, if nothing breaks without it.
    pub why: Option<&'static str>,
    /// How many searches were made without it.
    pub searches: usize,
    /// A counterexample.
    pub trace: Option<Trace>,
}

/// Rules that demand something without which nothing breaks in the model, and why they are kept.
const CONSERVATIVE: &[(Rule, &str)] = &[
    (
        Rule::AcquireUncachedLlc,
        "Engines find the zeroes in the LLC; left dirty, the object would be flushed when it is shown. The kernel \
         flushes early because an uncached object usually is.",
    ),
    (
        Rule::EnterDomainBarrier,
        "It orders instructions, which the model makes in order; stores under way are drained where a write domain \
         is left.",
    ),
    (
        Rule::HibernateWbinvd,
        "Caches keep in the model what they hold, and it reads no image from memory; the release, or suspend for a \
         framebuffer, has flushed the object.",
    ),
    (
        Rule::ResumeWbinvd,
        "Suspend leaves every object dirty that is not coherent, and whoever uses it next flushes it.",
    ),
];

/// Rules that no search meets, and why.
const NOT_MET: &[(Rule, &str)] = &[
    (Rule::UncachedStore, "An uncached store leaves nothing that is tracked."),
    (Rule::GttNeedsAperture, "It refuses a mapping."),
    (Rule::DiscreteMapsFixed, "It refuses a mapping."),
    (Rule::FixedIsDiscrete, "It refuses a mapping."),
    (Rule::NoSnoop, "It refuses a level."),
    (Rule::WtNeedsEdram, "It refuses a level."),
    (Rule::DisplayNeedsLocal, "It refuses scanout."),
    (Rule::DisplayNeverWrites, "It refuses an access."),
    (Rule::NothingDirty, "It is what a report says where no line was dirty."),
    (Rule::NothingStale, "It is what a report says where no line was stale."),
    (Rule::CloseFlushesNothing, "It is what a report says of a close; the model hands the pages over."),
    (Rule::PagesPresent, "It is what an acquire says that finds pages; no call asks for one alone."),
    (Rule::PhysCopy, "Physically contiguous copies for cursors are not modelled."),
    (Rule::PagesPinned, "It keeps pages that are on screen; no search has them swapped out."),
    (Rule::ShownLevelHangs, "It refuses a call."),
    (Rule::DiscreteRefuses, "It refuses a call."),
    (Rule::PatReplacesCaching, "It refuses a call."),
    (Rule::NotOnPlatform, "It refuses a call."),
    (Rule::NoSuchOperation, "It refuses a call."),
];

/// Assumptions that make the model harder and not easier, and what they are there for.
const CAUTIONS: &[(Assumption, &str)] = &[(
    Assumption::SnoopedWriteStaysCached,
    "It is a caution: without it the GPU's writes are in memory, and the rule gpu-write-may-be-cached would flush for \
     nothing where the GPU snoops.",
)];

/// How many searches show that an exemption may be done without: more flushes break nothing.
const EXEMPTION_SEARCHES: usize = 2;

/// The searches of a scope with the rules as they are, and what they found.
#[derive(Clone, Debug)]
pub struct Baseline(Vec<(Search, Outcome)>);

impl Baseline {
    /// Makes the searches on `jobs` threads; `done` hears of each that is over.
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
        // What is small is searched first: most counterexamples are found there.
        searches.sort_by_key(|(_, outcome)| outcome.size.states);
        Ok(Self(searches))
    }

    /// What each search found.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.0.iter().map(|(_, outcome)| outcome)
    }

    /// The first violation that was found, if any: then nothing else says anything.
    pub fn violation(&self) -> Option<&Trace> {
        self.outcomes().find_map(|outcome| outcome.violation.as_ref())
    }

    /// The first violation after `change` in the searches that `meet` it, and how many were made.
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

    /// What `rule` is there for.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without(&self, rule: Rule) -> Result<Finding> {
        let change = |setting: &mut Setting| setting.mutation = Mutation::Without(rule);
        let demands = |_: &Search, outcome: &Outcome| outcome.used.demanded.has(rule);
        let spares = |_: &Search, outcome: &Outcome| outcome.used.spared.has(rule);
        let met = |meets: &dyn Fn(&Search, &Outcome) -> bool| {
            self.0.iter().any(|(search, outcome)| meets(search, outcome))
        };
        let ((searches, trace), need) = if met(&demands) {
            (self.first_violation(change, usize::MAX, demands)?, Need::Conservative)
        } else if met(&spares) {
            // A new level issues nothing, but marks the object dirty.
            let limit = if rule == Rule::LevelChange { usize::MAX } else { EXEMPTION_SEARCHES };
            (self.first_violation(change, limit, spares)?, Need::Exemption)
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

    /// Returns whether the check notices a planted fault: a counterexample, or `None` if it survives.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn with(&self, mutant: Mutant) -> Result<Option<Trace>> {
        let change = |setting: &mut Setting| setting.mutation = Mutation::Planted(mutant);
        Ok(self.first_violation(change, usize::MAX, |_, _| true)?.1)
    }

    /// What an assumption carries: a counterexample without it, or why there is none.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without_assumption(&self, assumption: Assumption) -> Result<Carried> {
        let change = |setting: &mut Setting| setting.held = setting.held.without(assumption);
        let caution = CAUTIONS.iter().find(|(other, _)| *other == assumption).map(|(_, why)| *why);
        let (_, trace) = self.first_violation(change, usize::MAX, |_, _| true)?;
        Ok(Carried { trace, caution })
    }

    /// What a condition carries: a counterexample where it is not kept to.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn without_condition(&self, condition: Condition) -> Result<Carried> {
        let change = |setting: &mut Setting| setting.kept = setting.kept.without(condition);
        let (_, trace) = self.first_violation(change, usize::MAX, |_, _| true)?;
        Ok(Carried { trace, caution: None })
    }

    /// A leak that appears, where there is no LLC, if no flush that is left to a worker ever happens:
    /// such flushes are never a matter of security. Meteor Lake is left out, where objects start
    /// cached: as on LLC parts, the zeroes of what is shown are flushed at the first flip, by a worker
    /// that the display waits for.
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

/// What came of dropping an assumption or a condition.
#[derive(Clone, Debug)]
pub struct Carried {
    /// A counterexample.
    pub trace: Option<Trace>,
    /// Why there is none, if that is known.
    pub caution: Option<&'static str>,
}

/// Returns whether the rule refuses a mapping that the model could make.
fn is_map_refusal(rule: Rule) -> bool {
    rule == Rule::GttSnoopedFaults
}
