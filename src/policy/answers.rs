//! The rules' answers to every question that an access raises, found by one look-up.
//!
//! [`super::driver`] and [`super::pending`] are the rules. What they say depends on a few capabilities
//! ([`Answers::DECIDING`]), and on a level, a path and an access, of which there are 72 combinations. So
//! for each hardware the answers are found once: by the compiler for what the table of platforms can
//! yield, and when a device is opened for one that contradicts the table. Who has an [`Answers`] asks
//! neither the capabilities nor the rules again.

use std::sync::{Mutex, PoisonError};

use static_assertions::const_assert_eq;

use super::driver::{default_mode, needs_invalidate, path_refusal};
use super::pending::{Demands, Notes, demands, notes_of_gpu_write, notes_of_store, pending_flush};
use super::{Decision, Path, Rule};
use crate::fork::PerProcess;
use crate::platform::Caps;
use crate::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

const LEVELS: usize = CacheLevel::ALL.len();
const PATHS: usize = Path::ALL.len();
const ACCESSES: usize = Access::ALL.len();
const MODES: usize = MmapMode::ALL.len();

/// What the rules say about one access by one path to an object of one level.
///
/// 32 bytes: two to a cache line, none across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Answer {
    /// Why the path cannot be taken: [`path_refusal`].
    pub refusal: Option<Rule>,
    /// What has to be done before the access about what is pending: [`demands`].
    pub demands: Demands,
    /// What is pending after the access: [`notes_of_store`], [`notes_of_gpu_write`]; nothing after a read.
    pub notes: Notes,
    /// What a store by each map mode needs before the access: [`pending_flush`].
    after_store: [Decision; MODES],
    /// What a write of the GPU needs before the access, if its page table entry decided: [`pending_flush`].
    pub after_gpu_write: Decision,
    /// What the reader has to drop after such a write: [`needs_invalidate`].
    pub invalidate_after_gpu_write: Decision,
}

const_assert_eq!(size_of::<Answer>(), 32);

impl Answer {
    /// What a store through a mapping of `mode` needs before the access: [`pending_flush`].
    pub const fn after_store(&self, mode: MmapMode) -> Decision {
        self.after_store[mode as usize]
    }

    /// Asks the rules.
    const fn new(caps: Caps, level: CacheLevel, path: Path, access: Access) -> Self {
        let gpu = Path::Gpu(MocsClass::PageTable);
        let mut after_store = [pending_flush(caps, level, gpu, path, access); MODES];
        let mut mode = 0;
        while mode < MODES {
            let store = Path::Cpu(MmapMode::ALL[mode]);
            after_store[mode] = pending_flush(caps, level, store, path, access);
            mode += 1;
        }
        Self {
            refusal: path_refusal(caps, level, path),
            demands: demands(caps, level, path, access),
            notes: match (path, access) {
                (Path::Cpu(mode), Access::Write) => notes_of_store(caps, level, mode),
                (Path::Gpu(mocs), Access::Write) => notes_of_gpu_write(caps, level, mocs),
                (Path::Cpu(_) | Path::Gpu(_), Access::Read) | (Path::Display, _) => Notes::NONE,
            },
            after_store,
            after_gpu_write: pending_flush(caps, level, gpu, path, access),
            invalidate_after_gpu_write: needs_invalidate(caps, level, gpu, path, access),
        }
    }
}

/// Every answer about one hardware: 2336 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    answers: [[[Answer; ACCESSES]; PATHS]; LEVELS],
    default_modes: [MmapMode; LEVELS],
    /// Of [`Answers::DECIDING`], those that the hardware has.
    caps: Caps,
}

const_assert_eq!(size_of::<Answers>(), LEVELS * PATHS * ACCESSES * 32 + 32);

impl Answers {
    /// The capabilities that the answers depend on.
    pub const DECIDING: Caps = Caps::LLC
        .union(Caps::SNOOP)
        .union(Caps::WT)
        .union(Caps::LLC_BYPASS_MOCS)
        .union(Caps::DISCRETE)
        .union(Caps::PAT_AT_CREATE)
        .union(Caps::APERTURE);

    /// The answers for hardware with `caps`.
    ///
    /// For what the table of platforms can yield they are in the program already. For a device that
    /// contradicts it they are found now, and kept: at most 2^7 times.
    pub fn of(caps: Caps) -> &'static Self {
        let caps = caps.intersection(Self::DECIDING);
        Self::built(caps).unwrap_or_else(|| {
            let mut found = FOUND.get().lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(answers) = found.iter().copied().find(|answers| answers.caps == caps) {
                return answers;
            }
            let answers: &'static Self = Box::leak(Box::new(Self::new(caps)));
            found.push(answers);
            answers
        })
    }

    /// The answers, if the compiler found them.
    pub fn built(caps: Caps) -> Option<&'static Self> {
        let caps = caps.intersection(Self::DECIDING);
        BUILT.iter().find(|answers| answers.caps == caps)
    }

    /// The answer about one access.
    #[inline]
    pub const fn get(&self, level: CacheLevel, path: Path, access: Access) -> &Answer {
        &self.answers[level as usize][path.index()][access as usize]
    }

    /// The mode in which an object of this level is mapped if nobody says: [`default_mode`].
    #[inline]
    pub const fn default_mode(&self, level: CacheLevel) -> MmapMode {
        self.default_modes[level as usize]
    }

    /// Asks the rules everything.
    const fn new(caps: Caps) -> Self {
        let first = Answer::new(caps, CacheLevel::None, Path::Display, Access::Read);
        let mut answers = [[[first; ACCESSES]; PATHS]; LEVELS];
        let mut default_modes = [MmapMode::Wb; LEVELS];
        let mut level = 0;
        while level < LEVELS {
            let mut path = 0;
            while path < PATHS {
                let mut access = 0;
                while access < ACCESSES {
                    answers[level][path][access] =
                        Answer::new(caps, CacheLevel::ALL[level], Path::ALL[path], Access::ALL[access]);
                    access += 1;
                }
                path += 1;
            }
            default_modes[level] = default_mode(caps, CacheLevel::ALL[level]);
            level += 1;
        }
        Self { answers, default_modes, caps }
    }
}

/// What was found while the program ran.
static FOUND: PerProcess<Mutex<Vec<&'static Answers>>> = PerProcess::new();

/// Declares the hardware that the compiler answers for.
macro_rules! built {
    ($($cap:ident $(+ $more:ident)*;)+) => {
        static BUILT: &[Answers] = &[$(const { Answers::new(Caps::$cap$(.union(Caps::$more))*) },)+];
    };
}

built! {
    // 965G and 965GM.
    APERTURE;
    // The others without LLC; BXT and GLK are asked for eDRAM.
    SNOOP + APERTURE;
    SNOOP + APERTURE + WT;
    // LLC, with eDRAM and without.
    LLC + APERTURE;
    LLC + APERTURE + WT;
    // EHL and JSL.
    LLC + LLC_BYPASS_MOCS + APERTURE;
    LLC + LLC_BYPASS_MOCS + APERTURE + WT;
    // Discrete.
    SNOOP + DISCRETE;
    SNOOP + DISCRETE + WT;
    // MTL: today, before 6.12, and before 6.5.
    SNOOP + PAT_AT_CREATE;
    SNOOP + PAT_AT_CREATE + WT;
    SNOOP + PAT_AT_CREATE + APERTURE;
    SNOOP + PAT_AT_CREATE + APERTURE + WT;
    LLC + SNOOP + APERTURE;
    LLC + SNOOP + APERTURE + WT;
    // An unknown device, taken at its worst.
    LLC_BYPASS_MOCS;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_where_its_index_says() {
        for (place, path) in Path::ALL.iter().enumerate() {
            assert_eq!(path.index(), place, "{path:?}");
        }
    }

    #[test]
    fn no_hardware_is_answered_for_twice() {
        for (place, answers) in BUILT.iter().enumerate() {
            assert!(BUILT[..place].iter().all(|other| other.caps != answers.caps), "{:?}", answers.caps);
            assert!(Answers::DECIDING.contains(answers.caps), "{:?}", answers.caps);
        }
    }

    #[test]
    fn what_the_compiler_did_not_answer_is_found_once() {
        let odd = Caps::LLC | Caps::DISCRETE;
        assert_eq!(Answers::built(odd), None);
        assert!(std::ptr::eq(Answers::of(odd), Answers::of(odd | Caps::GEN12)));
        assert_eq!(Answers::of(odd), &Answers::new(odd));
    }
}
