//! Exec queues: EXEC_QUEUE_CREATE, _DESTROY, _GET_PROPERTY and _SET_PROPERTY.

use std::sync::Arc;

use bytemuck::Zeroable;
use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency::platform::{Engine, EngineClass, GraphicsVersion, Machine};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_EXEC_QUEUE_CREATE, DRM_IOCTL_XE_EXEC_QUEUE_DESTROY, DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY,
    DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY, DRM_XE_ENGINE_CLASS_RENDER, DRM_XE_ENGINE_CLASS_VM_BIND,
    DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN, DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT,
    DRM_XE_EXEC_QUEUE_SET_PROPERTY_MULTI_QUEUE_PRIORITY, drm_xe_engine_class_instance,
    drm_xe_exec_queue_create, drm_xe_exec_queue_destroy, drm_xe_exec_queue_get_property,
    drm_xe_exec_queue_set_property,
};

use super::properties;
use super::tables::Queue;
use crate::SimDevice;
use crate::gpu::{Lane, Owner};
use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_EXEC_QUEUE_CREATE, Everyone => create;
    DRM_IOCTL_XE_EXEC_QUEUE_DESTROY, Everyone => destroy;
    DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY, Everyone => get_property;
};

/// The request that 6.12 lacks.
pub(in crate::requests) static SINCE_7_2: &[Entry] = entries! {
    DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY, Everyone => set_property;
};

/// Largest number of engines of a queue (`XE_HW_ENGINE_MAX_INSTANCE`).
const MOST_ENGINES: u32 = 9;
/// The properties (`DRM_XE_EXEC_QUEUE_SET_PROPERTY_PRIORITY`, `_TIMESLICE`, `_PXP_TYPE`, `_MULTI_GROUP`,
/// `DRM_XE_EXEC_QUEUE_SET_DISABLE_STATE_CACHE_PERF_FIX`).
const PRIORITY: u32 = 0;
const TIMESLICE: u32 = 1;
const PXP_TYPE: u32 = 2;
const MULTI_GROUP: u32 = 4;
const STATE_CACHE: u32 = 6;
/// The highest priority, and that without CAP_SYS_NICE (`XE_EXEC_QUEUE_PRIORITY_HIGH`, `_NORMAL`).
const HIGH: u64 = 2;
const NORMAL: u64 = 1;
/// The bounds of a timeslice in microseconds (`CONFIG_DRM_XE_TIMESLICE_*`).
const TIMESLICES: std::ops::RangeInclusive<u64> = 1..=10_000_000;

/// Returns the GT that has an engine: Meteor Lake has its video engines in a GT of their own.
pub(crate) fn gt_of(machine: Machine, engine: Engine) -> u16 {
    let is_video = matches!(engine.class, EngineClass::Video | EngineClass::VideoEnhance);
    u16::from(is_video && has_media_gt(machine))
}

/// Returns whether the video engines have a GT of their own (`media_ver` 13 and later).
///
/// The emulated devices of Xe2 and later have that GT fused off.
pub(super) fn has_media_gt(machine: Machine) -> bool {
    let graphics = machine.platform.graphics;
    graphics.major == 12 && graphics >= GraphicsVersion::new(12, 70)
}

/// `xe_exec_queue_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_xe_exec_queue_create) -> Result<()> {
    let request = DRM_IOCTL_XE_EXEC_QUEUE_CREATE.name;
    let device = caller.device;
    device.system.enter(request, Needs::Gpu)?;
    let is_7_2 = device.system.machine.kernel >= LINUX_7_2;
    let known = if is_7_2 { DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT } else { 0 };
    if args.flags & !known != 0 || args.reserved != [0; 2] {
        return refuse(request, Errno::EINVAL);
    }
    let count = u32::from(args.width) * u32::from(args.num_placements);
    if count == 0 || count > MOST_ENGINES {
        return refuse(request, Errno::EINVAL);
    }
    let mut names = vec![drm_xe_engine_class_instance::zeroed(); count as usize];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut names);
    if caller.memory.read(args.instances, bytes) < bytes.len() {
        return refuse(request, Errno::EFAULT);
    }
    let machine = device.system.machine;
    if is_7_2 {
        // The kernel keeps the low byte of a GT's number.
        names.iter_mut().for_each(|name| name.gt_id &= 0xff);
    }
    let Some(first) = names.first().filter(|name| name.gt_id & 0xff <= u16::from(has_media_gt(machine)))
    else {
        return refuse(request, Errno::EINVAL);
    };
    let vm = || match device.tables().vm(args.vm_id) {
        Some(vm) => Ok(vm),
        None => refuse(request, Errno::ENOENT),
    };
    let queue = if first.engine_class == DRM_XE_ENGINE_CLASS_VM_BIND {
        if count != 1 || first.engine_instance != 0 {
            return refuse(request, Errno::EINVAL);
        }
        Queue::Bind { vm: if is_7_2 { Some(vm()?) } else { None } }
    } else {
        let engines = device.engines_of(&names, usize::from(args.width));
        let engines = engines.or_else(|errno| refuse(request, errno))?;
        let vm = vm()?;
        let (context, file, lane) = (Arc::default(), Arc::clone(&device.hangs), Lane::Slot(0));
        // The GuC's reset of a queue bans it.
        let owner = Owner { context, file, lane, bannable: true, recoverable: false, single_timeline: false };
        Queue::Batches { vm, engines, owner }
    };
    let class = first.engine_class;
    extend(caller, args.extensions, class).or_else(|errno| refuse(request, errno))?;
    if let Queue::Batches { vm, .. } = &queue
        && vm.mode.is_long_running
        && !vm.mode.has_faults
        && vm.shares_a_foreign_reservation()
    {
        // xe_vm_add_compute_exec_queue locks every object.
        return refuse(request, Errno::EALREADY);
    }
    match device.tables().add_queue(queue) {
        Some(id) => {
            args.exec_queue_id = id;
            Ok(())
        }
        None => refuse(request, Errno::EBUSY),
    }
}

/// Returns the highest priority that the caller may give a queue (`xe_exec_queue_device_get_max_priority`).
pub(super) fn highest_priority(caller: &Caller<'_>) -> u64 {
    if caller.memory.may_raise_priority() { HIGH } else { NORMAL }
}

/// Checks the extensions of a queue of an engine class (`exec_queue_user_extensions`): they change nothing here. The state of a hang cannot be
/// replayed.
fn extend(caller: &Caller<'_>, first: u64, class: u16) -> Result<(), Errno> {
    let is_7_2 = caller.device.system.machine.kernel >= LINUX_7_2;
    properties::walk(caller, first, |property, value| match property {
        PRIORITY if value <= highest_priority(caller) => Ok(()),
        PRIORITY if value <= HIGH => Err(Errno::EPERM),
        TIMESLICE if TIMESLICES.contains(&value) => Ok(()),
        PXP_TYPE if is_7_2 => properties::set_pxp_type(value),
        // No device here has queues in groups.
        MULTI_GROUP if is_7_2 => Err(Errno::ENODEV),
        STATE_CACHE if is_7_2 && class == DRM_XE_ENGINE_CLASS_RENDER => Ok(()),
        STATE_CACHE if is_7_2 => Err(Errno::EOPNOTSUPP),
        _ => Err(Errno::EINVAL),
    })
}

/// `xe_exec_queue_destroy_ioctl`.
fn destroy(caller: &mut Caller<'_>, args: &mut drm_xe_exec_queue_destroy) -> Result<()> {
    let request = DRM_IOCTL_XE_EXEC_QUEUE_DESTROY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if args.pad != 0 || args.reserved != [0; 2] {
        return refuse(request, Errno::EINVAL);
    }
    let removed = device.tables().remove_queue(args.exec_queue_id);
    match removed {
        Some(queue) => {
            queue.kill();
            device.gpu.look();
            Ok(())
        }
        None => refuse(request, Errno::ENOENT),
    }
}

/// `xe_exec_queue_get_property_ioctl`.
fn get_property(caller: &mut Caller<'_>, args: &mut drm_xe_exec_queue_get_property) -> Result<()> {
    let request = DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if args.reserved != [0; 2] {
        return refuse(request, Errno::EINVAL);
    }
    let queue = device.tables().queue(args.exec_queue_id);
    match (queue, args.property) {
        (None, _) => refuse(request, Errno::ENOENT),
        (Some(queue), DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN) => {
            args.value = u64::from(queue.is_reset());
            Ok(())
        }
        (Some(_), _) => refuse(request, Errno::EINVAL),
    }
}

/// `xe_exec_queue_set_property_ioctl`.
///
/// The one property that can be set is the priority in a group of queues, and no simulated device has such groups
/// (`multi_queue_engine_class_mask`): the request always fails.
fn set_property(caller: &mut Caller<'_>, args: &mut drm_xe_exec_queue_set_property) -> Result<()> {
    let request = DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    let is_known = args.property == DRM_XE_EXEC_QUEUE_SET_PROPERTY_MULTI_QUEUE_PRIORITY;
    if args.reserved == [0; 2] && is_known && device.tables().queue(args.exec_queue_id).is_none() {
        return refuse(request, Errno::ENOENT);
    }
    refuse(request, Errno::EINVAL)
}

impl SimDevice {
    /// Returns the engine of each batch of a queue: the first of its placements.
    ///
    /// # Errors
    /// EINVAL for an unknown engine, for engines of several classes, and for batches that do not run beside each other
    /// (`calc_validate_logical_mask`); EOPNOTSUPP for several batches where the class runs one.
    fn engines_of(&self, names: &[drm_xe_engine_class_instance], width: usize) -> Result<Vec<Engine>, Errno> {
        let machine = self.system.machine;
        let mut found = Vec::new();
        for name in names {
            let engine = self.engines().into_iter().find(|engine| {
                (engine.class.number(), engine.instance) == (name.engine_class, name.engine_instance)
            });
            found.push(engine.filter(|&engine| gt_of(machine, engine) == name.gt_id).ok_or(Errno::EINVAL)?);
        }
        let class = found.first().map(|engine| engine.class);
        if found.iter().any(|engine| Some(engine.class) != class) {
            return Err(Errno::EINVAL);
        }
        let masks: Vec<u32> = (0..width)
            .map(|batch| {
                found.iter().skip(batch).step_by(width).fold(0, |mask, engine| mask | 1 << engine.instance)
            })
            .collect();
        if masks.windows(2).any(|pair| pair[1] != pair[0] << 1) {
            return Err(Errno::EINVAL);
        }
        if width > 1 && !matches!(class, Some(EngineClass::Video | EngineClass::VideoEnhance)) {
            return Err(Errno::EOPNOTSUPP);
        }
        found.truncate(width);
        Ok(found)
    }
}
