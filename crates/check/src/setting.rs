//! What one search is about: a machine, a kernel, an object, and who uses it.

use super::condition::Conditions;
use super::mutant::Mutation;
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::{Creation, KernelRules};
use gem_coherency::vocabulary::words;
use gem_coherency_hierarchy::Assumptions;

words! {
    /// Who uses the object.
    Caller, "caller" {
        /// A process that keeps to the uAPI: SET_DOMAIN before the CPU's turn, EXECBUFFER2 before the
        /// GPU's, a flip or DIRTYFB before the display's. The kernel alone flushes.
        Protocol = "protocol",
        /// A process that uses this library, which flushes on top of the kernel.
        Library = "library",
        /// A process that uses this library on a device that it does not know, and takes at its worst.
        Unknown = "unknown",
        /// A process that does whatever its own object lets it do, in any order.
        Hostile = "hostile",
    }
}

impl Caller {
    /// Returns whether it uses this library.
    pub const fn uses_library(self) -> bool {
        match self {
            Self::Library | Self::Unknown => true,
            Self::Protocol | Self::Hostile => false,
        }
    }
}

/// One search.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The platform under the kernel.
    pub machine: Machine,
    /// The kernel's rules.
    pub rules: KernelRules,
    /// How the object came to be.
    pub creation: Creation,
    /// Who uses it.
    pub caller: Caller,
    /// What is assumed of the hardware.
    pub held: Assumptions,
    /// What the caller keeps to.
    pub kept: Conditions,
    /// What is changed.
    pub mutation: Mutation,
}
