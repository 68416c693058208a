//! The differences between kernel versions, as data.

use crate::Unknown;
use crate::platform::{BypassEntries, PAT_INDEX};
use crate::policy::Rule;
use crate::vocabulary::KernelVersion;

/// The rules of one kernel version, as far as versions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRules {
    /// The version.
    pub version: KernelVersion,
    /// JSL and EHL flush user objects on every acquire (13d29c823738, 5.15).
    pub bypass_acquire_flush: bool,
    /// Ordinary objects carry `I915_BO_ALLOC_USER`; without it the acquire flush never runs for them
    /// (44e4c5684fcc, 6.2; in the 5.15 and 6.1 stable series).
    pub shmem_is_user: bool,
    /// Userptr objects and imports are flushed on acquire if reads can bypass the LLC, and imports also if
    /// there is no LLC (63430347713a, a035154da45d; 5.16).
    pub foreign_acquire_flush: bool,
    /// Releasing pages marks them dirty if there is no LLC (d70af57944a1, 5.16).
    pub release_marks_dirty: bool,
    /// Discrete devices never mark an object dirty (0aeec60c76ca, 6.2; in the 6.1 stable series).
    pub discrete_never_dirty: bool,
    /// Objects have a PAT index instead of a level; SET_PAT exists. From 12.70 on, SET_CACHING fails and
    /// objects start cached (9275277d5324, 0fbcf57077c4; 6.5).
    pub pat_index: bool,
    /// DIRTYFB is a no-op for a framebuffer that is not on a plane (1bb2af547a4b, 6.7).
    pub dirtyfb_needs_plane: bool,
    /// Userptr objects are proxies: their level and domains are fixed, and they have no pread, no pwrite and
    /// no export (`I915_GEM_OBJECT_IS_PROXY` and `i915_gem_userptr_ops`; absent in 5.10).
    pub userptr_is_proxy: bool,
    /// A flush by a worker acquires the pages when it is queued (`clflush_work_create`); the worker of 5.10
    /// acquires them when the object is already clean (`clflush_work`).
    pub flush_acquires_first: bool,
    /// A pin for the display acquires the pages before it changes the level (`intel_pin_and_fence_fb_obj`);
    /// 5.10 changes the level first.
    pub pin_acquires_first: bool,
    /// Suspend and hibernation write back all caches at once (`i915_gem_suspend_late`,
    /// `i915_gem_freeze_late`); 5.10 moves each object to the GTT domain, and to the CPU domain for an image.
    pub sleep_flushes_at_once: bool,
    /// Released internal objects are in the CPU domain (`i915_gem_object_put_pages_internal`); 5.10 leaves
    /// their domains.
    pub internal_release_is_cpu: bool,
    /// The MOCS tables of graphics versions 11 and 12 have the entries that bypass the LLC ([`BypassEntries`]). No rule
    /// reads this: the library takes the entries as there under every kernel, which can only add a flush. The
    /// explorer's hardware bypasses the LLC only by entries that are there.
    pub bypass_entries: bool,
    /// A rule that is removed for an experiment: what it requires is not done, and what it marks is not
    /// marked. No real kernel lacks one.
    pub without: Option<Rule>,
}

impl KernelRules {
    /// The oldest kernel whose rules are known; it has long-term support.
    pub const OLDEST: KernelVersion = KernelVersion::new(5, 10);
    /// The first kernel whose MOCS tables had the bypassing entries.
    pub const FIRST_BYPASS: KernelVersion = KernelVersion::new(5, 3);
    /// The next one: the last kernel without any of the bypass series. Those in between have a part of what
    /// distinguishes the two.
    const NEXT: KernelVersion = KernelVersion::new(5, 14);

    /// Returns whether `rule` was removed.
    pub fn lacks(&self, rule: Rule) -> bool {
        self.without == Some(rule)
    }

    /// Returns the rules of `version`.
    ///
    /// 5.10, 5.15 and 6.1, which have long-term support, stand for their newest stable release: 5.15 means 5.15.94 or
    /// newer, and 5.15.0 the first release. Any other version stands for its first release.
    ///
    /// # Errors
    /// [`Unknown::KernelWithoutRules`] before [`Self::OLDEST`], and from 5.11 to 5.13.
    pub fn of(version: KernelVersion) -> Result<Self, Unknown> {
        if version != Self::OLDEST && version < Self::NEXT {
            return Err(Unknown::KernelWithoutRules { version, oldest: Self::OLDEST, next: Self::NEXT });
        }
        Ok(Self::assumed(version))
    }

    /// Returns the rules of `version` for the explorer, which also knows [`Self::FIRST_BYPASS`]. The library does not run
    /// on it: it has no MMAP_OFFSET.
    ///
    /// # Errors
    /// As [`Self::of`], apart from that version.
    pub fn for_search(version: KernelVersion) -> Result<Self, Unknown> {
        if version == Self::FIRST_BYPASS { Ok(Self::assumed(version)) } else { Self::of(version) }
    }

    /// Returns the rules of `version`; before [`Self::NEXT`] those of [`Self::OLDEST`], apart from the MOCS table.
    fn assumed(version: KernelVersion) -> Self {
        let since = |major, minor| version.series() >= KernelVersion::new(major, minor);
        let stable =
            |major, minor| version.is_stable() && version.series() == KernelVersion::new(major, minor);
        Self {
            version,
            bypass_acquire_flush: since(5, 15),
            shmem_is_user: since(6, 2) || stable(5, 15) || stable(6, 1),
            foreign_acquire_flush: since(5, 16),
            release_marks_dirty: since(5, 16),
            discrete_never_dirty: since(6, 2) || stable(6, 1),
            pat_index: version >= PAT_INDEX,
            dirtyfb_needs_plane: since(6, 7),
            userptr_is_proxy: version >= Self::NEXT,
            flush_acquires_first: version >= Self::NEXT,
            pin_acquires_first: version >= Self::NEXT,
            sleep_flushes_at_once: version >= Self::NEXT,
            internal_release_is_cpu: version >= Self::NEXT,
            bypass_entries: BypassEntries::of(version).present,
            without: None,
        }
    }
}
