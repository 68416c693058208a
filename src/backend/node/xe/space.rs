//! The node's address space: VM_BIND, EXEC, and the wait for what they submitted.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::BorrowedFd;

use gem_coherency_policy::Errno;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use super::objects;
use crate::backend::mapping::{Counted, Mapping};
use crate::backend::node::access;
use crate::backend::node::objects as gem;
use crate::backend::node::request::call;
use crate::error::{Error, Result};
use crate::platform::EngineClass;
use crate::units::PAGE_BYTES;
use crate::vocabulary::{Handle, MmapMode};
use crate::xe::Create;
use gem_coherency_uapi::drm_syncobj::{
    DRM_IOCTL_SYNCOBJ_CREATE, DRM_IOCTL_SYNCOBJ_DESTROY, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, drm_syncobj_create,
    drm_syncobj_destroy, drm_syncobj_timeline_wait,
};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_EXEC, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, DRM_IOCTL_XE_EXEC_QUEUE_DESTROY,
    DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY, DRM_IOCTL_XE_VM_BIND, DRM_IOCTL_XE_VM_CREATE,
    DRM_IOCTL_XE_VM_DESTROY, DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN, DRM_XE_SYNC_FLAG_SIGNAL,
    DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ, DRM_XE_VM_BIND_OP_MAP, DRM_XE_VM_BIND_OP_UNMAP,
    DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE, drm_xe_engine_class_instance, drm_xe_exec, drm_xe_exec_queue_create,
    drm_xe_exec_queue_destroy, drm_xe_exec_queue_get_property, drm_xe_sync, drm_xe_vm_bind,
    drm_xe_vm_bind_op, drm_xe_vm_create, drm_xe_vm_destroy,
};

/// MI_BATCH_BUFFER_END and MI_NOOP.
const BATCH: [u8; 8] = [0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00];

/// The end of the addresses that callers choose.
pub(super) const CALLERS_END: u64 = 1 << 46;
/// The first address that the node chooses, and the distance of addresses: the largest page of any local memory.
const FIRST: u64 = CALLERS_END;
const STEP: u64 = 2 << 20;
/// The end of the smallest address space.
const LAST: u64 = 1 << 47;

/// A point of the timeline of submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    syncobj: u32,
    value: u64,
}

/// An address at which an object is bound.
#[derive(Clone, Copy, Debug)]
struct Bound {
    address: u64,
    size_bytes: u64,
}

/// The side that chooses the PAT index of an object at an address of the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) enum PatChoice {
    /// The caller.
    Caller(u16),
    /// The node: the index of the object's caching mode.
    Node(u16),
}

/// An object at an address of the caller's.
#[derive(Clone, Copy, Debug)]
struct Pinned {
    handle: Handle,
    size_bytes: u64,
    /// The caller chose the PAT index, too.
    is_bound: bool,
}

/// An address space and its queues.
#[derive(Debug, Default)]
pub(super) struct Space {
    vm: u32,
    /// A queue of each class of engines, created at first use.
    queues: Vec<(EngineClass, u32)>,
    /// A timeline: each bind and each submission signals its next point.
    syncobj: u32,
    signalled: u64,
    next: u64,
    /// Addresses that are free again, by the distance to the next one.
    free: HashMap<u64, Vec<u64>>,
    bound: HashMap<Handle, Bound>,
    /// What is bound below [`CALLERS_END`], by its address.
    pinned: BTreeMap<u64, Pinned>,
    /// The last submission that used an object.
    last: HashMap<Handle, u64>,
    /// An empty batch and its address, created at first use.
    batch: Option<(Handle, u64)>,
}

impl Space {
    /// Creates the address space and the timeline.
    ///
    /// # Errors
    /// Those of VM_CREATE and SYNCOBJ_CREATE: ENOMEM, ENODEV.
    pub(super) fn new(fd: BorrowedFd<'_>) -> Result<Self> {
        let mut vm = drm_xe_vm_create { flags: DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE, ..Default::default() };
        // SAFETY: no address in it; integers only.
        unsafe { call(fd, DRM_IOCTL_XE_VM_CREATE, None, &mut vm)? };
        let mut space = Self { vm: vm.vm_id, next: FIRST, ..Self::default() };
        let mut syncobj = drm_syncobj_create::default();
        // SAFETY: no address in it; integers only.
        match unsafe { call(fd, DRM_IOCTL_SYNCOBJ_CREATE, None, &mut syncobj) } {
            Ok(()) => {
                space.syncobj = syncobj.handle;
                Ok(space)
            }
            Err(error) => {
                space.destroy(fd);
                Err(error)
            }
        }
    }

    /// Returns the queue of the first engine of `class`, creating it if there is none.
    ///
    /// # Errors
    /// Those of EXEC_QUEUE_CREATE: EINVAL without such an engine, ENOMEM, ENODEV.
    fn queue(&mut self, fd: BorrowedFd<'_>, class: EngineClass) -> Result<u32> {
        if let Some(&(_, queue)) = self.queues.iter().find(|(of, _)| *of == class) {
            return Ok(queue);
        }
        let engine = drm_xe_engine_class_instance { engine_class: class.number(), ..Default::default() };
        let mut queue = drm_xe_exec_queue_create {
            width: 1,
            num_placements: 1,
            vm_id: self.vm,
            instances: std::ptr::from_ref(&engine) as u64,
            ..Default::default()
        };
        // SAFETY:
        // - `instances`: the address of one live struct, `width` times `num_placements`, which the kernel only reads;
        // - bit patterns: integers only.
        unsafe { call(fd, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, None, &mut queue)? };
        self.queues.push((class, queue.exec_queue_id));
        Ok(queue.exec_queue_id)
    }

    /// Returns how many queues are banned, as after a hang.
    ///
    /// # Errors
    /// ENODEV.
    pub(super) fn banned(&self, fd: BorrowedFd<'_>) -> Result<u32> {
        self.queues.iter().try_fold(0, |banned, &(_, queue)| Ok(banned + u32::from(is_banned(fd, queue)?)))
    }

    /// Destroys what exists; errors are ignored, as closing the last copy of the file destroys the rest.
    pub(super) fn destroy(self, fd: BorrowedFd<'_>) {
        for (_, queue) in self.queues {
            destroy_queue(fd, queue);
        }
        let mut vm = drm_xe_vm_destroy { vm_id: self.vm, ..Default::default() };
        // SAFETY: no address in it; integers only.
        let _ = unsafe { call(fd, DRM_IOCTL_XE_VM_DESTROY, None, &mut vm) };
        let mut syncobj = drm_syncobj_destroy { handle: self.syncobj, ..Default::default() };
        // SAFETY: no address in it; integers only.
        let _ = unsafe { call(fd, DRM_IOCTL_SYNCOBJ_DESTROY, None, &mut syncobj) };
        if let Some((batch, _)) = self.batch {
            let _ = gem::close(fd, batch);
        }
    }

    /// Destroys the queues that are banned, and returns how many there were: the next submission creates others.
    ///
    /// # Errors
    /// ENODEV.
    pub(super) fn drop_banned(&mut self, fd: BorrowedFd<'_>) -> Result<u32> {
        let mut dropped = 0;
        for (class, queue) in std::mem::take(&mut self.queues) {
            if is_banned(fd, queue)? {
                destroy_queue(fd, queue);
                dropped += 1;
            } else {
                self.queues.push((class, queue));
            }
        }
        Ok(dropped)
    }

    fn sync(&self, value: u64, flags: u32) -> drm_xe_sync {
        drm_xe_sync {
            r#type: DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ,
            flags,
            addr: u64::from(self.syncobj),
            timeline_value: value,
            ..Default::default()
        }
    }

    /// Makes one change of the address space: `DRM_IOCTL_XE_VM_BIND`, 0x40886445. One that takes a mapping away happens after the submissions before
    /// it: the kernel does not wait for them (`xe_pt_vm_dependencies`).
    ///
    /// # Errors
    /// Those of [`crate::xe::Device::bind`]; ENOMEM, ENOSPC.
    fn change(&mut self, fd: BorrowedFd<'_>, bind: drm_xe_vm_bind_op, takes_away: bool) -> Result<()> {
        let syncs = [self.sync(self.signalled + 1, DRM_XE_SYNC_FLAG_SIGNAL), self.sync(self.signalled, 0)];
        let handle = Some(bind.obj).filter(|&handle| handle != 0);
        let mut args = drm_xe_vm_bind {
            vm_id: self.vm,
            num_binds: 1,
            bind,
            num_syncs: if takes_away && self.signalled > 0 { 2 } else { 1 },
            syncs: syncs.as_ptr() as u64,
            ..Default::default()
        };
        // SAFETY:
        // - `syncs`: the address of at least `num_syncs` live structs, which the kernel only reads;
        // - `bind`: inline, as there is one; its offset is no address of the CPU's, as no operation is MAP_USERPTR;
        // - bit patterns: integers only.
        unsafe { call(fd, DRM_IOCTL_XE_VM_BIND, handle, &mut args)? };
        self.signalled += 1;
        Ok(())
    }

    /// Binds all of an object at a new address; returns the address.
    fn bind(&mut self, fd: BorrowedFd<'_>, handle: Handle, size_bytes: u64, pat_index: u16) -> Result<u64> {
        let beyond = Error::Ioctl { request: DRM_IOCTL_XE_VM_BIND.name, errno: Errno::ENOSPC };
        let distance = size_bytes.checked_next_multiple_of(STEP).ok_or(beyond.clone())?;
        let reused = self.free.get_mut(&distance).and_then(Vec::pop);
        let address = reused.unwrap_or(self.next);
        let end = address.checked_add(distance).filter(|&end| end <= LAST).ok_or(beyond)?;
        let changed = self.change(fd, map(handle, size_bytes, address, pat_index), false);
        match reused {
            Some(address) if changed.is_err() => self.free.entry(distance).or_default().push(address),
            None if changed.is_ok() => self.next = end,
            Some(_) | None => {}
        }
        changed.map(|()| address)
    }

    fn unmap(&mut self, fd: BorrowedFd<'_>, addr: u64, range: u64) -> Result<()> {
        let op = DRM_XE_VM_BIND_OP_UNMAP;
        // Each table has an index 0.
        self.change(fd, drm_xe_vm_bind_op { range, addr, op, ..Default::default() }, true)
    }

    /// Unbinds what [`Self::bind`] bound.
    fn release(&mut self, fd: BorrowedFd<'_>, bound: Bound) -> Result<()> {
        self.unmap(fd, bound.address, bound.size_bytes)?;
        self.free.entry(bound.size_bytes.next_multiple_of(STEP)).or_default().push(bound.address);
        Ok(())
    }

    /// Binds an object at an address below [`CALLERS_END`], in place of what is there: by the index that the caller chose, or by the node's unless
    /// the object is there already.
    ///
    /// # Errors
    /// Those of VM_BIND; what is there stays.
    pub(super) fn pin(
        &mut self,
        fd: BorrowedFd<'_>,
        handle: Handle,
        size_bytes: u64,
        address: u64,
        pat_index: PatChoice,
    ) -> Result<()> {
        let end = address.saturating_add(size_bytes);
        let (pat_index, is_bound) = match pat_index {
            PatChoice::Caller(index) => (index, true),
            PatChoice::Node(_) if self.pinned.get(&address).is_some_and(|there| there.handle == handle) => {
                return Ok(());
            }
            PatChoice::Node(index) => (index, false),
        };
        let overlaps = |(start, there): &(&u64, &Pinned)| *start + there.size_bytes > address;
        let before = self.pinned.range(..end).filter(overlaps);
        let old: Vec<_> = before.map(|(&start, there)| (start, start + there.size_bytes)).collect();
        self.change(fd, map(handle, size_bytes, address, pat_index), !old.is_empty())?;
        self.pinned.retain(|start, _| old.iter().all(|(old, _)| old != start));
        self.pinned.insert(address, Pinned { handle, size_bytes, is_bound });
        // Of an object that is there in part, nothing stays.
        for (start, old_end) in old {
            if start < address {
                self.unmap(fd, start, address - start)?;
            }
            if end < old_end {
                self.unmap(fd, end, old_end - end)?;
            }
        }
        Ok(())
    }

    /// Unbinds from the caller's addresses what is `unwanted`.
    fn unpin_all(&mut self, fd: BorrowedFd<'_>, unwanted: impl Fn(&Pinned) -> bool) -> Result<()> {
        let some = self.pinned.iter().filter(|(_, there)| unwanted(there));
        let some: Vec<_> = some.map(|(&address, there)| (address, there.size_bytes)).collect();
        some.into_iter().try_for_each(|(address, size_bytes)| {
            self.unmap(fd, address, size_bytes)?;
            self.pinned.remove(&address);
            Ok(())
        })
    }

    /// Binds an object by `pat_index`, and unbinds it again.
    ///
    /// # Errors
    /// Those of VM_BIND: EINVAL if the kernel refuses the index for this object.
    pub(super) fn try_bind(
        &mut self,
        fd: BorrowedFd<'_>,
        handle: Handle,
        size_bytes: u64,
        pat_index: u16,
    ) -> Result<()> {
        let address = self.bind(fd, handle, size_bytes, pat_index)?;
        self.release(fd, Bound { address, size_bytes })
    }

    /// Binds what is not bound yet: handle, size and PAT index of each object.
    ///
    /// # Errors
    /// Those of VM_BIND.
    pub(super) fn bind_all(&mut self, fd: BorrowedFd<'_>, objects: &[(Handle, u64, u16)]) -> Result<()> {
        for &(handle, size_bytes, pat_index) in objects {
            if !self.bound.contains_key(&handle) {
                let address = self.bind(fd, handle, size_bytes, pat_index)?;
                self.bound.insert(handle, Bound { address, size_bytes });
            }
        }
        Ok(())
    }

    /// Unbinds an object that is to be closed: a mapping would keep it.
    ///
    /// # Errors
    /// Those of VM_BIND.
    pub(super) fn unbind(&mut self, fd: BorrowedFd<'_>, handle: Handle) -> Result<()> {
        self.last.remove(&handle);
        self.unpin_all(fd, |there| there.handle == handle)?;
        self.unbind_own(fd, handle)
    }

    /// Unbinds an object from the node's address.
    fn unbind_own(&mut self, fd: BorrowedFd<'_>, handle: Handle) -> Result<()> {
        let Some(&bound) = self.bound.get(&handle) else { return Ok(()) };
        self.release(fd, bound)?;
        self.bound.remove(&handle);
        Ok(())
    }

    /// Unbinds what is not `used`, and what no caller bound by an index of its own.
    ///
    /// # Errors
    /// Those of VM_BIND.
    pub(super) fn unbind_others(&mut self, fd: BorrowedFd<'_>, used: impl Fn(Handle) -> bool) -> Result<()> {
        self.unpin_all(fd, |there| !there.is_bound && !used(there.handle))?;
        let others: Vec<Handle> = self.bound.keys().copied().filter(|&handle| !used(handle)).collect();
        others.into_iter().try_for_each(|handle| self.unbind_own(fd, handle))
    }

    /// Returns the address of an empty batch, creating it if there is none. `create` makes its object, which is bound by `snooped`.
    ///
    /// # Errors
    /// Those of creating, mapping and binding; the next call tries again.
    pub(super) fn empty_batch(&mut self, fd: BorrowedFd<'_>, create: &Create, snooped: u16) -> Result<u64> {
        if let Some((_, address)) = self.batch {
            return Ok(address);
        }
        let handle = objects::create(fd, create)?;
        let mut fill = || {
            let pages = access::mmap(fd, objects::mmap_offset(fd, handle)?, PAGE_BYTES)?;
            // Write-back: the GPU snoops it.
            let mapping =
                Mapping::from_kernel(handle, pages, MmapMode::Wb, Counted::new(&Default::default()));
            mapping.copy_in(0, &BATCH)?;
            self.bind(fd, handle, PAGE_BYTES, snooped)
        };
        let address = fill().inspect_err(|_| {
            // The caller gets the first error.
            let _ = gem::close(fd, handle);
        })?;
        self.batch = Some((handle, address));
        Ok(address)
    }

    /// Runs the batch at `address` on `engine` after everything that was bound: `DRM_IOCTL_XE_EXEC`, 0x40386449. Does not wait.
    ///
    /// # Errors
    /// ECANCELED if the queue is banned, as after a hang; ENOMEM; ENODEV; those of EXEC_QUEUE_CREATE.
    pub(super) fn execute(
        &mut self,
        fd: BorrowedFd<'_>,
        engine: EngineClass,
        address: u64,
        uses: impl Iterator<Item = Handle>,
    ) -> Result<()> {
        let queue = self.queue(fd, engine)?;
        let syncs = [self.sync(self.signalled, 0), self.sync(self.signalled + 1, DRM_XE_SYNC_FLAG_SIGNAL)];
        let mut args = drm_xe_exec {
            exec_queue_id: queue,
            num_syncs: syncs.len() as u32,
            syncs: syncs.as_ptr() as u64,
            address,
            num_batch_buffer: 1,
            ..Default::default()
        };
        // SAFETY:
        // - `syncs`: the address of `num_syncs` live structs, which the kernel only reads;
        // - `address`: the GPU's;
        // - bit patterns: integers only.
        unsafe { call(fd, DRM_IOCTL_XE_EXEC, None, &mut args)? };
        self.signalled += 1;
        self.last.extend(uses.map(|handle| (handle, self.signalled)));
        Ok(())
    }

    /// Returns the end of the last submission that used an object; `None` if there was none.
    pub(super) fn last_use(&self, handle: Handle) -> Option<Point> {
        self.last.get(&handle).map(|&value| Point { syncobj: self.syncobj, value })
    }
}

/// Returns the operation that binds all of an object.
fn map(handle: Handle, range: u64, addr: u64, pat_index: u16) -> drm_xe_vm_bind_op {
    let op = DRM_XE_VM_BIND_OP_MAP;
    drm_xe_vm_bind_op { obj: handle.get(), pat_index, range, addr, op, ..Default::default() }
}

/// Returns whether the kernel runs nothing more of a queue: `DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY`, 0xc0286448.
fn is_banned(fd: BorrowedFd<'_>, queue: u32) -> Result<bool> {
    let property = DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN;
    let mut args = drm_xe_exec_queue_get_property { exec_queue_id: queue, property, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY, None, &mut args)? };
    Ok(args.value != 0)
}

/// Destroys a queue; an error is ignored, as closing the last copy of the file destroys it, too.
fn destroy_queue(fd: BorrowedFd<'_>, queue: u32) {
    let mut args = drm_xe_exec_queue_destroy { exec_queue_id: queue, ..Default::default() };
    // SAFETY: no address in it; integers only.
    let _ = unsafe { call(fd, DRM_IOCTL_XE_EXEC_QUEUE_DESTROY, None, &mut args) };
}

/// Waits for a point: `DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT`, 0xc03064ca. A negative timeout is none.
///
/// # Errors
/// ETIME.
pub(super) fn wait(fd: BorrowedFd<'_>, point: Point, timeout_ns: i64) -> Result<()> {
    let mut args = drm_syncobj_timeline_wait {
        handles: std::ptr::from_ref(&point.syncobj) as u64,
        points: std::ptr::from_ref(&point.value) as u64,
        timeout_nsec: until(timeout_ns)?,
        count_handles: 1,
        ..Default::default()
    };
    // SAFETY:
    // - `handles`, `points`: the addresses of one live number each, which the kernel only reads;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, None, &mut args) }
}

/// Returns the time of the monotonic clock at the end of a timeout, so that a restarted wait ends when the first one would have.
fn until(timeout_ns: i64) -> Result<i64> {
    match timeout_ns {
        // The kernel does not sleep.
        0 => Ok(0),
        ..0 => Ok(i64::MAX),
        _ => {
            let refused = |errno: nix::Error| Error::Ioctl {
                request: "clock_gettime",
                errno: Errno::new(errno as i32),
            };
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(refused)?;
            Ok(now.num_nanoseconds().saturating_add(timeout_ns))
        }
    }
}
