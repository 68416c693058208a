//! MADVISE: a new PAT index for a range, advice about atomics, and purgeable objects; VM_QUERY_MEM_RANGE_ATTRS.

use std::ops::Range;
use std::sync::atomic::Ordering;

use gem_coherency::Errno;
use gem_coherency::backend::Advice;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::xe::{self, Bound, LOCAL, SYSTEM};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_MADVISE, DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS, drm_xe_madvise, drm_xe_mem_range_attr,
    drm_xe_vm_query_mem_range_attr,
};

use super::bind::created;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::object::Object;
use crate::kernel::spaces::vm::{Mapping, Memory, level_of};
use crate::observe::asked::{AskedMemory, AskedRequest};
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};

/// The requests that 6.12 lacks.
pub(in crate::requests) static SINCE_7_2: &[Entry] = entries! {
    DRM_IOCTL_XE_MADVISE, Everyone => madvise;
    DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS, Everyone => query;
};

/// The types of advice (`DRM_XE_MEM_RANGE_ATTR_PREFERRED_LOC`, `_ATOMIC`, `_PAT`, `DRM_XE_VMA_ATTR_PURGEABLE_STATE`).
const PREFERRED_LOCATION: u32 = 0;
const ATOMIC: u32 = 1;
const PAT: u32 = 2;
const PURGEABLE: u32 = 3;
/// The number of system memory as a location, and the largest migration policy (`DRM_XE_PREFERRED_LOC_DEFAULT_SYSTEM`,
/// `DRM_XE_MIGRATE_ONLY_SYSTEM_PAGES`).
const SYSTEM_LOCATION: i32 = -1;
const MOST_POLICY: u32 = 1;
/// The most bytes of an array of the kernel (`kvmalloc_array`).
const MOST_BYTES: u64 = i32::MAX as u64;
/// The agents of atomics: the device, it and the CPU, the CPU alone (`DRM_XE_ATOMIC_DEVICE`, `_GLOBAL`, `_CPU`).
const DEVICE: u32 = 1;
const GLOBAL: u32 = 2;
const CPU: u32 = 3;

/// `xe_vm_madvise_ioctl`.
fn madvise(caller: &mut Caller<'_>, args: &mut drm_xe_madvise) -> Result<()> {
    let request = DRM_IOCTL_XE_MADVISE.name;
    caller.device.system.enter(request, Needs::Memory)?;
    advise(caller, args).or_else(|errno| refuse(request, errno))
}

/// Checks the request, and applies the advice.
fn advise(caller: &mut Caller<'_>, args: &drm_xe_madvise) -> Result<(), Errno> {
    let device = caller.device;
    let kernel = device.system.xe.ok_or(Errno::ENODEV)?;
    let vm = device.tables().vm(args.vm_id).ok_or(Errno::EINVAL)?;
    let [value, second, third, fourth] = args.pat_index;
    let start = args.start & ((1 << kernel.device.platform.address_bits) - 1);
    let range = start..start.saturating_add(args.range);
    // The other types have the checks of the range in common, which an index of no coherency passes.
    if args.r#type != PAT {
        let reserved = args.reserved != [0; 2];
        let plain = kernel.device.madvise_pat(args.start, args.range, 0, reserved, &[]);
        device.unless_lacking(plain).map_err(|refusal| refusal.errno)?;
    }
    // The kernel splits mappings after it has checked the arguments alone.
    let split = || {
        vm.split(&range);
        vm.in_range(&range)
    };
    match args.r#type {
        PAT => {
            let reserved = [second, third, fourth] != [0; 3] || args.reserved != [0; 2];
            let index = u16::try_from(value).unwrap_or(u16::MAX);
            let is_sane = kernel.device.madvise_pat(args.start, args.range, index, reserved, &[]).is_ok();
            let found = if is_sane { split() } else { vm.in_range(&range) };
            let known: Vec<_> =
                found.iter().map(|(start, mapping)| Found::new(*start, mapping, &range)).collect();
            let bound: Vec<_> = known.iter().filter_map(Found::bound).collect();
            let answer = kernel.device.madvise_pat(args.start, args.range, index, reserved, &bound);
            let answer = device.unless_lacking(answer);
            device.system.trace.ask(answer.err(), || AskedRequest::Advise {
                start: args.start,
                range: args.range,
                pat_index: index,
                reserved,
                found: known
                    .iter()
                    .zip(&found)
                    .filter_map(|(found, (_, at))| found.asked(at, is_sane))
                    .collect(),
            });
            answer.map_err(|refusal| {
                let refused = |bound: &Found| {
                    let bound: Vec<_> = bound.bound().into_iter().collect();
                    kernel.device.madvise_pat(args.start, args.range, index, reserved, &bound) == Err(refusal)
                };
                let mapping =
                    known.iter().zip(&found).find(|(bound, _)| refused(bound)).map(|(_, (_, it))| it);
                let object = mapping.and_then(|mapping| match &mapping.memory {
                    Memory::Object { object, .. } => Some(&***object),
                    Memory::Null => None,
                });
                device.refused(DRM_IOCTL_XE_MADVISE.name, refusal, object, args.range)
            })?;
            vm.advise(&range, |mapping| {
                if mapping.pat_index == index {
                    return;
                }
                mapping.pat_index = index;
                if let Memory::Object { object, .. } = &mapping.memory {
                    mapping.level = level_of(&kernel.device, &created(object), index);
                    mapping.is_present = false;
                }
            });
            Ok(())
        }
        PREFERRED_LOCATION => {
            // A location is a device's file, the device's own memory, or the system's; a policy, a region and a reserved field follow.
            let (location, policy, region) = (value as i32, second & 0xffff, second >> 16);
            let is_known = location >= SYSTEM_LOCATION && policy <= MOST_POLICY && (third, fourth) == (0, 0);
            match location {
                _ if !is_known => Err(Errno::EINVAL),
                ..=0 if region != 0 => Err(Errno::EINVAL),
                ..=0 => {
                    split();
                    Ok(())
                }
                // No file here is of a device whose memory another one reaches.
                1.. => Err(Errno::ENOENT),
            }
        }
        ATOMIC if value <= CPU && [second, third, fourth] == [0; 3] => {
            let found = split();
            let objects = found.iter().filter_map(|(_, mapping)| mapping.object());
            if !objects.into_iter().all(|object| may_be_atomic(object, value)) {
                return Err(Errno::EINVAL);
            }
            vm.advise(&range, |mapping| {
                let was = mapping.atomic;
                let Memory::Object { object, .. } = &mapping.memory else {
                    mapping.atomic = value;
                    return;
                };
                let Some(of_xe) = &object.xe else { return };
                let is_of_process = object.state().snapshot.backing == Backing::Userptr;
                if is_of_process && value != DEVICE {
                    return;
                }
                mapping.atomic = value;
                // Relaxed: requests that run beside each other may come in any order.
                let of_object =
                    if is_of_process { value } else { of_xe.atomic.swap(value, Ordering::Relaxed) };
                if was != value || of_object != value {
                    mapping.is_present = false;
                }
            });
            Ok(())
        }
        PURGEABLE if value <= 1 && second == 0 => {
            let retained = u64::from(third) | u64::from(fourth) << 32;
            let mut before = [0; 4];
            if retained != 0 && caller.memory.read(retained, &mut before) < before.len() {
                return Err(Errno::EFAULT);
            }
            if before != [0; 4] {
                return Err(Errno::EINVAL);
            }
            let found = split();
            let advice = if value == 0 { Advice::WillNeed } else { Advice::DontNeed };
            let objects: Vec<_> = found.iter().filter_map(|(_, mapping)| mapping.object()).cloned().collect();
            drop(found);
            vm.advise(&range, |mapping| {
                if let Memory::Object { object, .. } = &mut mapping.memory {
                    object.advise(advice);
                }
            });
            objects.iter().for_each(|object| object.weigh());
            let are_kept = objects.iter().all(|object| !object.state().purged);
            if retained != 0 && caller.memory.write(retained, &u32::from(are_kept).to_le_bytes()) < 4 {
                return Err(Errno::EFAULT);
            }
            Ok(())
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Returns whether an object may have this advice about atomics, by where it may be (`check_bo_args_are_sane`).
fn may_be_atomic(object: &Object, value: u32) -> bool {
    if object.state().snapshot.backing == Backing::Userptr {
        return true;
    }
    let placement = object.xe.as_ref().map_or(SYSTEM, |of_xe| of_xe.created.placement);
    let (system, local) = (placement & SYSTEM != 0, placement & LOCAL != 0);
    match value {
        DEVICE => system || local,
        GLOBAL => system && local,
        CPU => system,
        _ => true,
    }
}

/// `xe_vm_query_vmas_attrs_ioctl`.
fn query(caller: &mut Caller<'_>, args: &mut drm_xe_vm_query_mem_range_attr) -> Result<()> {
    let request = DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS.name;
    caller.device.system.enter(request, Needs::Memory)?;
    attributes(caller, args).or_else(|errno| refuse(request, errno))
}

/// Counts the mappings in a range, or describes them: their addresses, the advice about atomics, and the PAT index. Advice about the location
/// concerns the process's memory of VMs with page faults, which is not here.
fn attributes(caller: &mut Caller<'_>, args: &mut drm_xe_vm_query_mem_range_attr) -> Result<(), Errno> {
    let bytes = size_of::<drm_xe_mem_range_attr>() as u64;
    let (count, vector) = (args.num_mem_ranges, args.vector_of_mem_attr);
    let is_sane = match count {
        0 => vector == 0 && args.sizeof_mem_range_attr == 0,
        _ => vector != 0 && args.sizeof_mem_range_attr == bytes,
    };
    let vm = caller.device.tables().vm(args.vm_id).filter(|_| is_sane).ok_or(Errno::EINVAL)?;
    let end = args.start.wrapping_add(args.range);
    let found = match args.range {
        // The mapping around an address that it does not begin at (`drm_gpuva_find_first`).
        0 => vm.in_range(&(args.start.saturating_sub(1)..args.start)),
        _ if args.start < end => vm.in_range(&(args.start..end)),
        _ => Vec::new(),
    };
    let reaches = |&(start, ref mapping): &(u64, Mapping)| start + mapping.len > args.start;
    let found: Vec<_> = found.into_iter().filter(reaches).collect();
    let number = u32::try_from(found.len()).unwrap_or(u32::MAX);
    if count == 0 {
        (args.num_mem_ranges, args.sizeof_mem_range_attr) = (number, bytes);
        return Ok(());
    }
    if u64::from(count) * bytes > MOST_BYTES {
        return Err(if count > 1 { Errno::ENOBUFS } else { Errno::ENOMEM });
    }
    if number > count {
        return Err(Errno::ENOSPC);
    }
    args.num_mem_ranges = number;
    let described = found.iter().map(|(start, mapping)| drm_xe_mem_range_attr {
        start: *start,
        end: start + mapping.len,
        atomic: mapping.atomic,
        pat_index: mapping.pat_index.into(),
        ..Default::default()
    });
    let described: Vec<drm_xe_mem_range_attr> = described.collect();
    let answer: &[u8] = bytemuck::cast_slice(&described);
    if caller.memory.write(vector, answer) < answer.len() { Err(Errno::EFAULT) } else { Ok(()) }
}

/// A mapping that a MADVISE finds.
enum Found {
    Object(xe::Object),
    Process,
    PartOfProcess,
    Null,
}

impl Found {
    fn new(start: u64, mapping: &Mapping, range: &Range<u64>) -> Self {
        let Memory::Object { object, .. } = &mapping.memory else { return Self::Null };
        if object.state().snapshot.backing != Backing::Userptr {
            return Self::Object(created(object));
        }
        let is_whole = start >= range.start && start + mapping.len <= range.end;
        if is_whole { Self::Process } else { Self::PartOfProcess }
    }

    /// Returns the memory as other platforms are asked about it. Unless the mapping is split here, they split it.
    fn asked(&self, mapping: &Mapping, is_split: bool) -> Option<AskedMemory> {
        match self {
            Self::Object(_) => Some(AskedMemory::Object(mapping.object()?.as_asked())),
            Self::PartOfProcess if is_split => Some(AskedMemory::PartOfProcess),
            Self::Process | Self::PartOfProcess => Some(AskedMemory::Process),
            Self::Null => None,
        }
    }

    fn bound(&self) -> Option<Bound<'_>> {
        match self {
            Self::Object(object) => Some(Bound::Object(object)),
            Self::Process => Some(Bound::Process),
            Self::PartOfProcess => Some(Bound::PartOfProcess),
            Self::Null => None,
        }
    }
}
