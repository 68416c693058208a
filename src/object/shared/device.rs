//! The state that the clones of a device share.

use std::sync::Arc;

use super::bo::{Object, Origin, SharedBo};
use super::extensions::Extensions;
use super::reuse::Reuse;
use crate::backend::Drm;
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::platform::{Call, Caps, Driver, Machine};
use crate::policy::DecisionTable;
use crate::policy::kernel::KernelRules;
use crate::tracking::{Closed, Registry, Submissions};

/// The state that the BOs of a device share.
#[derive(Debug)]
pub(crate) struct SharedDevice {
    pub(crate) drm: Arc<dyn Drm>,
    pub(crate) machine: Machine,
    pub(crate) rules: KernelRules,
    /// The results of the driver-side rules for this hardware.
    pub(crate) decisions: DecisionTable,
    /// The PCI ID is unknown; then nothing is treated as coherent.
    pub(crate) is_conservative: bool,
    /// Maps each GEM handle to its BO.
    pub(crate) registry: Registry<Arc<Confined<SharedBo>>>,
    pub(crate) reuse: Reuse,
    /// The submissions in progress.
    pub(crate) submissions: Submissions,
    pub(crate) extensions: Extensions,
    /// Size of the memory of objects in bytes, if the device reports it.
    pub(crate) memory_bytes: Option<u64>,
    /// Size of the largest memory region in bytes, if the device reports it: no object is larger.
    pub(crate) largest_region_bytes: Option<u64>,
}

impl SharedDevice {
    /// Returns the platform's capabilities.
    pub(crate) fn caps(&self) -> Caps {
        self.machine.caps
    }

    /// Returns whether xe drives the device.
    pub(crate) fn is_xe(&self) -> bool {
        self.machine.driver == Driver::Xe
    }

    /// Returns whether the PCI ID is unknown, so that nothing is treated as coherent.
    #[inline]
    pub(crate) fn is_conservative(&self) -> bool {
        self.is_conservative
    }

    /// Adds the platform's reason to the error of a refused `call`, if the platform refuses it.
    pub(crate) fn explain(&self, call: Call, what: impl FnOnce() -> String, error: Error) -> Error {
        match (&error, self.machine.refusal(call)) {
            (Error::Ioctl { errno, .. }, Some(refusal)) if *errno == refusal.errno => Error::NotAvailable {
                what: what(),
                platform: self.machine.platform.name,
                why: refusal.why,
                errno: refusal.errno,
            },
            _ => error,
        }
    }

    /// Closes the handle of `object`, unless it belongs to another BO by now, or to the caller.
    pub(crate) fn close(&self, object: &Object) -> Result<()> {
        let request = || match object.origin {
            Origin::Created(_) | Origin::Imported => self.drm.close(object.handle),
            Origin::Adopted(_) => self.drm.forget(object.handle),
        };
        let given_back = self.registry.close(object.handle, object.number, request);
        tracing::debug!(handle = object.handle.get(), ?given_back, "close");
        match given_back? {
            Closed::Closed | Closed::AnotherOwner => Ok(()),
        }
    }
}

impl Drop for SharedDevice {
    fn drop(&mut self) {
        self.reuse.trim(self);
    }
}
