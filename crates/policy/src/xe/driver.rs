//! What a driver must do between a write and the next access. Between CPU and engines that is never a flush of the CPU's cache: the kernel
//! refuses each mapping that would need one. Nor is it an invalidate: the CPU either snoops with the GPU, or has no lines.
//!
//! What the kernel's checks refuse is compared with the driver (`ci/xe`), and so are the bytes that CPU and copy engine see, in a machine with a
//! cache (`ci/vm-cache xe`), and what the display reads of the CPU's stores (`ci/vm-cache xe_display`). What concerns the display's reads of the
//! GPU's writes, reads inside a batch and graphics version 35 follows from the source, which was read.

use super::bind::Bind;
use super::create::{CpuCaching, LOCAL, Object};
use super::pat::{CachePolicy, PatCoherency, PatEntry};
use super::platforms::Device;
use super::rules::Rule;
use crate::vocabulary::{Agent, PAGE_BYTES, words};

words! {
    /// What is required before the next access.
    Verdict, "verdict" {
        /// Nothing.
        NotNeeded = "none",
        /// The CPU's stores must be drained from its write-combining buffers, or from the way to the device.
        Drain = "drain",
        /// The CPU's dirty lines must be written back.
        Flush = "flush",
        /// The batch must flush the GPU's caches.
        FlushGpu = "flush-gpu",
        /// There is no such access.
        Refused = "refused",
    }
}

/// A verdict with the rule that gives it. "Not needed" has a rule, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The required operation.
    pub verdict: Verdict,
    /// The rule that requires it, or the reason why none is required.
    pub rule: Rule,
}

words! {
    /// When the next access happens.
    When, "time" {
        /// After the fence of the submission, or after a request.
        AfterFence = "after-fence",
        /// While the batch runs: after a user fence in its midst, by another queue, in user-mode submission.
        InBatch = "in-batch",
    }
}

/// Memory with a mapping of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory<'a> {
    /// An object.
    Object(&'a Object),
    /// The process's own pages (MAP_USERPTR).
    Process,
}

/// The way of the CPU's accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CpuWay {
    /// Through the CPU's caches, or not known to go past them.
    Cached,
    /// Past them, by write-combining buffers.
    Combining,
    /// The same, to local memory.
    Bar,
}

const fn decide(verdict: Verdict, rule: Rule) -> Decision {
    Decision { verdict, rule }
}

impl Device {
    /// Returns what must happen after `writer` wrote `memory` and before `next` accesses it, if the GPU's mapping has `pat_index`.
    ///
    /// An object that may be in local and in system memory is taken to be where the answer is the stronger one for the CPU: local memory.
    pub fn needs_flush(
        &self,
        memory: Memory<'_>,
        pat_index: u16,
        writer: Agent,
        next: Agent,
        when: When,
    ) -> Decision {
        let gpu = writer == Agent::Gpu || next == Agent::Gpu;
        let entry = match self.bound_entry(memory, pat_index) {
            Ok(entry) => entry,
            Err(_) if gpu => return decide(Verdict::Refused, Rule::CannotBeBound),
            // The display has no PAT index.
            Err(_) => &UNBOUND,
        };
        match (writer, next) {
            (Agent::Display, _) => decide(Verdict::Refused, Rule::DisplayNeverWrites),
            (_, Agent::Display) if !self.platform.has_display => decide(Verdict::Refused, Rule::NoDisplay),
            (_, Agent::Display) if memory == Memory::Process => {
                decide(Verdict::Refused, Rule::UserptrNotShown)
            }
            (_, Agent::Display) if self.platform.discrete && !self.is_local(memory) => {
                decide(Verdict::Refused, Rule::DisplayShowsLocal)
            }
            (Agent::Gpu, Agent::Gpu) if when == When::InBatch => {
                decide(Verdict::FlushGpu, Rule::FlushInBatch)
            }
            (Agent::Cpu, Agent::Cpu) | (Agent::Gpu, Agent::Gpu) => {
                decide(Verdict::NotNeeded, Rule::SameCaches)
            }
            (Agent::Cpu, Agent::Gpu | Agent::Display) => match self.cpu_way(memory) {
                CpuWay::Combining => decide(Verdict::Drain, Rule::WcDrain),
                CpuWay::Bar => decide(Verdict::Drain, Rule::BarDrain),
                CpuWay::Cached if next == Agent::Display => decide(Verdict::Flush, Rule::DisplayReadsMemory),
                CpuWay::Cached if self.platform.discrete => decide(Verdict::NotNeeded, Rule::BusSnoops),
                CpuWay::Cached => decide(Verdict::NotNeeded, Rule::SnoopedMapping),
            },
            (Agent::Gpu, Agent::Cpu) => self.gpu_to_cpu(memory, entry, when),
            (Agent::Gpu, Agent::Display) => self.gpu_to_display(entry),
        }
    }

    /// Returns what the kernel does when an object gets new pages of system memory: it flushes the CPU's lines of those that become
    /// write-combining, its one flush of that cache. Pages that it kept from such an object are not new.
    ///
    /// Source: `xe_ttm_tt_create`, `ttm_pool_alloc`, `set_pages_array_wc`.
    pub fn new_pages(&self, object: &Object) -> Decision {
        match object.caching {
            None => decide(Verdict::NotNeeded, Rule::ImportNotSnooped),
            Some(_) if self.platform.discrete => decide(Verdict::NotNeeded, Rule::BusSnoops),
            Some(CpuCaching::Wb) => decide(Verdict::NotNeeded, Rule::SnoopedMapping),
            Some(CpuCaching::Wc) => decide(Verdict::Flush, Rule::NoCpuLines),
        }
    }

    /// Returns the entry of an index that the kernel accepts for a mapping of all of `memory`.
    fn bound_entry(&self, memory: Memory<'_>, pat_index: u16) -> Result<&'static PatEntry, Rule> {
        let bind = match memory {
            Memory::Object(object) => Bind::map(object, 0, pat_index),
            Memory::Process => Bind::userptr(0, 0, PAGE_BYTES, pat_index),
        };
        self.bind(&[bind], false).map_err(|(_, refusal)| refusal.rule)?;
        self.pat.entry(pat_index)
    }

    fn gpu_to_cpu(&self, memory: Memory<'_>, entry: &PatEntry, when: When) -> Decision {
        let two_way = entry.coherency == PatCoherency::TwoWay;
        // Of the transient lines those for the CPU (XA) are flushed at the end, those for the display (XD) at the flip; uncached ones are nowhere.
        let kept = matches!(entry.l3, Some(CachePolicy::Wb | CachePolicy::Xd));
        let stays = self.is_l2_flush_optimized() && !two_way && kept;
        match when {
            When::InBatch if two_way => decide(Verdict::NotNeeded, Rule::TwoWaySeen),
            When::InBatch => decide(Verdict::FlushGpu, Rule::FlushInBatch),
            When::AfterFence if stays => decide(Verdict::FlushGpu, Rule::TransientOnly),
            When::AfterFence => match self.cpu_way(memory) {
                CpuWay::Combining if self.platform.has_llc() => decide(Verdict::NotNeeded, Rule::SharedLlc),
                CpuWay::Combining | CpuWay::Bar => decide(Verdict::NotNeeded, Rule::NoCpuLines),
                CpuWay::Cached => decide(Verdict::NotNeeded, Rule::EndFlushes),
            },
        }
    }

    fn gpu_to_display(&self, entry: &PatEntry) -> Decision {
        let discrete = self.platform.discrete;
        // A discrete device flushes transient lines at the flip, and 20.01 all of its L2. The L3 of an integrated one is flushed at the end of each
        // submission, before version 35.
        let l2_stays = discrete && self.graphics.major >= 20 && self.graphics.minor != 1;
        match entry.l3 {
            Some(CachePolicy::Wb) if self.platform.has_llc() => decide(Verdict::Flush, Rule::LlcLinesShown),
            Some(CachePolicy::Wb) if l2_stays || self.is_l2_flush_optimized() => {
                decide(Verdict::FlushGpu, Rule::GpuLinesShown)
            }
            _ => decide(Verdict::NotNeeded, Rule::GpuWriteShown),
        }
    }

    fn is_local(&self, memory: Memory<'_>) -> bool {
        matches!(memory, Memory::Object(object) if object.placement & LOCAL != 0)
    }

    fn cpu_way(&self, memory: Memory<'_>) -> CpuWay {
        match memory {
            Memory::Object(_) if self.is_local(memory) => CpuWay::Bar,
            Memory::Object(Object { caching: Some(CpuCaching::Wc), .. }) if !self.platform.discrete => {
                CpuWay::Combining
            }
            Memory::Object(_) | Memory::Process => CpuWay::Cached,
        }
    }
}

/// Stands for no mapping.
static UNBOUND: PatEntry = PatEntry {
    coherency: PatCoherency::None,
    l3: None,
    l4: None,
    compressed: false,
    no_promote: false,
    clos: 0,
};
