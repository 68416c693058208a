//! What an access leaves pending, and what of it the next one demands.
//!
//! [`needs_flush`] and [`needs_invalidate`] answer for one writer and one reader. Whoever keeps
//! account of an object asks twice: after an access what to note ([`notes_of_store`],
//! [`notes_of_gpu_write`]), and before the next one what has to be done about the notes
//! ([`demands`]).

use crate::cacheops::LineOp;
use crate::platform::Caps;
use crate::policy::driver::{CpuMemory, cpu_memory};
use crate::policy::{Decision, Path, Rule, Verdict, needs_flush, needs_invalidate};
use crate::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

/// The way to memory of the CPU's cached stores.
pub const fn cached_path(caps: Caps) -> Path {
    Path::Cpu(if caps.contains(Caps::DISCRETE) { MmapMode::Fixed } else { MmapMode::Wb })
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

/// What to note after the CPU stored through a mapping of `mode`.
pub fn notes_of_store(caps: Caps, level: CacheLevel, mode: MmapMode) -> Notes {
    let memory = cpu_memory(level, mode);
    let stale = needs_invalidate(caps, level, Path::Cpu(mode), cached_path(caps), Access::Read);
    Notes {
        dirty: memory == CpuMemory::Cached,
        stale: memory != CpuMemory::Cached && stale.verdict == Verdict::Invalidate,
        wc_stores: memory == CpuMemory::Combining,
        gtt_stores: memory == CpuMemory::Aperture,
        gpu_write: false,
    }
}

/// What to note when the GPU writes through `mocs`.
pub fn notes_of_gpu_write(caps: Caps, level: CacheLevel, mocs: MocsClass) -> Notes {
    let writer = Path::Gpu(mocs);
    let flush = |next| needs_flush(caps, level, writer, next, Access::Read).verdict;
    let around = [Path::Display, Path::Gpu(MocsClass::BypassLlc), Path::Cpu(MmapMode::Wc)];
    let stale = needs_invalidate(caps, level, writer, cached_path(caps), Access::Read);
    Notes {
        stale: stale.verdict == Verdict::Invalidate,
        gpu_write: around.into_iter().any(|next| flush(next) == Verdict::Flush),
        ..Notes::default()
    }
}

/// What an access demands of what may be pending; `None` for what can stay so.
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
pub fn demands(caps: Caps, level: CacheLevel, next: Path, access: Access) -> Demands {
    let after = |writer| pending_flush(caps, level, writer, next, access);
    let flush = |writer| Some(after(writer)).filter(|it| it.verdict == Verdict::Flush);
    // A drain costs next to nothing; a mapping that is refused by now may have stored before.
    let drain = |writer: Path, rule| match after(writer).verdict {
        Verdict::Drain | Verdict::Refused => Some(Decision::new(Verdict::Drain, rule)),
        Verdict::NotNeeded | Verdict::Flush | Verdict::Invalidate => None,
    };
    Demands {
        dirty: flush(cached_path(caps)),
        gpu_write: flush(Path::Gpu(MocsClass::PageTable)),
        stale: stale(caps, level, next, access),
        wc_stores: drain(combining_path(caps), Rule::WcDrain),
        gtt_stores: drain(Path::Cpu(MmapMode::Gtt), Rule::GttDrain),
    }
}

/// What the policy says about `writer`'s stores before this access.
pub fn pending_flush(caps: Caps, level: CacheLevel, writer: Path, next: Path, access: Access) -> Decision {
    let decide = |access| needs_flush(caps, level, writer, next, access);
    let decision = decide(access);
    match (next, access) {
        (Path::Gpu(_), Access::Write) if !decision.is_needed() => decide(Access::Read),
        _ => decision,
    }
}

/// What the policy says about lines that may be stale before this access.
fn stale(caps: Caps, level: CacheLevel, next: Path, access: Access) -> Option<Decision> {
    match next {
        Path::Cpu(_) => {
            let writers = [Path::Gpu(MocsClass::PageTable), combining_path(caps)];
            let decide = |writer| needs_invalidate(caps, level, writer, next, access);
            writers.map(decide).into_iter().find(|decision| decision.verdict == Verdict::Invalidate)
        }
        // A snooping GPU looks for dirty lines only, and nobody else looks into the CPU's caches.
        Path::Gpu(_) | Path::Display => None,
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
