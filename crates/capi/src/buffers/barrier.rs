//! The barrier page of discrete devices of xe.

use std::ffi::c_int;
use std::sync::Arc;

use crate::device::{gemco_device, open_device};
use crate::error::{query, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, object, take_back};
use gem_coherency::device::PciBarrier;
use gem_coherency_capi_pure::pointers::Out;

/// The barrier page of a discrete device of xe. gemco_device_pci_barrier maps it, gemco_pci_barrier_unmap unmaps it. Threads
/// may use it concurrently.
pub struct gemco_pci_barrier {
    barrier: PciBarrier,
    owner: Arc<Owner>,
}

impl Owned for gemco_pci_barrier {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_pci_barrier: Send, Sync);

/// Maps the barrier page of a discrete device of xe. Before a submission without a request (user-mode submission) it drains stores to
/// local memory; the rule is bar-drain.
///
/// barrier: the page, which the caller gives back with gemco_pci_barrier_unmap.
///
/// Returns 0; -EINVAL on an integrated device and before Linux 7.2; -ENODEV under i915; the errno of MMAP_OFFSET and mmap(2). Any
/// thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_pci_barrier(
    device: *const gemco_device,
    barrier: *mut *mut gemco_pci_barrier,
) -> c_int {
    run("gemco_device_pci_barrier", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(barrier, "barrier")?) };
        let barrier = device.device.pci_barrier()?;
        out.pass_ownership(gemco_pci_barrier { barrier, owner: Arc::clone(device.owner()) });
        Ok(0)
    })
}

/// Drains this thread's stores to local memory: SFENCE, and a store to the page.
///
/// Returns 0. The thread that stored; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_pci_barrier_drain(barrier: *const gemco_pci_barrier) -> c_int {
    query("gemco_pci_barrier_drain", || {
        // SAFETY: a barrier page: the caller's obligation.
        unsafe { object(barrier, "barrier") }?.barrier.drain()?;
        Ok(0)
    })
}

/// Unmaps the page. NULL is a no-op.
///
/// Any thread.
///
/// # Safety
/// As the module says; `barrier` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_pci_barrier_unmap(barrier: *mut gemco_pci_barrier) {
    run("gemco_pci_barrier_unmap", || {
        // SAFETY: null, or a barrier page that C gives up: the caller's obligation.
        drop(unsafe { take_back(barrier, "barrier") }?);
        Ok(0)
    });
}
