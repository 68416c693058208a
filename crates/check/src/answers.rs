//! The policy's results as a search uses them: without the removed rule.

use super::mutant::Mutation;
use gem_coherency::platform::Caps;
use gem_coherency::policy::pending::{Demands, Notes, cached_mode};
use gem_coherency::policy::{self, Decision, Path, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};

/// The policy's result for one access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The flushes required before the access, without the removed rule's.
    pub(super) demands: Demands,
    /// The decisions that spare a flush.
    pub(super) spared: [Option<Decision>; 3],
    /// The pending work after the access.
    pub(super) notes: Notes,
    policy: policy::Answer,
}

impl Answer {
    /// Returns the decision for a store through a mapping of `mode`.
    pub(super) fn after_store(&self, mode: MmapMode) -> Decision {
        self.policy.after_store(mode)
    }
}

/// The results for every level, path and access.
#[derive(Debug)]
pub(super) struct Answers(Vec<Answer>);

impl Answers {
    /// Computes the policy's results for `caps`.
    pub(super) fn new(caps: Caps, mutation: Mutation) -> Self {
        let policy = policy::Answers::of(caps);
        let mut answers = Vec::new();
        for &level in CacheLevel::ALL {
            for &path in Path::ALL {
                for &access in Access::ALL {
                    let answer = policy.get(level, path, access);
                    answers.push(Answer {
                        demands: demands(answer, mutation),
                        spared: spared(answer, cached_mode(caps)),
                        notes: answer.notes,
                        policy: *answer,
                    });
                }
            }
        }
        Self(answers)
    }

    /// Returns the result for one access.
    pub(super) fn get(&self, level: CacheLevel, path: Path, access: Access) -> &Answer {
        &self.0[(level as usize * Path::ALL.len() + path.index()) * Access::ALL.len() + access as usize]
    }
}

fn demands(answer: &policy::Answer, mutation: Mutation) -> Demands {
    let all = answer.demands;
    let keep = |decision: Option<Decision>| decision.filter(|decision| !mutation.lacks(decision.rule));
    Demands {
        dirty: keep(all.dirty),
        gpu_write: keep(all.gpu_write),
        stale: keep(all.stale),
        wc_stores: keep(all.wc_stores),
        gtt_stores: keep(all.gtt_stores),
    }
}

fn spared(answer: &policy::Answer, cached: MmapMode) -> [Option<Decision>; 3] {
    [answer.after_store(cached), answer.after_gpu_write, answer.invalidate_after_gpu_write]
        .map(|decision| Some(decision).filter(|decision| decision.verdict == Verdict::NotNeeded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::policy::pending;

    #[test]
    fn every_question_finds_its_own_answer() {
        for caps in [Caps::LLC | Caps::LLC_BYPASS_MOCS, Caps::SNOOP, Caps::DISCRETE | Caps::SNOOP] {
            let answers = Answers::new(caps, Mutation::None);
            for &level in CacheLevel::ALL {
                for &path in Path::ALL {
                    for &access in Access::ALL {
                        let asked = pending::demands(caps, level, path, access);
                        assert_eq!(answers.get(level, path, access).demands, asked, "{path:?} {access}");
                    }
                }
            }
        }
    }
}
