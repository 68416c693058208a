//! The setting of a search: a machine, a kernel, an object and its user.

use crate::premises::condition::Conditions;
use crate::premises::mutant::Mutation;
use crate::property::Property;
use gem_coherency::platform::{Caps, Machine};
use gem_coherency::policy::kernel::{Creation, KernelRules};
use gem_coherency::vocabulary::words;
use gem_coherency_memory_model::{Assumptions, Hardware};

words! {
    /// The user of the object.
    Caller, "caller" {
        /// A process that follows the uAPI's protocol: SET_DOMAIN before CPU accesses, EXECBUFFER2 before the
        /// GPU's, a flip or DIRTYFB before the display's. Only the kernel flushes.
        Protocol = "protocol",
        /// A process that uses this library, which flushes on top of the kernel.
        Library = "library",
        /// A process that uses this library on a device with an unknown PCI ID, with conservative
        /// assumptions.
        Unknown = "unknown",
        /// A process that makes any call or access that its own object allows, in any order.
        Hostile = "hostile",
    }
}

impl Caller {
    /// Returns whether the caller uses this library.
    pub const fn uses_library(self) -> bool {
        match self {
            Self::Library | Self::Unknown => true,
            Self::Protocol | Self::Hostile => false,
        }
    }
}

/// The setting of one search.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The platform under the kernel.
    pub machine: Machine,
    /// The kernel's rules.
    pub rules: KernelRules,
    /// The way in which the object was created.
    pub creation: Creation,
    /// The object's user.
    pub caller: Caller,
    /// The assumptions about the hardware.
    pub held: Assumptions,
    /// The conditions that the caller keeps.
    pub kept: Conditions,
    /// The change to the rules or the model.
    pub mutation: Mutation,
    /// The property of tracked state that is not checked, so that the search goes on to wrong bytes.
    pub ignored: Option<Property>,
}

impl Setting {
    /// Returns whether the kernel's MOCS table matters: the GPU obeys the entries that bypass the LLC.
    pub fn depends_on_bypass_entries(&self) -> bool {
        self.machine.caps.contains(Caps::LLC_BYPASS_MOCS)
    }

    /// Returns the hardware as the kernel programs it: without bypassing entries in its MOCS table, no access goes
    /// around the LLC.
    ///
    /// The rules do not look at the table. The library flushes for entries 16 and 17 under every kernel.
    pub fn hardware(&self) -> Hardware {
        let mut caps = self.machine.caps;
        caps.set(Caps::LLC_BYPASS_MOCS, self.depends_on_bypass_entries() && self.rules.bypass_entries);
        Hardware { caps, held: self.held }
    }
}
