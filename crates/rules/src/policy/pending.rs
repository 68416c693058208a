//! What an access leaves pending, and what of it the next one demands.
//!
//! [`needs_flush`] and [`needs_invalidate`] answer for one writer and one reader. Whoever keeps
//! account of an object asks twice: after an access what to note ([`notes_of_store`],
//! [`notes_of_gpu_write`]), and before the next one what has to be done about the notes
//! ([`demands`]). [`super::Answers`] has the answers of all of them ready.

use crate::platform::Caps;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::policy::{Decision, Path, Rule, Verdict, needs_flush, needs_invalidate};
use crate::vocabulary::{Access, CacheLevel, LineOp, MmapMode, MocsClass};

/// The map mode of the CPU's cached stores.
pub const fn cached_mode(caps: Caps) -> MmapMode {
    if caps.contains(Caps::DISCRETE) { MmapMode::Fixed } else { MmapMode::Wb }
}

/// The way to memory of the CPU's cached stores.
pub const fn cached_path(caps: Caps) -> Path {
    Path::Cpu(cached_mode(caps))
}

/// The way of its stores around the cache.
pub const fn combining_path(caps: Caps) -> Path {
    Path::Cpu(if caps.contains(Caps::DISCRETE) { MmapMode::Fixed } else { MmapMode::Wc })
}

/// What is noted of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The lines are dirty: newer in the CPU's cache than in memory.
    pub dirty: bool,
    /// The lines are stale wherever the CPU's cache holds them.
    pub stale: bool,
    /// Stores may not have left the CPU's write-combining buffers.
    pub wc_stores: bool,
    /// Stores may not have left the chipset.
    pub gtt_stores: bool,
    /// What the GPU wrote may be dirty in the cache, anywhere in the object.
    pub gpu_write: bool,
}

impl Notes {
    /// Nothing is noted, as of a read.
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

/// What to note after the CPU stored through a mapping of `mode`.
pub const fn notes_of_store(caps: Caps, level: CacheLevel, mode: MmapMode) -> Notes {
    let memory = cpu_memory(level, mode);
    let stale = needs_invalidate(caps, level, Path::Cpu(mode), cached_path(caps), Access::Read);
    let dirty = matches!(memory, CpuMemory::Cached);
    Notes {
        dirty,
        stale: !dirty && matches!(stale.verdict, Verdict::Invalidate),
        wc_stores: matches!(memory, CpuMemory::Combining),
        gtt_stores: matches!(memory, CpuMemory::Aperture),
        gpu_write: false,
    }
}

/// What to note when the GPU writes through `mocs`.
pub const fn notes_of_gpu_write(caps: Caps, level: CacheLevel, mocs: MocsClass) -> Notes {
    let writer = Path::Gpu(mocs);
    let stale = needs_invalidate(caps, level, writer, cached_path(caps), Access::Read);
    Notes {
        stale: matches!(stale.verdict, Verdict::Invalidate),
        gpu_write: is_flushed_for(caps, level, writer, Path::Display)
            || is_flushed_for(caps, level, writer, Path::Gpu(MocsClass::BypassLlc))
            || is_flushed_for(caps, level, writer, Path::Cpu(MmapMode::Wc)),
        ..Notes::NONE
    }
}

/// Whether what `writer` wrote is flushed before `reader` looks.
const fn is_flushed_for(caps: Caps, level: CacheLevel, writer: Path, reader: Path) -> bool {
    matches!(needs_flush(caps, level, writer, reader, Access::Read).verdict, Verdict::Flush)
}

/// The pending work that must be completed before an access. A field is `None` if that work may remain pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Of dirty lines.
    pub dirty: Option<Decision>,
    /// Of what the GPU wrote.
    pub gpu_write: Option<Decision>,
    /// Of stale lines.
    pub stale: Option<Decision>,
    /// Of stores in write-combining buffers.
    pub wc_stores: Option<Decision>,
    /// Of stores in the chipset.
    pub gtt_stores: Option<Decision>,
}

/// What has to be done about pending work before `next` accesses an object of this level.
///
/// A GPU that writes is taken to read, too.
pub const fn demands(caps: Caps, level: CacheLevel, next: Path, access: Access) -> Demands {
    Demands {
        dirty: flush(pending_flush(caps, level, cached_path(caps), next, access)),
        gpu_write: flush(pending_flush(caps, level, Path::Gpu(MocsClass::PageTable), next, access)),
        stale: stale(caps, level, next, access),
        wc_stores: drain(pending_flush(caps, level, combining_path(caps), next, access), Rule::WcDrain),
        gtt_stores: drain(pending_flush(caps, level, Path::Cpu(MmapMode::Gtt), next, access), Rule::GttDrain),
    }
}

/// The decision, if it is a flush.
const fn flush(decision: Decision) -> Option<Decision> {
    match decision.verdict {
        Verdict::Flush => Some(decision),
        Verdict::NotNeeded | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => None,
    }
}

/// The drain by `rule`, if it is the decision. It costs next to nothing, and a mapping that is refused
/// by now may have stored before.
const fn drain(decision: Decision, rule: Rule) -> Option<Decision> {
    match decision.verdict {
        Verdict::Drain | Verdict::Refused => Some(Decision::new(Verdict::Drain, rule)),
        Verdict::NotNeeded | Verdict::Flush | Verdict::Invalidate => None,
    }
}

/// What the policy says about `writer`'s stores before this access.
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

/// What the policy says about lines that may be stale before this access.
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
        // A snooping GPU looks for dirty lines only, and nobody else looks into the CPU's caches.
        Path::Gpu(_) | Path::Display => None,
    }
}

/// The decision, if it is an invalidate.
const fn invalidate(decision: Decision) -> Option<Decision> {
    match decision.verdict {
        Verdict::Invalidate => Some(decision),
        Verdict::NotNeeded | Verdict::Flush | Verdict::Drain | Verdict::Refused => None,
    }
}

/// How dirty lines are flushed for an access: a reader leaves them in the cache, clean; for what
/// writes memory behind the cache they go.
pub const fn flush_op(next: Path, access: Access) -> LineOp {
    match (next, access) {
        (Path::Gpu(_) | Path::Display, Access::Read) => LineOp::WriteBack,
        (Path::Gpu(_) | Path::Display, Access::Write) | (Path::Cpu(_), _) => LineOp::Flush,
    }
}
