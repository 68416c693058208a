//! The events of an object, and the flushes and barriers that the kernel issues for them.

use core::fmt;
use core::str::FromStr;

use crate::Unknown;
use crate::policy::Rule;
use crate::vocabulary::{Access, CachingMode, words};

words! {
    /// A flush or a barrier that the kernel issues.
    Action, "action" {
        /// `drm_clflush_sg` over all pages, before the call continues.
        FlushSync = "clflush-sync",
        /// `drm_clflush_sg` over all pages by a worker, ordered by the object's fences.
        FlushAsync = "clflush-async",
        /// `drm_clflush_virt_range` over the touched bytes, before they are copied.
        FlushBefore = "clflush-before",
        /// `drm_clflush_virt_range` over the touched bytes, after they are copied.
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

impl Action {
    /// Returns whether the action writes back or drops cache lines; the others only order or drain.
    pub const fn is_flush(self) -> bool {
        match self {
            Self::FlushSync | Self::FlushAsync | Self::FlushBefore | Self::FlushAfter | Self::Wbinvd => true,
            Self::Barrier | Self::WriteBarrier | Self::FlushGgtt | Self::FlushChipset => false,
        }
    }
}

/// Declares the names of [`Event`] and the list of all events.
macro_rules! events {
    ($($name:literal = ($($event:tt)+),)+) => {
        impl Event {
            /// Every event.
            pub const ALL: &'static [Self] = &[$($($event)+,)+];

            /// Returns the word that tools print and parse.
            pub const fn name(self) -> &'static str {
                match self { $($($event)+ => $name,)+ }
            }
        }

        impl FromStr for Event {
            type Err = Unknown;

            fn from_str(word: &str) -> Result<Self, Unknown> {
                match word {
                    $($name => Ok($($event)+),)+
                    _ => Err(Unknown::word("event", word, &[$($name,)+])),
                }
            }
        }
    };
}

/// An event of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Pages are acquired (`__i915_gem_object_set_pages`); a no-op if they are present.
    Acquire,
    /// Pages are released (`__i915_gem_object_put_pages`); a no-op if they are absent.
    Release,
    /// The first access through a mapping, which only acquires the pages.
    Fault,
    /// SET_DOMAIN to CPU.
    SetDomainCpu(Access),
    /// SET_DOMAIN to GTT.
    SetDomainGtt(Access),
    /// SET_DOMAIN to WC.
    SetDomainWc(Access),
    /// SET_CACHING.
    SetCaching(CachingMode),
    /// PREAD.
    Pread,
    /// PWRITE of whole lines, or of parts of lines.
    Pwrite {
        /// Set if a line is overwritten only in part.
        partial: bool,
        /// Set if the device is runtime-awake, which the aperture path requires.
        awake: bool,
    },
    /// EXECBUFFER2 with this object.
    Exec(Access),
    /// The object becomes a framebuffer (ADDFB2).
    AddFramebuffer,
    /// The object is no longer a framebuffer (RMFB).
    RemoveFramebuffer,
    /// The display engine starts to show the object (`i915_gem_object_pin_to_display_plane`).
    PinDisplay,
    /// The display engine shows another object.
    UnpinDisplay,
    /// SW_FINISH.
    SwFinish,
    /// DIRTYFB.
    DirtyFb,
    /// DMA_BUF_IOCTL_SYNC start, or an importer's begin_cpu_access.
    DmaBufBegin(Access),
    /// DMA_BUF_IOCTL_SYNC end, or an importer's end_cpu_access.
    DmaBufEnd,
    /// Suspend to memory.
    Suspend,
    /// Hibernation.
    Hibernate,
    /// Resume.
    Resume {
        /// Set if the object is bound into the GGTT.
        bound: bool,
    },
}

events! {
    "acquire" = (Event::Acquire),
    "release" = (Event::Release),
    "fault" = (Event::Fault),
    "set-domain-cpu-read" = (Event::SetDomainCpu(Access::Read)),
    "set-domain-cpu-write" = (Event::SetDomainCpu(Access::Write)),
    "set-domain-gtt-read" = (Event::SetDomainGtt(Access::Read)),
    "set-domain-gtt-write" = (Event::SetDomainGtt(Access::Write)),
    "set-domain-wc-read" = (Event::SetDomainWc(Access::Read)),
    "set-domain-wc-write" = (Event::SetDomainWc(Access::Write)),
    "set-caching-none" = (Event::SetCaching(CachingMode::None)),
    "set-caching-cached" = (Event::SetCaching(CachingMode::Cached)),
    "set-caching-display" = (Event::SetCaching(CachingMode::Display)),
    "pread" = (Event::Pread),
    "pwrite" = (Event::Pwrite { partial: false, awake: true }),
    "pwrite-partial" = (Event::Pwrite { partial: true, awake: true }),
    "pwrite-asleep" = (Event::Pwrite { partial: false, awake: false }),
    "pwrite-partial-asleep" = (Event::Pwrite { partial: true, awake: false }),
    "exec-read" = (Event::Exec(Access::Read)),
    "exec-write" = (Event::Exec(Access::Write)),
    "add-framebuffer" = (Event::AddFramebuffer),
    "remove-framebuffer" = (Event::RemoveFramebuffer),
    "pin-display" = (Event::PinDisplay),
    "unpin-display" = (Event::UnpinDisplay),
    "sw-finish" = (Event::SwFinish),
    "dirtyfb" = (Event::DirtyFb),
    "dma-buf-begin-read" = (Event::DmaBufBegin(Access::Read)),
    "dma-buf-begin-write" = (Event::DmaBufBegin(Access::Write)),
    "dma-buf-end" = (Event::DmaBufEnd),
    "suspend" = (Event::Suspend),
    "hibernate" = (Event::Hibernate),
    "resume" = (Event::Resume { bound: false }),
    "resume-bound" = (Event::Resume { bound: true }),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

crate::serialize_name!(Event);

/// A flush or barrier, and the rule that requires it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Effect {
    /// The flush or barrier.
    pub action: Action,
    /// The rule.
    pub rule: Rule,
}

/// The flushes and barriers of one step, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    items: [Option<Effect>; Self::MAX],
}

impl Effects {
    /// The largest step has an acquire, the end of a write domain, an invalidate and a barrier.
    const MAX: usize = 6;

    /// No effect.
    pub const NONE: Self = Self { items: [None; Self::MAX] };

    /// Adds an effect at the end.
    pub(super) fn push(&mut self, action: Action, rule: Rule) {
        let slot = self.items.iter_mut().find(|slot| slot.is_none());
        debug_assert!(slot.is_some(), "no step has more than {} effects", Self::MAX);
        if let Some(slot) = slot {
            *slot = Some(Effect { action, rule });
        }
    }

    /// Returns the effects, in order.
    pub fn iter(&self) -> impl Iterator<Item = Effect> + '_ {
        self.items.iter().flatten().copied()
    }

    /// Returns the actions, in order.
    pub fn actions(&self) -> impl Iterator<Item = Action> + '_ {
        self.iter().map(|effect| effect.action)
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
