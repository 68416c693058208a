//! VM_BIND.
//!
//! A bind takes effect when the request is made. Its out-fences signal when its in-fences have signalled.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use gem_coherency::Errno;
use gem_coherency::backend::Advice;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency::xe::{self, Bind, BindFlags, BindOp};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_EXEC, DRM_IOCTL_XE_VM_BIND, DRM_XE_MAX_SYNCS, drm_xe_vm_bind, drm_xe_vm_bind_op,
};

use super::syncs::{Syncs, UserFences};
use super::tables::Queue;
use crate::SimDevice;
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::object::{MappedObject, Object, Origin};
use crate::kernel::objects::pages::moves::{Region, Spares};
use crate::kernel::objects::state::State;
use crate::kernel::objects::userptr::UserMemory;
use crate::kernel::spaces::vm::{Mapping, Memory, Vm, level_of};
use crate::observe::asked::{AskedBind, AskedRequest, NamedObject};
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::fence::Fence;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_VM_BIND, Everyone => bind;
};

/// The number of operations that are copied in at a time.
const OPERATIONS: usize = 4096;

/// `xe_vm_bind_ioctl`.
fn bind(caller: &mut Caller<'_>, args: &mut drm_xe_vm_bind) -> Result<()> {
    let request = DRM_IOCTL_XE_VM_BIND.name;
    caller.device.system.enter(request, Needs::Memory)?;
    change(caller, args).or_else(|errno| refuse(request, errno))
}

/// An operation with its object, if it names one.
struct Operation {
    args: drm_xe_vm_bind_op,
    object: Option<Arc<Object>>,
}

/// Checks the request, and changes the VM.
fn change(caller: &mut Caller<'_>, args: &drm_xe_vm_bind) -> Result<(), Errno> {
    let request = DRM_IOCTL_XE_VM_BIND.name;
    let device = caller.device;
    let kernel = device.system.xe.ok_or(Errno::ENODEV)?;
    // From 7.2 on the VM is looked up first: its page faults decide about flags that 6.12 does not know.
    let first = match device.system.machine.kernel >= LINUX_7_2 {
        true => Some(device.tables().vm(args.vm_id).ok_or(Errno::EINVAL)?),
        false => None,
    };
    let has_faults = first.as_ref().is_some_and(|vm| vm.mode.has_faults);
    let list = read_operations(caller, args)?;
    // Only whether there is an object counts before it is looked up.
    let unknown = xe::Object::imported(0);
    let mut refused = None;
    for op in &list {
        let asked = asked(op, (op.obj != 0).then_some(&unknown));
        let answer = device.unless_lacking(kernel.device.bind_arguments(&asked, has_faults));
        if let Err(refusal) = answer {
            refused = Some((refusal, op));
            break;
        }
    }
    let ask = |refused, reaches_objects| {
        let request = || AskedRequest::Bind {
            operations: list.iter().map(|op| named(device, op)).collect(),
            faults: has_faults,
            reaches_objects,
        };
        device.system.trace.ask(refused, request);
    };
    if let Some((refusal, op)) = refused {
        ask(Some(refusal), true);
        let object = device.find(request, op.obj).ok();
        return Err(device.refused(request, refusal, object.as_deref(), op.range));
    }
    let vm = match vm_of(device, args, first) {
        Ok(vm) => vm,
        Err(errno) => {
            ask(None, false);
            return Err(errno);
        }
    };
    let range = list.iter().try_for_each(|op| kernel.device.bind_range(&asked(op, None)));
    if let Err(refusal) = range {
        ask(Some(refusal), true);
        return Err(refusal.errno);
    }
    let mut operations = Vec::new();
    for args in &list {
        let object = match args.obj {
            0 => None,
            handle => {
                let found = device.find(request, handle);
                let object = found.map_err(|error| error.errno()).inspect_err(|_| ask(None, true))?;
                let created = created(&object);
                let answer = kernel.device.bind_object(&asked(args, Some(&created)), &created);
                let answer = device.unless_lacking(answer);
                answer.map_err(|refusal| {
                    ask(Some(refusal), true);
                    device.refused(request, refusal, Some(&object), args.range)
                })?;
                Some(object)
            }
        };
        operations.push(Operation { args: *args, object });
    }
    ask(None, true);
    let user_fences = if operations.is_empty() { UserFences::Refused } else { UserFences::OfCpu };
    let syncs = Syncs::read(caller, args.syncs, args.num_syncs, vm.mode.is_long_running, user_fences)?;
    let awaited = syncs.awaited();
    if syncs.user_fence.is_some() {
        // The number is stored when the change is made.
        caller.patience.wait(request, None, || awaited.is_signalled()).map_err(|error| error.errno())?;
    }
    // What fails is found before anything is changed. A PREFETCH, and what splits large pages, finds what operations before it map.
    let looks = |operation: &Operation| operation.args.op == BindOp::Prefetch as u32;
    let has_large_pages =
        kernel.device.platform.local_page_bytes.is_some_and(|bytes| u64::from(bytes) > PAGE_BYTES);
    let is_tried = operations.len() > 1 && (has_large_pages || operations.iter().any(looks));
    let trial = is_tried.then(|| vm.copy());
    let mut mappings = Vec::new();
    // The objects of the request are locked, and those of the VM are spared where they could not be brought back (`vma_lock_and_validate`).
    let keeps_own = vm.mode.is_preempted() || operations.len() > 1;
    let is_named = |id| {
        operations.iter().filter_map(|operation| operation.object.as_ref()).any(|object| object.id() == id)
    };
    let spares = |object: &Object| is_named(object.id()) || keeps_own && vm.owns(object);
    for operation in &operations {
        let found = trial.as_ref().unwrap_or(&vm);
        prefetch(found, &operation.args, &|object| spares(object) || vm.owns(object))?;
        can_split(found, &operation.args, kernel.device.platform.local_page_bytes)?;
        let mapping = mapping_of(caller, &kernel.device, operation, &spares)?;
        if let Some(trial) = &trial {
            apply(trial, operation, mapping.clone());
        }
        mappings.push(mapping);
    }
    let mut is_work = false;
    for (operation, mapping) in operations.iter().zip(mappings) {
        is_work |= apply(&vm, operation, mapping);
    }
    if !is_work {
        syncs.alone(device.system.machine.kernel)?;
    }
    if let Some(fence) = syncs.user_fence
        && caller.memory.write(fence.address, &fence.value.to_le_bytes()) < 8
    {
        tracing::debug!(address = fence.address, "a user fence that cannot be stored");
    }
    syncs.signal(&awaited_or_done(awaited));
    Ok(())
}

/// Returns the VM that is changed: the one that was looked up `first`, or the request's.
///
/// # Errors
/// Those of the VM and the queue.
fn vm_of(device: &SimDevice, args: &drm_xe_vm_bind, first: Option<Arc<Vm>>) -> Result<Arc<Vm>, Errno> {
    let queue = match args.exec_queue_id {
        0 => None,
        id => Some(device.tables().queue(id).ok_or(Errno::ENOENT)?),
    };
    if queue.as_ref().is_some_and(|queue| !matches!(&**queue, Queue::Bind { .. })) {
        return Err(Errno::EINVAL);
    }
    let vm = first.map_or_else(|| device.tables().vm(args.vm_id).ok_or(Errno::EINVAL), Ok)?;
    if let Some(Queue::Bind { vm: Some(of_queue) }) = queue.as_deref()
        && !Arc::ptr_eq(of_queue, &vm)
    {
        return Err(Errno::EINVAL);
    }
    if vm.is_closed() { Err(Errno::ENOENT) } else { Ok(vm) }
}

/// Returns an operation as other platforms are asked about it.
fn named(device: &SimDevice, op: &drm_xe_vm_bind_op) -> AskedBind {
    let object = (op.obj != 0).then(|| match device.find(DRM_IOCTL_XE_VM_BIND.name, op.obj) {
        Ok(object) => NamedObject::Known(object.as_asked()),
        Err(_) => NamedObject::Missing,
    });
    AskedBind {
        op: op.op,
        flags: BindFlags::from_bits_retain(op.flags),
        offset: op.obj_offset,
        address: op.addr,
        range: op.range,
        pat_index: op.pat_index,
        region: op.prefetch_mem_region_instance,
        object,
    }
}

/// Makes the change of an operation, which maps this; returns whether page tables change.
fn apply(vm: &Vm, Operation { args, object }: &Operation, mapping: Option<Mapping>) -> bool {
    let range = args.addr..args.addr.saturating_add(args.range);
    let is_work = has_work(vm, args, object.as_deref(), &range);
    match (mapping, object) {
        (Some(mapping), _) => vm.map(args.addr, mapping),
        (None, Some(object)) if args.op == BindOp::UnmapAll as u32 => vm.unmap_object(object.id()),
        // Of a mirror of the process nothing is shown to the GPU.
        (None, None) if is_mirror(args) || args.op == BindOp::Unmap as u32 => vm.unmap(range),
        (None, _) => {}
    }
    is_work
}

/// Returns whether an operation mirrors the process's address space.
fn is_mirror(args: &drm_xe_vm_bind_op) -> bool {
    BindFlags::from_bits_retain(args.flags).contains(BindFlags::CPU_ADDR_MIRROR)
}

/// Returns whether an operation changes page tables (`vm_ops_setup_tile_args`): not if it finds nothing mapped, nor for a mapping that waits for a
/// page fault.
fn has_work(vm: &Vm, args: &drm_xe_vm_bind_op, object: Option<&Object>, range: &Range<u64>) -> bool {
    let is_immediate = !vm.mode.has_faults
        // The scratch page's entries go (`__xe_vm_needs_clear_scratch_pages`).
        || vm.mode.has_scratch
        || BindFlags::from_bits_retain(args.flags).contains(BindFlags::IMMEDIATE);
    let maps = args.op == BindOp::Map as u32 || args.op == BindOp::MapUserptr as u32;
    if args.op == BindOp::UnmapAll as u32 {
        return object.is_some_and(|object| vm.maps(object.id()));
    }
    maps && is_immediate && !is_mirror(args) || !vm.in_range(range).is_empty()
}

/// Returns the fence of a change: that of what it waits for, or one that is signalled now.
fn awaited_or_done(awaited: Fence) -> Fence {
    if awaited.is_signalled() { Fence::default() } else { awaited }
}

/// Reads the operations (`vm_bind_ioctl_check_args`).
fn read_operations(caller: &Caller<'_>, args: &drm_xe_vm_bind) -> Result<Vec<drm_xe_vm_bind_op>, Errno> {
    let is_reserved = args.pad != 0 || args.pad2 != 0 || args.reserved != [0; 2] || args.extensions != 0;
    // 6.12 has no limit of the fences but memory.
    if is_reserved || args.num_syncs > DRM_XE_MAX_SYNCS {
        return Err(Errno::EINVAL);
    }
    match args.num_binds {
        0 => Ok(Vec::new()),
        1 => Ok(vec![args.bind]),
        count => {
            let size = size_of::<drm_xe_vm_bind_op>() as u64;
            // The most that kvmalloc allocates.
            if u64::from(count) * size > i32::MAX as u64 {
                return Err(Errno::ENOBUFS);
            }
            // The union's first field is the array's address.
            let mut at = args.bind.extensions;
            let mut list = Vec::new();
            // Some at a time: a long array costs few copies, and one that is not there no memory.
            while list.len() < count as usize {
                let done = list.len();
                list.resize((done + OPERATIONS).min(count as usize), drm_xe_vm_bind_op::zeroed());
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(list.get_mut(done..).unwrap_or_default());
                if caller.memory.read(at, bytes) < bytes.len() {
                    return Err(Errno::EFAULT);
                }
                at = at.wrapping_add(bytes.len() as u64);
            }
            Ok(list)
        }
    }
}

/// Returns an operation as the rules ask about it.
fn asked<'a>(op: &drm_xe_vm_bind_op, object: Option<&'a xe::Object>) -> Bind<'a> {
    Bind {
        op: op.op,
        flags: BindFlags::from_bits_retain(op.flags),
        object,
        offset: op.obj_offset,
        address: op.addr,
        range: op.range,
        pat_index: op.pat_index,
        region: op.prefetch_mem_region_instance,
    }
}

/// Returns how an object was created; an import and the process's own pages count as imports.
pub(super) fn created(object: &Object) -> xe::Object {
    object.xe.as_ref().map_or(xe::Object::imported(object.size()), |of_xe| of_xe.created)
}

/// Moves what a PREFETCH finds to its memory region (`xe_bo_migrate`).
///
/// # Errors
/// As [`Object::migrate`]; EINVAL and EBUSY for an object that is not wanted.
fn prefetch(vm: &Vm, args: &drm_xe_vm_bind_op, spares: Spares<'_>) -> Result<(), Errno> {
    let region = 1_u32.checked_shl(args.prefetch_mem_region_instance);
    // The region that MADVISE chose is one where the object may be, and it stays where it is.
    let Some(region) = region.filter(|_| args.op == BindOp::Prefetch as u32) else { return Ok(()) };
    let range = args.addr..args.addr.saturating_add(args.range);
    for (_, mapping) in vm.in_range(&range) {
        let Some(object) = mapping.object().filter(|object| object.xe.is_some()) else { continue };
        is_wanted(&object.state())?;
        let region = Region::of_bit(region).ok_or(Errno::EINVAL)?;
        object.migrate(DRM_IOCTL_XE_VM_BIND.name, region, spares).map_err(|error| error.errno())?;
    }
    Ok(())
}

/// Checks that what is left of the mappings of local memory that an operation splits has whole pages (`xe_pt_stage_bind_entry`).
///
/// # Errors
/// EINVAL.
fn can_split(vm: &Vm, args: &drm_xe_vm_bind_op, page_bytes: Option<u32>) -> Result<(), Errno> {
    let splits = [BindOp::Map, BindOp::Unmap, BindOp::MapUserptr].iter().any(|&op| args.op == op as u32);
    let Some(page) = page_bytes.map(u64::from).filter(|_| splits) else { return Ok(()) };
    let range = args.addr..args.addr.saturating_add(args.range);
    let is_whole = |(start, mapping): &(u64, Mapping)| {
        let is_local =
            mapping.object().is_some_and(|object| object.state().snapshot.backing == Backing::Local);
        let end = start + mapping.len;
        let before = *start >= range.start || range.start.is_multiple_of(page);
        !is_local || before && (end <= range.end || range.end.is_multiple_of(page))
    };
    if vm.in_range(&range).iter().all(is_whole) { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Returns what an operation maps, with its pages; `None` if it maps nothing.
///
/// # Errors
/// As [`Object::validate`]; EBUSY and EINVAL for an object that is not wanted; EFAULT for pages of the process that are not there.
fn mapping_of(
    caller: &mut Caller<'_>,
    kernel: &xe::Device,
    operation: &Operation,
    spares: Spares<'_>,
) -> Result<Option<Mapping>, Errno> {
    let request = DRM_IOCTL_XE_VM_BIND.name;
    let Operation { args, object } = operation;
    let flags = BindFlags::from_bits_retain(args.flags);
    let mapping = |memory, level| Mapping {
        atomic: 0,
        len: args.range,
        memory,
        pat_index: args.pat_index,
        level,
        moves: 0,
        is_read_only: flags.contains(BindFlags::READONLY),
        is_present: true,
    };
    if args.op == BindOp::MapUserptr as u32 {
        let device = caller.device;
        let snapshot = device.foreign_state(Backing::Userptr).ok_or(Errno::ENODEV)?;
        let memory = &mut *caller.memory;
        let is_read_only = flags.contains(BindFlags::READONLY);
        let user = UserMemory::new(memory.id(), memory.program.clone(), args.obj_offset, is_read_only);
        let object = Object::of_user(&device.system, args.range, snapshot, user);
        object
            .validate_user_pages(request, Some(memory))
            .map_err(|error| userptr_errno(error.errno(), caller, args))?;
        // The rules accept snooping indices only.
        return Ok(Some(mapping(
            Memory::Object { object: MappedObject::new(object), offset: 0 },
            Some(CacheLevel::Llc),
        )));
    }
    if args.op != BindOp::Map as u32 || is_mirror(args) {
        return Ok(None);
    }
    let Some(object) = object else { return Ok(Some(mapping(Memory::Null, Some(CacheLevel::None)))) };
    is_wanted(&object.state())?;
    object.validate(request, spares).map_err(|error| error.errno())?;
    let level = level_of(kernel, &created(object), args.pat_index);
    let memory = Memory::Object { object: MappedObject::new(Arc::clone(object)), offset: args.obj_offset };
    Ok(Some(Mapping { moves: object.moves(), ..mapping(memory, level) }))
}

/// Checks that an object's contents were not discarded, and may not be (`vma_lock_and_validate`).
///
/// # Errors
/// EINVAL for contents that are gone; EBUSY.
fn is_wanted(state: &State) -> Result<(), Errno> {
    match (state.purged, state.advice) {
        (true, _) => Err(Errno::EINVAL),
        (false, Advice::DontNeed) => Err(Errno::EBUSY),
        (false, Advice::WillNeed) => Ok(()),
    }
}

/// Returns the errno of a userptr whose pages the kernel does not get: of the notifier for a range that does not end
/// (`mmu_interval_notifier_insert`), of the walk over the pages for one that ends with the last address (`walk_page_range`) and for
/// pages that are readable alone (`hmm_vma_fault`).
fn userptr_errno(errno: Errno, caller: &Caller<'_>, args: &drm_xe_vm_bind_op) -> Errno {
    let loads = || caller.memory.pin(args.obj_offset, args.range, false).is_some();
    match args.obj_offset.checked_add(args.range - 1) {
        None => Errno::EOVERFLOW,
        Some(u64::MAX) => Errno::EINVAL,
        Some(_) if errno == Errno::EFAULT && loads() => Errno::EPERM,
        Some(_) => errno,
    }
}

/// Gets the process's pages where it has others than before (`xe_vm_userptr_pin`). Addresses without pages are not mapped any more, whatever the
/// process maps there later.
///
/// # Errors
/// EPERM for pages that the GPU may write and the process may not.
pub(super) fn pin_again(caller: &mut Caller<'_>, vm: &Vm) -> Result<(), Errno> {
    let memory = &mut *caller.memory;
    for (start, mapping) in vm.mapped_where(|object| matches!(&object.origin, Origin::User(_))) {
        let Memory::Object { object, offset } = &mapping.memory else { continue };
        let Origin::User(user) = &object.origin else { continue };
        // The pages are those of the process that mapped them, whichever submits.
        let address = user.address + offset;
        if user.process != memory.id() || !mapping.is_present {
            continue;
        }
        if memory.pin(address, mapping.len, !user.read_only).is_some() {
            let is_whole = memory.pin(user.address, object.size(), !user.read_only).is_some();
            if is_whole && let Err(error) = object.validate_user_pages(DRM_IOCTL_XE_EXEC.name, Some(memory)) {
                return Err(error.errno());
            }
        } else if memory.pin(address, mapping.len, false).is_some() {
            return Err(Errno::EPERM);
        } else {
            vm.advise(&(start..start + mapping.len), |mapping| mapping.is_present = false);
        }
    }
    Ok(())
}
