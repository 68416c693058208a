//! The policy's answers, asked once for every question that a search can have.

use super::mutant::Mutation;
use crate::platform::Caps;
use crate::policy::driver::Path;
use crate::policy::pending::{self, Demands, cached_path, pending_flush};
use crate::policy::{Decision, Verdict, needs_invalidate};
use crate::vocabulary::{Access, CacheLevel, MocsClass};

/// What the policy says before one access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// What it demands, without the rule that was taken away.
    pub(super) demands: Demands,
    /// The decisions by which nothing has to be done.
    pub(super) spared: [Option<Decision>; 3],
}

/// The answers for every level, path and access.
#[derive(Debug)]
pub(super) struct Answers(Vec<Answer>);

impl Answers {
    /// Asks the policy.
    pub(super) fn new(caps: Caps, mutation: Mutation) -> Self {
        let mut answers = Vec::new();
        for &level in CacheLevel::ALL {
            for &path in Path::ALL {
                for &access in Access::ALL {
                    answers.push(Answer {
                        demands: demands(caps, level, path, access, mutation),
                        spared: spared(caps, level, path, access),
                    });
                }
            }
        }
        Self(answers)
    }

    /// The answer for one access.
    pub(super) fn get(&self, level: CacheLevel, path: Path, access: Access) -> &Answer {
        let path = match path {
            Path::Cpu(mode) => mode as usize,
            Path::Gpu(mocs) => 5 + mocs as usize,
            Path::Display => 8,
        };
        &self.0[(level as usize * Path::ALL.len() + path) * Access::ALL.len() + access as usize]
    }
}

fn demands(caps: Caps, level: CacheLevel, path: Path, access: Access, mutation: Mutation) -> Demands {
    let all = pending::demands(caps, level, path, access);
    let keep = |decision: Option<Decision>| decision.filter(|decision| !mutation.lacks(decision.rule));
    Demands {
        dirty: keep(all.dirty),
        gpu_write: keep(all.gpu_write),
        stale: keep(all.stale),
        wc_stores: keep(all.wc_stores),
        gtt_stores: keep(all.gtt_stores),
    }
}

fn spared(caps: Caps, level: CacheLevel, path: Path, access: Access) -> [Option<Decision>; 3] {
    let gpu = Path::Gpu(MocsClass::PageTable);
    [
        pending_flush(caps, level, cached_path(caps), path, access),
        pending_flush(caps, level, gpu, path, access),
        needs_invalidate(caps, level, gpu, path, access),
    ]
    .map(|decision| Some(decision).filter(|decision| decision.verdict == Verdict::NotNeeded))
}

#[cfg(test)]
mod tests {
    use super::*;

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
