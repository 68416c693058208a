//! The policy's results as a search uses them: without the removed rule.

use crate::premises::mutant::Mutation;
use gem_coherency::platform::Caps;
use gem_coherency::policy::pending::{PendingWork, RequiredWork, cached_mode};
use gem_coherency::policy::{self, Decision, Path, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};

/// The policy's result for one access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decisions {
    /// The flushes required before the access, without the removed rule's.
    pub(crate) required: RequiredWork,
    /// The decisions that spare a flush.
    pub(crate) exempted: [Option<Decision>; 3],
    /// The pending work after the access.
    pub(crate) pending: PendingWork,
    policy: policy::Decisions,
}

impl Decisions {
    /// Returns the decision for a store through a mapping of `mode`.
    pub(crate) fn after_store(&self, mode: MmapMode) -> Decision {
        self.policy.after_store(mode)
    }
}

/// The results for every level, path and access.
#[derive(Debug)]
pub(crate) struct DecisionTable(Vec<Decisions>);

impl DecisionTable {
    /// Computes the policy's results for `caps`.
    pub(crate) fn new(caps: Caps, mutation: Mutation) -> Self {
        let policy = policy::DecisionTable::of(caps);
        let mut table = Vec::new();
        for &level in CacheLevel::ALL {
            for &path in Path::ALL {
                for &access in Access::ALL {
                    let decisions = policy.get(level, path, access);
                    table.push(Decisions {
                        required: required_work(decisions, mutation),
                        exempted: exempted(decisions, cached_mode(caps)),
                        pending: decisions.pending,
                        policy: *decisions,
                    });
                }
            }
        }
        Self(table)
    }

    /// Returns the result for one access.
    pub(crate) fn get(&self, level: CacheLevel, path: Path, access: Access) -> &Decisions {
        &self.0[(level as usize * Path::ALL.len() + path.index()) * Access::ALL.len() + access as usize]
    }
}

fn required_work(decisions: &policy::Decisions, mutation: Mutation) -> RequiredWork {
    let all = decisions.required;
    let keep = |decision: Option<Decision>| decision.filter(|decision| !mutation.lacks(decision.rule));
    RequiredWork {
        dirty: keep(all.dirty),
        gpu_write: keep(all.gpu_write),
        stale: keep(all.stale),
        wc_stores: keep(all.wc_stores),
        gtt_stores: keep(all.gtt_stores),
    }
}

fn exempted(decisions: &policy::Decisions, cached: MmapMode) -> [Option<Decision>; 3] {
    [decisions.after_store(cached), decisions.after_gpu_write, decisions.invalidate_after_gpu_write]
        .map(|decision| Some(decision).filter(|decision| decision.verdict == Verdict::NotNeeded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::policy::pending;

    #[test]
    fn every_question_finds_its_own_answer() {
        for caps in [Caps::LLC | Caps::LLC_BYPASS_MOCS, Caps::SNOOP, Caps::DISCRETE | Caps::SNOOP] {
            let decisions = DecisionTable::new(caps, Mutation::None);
            for &level in CacheLevel::ALL {
                for &path in Path::ALL {
                    for &access in Access::ALL {
                        let asked = pending::required_work(caps, level, path, access);
                        assert_eq!(decisions.get(level, path, access).required, asked, "{path:?} {access}");
                    }
                }
            }
        }
    }
}
