//! Contexts: CONTEXT_CREATE, _DESTROY, _GETPARAM, _SETPARAM and GET_RESET_STATS.

mod engines;
pub(crate) mod kept;
mod proposal;
mod space;
mod sseu;

use std::sync::atomic::Ordering;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::requests::entry::{Entry, entries};
use crate::requests::exec::context::kept::Kept;
use crate::requests::{Caller, extensions, refuse};
use gem_coherency::error::Result;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_facts::{DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats};

pub(in crate::requests) use space::ENTRIES as SPACES;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, Everyone => create;
    DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, Everyone => destroy;
    DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM, Everyone => getparam;
    DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, Everyone => setparam;
    DRM_IOCTL_I915_GET_RESET_STATS, Everyone => get_reset_stats;
};

/// The known flags of CONTEXT_CREATE.
const CREATE_FLAGS: u32 =
    I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS | I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE;

/// `i915_gem_context_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_i915_gem_context_create_ext) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT.name;
    let device = caller.device;
    let machine = device.system.machine;
    device.system.enter(request, Needs::Gpu)?;
    if !machine.has_contexts() {
        return refuse(request, Errno::ENODEV);
    }
    if args.flags & !CREATE_FLAGS != 0 {
        return refuse(request, Errno::EINVAL);
    }
    if device.system.injected_faults.is_wedged() || device.hangs.is_banned() {
        return refuse(request, Errno::EIO);
    }
    let single_timeline = args.flags & I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE != 0;
    if single_timeline && !machine.has_execlists() {
        return refuse(request, Errno::EINVAL);
    }
    let mut context = Kept { single_timeline, ..Kept::default() };
    if args.flags & I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS != 0 {
        let caller = &*caller;
        let walked = extensions::walk(caller.memory, args.extensions, |name, address| {
            extend(caller, &mut context, name, address).map_err(|error| error.errno())
        });
        if let Err(errno) = walked {
            return refuse(request, errno);
        }
    }
    args.ctx_id = device.contexts().add(context);
    Ok(())
}

/// Applies one extension of CONTEXT_CREATE (`create_extensions`).
fn extend(caller: &Caller<'_>, context: &mut Kept, name: u32, address: u64) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT.name;
    if name != I915_CONTEXT_CREATE_EXT_SETPARAM {
        return refuse(request, Errno::EINVAL);
    }
    let mut set: drm_i915_gem_context_create_ext_setparam = caller.get(request, address)?;
    if set.param.ctx_id != 0 {
        return refuse(request, Errno::EINVAL);
    }
    proposal::set(caller, context, &mut set.param)
}

/// `i915_gem_context_destroy_ioctl`.
fn destroy(caller: &mut Caller<'_>, args: &mut drm_i915_gem_context_destroy) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_DESTROY.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if args.pad != 0 {
        return refuse(request, Errno::EINVAL);
    }
    match caller.device.contexts().remove(args.ctx_id) {
        Some(context) => {
            context.close();
            caller.device.gpu.look();
            Ok(())
        }
        None => refuse(request, Errno::ENOENT),
    }
}

/// `i915_gem_context_getparam_ioctl`.
fn getparam(caller: &mut Caller<'_>, args: &mut drm_i915_gem_context_param) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let mut contexts = device.contexts();
    let context = match device.settled(&mut contexts, args.ctx_id) {
        Ok(context) => context.clone(),
        Err(errno) => return refuse(request, errno),
    };
    let value = match args.param {
        I915_CONTEXT_PARAM_GTT_SIZE => space::total(&device.space_of(&context)),
        I915_CONTEXT_PARAM_NO_ERROR_CAPTURE => u64::from(context.no_error_capture),
        I915_CONTEXT_PARAM_BANNABLE => u64::from(context.bannable),
        I915_CONTEXT_PARAM_RECOVERABLE => u64::from(context.recoverable),
        I915_CONTEXT_PARAM_PERSISTENCE => u64::from(context.persistent),
        I915_CONTEXT_PARAM_PROTECTED_CONTENT => u64::from(context.protected),
        I915_CONTEXT_PARAM_PRIORITY => context.priority as u64,
        I915_CONTEXT_PARAM_SSEU => {
            drop(contexts);
            return sseu::get(caller, &context, args);
        }
        I915_CONTEXT_PARAM_VM => match context.space {
            Some(space) => u64::from(contexts.add_space(space)),
            None => return refuse(request, Errno::ENODEV),
        },
        _ => return refuse(request, Errno::EINVAL),
    };
    (args.size, args.value) = (0, value);
    Ok(())
}

/// `i915_gem_context_setparam_ioctl`: a proposal accepts more parameters than a context.
fn setparam(caller: &mut Caller<'_>, args: &mut drm_i915_gem_context_param) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let kept = device.contexts().get(args.ctx_id).cloned();
    let Some(mut context) = kept else { return refuse(request, Errno::ENOENT) };
    let done = if context.proposal {
        proposal::set(caller, &mut context, args)
    } else {
        set(caller, &mut context, args)
    };
    // A failed request may have set something, too.
    if let Some(kept) = device.contexts().get(args.ctx_id) {
        *kept = context;
    }
    done
}

/// Sets a parameter of a finalized context (`ctx_setparam`).
fn set(caller: &Caller<'_>, context: &mut Kept, args: &mut drm_i915_gem_context_param) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
    let device = caller.device;
    match args.param {
        I915_CONTEXT_PARAM_SSEU => sseu::set(caller, context, args),
        I915_CONTEXT_PARAM_PERSISTENCE if args.size == 0 && context.persistent == (args.value != 0) => Ok(()),
        I915_CONTEXT_PARAM_NO_ERROR_CAPTURE
        | I915_CONTEXT_PARAM_BANNABLE
        | I915_CONTEXT_PARAM_RECOVERABLE
        | I915_CONTEXT_PARAM_PRIORITY
        | I915_CONTEXT_PARAM_PERSISTENCE => device.set_plain(request, context, args),
        _ => refuse(request, Errno::EINVAL),
    }
}

/// `i915_gem_context_reset_stats_ioctl`; the process runs as root. No batch is ever reset for another's hang.
pub(super) fn get_reset_stats(caller: &mut Caller<'_>, args: &mut drm_i915_reset_stats) -> Result<()> {
    let request = DRM_IOCTL_I915_GET_RESET_STATS.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    if args.flags != 0 || args.pad != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let context = match device.context(args.ctx_id) {
        Ok(context) => context,
        Err(errno) => return refuse(request, errno),
    };
    // Relaxed: a statistic.
    args.reset_count = device.system.accounting.resets.load(Ordering::Relaxed) as u32;
    (args.batch_active, args.batch_pending) = (context.standing.guilty_count(), 0);
    Ok(())
}

impl SimDevice {
    /// Sets a numeric parameter, in the same way for proposals and contexts.
    fn set_plain(
        &self,
        request: &'static str,
        context: &mut Kept,
        args: &drm_i915_gem_context_param,
    ) -> Result<()> {
        let machine = self.system.machine;
        let on = args.value != 0;
        if args.size != 0 {
            return refuse(request, Errno::EINVAL);
        }
        match args.param {
            I915_CONTEXT_PARAM_NO_ERROR_CAPTURE => context.no_error_capture = on,
            I915_CONTEXT_PARAM_BANNABLE if !on && context.protected => return refuse(request, Errno::EPERM),
            I915_CONTEXT_PARAM_BANNABLE => context.bannable = on,
            I915_CONTEXT_PARAM_RECOVERABLE if on && context.protected => {
                return refuse(request, Errno::EPERM);
            }
            I915_CONTEXT_PARAM_RECOVERABLE => context.recoverable = on,
            I915_CONTEXT_PARAM_PERSISTENCE => {
                // A non-persistent context is cancelled by preemption, or else by an engine reset.
                let can_cancel = machine.can_preempt() && machine.has_reset_engine();
                if !on && !can_cancel {
                    return refuse(request, Errno::ENODEV);
                }
                context.persistent = on;
            }
            _ => {
                let priority = args.value as i64;
                if !machine.has_execlists() {
                    return refuse(request, Errno::ENODEV);
                }
                if !(I915_CONTEXT_MIN_USER_PRIORITY..=I915_CONTEXT_MAX_USER_PRIORITY).contains(&priority) {
                    return refuse(request, Errno::EINVAL);
                }
                context.priority = priority;
            }
        }
        Ok(())
    }
}
