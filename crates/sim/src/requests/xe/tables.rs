//! The VMs and the exec queues of a file, by id.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use gem_coherency::Errno;
use gem_coherency::platform::Engine;
use gem_coherency::xe;

use crate::SimDevice;
use crate::gpu::Owner;
use crate::kernel::numbers::Numbers;
use crate::kernel::objects::object::Object;
use crate::kernel::spaces::vm::Vm;
use crate::observe::refusals::RefusedRequest;

/// An exec queue (`xe_exec_queue`).
#[derive(Debug)]
pub(crate) enum Queue {
    /// A queue of changes (`DRM_XE_ENGINE_CLASS_VM_BIND`) of a VM; before 7.2 of any.
    Bind { vm: Option<Arc<Vm>> },
    /// A queue of batches: one on each of these engines.
    Batches { vm: Arc<Vm>, engines: Vec<Engine>, owner: Owner },
}

/// Items by id: the lowest free number from 1 on (`xa_alloc`).
#[derive(Debug)]
struct Ids<T> {
    numbers: Numbers,
    items: BTreeMap<u32, Arc<T>>,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Self { numbers: Numbers::new(1..=u32::MAX), items: BTreeMap::new() }
    }
}

impl<T> Ids<T> {
    /// Adds an item; `None` if no id is left.
    fn add(&mut self, item: T) -> Option<u32> {
        let id = self.numbers.take()?;
        self.items.insert(id, Arc::new(item));
        Some(id)
    }

    fn get(&self, id: u32) -> Option<Arc<T>> {
        self.items.get(&id).cloned()
    }

    /// Removes an item (`xa_erase`).
    ///
    /// The kernel reserves 0 by an entry in the first node of the xarray (`XA_ZERO_ENTRY`), so that an attempt to remove 0 frees that id if there is
    /// such a node.
    fn remove(&mut self, id: u32) -> Option<Arc<T>> {
        if id == 0 && !self.items.contains_key(&0) && !self.items.is_empty() {
            self.numbers.give(0);
        }
        let item = self.items.remove(&id)?;
        self.numbers.give(id);
        Some(item)
    }
}

/// The VMs and the exec queues of a file.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    vms: Ids<Vm>,
    queues: Ids<Queue>,
}

impl Tables {
    pub(super) fn add_vm(&mut self, vm: Vm) -> Option<u32> {
        self.vms.add(vm)
    }

    pub(super) fn vm(&self, id: u32) -> Option<Arc<Vm>> {
        self.vms.get(id)
    }

    pub(super) fn remove_vm(&mut self, id: u32) -> Option<Arc<Vm>> {
        self.vms.remove(id)
    }

    pub(super) fn add_queue(&mut self, queue: Queue) -> Option<u32> {
        self.queues.add(queue)
    }

    pub(super) fn queue(&self, id: u32) -> Option<Arc<Queue>> {
        self.queues.get(id)
    }

    pub(super) fn remove_queue(&mut self, id: u32) -> Option<Arc<Queue>> {
        self.queues.remove(id)
    }

    /// Returns whether a long-running VM without page faults has queues of batches, so that it cannot be destroyed (`preempt.num_exec_queues`).
    pub(super) fn is_in_use(&self, vm: &Arc<Vm>) -> bool {
        let uses = |queue: &Arc<Queue>| matches!(&**queue, Queue::Batches { vm: of_queue, .. } if Arc::ptr_eq(of_queue, vm));
        vm.mode.is_long_running && !vm.mode.has_faults && self.queues.items.values().any(uses)
    }

    /// Closes everything, as when the file is closed: batches that run are ended.
    pub(crate) fn close(&mut self) {
        for queue in std::mem::take(&mut self.queues).items.into_values() {
            queue.kill();
        }
        for vm in std::mem::take(&mut self.vms).items.into_values() {
            vm.close();
        }
    }
}

impl Queue {
    /// Ends the queue's batches (`xe_exec_queue_kill`).
    pub(super) fn kill(&self) {
        if let Self::Batches { owner, .. } = self {
            owner.context.revoke();
        }
    }

    /// Returns whether the kernel runs nothing more of the queue (`reset_status`).
    pub(super) fn is_reset(&self) -> bool {
        matches!(self, Self::Batches { owner, .. } if owner.is_banned())
    }
}

impl SimDevice {
    /// Locks the file's VMs and queues; no other lock is taken under it.
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.own.tables.lock()
    }

    /// Returns what a request of xe answers, unless the kernel lacks the rule that refuses it.
    pub(super) fn unless_lacking<T: Default>(
        &self,
        answer: Result<T, xe::Refusal>,
    ) -> Result<T, xe::Refusal> {
        let without = self.system.xe.and_then(|kernel| kernel.without);
        answer.or_else(|refusal| if Some(refusal.rule) == without { Ok(T::default()) } else { Err(refusal) })
    }

    /// Logs the refusal of a request about an object, or about `size` bytes of other memory; returns its errno.
    pub(in crate::requests) fn refused(
        &self,
        request: &'static str,
        xe::Refusal { errno, rule }: xe::Refusal,
        object: Option<&Object>,
        size: u64,
    ) -> Errno {
        tracing::debug!(%rule, "refused");
        self.system.refusals.add(RefusedRequest {
            request,
            errno,
            rule,
            object: object.map(Object::id),
            handle: object.and_then(|object| object.state().first_handle),
            size: object.map_or(size, Object::size),
        });
        errno
    }
}
