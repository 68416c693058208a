//! The barrier page, for submission without a request.

use gem_coherency_policy::Errno;

use super::Device;
use crate::backend::PciBarrier;
use crate::error::{Error, Result};

impl Device {
    /// Maps the barrier page of a discrete device of xe. Before a user-mode submission, which makes no request, the batch's reader must not overtake
    /// stores to local memory: [`PciBarrier::drain`] after them (`bar-drain`).
    ///
    /// # Errors
    /// [`Error::NotAvailable`] on integrated devices, before Linux 7.2, and under i915; [`Error::OtherProcess`]; those of MMAP_OFFSET and mmap(2).
    pub fn pci_barrier(&self) -> Result<PciBarrier> {
        self.check_process()?;
        if !self.shared.is_xe() {
            return Err(Error::NotAvailable {
                what: "the barrier page".to_owned(),
                platform: self.shared.machine.platform.name,
                why: "i915 has no such page",
                errno: Errno::ENODEV,
            });
        }
        self.drm().pci_barrier()
    }
}
