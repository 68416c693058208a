//! A table of the rules' results for every access, so that an access costs one look-up.
//!
//! [`super::driver`] and [`super::pending`] are the rules. Their results depend on capabilities, which are
//! constant while a device is open, and on a level, a path and an access, of which there are 72 combinations.
//! The table is therefore computed once, when a device is opened.

use super::driver::{default_mode, needs_invalidate, path_refusal};
use super::pending::{
    PendingWork, RequiredWork, pending_after_gpu_write, pending_after_store, pending_flush, required_work,
};
use super::{Decision, Path, Rule};
use crate::platform::Caps;
use crate::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

const LEVELS: usize = CacheLevel::ALL.len();
const PATHS: usize = Path::ALL.len();
const ACCESSES: usize = Access::ALL.len();
const MODES: usize = MmapMode::ALL.len();

/// The rules' results for one access on one path to an object of one level.
///
/// It has 32 bytes, so that two fit in a cache line and none crosses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Decisions {
    /// The reason why the path cannot be used, or `None` if it can: [`path_refusal`].
    pub refusal: Option<Rule>,
    /// The pending work that must be completed before the access: [`required_work`].
    pub required: RequiredWork,
    /// The work that is pending after the access: [`pending_after_store`], [`pending_after_gpu_write`]. Empty for a
    /// read.
    pub pending: PendingWork,
    /// The flush that this access requires after a store by each map mode: [`pending_flush`].
    after_store: [Decision; MODES],
    /// The flush that this access requires after a GPU write through the page table's class: [`pending_flush`].
    pub after_gpu_write: Decision,
    /// The invalidate that the reader requires after such a write: [`needs_invalidate`].
    pub invalidate_after_gpu_write: Decision,
}

const _: () = assert!(size_of::<Decisions>() == 32);

impl Decisions {
    /// Returns the flush or drain that this access requires after a store through a mapping of `mode`:
    /// [`pending_flush`].
    pub const fn after_store(&self, mode: MmapMode) -> Decision {
        self.after_store[mode as usize]
    }

    /// Evaluates the rules for one access.
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
            required: required_work(caps, level, path, access),
            pending: match (path, access) {
                (Path::Cpu(mode), Access::Write) => pending_after_store(caps, level, mode),
                (Path::Gpu(mocs), Access::Write) => pending_after_gpu_write(caps, level, mocs),
                (Path::Cpu(_) | Path::Gpu(_), Access::Read) | (Path::Display, _) => PendingWork::NONE,
            },
            after_store,
            after_gpu_write: pending_flush(caps, level, gpu, path, access),
            invalidate_after_gpu_write: needs_invalidate(caps, level, gpu, path, access),
        }
    }
}

/// The results of every access on one machine: 2336 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionTable {
    decisions: [[[Decisions; ACCESSES]; PATHS]; LEVELS],
    default_modes: [MmapMode; LEVELS],
}

const _: () = assert!(size_of::<DecisionTable>() == LEVELS * PATHS * ACCESSES * 32 + 32);

impl DecisionTable {
    /// Returns the results for one access.
    #[inline]
    pub const fn get(&self, level: CacheLevel, path: Path, access: Access) -> &Decisions {
        &self.decisions[level as usize][path.index()][access as usize]
    }

    /// Returns the default map mode of an object of this level: [`default_mode`].
    #[inline]
    pub const fn default_mode(&self, level: CacheLevel) -> MmapMode {
        self.default_modes[level as usize]
    }

    /// Evaluates all rules for hardware with `caps`.
    pub const fn of(caps: Caps) -> Self {
        let first = Decisions::new(caps, CacheLevel::None, Path::Display, Access::Read);
        let mut decisions = [[[first; ACCESSES]; PATHS]; LEVELS];
        let mut default_modes = [MmapMode::Wb; LEVELS];
        let mut level = 0;
        while level < LEVELS {
            let mut path = 0;
            while path < PATHS {
                let mut access = 0;
                while access < ACCESSES {
                    decisions[level][path][access] =
                        Decisions::new(caps, CacheLevel::ALL[level], Path::ALL[path], Access::ALL[access]);
                    access += 1;
                }
                path += 1;
            }
            default_modes[level] = default_mode(caps, CacheLevel::ALL[level]);
            level += 1;
        }
        Self { decisions, default_modes }
    }
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
}
