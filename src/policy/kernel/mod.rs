//! What the kernel does: an object's caching state, and how every event changes it.
//!
//! [`step`] is the one transition function; the software device, the tables that `gemtool explain`
//! prints and the model all call it.

mod rules;
mod snapshot;

pub use rules::KernelRules;
pub use snapshot::{Backing, Creation, Snapshot};

use nix::errno::Errno;
use serde::Serialize;

use super::rules::Rule;
use crate::error::Error;
use crate::platform::Caps;
use crate::vocabulary::{Access, CachingMode, words};
use std::fmt;
use std::str::FromStr;

words! {
    /// A flush or a barrier that the kernel issues.
    Action, "action" {
        /// `drm_clflush_sg` over all pages, before the call goes on.
        FlushSync = "clflush-sync",
        /// `drm_clflush_sg` over all pages by a worker, behind the object's fences.
        FlushAsync = "clflush-async",
        /// `drm_clflush_virt_range` over the touched bytes, before they are copied.
        FlushBefore = "clflush-before",
        /// `drm_clflush_virt_range` over the touched bytes, after they were copied.
        FlushAfter = "clflush-after",
        /// `wbinvd_on_all_cpus`: every line of the system.
        Wbinvd = "wbinvd",
        /// `mb`.
        Barrier = "mb",
        /// `wmb`: drains write-combining stores.
        WriteBarrier = "wmb",
        /// `intel_gt_flush_ggtt_writes`: drains stores through the aperture.
        FlushGgtt = "ggtt-flush",
        /// `intel_gt_chipset_flush`.
        FlushChipset = "chipset-flush",
    }
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Pages are brought in (`__i915_gem_object_set_pages`); nothing if they are there.
    Acquire,
    /// Pages are given back (`__i915_gem_object_put_pages`); nothing if they are not there.
    Release,
    /// SET_DOMAIN to CPU.
    SetDomainCpu(Access),
    /// SET_DOMAIN to GTT.
    SetDomainGtt(Access),
    /// SET_DOMAIN to WC.
    SetDomainWc(Access),
    /// SET_CACHING.
    SetCaching(CachingMode),
    /// A fault on a mapping: brings the pages in, and nothing else.
    Fault,
    /// PREAD.
    Pread,
    /// PWRITE of whole lines, or of parts of lines.
    Pwrite {
        /// Whether a line is overwritten only in part.
        partial: bool,
        /// Whether the device is runtime-awake, which the aperture path needs.
        awake: bool,
    },
    /// EXECBUFFER2 with this object.
    Exec(Access),
    /// The object becomes a framebuffer (ADDFB2).
    AddFramebuffer,
    /// The object is no framebuffer any more (RMFB).
    RemoveFramebuffer,
    /// The display engine starts to show it (`i915_gem_object_pin_to_display_plane`).
    PinDisplay,
    /// The display engine shows something else.
    UnpinDisplay,
    /// SW_FINISH.
    SwFinish,
    /// DIRTYFB.
    DirtyFb,
    /// DMA_BUF_IOCTL_SYNC start, or an importer's begin_cpu_access.
    DmaBufBegin(Access),
    /// DMA_BUF_IOCTL_SYNC end, or an importer's end_cpu_access.
    DmaBufEnd,
    /// Suspend to memory, and the first half of hibernation.
    Suspend,
    /// Hibernation.
    Hibernate,
    /// Resume.
    Resume {
        /// Whether the object is bound into the GGTT.
        bound: bool,
    },
}

/// One flush or barrier, and the rule that demands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What is issued.
    pub action: Action,
    /// Why.
    pub rule: Rule,
}

/// The flushes and barriers of one step, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    items: [Option<Effect>; Self::MAX],
}

impl Effects {
    /// No step needs more.
    const MAX: usize = 8;

    /// No effect.
    pub const NONE: Self = Self { items: [None; Self::MAX] };

    /// Adds an effect at the end.
    pub(crate) fn push(&mut self, action: Action, rule: Rule) {
        let slot = self.items.iter_mut().find(|slot| slot.is_none());
        debug_assert!(slot.is_some(), "no step has more than {} effects", Self::MAX);
        if let Some(slot) = slot {
            *slot = Some(Effect { action, rule });
        }
    }

    /// The effects, in order.
    pub fn iter(&self) -> impl Iterator<Item = Effect> + '_ {
        self.items.iter().flatten().copied()
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What an event leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object's next state.
    pub next: Snapshot,
    /// What the kernel issues, in order.
    pub effects: Effects,
    /// The rule that decided: of the first flush, or why there is none.
    pub rule: Rule,
}

/// Why the kernel does not do what was asked; the object's state is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it returns; `None` if it never returns.
    pub errno: Option<Errno>,
    /// Why.
    pub rule: Rule,
}

/// What `event` does to an object in state `before`, on hardware `caps`, under `rules`.
///
/// The GPU is idle: waiting is the caller's.
pub fn step(caps: Caps, rules: &KernelRules, before: Snapshot, event: Event) -> Result<Step, Refusal> {
    let _ = (caps, rules, before, event);
    unimplemented!()
}
