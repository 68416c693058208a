//! The policy's answers, as a search takes them: without the rule that was taken away.

use super::mutant::Mutation;
use gem_coherency::platform::Caps;
use gem_coherency::policy::pending::{Demands, Notes, cached_mode};
use gem_coherency::policy::{self, Decision, Path, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};

/// What the policy says before one access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// What it demands, without the rule that was taken away.
    pub(super) demands: Demands,
    /// The decisions by which nothing has to be done.
    pub(super) spared: [Option<Decision>; 3],
    /// What is pending after it.
    pub(super) notes: Notes,
    policy: policy::Answer,
}

impl Answer {
    /// What a store through a mapping of `mode` needs before it.
    pub(super) fn after_store(&self, mode: MmapMode) -> Decision {
        self.policy.after_store(mode)
    }
}

/// The answers for every level, path and access.
#[derive(Debug)]
pub(super) struct Answers(Vec<Answer>);

impl Answers {
    /// The policy's answers for `caps`.
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

    /// The answer for one access.
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
