//! What hardware is: PCI id to platform, and per platform its capabilities and uAPI limits.

use bitflags::bitflags;

use crate::error::Result;
use crate::vocabulary::KernelVersion;
use nix::errno::Errno;

bitflags! {
    /// What decides about coherency, and nothing else.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Caps: u32 {
        /// CPU and GPU share the last-level cache (`HAS_LLC`).
        const LLC = 1 << 0;
        /// The GPU can be told to snoop the CPU's caches (`HAS_SNOOP`).
        const SNOOP = 1 << 1;
        /// The level WT exists: eDRAM is fused on (`HAS_WT`); a run-time fact.
        const WT = 1 << 2;
        /// MOCS entries 16 and 17 go around the LLC: JSL and EHL.
        const LLC_BYPASS_MOCS = 1 << 3;
        /// Stores through the aperture need only a barrier (`has_coherent_ggtt`).
        const COHERENT_GGTT = 1 << 4;
        /// A discrete device with memory of its own (`IS_DGFX`).
        const DISCRETE = 1 << 5;
        /// Caching is chosen by PAT index at creation: graphics version 12.70 on.
        const PAT_AT_CREATE = 1 << 6;
        /// There is a CPU-visible GGTT aperture.
        const APERTURE = 1 << 7;
        /// Graphics version 12 on: a foreign import's PAT index 0 means cached (kernels from 6.5).
        const GEN12 = 1 << 8;
        /// DG1, the one device that `i915_gem_object_get_pages_dmabuf` exempts from its wbinvd.
        const DG1 = 1 << 9;
    }
}

/// One of i915's platforms.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// The short name, in lower case: `jsl`.
    pub name: &'static str,
    /// The name people use: `Jasper Lake`.
    pub title: &'static str,
}

/// A platform with what is known at run time: the kernel that drives it, and its fuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The platform.
    pub platform: &'static Platform,
    /// The kernel.
    pub kernel: KernelVersion,
    /// What the platform can do under this kernel.
    pub caps: Caps,
}

/// A request, or a form of one, that some platforms refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// SET_CACHING at all.
    SetCaching,
}

/// That a platform refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the kernel returns.
    pub errno: Errno,
    /// Why.
    pub why: &'static str,
    /// The function that refuses.
    pub source: &'static str,
}

impl Machine {
    /// Why the machine refuses `call`, or `None` if it does not.
    pub fn refusal(&self, call: Call) -> Option<Refusal> {
        let _ = call;
        None
    }
}

/// The platform of a PCI id.
///
/// # Errors
/// [`crate::Error::UnknownDeviceId`].
pub fn by_id(id: u16) -> Result<&'static Platform> {
    Err(crate::Error::UnknownDeviceId { id })
}
