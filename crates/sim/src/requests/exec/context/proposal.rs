//! Parameters of a context that was not looked up yet (`set_proto_ctx_param`).

use gem_coherency::Errno;

use super::{engines, sseu};
use crate::requests::exec::context::kept::Kept;
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::i915_context::*;

/// The first kernel in which protected content that is not ready fails with EIO instead of ENXIO.
const RETRY_LATER: KernelVersion = KernelVersion::new(6, 5);

/// Sets a parameter.
pub(super) fn set(
    caller: &Caller<'_>,
    context: &mut Kept,
    args: &mut drm_i915_gem_context_param,
) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
    match args.param {
        I915_CONTEXT_PARAM_SSEU => sseu::propose(caller, context, args),
        I915_CONTEXT_PARAM_VM => set_space(caller, context, args),
        I915_CONTEXT_PARAM_ENGINES => engines::set(caller, context, args),
        I915_CONTEXT_PARAM_PROTECTED_CONTENT => set_protected(caller, context, args.value != 0),
        I915_CONTEXT_PARAM_NO_ERROR_CAPTURE
        | I915_CONTEXT_PARAM_BANNABLE
        | I915_CONTEXT_PARAM_RECOVERABLE
        | I915_CONTEXT_PARAM_PRIORITY
        | I915_CONTEXT_PARAM_PERSISTENCE => caller.device.set_plain(request, context, args),
        _ => refuse(request, Errno::EINVAL),
    }
}

/// `set_proto_ctx_vm`.
fn set_space(caller: &Caller<'_>, context: &mut Kept, args: &drm_i915_gem_context_param) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
    let device = caller.device;
    if args.size != 0 {
        return refuse(request, Errno::EINVAL);
    }
    if !device.system.machine.has_full_ppgtt() {
        return refuse(request, Errno::ENODEV);
    }
    let space = u32::try_from(args.value).ok().and_then(|id| device.contexts().space(id));
    let Some(space) = space else { return refuse(request, Errno::ENOENT) };
    context.space = Some(space);
    Ok(())
}

/// `proto_context_set_protected`: the firmware that it needs never becomes ready.
fn set_protected(caller: &Caller<'_>, context: &mut Kept, protected: bool) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
    let machine = caller.device.system.machine;
    if !protected {
        context.protected = false;
        return Ok(());
    }
    if !machine.has_pxp() {
        return refuse(request, Errno::ENODEV);
    }
    if context.recoverable || !context.bannable {
        return refuse(request, Errno::EPERM);
    }
    context.protected = true;
    refuse(request, if machine.kernel >= RETRY_LATER { Errno::EIO } else { Errno::ENXIO })
}
