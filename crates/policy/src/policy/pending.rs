//! The work that an access leaves pending, and the pending work that the next access requires.
//!
//! [`needs_flush`] and [`needs_invalidate`] decide for one writer and one reader. Code that tracks an object
//! uses two steps: after an access it records what is pending ([`pending_after_store`], [`pending_after_gpu_write`]);
//! before the next one it completes the pending work that is required ([`required_work`]). [`super::DecisionTable`] is a
//! table of all these results.

use crate::platform::Caps;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::policy::{Decision, Path, Rule, Verdict, needs_flush, needs_invalidate};
use crate::vocabulary::{Access, CacheLevel, LineOp, MmapMode, MocsClass};

/// Returns the map mode of the CPU's cached stores.
pub const fn cached_mode(caps: Caps) -> MmapMode {
    if caps.contains(Caps::DISCRETE) { MmapMode::Fixed } else { MmapMode::Wb }
}

/// Returns the path of the CPU's cached stores.
pub const fn cached_path(caps: Caps) -> Path {
    Path::Cpu(cached_mode(caps))
}

/// Returns the path of the CPU's stores that bypass the cache.
pub const fn combining_path(caps: Caps) -> Path {
    Path::Cpu(if caps.contains(Caps::DISCRETE) { MmapMode::Fixed } else { MmapMode::Wc })
}

/// The pending work that an access leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The lines are dirty: newer in the CPU's cache than in memory.
    pub dirty: bool,
    /// The CPU's cache may hold the lines, older than memory.
    pub stale: bool,
    /// Stores may still be in the CPU's write-combining buffers.
    pub wc_stores: bool,
    /// Stores may still be in the chipset.
    pub gtt_stores: bool,
    /// The GPU's writes may be dirty in the cache, anywhere in the object.
    pub gpu_write: bool,
}

impl PendingWork {
    /// No pending work, as after a read.
    pub const NONE: Self =
        Self { dirty: false, stale: false, wc_stores: false, gtt_stores: false, gpu_write: false };

    /// Returns the union of both sets of notes.
    pub const fn with(self, other: Self) -> Self {
        Self {
            dirty: self.dirty || other.dirty,
            stale: self.stale || other.stale,
            wc_stores: self.wc_stores || other.wc_stores,
            gtt_stores: self.gtt_stores || other.gtt_stores,
            gpu_write: self.gpu_write || other.gpu_write,
        }
    }
}

/// Returns the work that is pending after the CPU stored through a mapping of `mode`.
pub const fn pending_after_store(caps: Caps, level: CacheLevel, mode: MmapMode) -> PendingWork {
    let memory = cpu_memory(level, mode);
    let stale = needs_invalidate(caps, level, Path::Cpu(mode), cached_path(caps), Access::Read);
    let dirty = matches!(memory, CpuMemory::Cached);
    PendingWork {
        dirty,
        stale: !dirty && matches!(stale.verdict, Verdict::Invalidate),
        wc_stores: matches!(memory, CpuMemory::Combining),
        gtt_stores: matches!(memory, CpuMemory::Aperture),
        gpu_write: false,
    }
}

/// Returns the work that is pending after the GPU wrote through `mocs`.
pub const fn pending_after_gpu_write(caps: Caps, level: CacheLevel, mocs: MocsClass) -> PendingWork {
    let writer = Path::Gpu(mocs);
    let stale = needs_invalidate(caps, level, writer, cached_path(caps), Access::Read);
    PendingWork {
        stale: matches!(stale.verdict, Verdict::Invalidate),
        gpu_write: is_flushed_for(caps, level, writer, Path::Display)
            || is_flushed_for(caps, level, writer, Path::Gpu(MocsClass::BypassLlc))
            || is_flushed_for(caps, level, writer, Path::Cpu(MmapMode::Wc)),
        ..PendingWork::NONE
    }
}

/// Returns whether a write by `writer` must be flushed before `reader` reads.
const fn is_flushed_for(caps: Caps, level: CacheLevel, writer: Path, reader: Path) -> bool {
    matches!(needs_flush(caps, level, writer, reader, Access::Read).verdict, Verdict::Flush)
}

/// The pending work that must be completed before an access. A field is `None` if that work may remain
/// pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequiredWork {
    /// The flush of dirty lines.
    pub dirty: Option<Decision>,
    /// The flush of the GPU's writes.
    pub gpu_write: Option<Decision>,
    /// The invalidate of stale lines.
    pub stale: Option<Decision>,
    /// The drain of stores in write-combining buffers.
    pub wc_stores: Option<Decision>,
    /// The drain of stores in the chipset.
    pub gtt_stores: Option<Decision>,
}

/// Returns the pending work that must be completed before `next` accesses an object of this level.
///
/// A GPU that writes is assumed to read, too.
pub const fn required_work(caps: Caps, level: CacheLevel, next: Path, access: Access) -> RequiredWork {
    RequiredWork {
        dirty: flush(pending_flush(caps, level, cached_path(caps), next, access)),
        gpu_write: flush(pending_flush(caps, level, Path::Gpu(MocsClass::PageTable), next, access)),
        stale: stale(caps, level, next, access),
        wc_stores: drain(pending_flush(caps, level, combining_path(caps), next, access), Rule::WcDrain),
        gtt_stores: drain(pending_flush(caps, level, Path::Cpu(MmapMode::Gtt), next, access), Rule::GttDrain),
    }
}

/// Returns the decision if it is a flush.
const fn flush(decision: Decision) -> Option<Decision> {
    match decision.verdict {
        Verdict::Flush => Some(decision),
        Verdict::NotNeeded | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => None,
    }
}

/// Returns the drain by `rule` if the decision is a drain or a refusal. A path that is refused now may have
/// been used for stores before, and a drain costs next to nothing.
const fn drain(decision: Decision, rule: Rule) -> Option<Decision> {
    match decision.verdict {
        Verdict::Drain | Verdict::Refused => Some(Decision::new(Verdict::Drain, rule)),
        Verdict::NotNeeded | Verdict::Flush | Verdict::Invalidate => None,
    }
}

/// Returns the flush or drain that `writer`'s stores require before this access.
///
/// A GPU that writes is assumed to read, too.
pub const fn pending_flush(
    caps: Caps,
    level: CacheLevel,
    writer: Path,
    next: Path,
    access: Access,
) -> Decision {
    let decision = needs_flush(caps, level, writer, next, access);
    match (next, access) {
        (Path::Gpu(_), Access::Write) if !decision.is_needed() => {
            needs_flush(caps, level, writer, next, Access::Read)
        }
        _ => decision,
    }
}

/// Returns the invalidate that possibly stale lines require before this access.
const fn stale(caps: Caps, level: CacheLevel, next: Path, access: Access) -> Option<Decision> {
    match next {
        Path::Cpu(_) => {
            let gpu = needs_invalidate(caps, level, Path::Gpu(MocsClass::PageTable), next, access);
            let store = needs_invalidate(caps, level, combining_path(caps), next, access);
            match invalidate(gpu) {
                Some(decision) => Some(decision),
                None => invalidate(store),
            }
        }
        // A snooping GPU looks up dirty lines only, and other agents do not look up the CPU's caches.
        Path::Gpu(_) | Path::Display => None,
    }
}

/// Returns the decision if it is an invalidate.
const fn invalidate(decision: Decision) -> Option<Decision> {
    match decision.verdict {
        Verdict::Invalidate => Some(decision),
        Verdict::NotNeeded | Verdict::Flush | Verdict::Drain | Verdict::Refused => None,
    }
}

/// Returns the operation that flushes dirty lines for an access.
///
/// For a read by the GPU or the display, lines stay in the cache, clean. Otherwise they are dropped, because
/// the access may write memory without updating the cache.
pub const fn flush_op(next: Path, access: Access) -> LineOp {
    match (next, access) {
        (Path::Gpu(_) | Path::Display, Access::Read) => LineOp::WriteBack,
        (Path::Gpu(_) | Path::Display, Access::Write) | (Path::Cpu(_), _) => LineOp::Flush,
    }
}
