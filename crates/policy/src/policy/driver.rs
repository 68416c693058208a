//! The flushes and invalidates that a driver must perform for a BO that it maps itself, by agent and path.
//!
//! The kernel tracks calls, not stores: it does not see stores through a WB mapping, and does not mark the
//! object dirty for them. The driver must therefore make these decisions. They are minimal: nothing is
//! required where the hardware and the level already keep the agents coherent.

use crate::platform::Caps;
use crate::policy::{Decision, Rule, Verdict};
use crate::vocabulary::{Access, Agent, CacheLevel, MmapMode, MocsClass};

/// An agent and its path to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// The CPU through a mapping.
    Cpu(MmapMode),
    /// The GPU with a MOCS entry of this class.
    Gpu(MocsClass),
    /// The display engine.
    Display,
}

impl Path {
    /// Every path, by agent.
    pub const ALL: &'static [Self] = &[
        Self::Cpu(MmapMode::Wb),
        Self::Cpu(MmapMode::Wc),
        Self::Cpu(MmapMode::Uc),
        Self::Cpu(MmapMode::Gtt),
        Self::Cpu(MmapMode::Fixed),
        Self::Gpu(MocsClass::PageTable),
        Self::Gpu(MocsClass::Uncached),
        Self::Gpu(MocsClass::BypassLlc),
        Self::Display,
    ];

    /// Returns the agent.
    pub const fn agent(self) -> Agent {
        match self {
            Self::Cpu(_) => Agent::Cpu,
            Self::Gpu(_) => Agent::Gpu,
            Self::Display => Agent::Display,
        }
    }

    /// Returns the path's index in [`Path::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::Cpu(mode) => mode as usize,
            Self::Gpu(mocs) => MmapMode::ALL.len() + mocs as usize,
            Self::Display => MmapMode::ALL.len() + MocsClass::ALL.len(),
        }
    }
}

/// The treatment of the CPU's caches by a CPU mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuMemory {
    /// Reads and writes go through the caches.
    Cached,
    /// Accesses bypass the caches; stores gather in write-combining buffers.
    Combining,
    /// Accesses bypass the caches and go through the aperture.
    Aperture,
    /// Accesses bypass the caches, in program order.
    Uncached,
}

/// The coherency of a GPU access with the CPU's caches.
#[derive(Clone, Copy)]
enum GpuView {
    /// Coherent, by this rule.
    Coherent(Rule),
    /// Reads bypass the LLC; writes are coherent with it.
    ReadsAround,
    /// Neither reads nor writes are coherent.
    NonCoherent,
    /// The CPU's caches never hold this memory.
    Local,
}

/// Returns what must be flushed or drained from the writer's caches and buffers before `next` accesses the
/// same memory.
///
/// The verdict is never `Invalidate`: the reader's side is [`needs_invalidate`].
pub const fn needs_flush(
    caps: Caps,
    level: CacheLevel,
    writer: Path,
    next: Path,
    access: Access,
) -> Decision {
    if let Some(rule) = refusal(caps, level, writer, next, access) {
        return Decision::new(Verdict::Refused, rule);
    }
    match (writer, next) {
        (Path::Cpu(from), _) => match cpu_memory(level, from) {
            CpuMemory::Cached => flush_of_cached_store(caps, level, next, access),
            CpuMemory::Combining if writer.index() == next.index() => {
                Decision::new(Verdict::NotNeeded, Rule::SamePath)
            }
            CpuMemory::Combining => Decision::new(Verdict::Drain, Rule::WcDrain),
            CpuMemory::Aperture if writer.index() == next.index() => {
                Decision::new(Verdict::NotNeeded, Rule::SamePath)
            }
            CpuMemory::Aperture => Decision::new(Verdict::Drain, Rule::GttDrain),
            CpuMemory::Uncached => Decision::new(Verdict::NotNeeded, Rule::UncachedStore),
        },
        (Path::Gpu(mocs), _) => flush_of_gpu_write(caps, level, mocs, next, access),
        (Path::Display, _) => Decision::new(Verdict::Refused, Rule::DisplayNeverWrites),
    }
}

/// Returns the strongest decision of [`needs_flush`] for several possible readers, of which the caller does not
/// know the next one ([`Decision::stronger`]); `None` without readers.
pub fn needs_flush_any(
    caps: Caps,
    level: CacheLevel,
    writer: Path,
    readers: impl IntoIterator<Item = Path>,
    access: Access,
) -> Option<Decision> {
    let decisions = readers.into_iter().map(|next| needs_flush(caps, level, writer, next, access));
    decisions.reduce(Decision::stronger)
}

/// The way to drain the stores of a CPU that bypass its caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// None: such stores do not gather anywhere.
    Nothing,
    /// A fence on the core that stored.
    Fence,
    /// A fence, and a read through the mapping: an uncached read waits for earlier posted stores. The kernel
    /// reads a register for that (`intel_gt_flush_ggtt_writes`), which userspace cannot access.
    ReadBack,
}

impl Drain {
    /// Returns the way to drain stores through mappings of this memory type.
    pub const fn of(caps: Caps, memory: CpuMemory) -> Self {
        match memory {
            CpuMemory::Aperture if !caps.contains(Caps::COHERENT_GGTT) => Self::ReadBack,
            CpuMemory::Aperture | CpuMemory::Combining => Self::Fence,
            CpuMemory::Cached | CpuMemory::Uncached => Self::Nothing,
        }
    }
}

/// Returns what `next` must invalidate in its cache before it accesses memory that `writer` wrote.
///
/// For a CPU write, this concerns only lines that are overwritten in part: a line that is overwritten whole
/// needs no invalidate.
pub const fn needs_invalidate(
    caps: Caps,
    level: CacheLevel,
    writer: Path,
    next: Path,
    access: Access,
) -> Decision {
    if let Some(rule) = refusal(caps, level, writer, next, access) {
        return Decision::new(Verdict::Refused, rule);
    }
    let Path::Cpu(to) = next else {
        return Decision::new(Verdict::NotNeeded, Rule::UncachedRead);
    };
    if !matches!(cpu_memory(level, to), CpuMemory::Cached) {
        return Decision::new(Verdict::NotNeeded, Rule::UncachedRead);
    }
    match writer {
        Path::Cpu(from) => match cpu_memory(level, from) {
            CpuMemory::Cached => Decision::new(Verdict::NotNeeded, Rule::SameCache),
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached if caps.contains(Caps::LLC) => {
                Decision::new(Verdict::NotNeeded, Rule::LlcCoherentAlias)
            }
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached => {
                invalidate(access, Rule::StaleAfterUncachedWrite)
            }
        },
        Path::Gpu(mocs) => match gpu_view(caps, level, mocs) {
            GpuView::Coherent(rule) => Decision::new(Verdict::NotNeeded, rule),
            GpuView::ReadsAround => Decision::new(Verdict::NotNeeded, Rule::LlcCoherent),
            GpuView::NonCoherent => invalidate(access, Rule::StaleAfterGpuWrite),
            GpuView::Local => Decision::new(Verdict::NotNeeded, Rule::LocalMemory),
        },
        Path::Display => Decision::new(Verdict::Refused, Rule::DisplayNeverWrites),
    }
}

/// Returns the decision that stale lines are invalidated: by `rule` before a read, by
/// [`Rule::PartialLineWrite`] before a store to a part of them.
const fn invalidate(access: Access, rule: Rule) -> Decision {
    match access {
        Access::Read => Decision::new(Verdict::Invalidate, rule),
        Access::Write => Decision::new(Verdict::Invalidate, Rule::PartialLineWrite),
    }
}

/// Returns why `path` cannot be used for an object of this level, or `None` if it can.
pub const fn path_refusal(caps: Caps, level: CacheLevel, path: Path) -> Option<Rule> {
    let discrete = caps.contains(Caps::DISCRETE);
    let cached = !matches!(level, CacheLevel::None);
    if matches!(level, CacheLevel::Wt) && !caps.intersects(Caps::WT.union(Caps::PAT_AT_CREATE)) {
        return Some(Rule::WtNeedsEdram);
    }
    if cached && !caps.intersects(Caps::LLC.union(Caps::SNOOP)) {
        return Some(Rule::NoSnoop);
    }
    match path {
        Path::Cpu(MmapMode::Fixed) if !discrete => Some(Rule::FixedNeedsDiscrete),
        Path::Cpu(MmapMode::Wb | MmapMode::Wc | MmapMode::Uc | MmapMode::Gtt) if discrete => {
            Some(Rule::DiscreteNeedsFixed)
        }
        Path::Cpu(MmapMode::Gtt) if !caps.contains(Caps::APERTURE) => Some(Rule::GttNeedsAperture),
        Path::Cpu(MmapMode::Gtt) if cached && !caps.contains(Caps::LLC) => Some(Rule::GttSnoopedFaults),
        Path::Display if discrete && cached => Some(Rule::DisplayNeedsLocal),
        Path::Cpu(_) | Path::Gpu(_) | Path::Display => None,
    }
}

/// Returns the map mode of a BO of this level if the caller chooses none: WB if the GPU is coherent with the
/// CPU's cache, WC otherwise, and FIXED on discrete devices.
pub const fn default_mode(caps: Caps, level: CacheLevel) -> MmapMode {
    if caps.contains(Caps::DISCRETE) {
        return MmapMode::Fixed;
    }
    let (store, fetch) = (Path::Cpu(MmapMode::Wb), Path::Gpu(MocsClass::PageTable));
    match needs_flush(caps, level, store, fetch, Access::Read).verdict {
        Verdict::NotNeeded => MmapMode::Wb,
        Verdict::Flush | Verdict::Invalidate | Verdict::Drain | Verdict::Refused => MmapMode::Wc,
    }
}

/// A row of the decision table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The object's level.
    pub level: CacheLevel,
    /// The path of the write.
    pub writer: Path,
    /// The path of the next access to the same memory.
    pub next: Path,
    /// The kind of the next access.
    pub access: Access,
    /// The result of [`needs_flush`].
    pub flush: Decision,
    /// The result of [`needs_invalidate`].
    pub invalidate: Decision,
}

/// Returns the decision table for this hardware: every combination of level, paths and access.
pub fn table(caps: Caps) -> impl Iterator<Item = Row> {
    CacheLevel::ALL.iter().flat_map(move |&level| {
        Path::ALL.iter().flat_map(move |&writer| {
            Path::ALL.iter().flat_map(move |&next| {
                Access::ALL.iter().map(move |&access| Row {
                    level,
                    writer,
                    next,
                    access,
                    flush: needs_flush(caps, level, writer, next, access),
                    invalidate: needs_invalidate(caps, level, writer, next, access),
                })
            })
        })
    })
}

/// Returns why the pair of accesses is impossible, or `None` if it is possible.
const fn refusal(caps: Caps, level: CacheLevel, writer: Path, next: Path, access: Access) -> Option<Rule> {
    if matches!((writer, next, access), (Path::Display, _, _) | (_, Path::Display, Access::Write)) {
        return Some(Rule::DisplayNeverWrites);
    }
    match path_refusal(caps, level, writer) {
        Some(rule) => Some(rule),
        None => path_refusal(caps, level, next),
    }
}

/// Returns what must be done with lines that the CPU dirtied in its cache.
const fn flush_of_cached_store(caps: Caps, level: CacheLevel, next: Path, access: Access) -> Decision {
    match next {
        Path::Cpu(to) => match cpu_memory(level, to) {
            CpuMemory::Cached => Decision::new(Verdict::NotNeeded, Rule::SameCache),
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached if caps.contains(Caps::LLC) => {
                Decision::new(Verdict::NotNeeded, Rule::LlcCoherentAlias)
            }
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached => {
                Decision::new(Verdict::Flush, Rule::UncachedAlias)
            }
        },
        Path::Gpu(mocs) => match (gpu_view(caps, level, mocs), access) {
            (GpuView::Coherent(rule), _) => Decision::new(Verdict::NotNeeded, rule),
            (GpuView::ReadsAround, Access::Read) => Decision::new(Verdict::Flush, Rule::BypassMocsRead),
            (GpuView::ReadsAround, Access::Write) => Decision::new(Verdict::NotNeeded, Rule::LlcCoherent),
            (GpuView::NonCoherent, Access::Read) => Decision::new(Verdict::Flush, Rule::NonCoherentRead),
            (GpuView::NonCoherent, Access::Write) => Decision::new(Verdict::Flush, Rule::NonCoherentWrite),
            (GpuView::Local, _) => Decision::new(Verdict::NotNeeded, Rule::LocalMemory),
        },
        Path::Display => Decision::new(Verdict::Flush, Rule::DisplayReadsMemory),
    }
}

/// Returns what must be done with lines that the GPU wrote.
const fn flush_of_gpu_write(
    caps: Caps,
    level: CacheLevel,
    mocs: MocsClass,
    next: Path,
    access: Access,
) -> Decision {
    let view = gpu_view(caps, level, mocs);
    if matches!(view, GpuView::Local) {
        return Decision::new(Verdict::NotNeeded, Rule::LocalMemory);
    }
    // On LLC parts, only an access that follows the page table allocates in the LLC. Where the GPU snoops,
    // the kernel's predicate ignores the MOCS entry, and so does this one.
    let may_be_cached = match level {
        CacheLevel::None | CacheLevel::Wt => false,
        CacheLevel::Llc | CacheLevel::L3Llc => {
            matches!(mocs, MocsClass::PageTable) || !caps.contains(Caps::LLC)
        }
    };
    if !may_be_cached {
        return Decision::new(Verdict::NotNeeded, Rule::GpuWriteReachesMemory);
    }
    match next {
        Path::Display => Decision::new(Verdict::Flush, Rule::GpuWriteMayBeCached),
        Path::Gpu(to) => match (gpu_view(caps, level, to), access) {
            (GpuView::ReadsAround, Access::Read) => Decision::new(Verdict::Flush, Rule::GpuWriteMayBeCached),
            (GpuView::ReadsAround, Access::Write) => Decision::new(Verdict::NotNeeded, Rule::LlcCoherent),
            (GpuView::Coherent(rule), _) => Decision::new(Verdict::NotNeeded, rule),
            (GpuView::NonCoherent | GpuView::Local, _) => {
                Decision::new(Verdict::NotNeeded, Rule::GpuWriteReachesMemory)
            }
        },
        Path::Cpu(to) => match cpu_memory(level, to) {
            CpuMemory::Cached => Decision::new(Verdict::NotNeeded, coherent_rule(caps)),
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached if caps.contains(Caps::LLC) => {
                Decision::new(Verdict::NotNeeded, Rule::LlcCoherentAlias)
            }
            CpuMemory::Combining | CpuMemory::Aperture | CpuMemory::Uncached => {
                Decision::new(Verdict::Flush, Rule::GpuWriteMayBeCached)
            }
        },
    }
}

/// Returns how a mapping of an object of this level treats the CPU's caches.
pub const fn cpu_memory(level: CacheLevel, mode: MmapMode) -> CpuMemory {
    match mode {
        MmapMode::Wb => CpuMemory::Cached,
        MmapMode::Wc => CpuMemory::Combining,
        MmapMode::Uc => CpuMemory::Uncached,
        MmapMode::Gtt => CpuMemory::Aperture,
        // The kernel maps local memory WC and system memory WB (i915_ttm_select_tt_caching).
        MmapMode::Fixed if matches!(level, CacheLevel::None) => CpuMemory::Combining,
        MmapMode::Fixed => CpuMemory::Cached,
    }
}

/// Returns whether a GPU access through `mocs` is coherent with the CPU's caches.
const fn gpu_view(caps: Caps, level: CacheLevel, mocs: MocsClass) -> GpuView {
    let cached = !matches!(level, CacheLevel::None);
    if caps.contains(Caps::DISCRETE) {
        return if cached { GpuView::Coherent(Rule::DiscreteSnoops) } else { GpuView::Local };
    }
    if caps.contains(Caps::LLC) {
        return match mocs {
            MocsClass::BypassLlc if caps.contains(Caps::LLC_BYPASS_MOCS) => GpuView::ReadsAround,
            MocsClass::PageTable | MocsClass::Uncached | MocsClass::BypassLlc => {
                GpuView::Coherent(Rule::LlcCoherent)
            }
        };
    }
    match level {
        CacheLevel::None => GpuView::NonCoherent,
        // PAT indices 0 and 1 of 12.70 mean write-back and write-through, without coherency.
        CacheLevel::Wt if caps.contains(Caps::PAT_AT_CREATE) => GpuView::NonCoherent,
        CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => GpuView::Coherent(Rule::Snooped),
    }
}

/// Returns the rule by which the GPU is coherent with CPU caches at a cached level.
const fn coherent_rule(caps: Caps) -> Rule {
    if caps.contains(Caps::DISCRETE) {
        Rule::DiscreteSnoops
    } else if caps.contains(Caps::LLC) {
        Rule::LlcCoherent
    } else {
        Rule::Snooped
    }
}
