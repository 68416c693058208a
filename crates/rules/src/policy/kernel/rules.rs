//! The differences between kernel versions, as data.

use crate::Unknown;
use crate::platform::PAT_INDEX;
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
    /// A rule that is removed for an experiment: what it requires is not done, and what it marks is not
    /// marked. No real kernel lacks one.
    pub without: Option<Rule>,
}

impl KernelRules {
    /// The oldest kernel whose rules are known: the last one without any of the bypass series.
    pub const OLDEST: KernelVersion = KernelVersion::new(5, 14);

    /// Returns whether `rule` was removed.
    pub fn lacks(&self, rule: Rule) -> bool {
        self.without == Some(rule)
    }

    /// Returns the rules of `version`.
    ///
    /// A version has no patch level. 5.15 and 6.1, which have long-term support, stand for their newest
    /// stable release: 5.15 means 5.15.94 or newer. Any other version stands for its first release.
    ///
    /// # Errors
    /// [`Unknown::KernelTooOld`] before [`Self::OLDEST`].
    pub fn of(version: KernelVersion) -> Result<Self, Unknown> {
        if version < Self::OLDEST {
            return Err(Unknown::KernelTooOld { version, oldest: Self::OLDEST });
        }
        let since = |major, minor| version >= KernelVersion::new(major, minor);
        let stable = |minors: &[(u16, u16)]| minors.contains(&(version.major, version.minor));
        Ok(Self {
            version,
            bypass_acquire_flush: since(5, 15),
            shmem_is_user: since(6, 2) || stable(&[(5, 15), (6, 1)]),
            foreign_acquire_flush: since(5, 16),
            release_marks_dirty: since(5, 16),
            discrete_never_dirty: since(6, 2) || stable(&[(6, 1)]),
            pat_index: version >= PAT_INDEX,
            dirtyfb_needs_plane: since(6, 7),
            without: None,
        })
    }
}
