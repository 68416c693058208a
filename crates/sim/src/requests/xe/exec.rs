//! EXEC: a submission to an exec queue.

use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency_uapi::xe::{DRM_IOCTL_XE_EXEC, DRM_XE_MAX_SYNCS, drm_xe_exec};

use super::bind::pin_again;
use super::syncs::{Syncs, UserFences};
use super::tables::Queue;
use crate::gpu::{Batch, Bindings, Code, Privilege};
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::system::System;
use crate::kernel::spaces::AddressSpace;
use crate::kernel::spaces::vm::Vm;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::fence::Fence;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_EXEC, Everyone => exec;
};

/// The most submissions of a queue that are not done (`XE_MAX_JOB_COUNT_PER_EXEC_QUEUE`).
const MOST_IN_FLIGHT: usize = 1000;

/// `xe_exec_ioctl`.
fn exec(caller: &mut Caller<'_>, args: &mut drm_xe_exec) -> Result<()> {
    let request = DRM_IOCTL_XE_EXEC.name;
    caller.device.system.enter(request, Needs::Gpu)?;
    submit(caller, args).or_else(|errno| refuse(request, errno))
}

/// Checks the request, and submits its batches.
fn submit(caller: &mut Caller<'_>, args: &drm_xe_exec) -> Result<(), Errno> {
    let request = DRM_IOCTL_XE_EXEC.name;
    let device = caller.device;
    let is_reserved = args.extensions != 0 || args.pad != [0; 3] || args.reserved != [0; 2];
    if is_reserved || args.num_syncs > DRM_XE_MAX_SYNCS {
        return Err(Errno::EINVAL);
    }
    let queue = device.tables().queue(args.exec_queue_id).ok_or(Errno::ENOENT)?;
    let Queue::Batches { vm, engines, owner } = &*queue else { return Err(Errno::EINVAL) };
    if args.num_batch_buffer != 0 && usize::from(args.num_batch_buffer) != engines.len() {
        return Err(Errno::EINVAL);
    }
    if queue.is_reset() || device.system.injected_faults.is_wedged() {
        return Err(Errno::ECANCELED);
    }
    let in_flight = || engines.first().map_or(0, |&engine| device.gpu.in_flight(owner, engine));
    if in_flight() >= MOST_IN_FLIGHT && device.system.machine.kernel >= LINUX_7_2 {
        return Err(Errno::EAGAIN);
    }
    let is_long_running = vm.mode.is_long_running;
    let syncs = Syncs::read(caller, args.syncs, args.num_syncs, is_long_running, UserFences::OfGpu)?;
    let mut addresses = vec![args.address];
    if args.num_batch_buffer > 1 {
        addresses = vec![0; engines.len()];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut addresses);
        if caller.memory.read(args.address, bytes) < bytes.len() {
            return Err(Errno::EFAULT);
        }
    }
    if args.num_batch_buffer == 0 {
        addresses.clear();
    }
    if !addresses.is_empty() && !is_long_running && vm.shares_a_foreign_reservation() {
        return Err(Errno::EALREADY);
    }
    if vm.is_closed() && !addresses.is_empty() {
        return Err(Errno::ECANCELED);
    }
    // Submissions wait outside of the ring. 6.12 takes as many as memory has room for; here it waits.
    let has_room = || in_flight() < MOST_IN_FLIGHT;
    caller.patience.wait(request, None, has_room).map_err(|error| error.errno())?;
    if !is_long_running {
        pin_again(caller, vm)?;
    }
    if !addresses.is_empty() {
        validate(vm, &device.system)?;
    }
    let mut fence = Fence::default();
    if addresses.is_empty() && is_long_running {
        return Ok(());
    }
    if addresses.is_empty() {
        syncs.alone(device.system.machine.kernel)?;
        // On the queue's timeline.
        if let Some(&engine) = engines.first() {
            let mut turn = device.gpu.begin(owner.clone(), engine);
            syncs.waits.iter().for_each(|wait| turn.wait_for(wait, false));
            fence = turn.fence();
            turn.submit(None);
        }
    }
    for (&start, &engine) in addresses.iter().zip(engines) {
        let mut turn = device.gpu.begin(owner.clone(), engine);
        syncs.waits.iter().for_each(|wait| turn.wait_for(wait, false));
        fence.merge(&turn.fence());
        let stored = syncs.user_fence.map(|fence| (fence.address, fence.value));
        turn.submit(Some(Batch {
            engine,
            privilege: Privilege::User,
            start,
            code: Code::InPlace,
            bindings: Bindings::new(AddressSpace::Vm(Arc::clone(vm)), std::iter::empty()),
            owner: owner.clone(),
            is_long_running,
            stored: stored.into_iter().collect(),
            real_gpu: None,
        }));
    }
    syncs.signal(&fence);
    Ok(())
}

/// Brings the objects of a VM back that have moved since they were bound (`xe_vm_validate_rebind`). Those that it maps are locked, and make no room
/// for each other. In a long-running VM a worker of the driver does that (`preempt_rebind_work_func`).
///
/// # Errors
/// As [`Object::validate`].
fn validate(vm: &Vm, system: &System) -> Result<(), Errno> {
    let spares = |object: &Object| vm.owns(object) || vm.maps(object.id());
    for object in vm.moved() {
        // Nothing is bound of a purged one.
        if !object.state().purged {
            object.validate(DRM_IOCTL_XE_EXEC.name, &spares).map_err(|error| error.errno())?;
        }
        vm.validated(&object);
    }
    if !vm.mode.is_long_running && system.accounting.local_bytes().is_some() {
        // Objects that are not the VM's alone keep their places (`xe_exec_ioctl`).
        system.used(vm.objects().into_iter().filter(|object| vm.owns(object)).collect());
    }
    Ok(())
}
