//! The real contexts and address spaces of a program's.
//!
//! Each queue of a context has a real context of its own, with one engine; all of them use one address space.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gem_coherency::Errno;
use gem_coherency::device::Device;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::Work;

use super::{file, kernel};

/// A real address space. It is released when dropped.
#[derive(Debug)]
struct RealSpace {
    device: Device,
    id: u32,
}

impl RealSpace {
    fn new(device: &Device) -> Result<Self, Errno> {
        Ok(Self { device: device.clone(), id: kernel::create_space(file(device)?)? })
    }
}

impl Drop for RealSpace {
    fn drop(&mut self) {
        release(&self.device, |fd| kernel::destroy_space(fd, self.id));
    }
}

/// The real context of a queue. It is closed when dropped.
#[derive(Debug)]
pub(super) struct RealContext {
    device: Device,
    pub(super) id: u32,
    /// Its batches that hung, as of the last look.
    hangs: AtomicU32,
    space: Arc<RealSpace>,
}

impl RealContext {
    /// Returns the real context of a batch's queue, which is created at its first batch.
    ///
    /// # Errors
    /// Those of VM_CREATE and CONTEXT_CREATE.
    pub(super) fn of(device: &Device, work: &Work<'_>) -> Result<Arc<Self>, Errno> {
        let space = work.space.get_or_make(|| RealSpace::new(device))?;
        let queues = work.context.get_or_make(|| Ok(Queues::default()))?;
        let mut queues = queues.0.lock();
        // A context can change its address space before its first batch.
        if let Some(known) = queues.get(&work.queue).filter(|known| Arc::ptr_eq(&known.space, &space)) {
            return Ok(Arc::clone(known));
        }
        let id = kernel::create_context(file(device)?, space.id, work.engine, work.recoverable)?;
        let context = Self { device: device.clone(), id, hangs: AtomicU32::new(0), space };
        let context = Arc::new(context);
        queues.insert(work.queue, Arc::clone(&context));
        Ok(context)
    }

    /// Returns whether a batch hung since the last look.
    ///
    /// # Errors
    /// Those of GET_RESET_STATS.
    pub(super) fn hung(&self) -> Result<bool, Errno> {
        let hangs = kernel::hangs(file(&self.device)?, self.id)?;
        // Relaxed: batches run one after another.
        Ok(self.hangs.swap(hangs, Ordering::Relaxed) != hangs)
    }
}

impl Drop for RealContext {
    fn drop(&mut self) {
        release(&self.device, |fd| kernel::destroy_context(fd, self.id));
    }
}

/// The real contexts of a context, by queue.
#[derive(Debug, Default)]
struct Queues(Mutex<BTreeMap<u64, Arc<RealContext>>>);

fn release(device: &Device, request: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>) {
    if let Err(errno) = file(device).and_then(request) {
        tracing::warn!(%errno, "a context or an address space is not released");
    }
}
