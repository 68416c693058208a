//! The share of the GPU that a context uses: `I915_CONTEXT_PARAM_SSEU`.

use bytemuck::bytes_of;
use gem_coherency::Errno;

use crate::requests::exec::context::kept::{Kept, Slot, Sseu};
use crate::requests::{Caller, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::{Engine, EngineClass, Topology};
use gem_coherency_uapi::i915_context::*;

/// The request for [`set`] and [`propose`].
const SETPARAM: &str = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;
/// Size of the parameter in bytes.
const LEN: u32 = size_of::<drm_i915_gem_context_param_sseu>() as u32;
/// The only graphics version that lets userspace choose slices.
const CHOOSES: u8 = 11;

/// Reads the requested share and makes the checks common to all requests.
fn read(caller: &Caller<'_>, request: &'static str, address: u64) -> Result<drm_i915_gem_context_param_sseu> {
    let user: drm_i915_gem_context_param_sseu = caller.get(request, address)?;
    if user.rsvd != 0 || user.flags & !I915_CONTEXT_SSEU_FLAG_ENGINE_INDEX != 0 {
        return refuse(request, Errno::EINVAL);
    }
    Ok(user)
}

/// Finds the requested engine, and the key of its setting in the context (`lookup_user_engine`).
fn lookup(
    caller: &Caller<'_>,
    context: &Kept,
    user: &drm_i915_gem_context_param_sseu,
) -> Option<(usize, Engine)> {
    let device = caller.device;
    let by_index = user.flags & I915_CONTEXT_SSEU_FLAG_ENGINE_INDEX != 0;
    match &context.engines {
        Some(slots) if by_index => {
            let index = usize::from(user.engine.engine_instance);
            Some((index, slots.get(index)?.engine()?))
        }
        None if !by_index => {
            let engine = device.engine(user.engine.engine_class, user.engine.engine_instance)?;
            let index = device.engines().iter().position(|one| *one == engine)?;
            Some((index, engine))
        }
        Some(_) | None => None,
    }
}

/// `get_sseu`.
pub(super) fn get(
    caller: &mut Caller<'_>,
    context: &Kept,
    args: &mut drm_i915_gem_context_param,
) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM.name;
    if args.size != 0 {
        if args.size < LEN {
            return refuse(request, Errno::EINVAL);
        }
        let mut user = read(caller, request, args.value)?;
        let Some((index, _)) = lookup(caller, context, &user) else { return refuse(request, Errno::EINVAL) };
        let whole = Sseu::whole(topology(caller));
        let sseu = context.sseu.get(&index).copied().unwrap_or(whole);
        user.slice_mask = sseu.slices.into();
        user.subslice_mask = sseu.subslices.into();
        user.min_eus_per_subslice = sseu.min_eus.into();
        user.max_eus_per_subslice = sseu.max_eus.into();
        caller.put(request, args.value, bytes_of(&user))?;
    }
    args.size = LEN;
    Ok(())
}

/// `set_sseu`.
pub(super) fn set(
    caller: &Caller<'_>,
    context: &mut Kept,
    args: &mut drm_i915_gem_context_param,
) -> Result<()> {
    let user = requested(caller, args)?;
    let Some((index, engine)) = lookup(caller, context, &user) else {
        return refuse(SETPARAM, Errno::EINVAL);
    };
    if engine.class != EngineClass::Render {
        return refuse(SETPARAM, Errno::ENODEV);
    }
    store(caller, context, index, &user, args)
}

/// `set_proto_ctx_sseu`.
pub(super) fn propose(
    caller: &Caller<'_>,
    context: &mut Kept,
    args: &mut drm_i915_gem_context_param,
) -> Result<()> {
    let user = requested(caller, args)?;
    let render = |slot: Slot| match slot {
        Slot::One(engine) => engine.class == EngineClass::Render,
        Slot::Empty | Slot::Balanced { .. } | Slot::Parallel { .. } => false,
    };
    let by_index = user.flags & I915_CONTEXT_SSEU_FLAG_ENGINE_INDEX != 0;
    let index = usize::from(user.engine.engine_instance);
    let fine = match &context.engines {
        Some(slots) => by_index && slots.get(index).is_some_and(|&slot| render(slot)),
        None => !by_index && user.engine.engine_class == I915_ENGINE_CLASS_RENDER && index == 0,
    };
    if !fine {
        return refuse(SETPARAM, Errno::EINVAL);
    }
    store(caller, context, index, &user, args)
}

/// Reads the share that CONTEXT_SETPARAM requests and makes the checks that precede the engine's lookup.
fn requested(
    caller: &Caller<'_>,
    args: &drm_i915_gem_context_param,
) -> Result<drm_i915_gem_context_param_sseu> {
    if args.size < LEN {
        return refuse(SETPARAM, Errno::EINVAL);
    }
    if caller.device.system.machine.platform.graphics.major != CHOOSES {
        return refuse(SETPARAM, Errno::ENODEV);
    }
    read(caller, SETPARAM, args.value)
}

fn topology(caller: &Caller<'_>) -> Option<Topology> {
    caller.device.system.machine.topology(caller.device.system.hardware.gt)
}

/// Stores the requested share if the GPU supports it, and writes back the parameter's length.
fn store(
    caller: &Caller<'_>,
    context: &mut Kept,
    index: usize,
    user: &drm_i915_gem_context_param_sseu,
    args: &mut drm_i915_gem_context_param,
) -> Result<()> {
    let possible = topology(caller).and_then(|topology| possible(topology, user));
    let Some(sseu) = possible else { return refuse(SETPARAM, Errno::EINVAL) };
    context.sseu.insert(index, sseu);
    args.size = LEN;
    Ok(())
}

/// Returns the requested share if version 11 supports it (`i915_gem_user_to_context_sseu`): all slices, or
/// one slice with all or half of its subslices, and every execution unit.
fn possible(whole: Topology, user: &drm_i915_gem_context_param_sseu) -> Option<Sseu> {
    let sseu = Sseu {
        slices: u8::try_from(user.slice_mask).ok()?,
        subslices: u8::try_from(user.subslice_mask).ok()?,
        min_eus: u8::try_from(user.min_eus_per_subslice).ok()?,
        max_eus: u8::try_from(user.max_eus_per_subslice).ok()?,
    };
    let all = Sseu::whole(Some(whole));
    let known = sseu.slices & !all.slices == 0 && sseu.subslices & !all.subslices == 0;
    let (slices, subslices) = (sseu.slices.count_ones(), sseu.subslices.count_ones());
    let (all_slices, all_subslices) = (all.slices.count_ones(), all.subslices.count_ones());
    let full = subslices == all_subslices;
    let enough = if slices == 1 { full || subslices == all_subslices / 2 } else { full };
    // A number above four must be even.
    let even = subslices <= 4 || subslices.is_multiple_of(2);
    let eus = sseu.min_eus == all.max_eus && sseu.max_eus == all.max_eus;
    let some = slices > 0 && subslices > 0 && (slices == 1 || slices == all_slices);
    (known && some && enough && even && eus).then_some(sseu)
}
