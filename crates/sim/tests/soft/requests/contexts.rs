//! Contexts, their address spaces and their parameters.

use gem_coherency::Errno;
use gem_coherency::backend::{Drm, ExecObject};
use gem_coherency::vocabulary::{Access, CachingMode, Domains};
use gem_coherency_sim::SimDevice;
use gem_coherency_uapi::i915_context::*;

use crate::requests::caller::{Caller, HOLE, LIST};

#[test]
fn contexts_are_there_from_gen4_on_and_the_first_one_stays() {
    let mut caller = Caller::new("i915g");
    let args = drm_i915_gem_context_create::default();
    assert_eq!(caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE, args).0, Some(Errno::ENODEV));
    let mut caller = Caller::new("tgl");
    assert_eq!((caller.new_context(), caller.new_context()), (1, 2));
    let destroy = |ctx_id, pad| drm_i915_gem_context_destroy { ctx_id, pad };
    let mut destroyed =
        |ctx_id, pad| caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, destroy(ctx_id, pad)).0;
    assert_eq!(destroyed(1, 1), Some(Errno::EINVAL));
    assert_eq!(destroyed(0, 0), Some(Errno::ENOENT));
    assert_eq!(destroyed(1, 0), None);
    assert_eq!(destroyed(1, 0), Some(Errno::ENOENT));
    assert_eq!(caller.new_context(), 1, "the lowest number again");
}

#[test]
fn address_spaces_are_as_large_as_the_platforms() {
    let size = |name: &str| Caller::new(name).context_param(0, I915_CONTEXT_PARAM_GTT_SIZE).1;
    assert_eq!(size("i965gm"), 512 << 20);
    assert_eq!(size("hsw"), 2 << 30);
    assert_eq!(size("jsl"), 1 << 36);
    assert_eq!(size("dg2,kernel=6.1"), 1 << 48);
    assert_eq!(size("dg2"), (1 << 48) - 65536);
    assert_eq!(size("mtl"), (1 << 48) - 4096);
}

#[test]
fn only_a_proposal_takes_engines_and_what_is_wrong_with_them_shows_late() {
    const ENGINES: u64 = I915_CONTEXT_PARAM_ENGINES;
    let mut caller = Caller::new("tgl");
    let engine =
        |class, instance| i915_engine_class_instance { engine_class: class, engine_instance: instance };
    let balance = i915_context_engines_load_balance { num_siblings: 2, ..Default::default() };
    caller.put(LIST + 0x100, &balance);
    caller.put(LIST + 0x100 + 48, &engine(2, 0));
    caller.put(LIST + 0x100 + 52, &engine(1, 0));
    caller.put(LIST, &(LIST + 0x100));
    caller.put(LIST + 8, &engine(0xffff, 0xffff));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(0, 12, ENGINES, LIST), Some(Errno::EINVAL), "settled");
    assert_eq!(caller.set_context_param(context, 11, ENGINES, LIST), Some(Errno::EINVAL));
    assert_eq!(caller.set_context_param(context, 12, ENGINES, HOLE), Some(Errno::EFAULT));
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), None);
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), Some(Errno::EINVAL), "twice");
    let looked_up = caller.context_param(context, I915_CONTEXT_PARAM_PRIORITY).0;
    assert_eq!(looked_up, Some(Errno::EINVAL), "a video and a copy engine are no siblings");
    // The second video engine is one, and then there is a context.
    caller.put(LIST + 0x100 + 52, &engine(2, 1));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), None);
    assert_eq!(caller.context_param(context, I915_CONTEXT_PARAM_PRIORITY).0, None);
    caller.put(LIST + 8, &engine(0, 1));
    let context = caller.new_context();
    assert_eq!(caller.set_context_param(context, 12, ENGINES, LIST), Some(Errno::ENOENT));
}

#[test]
fn priorities_and_persistence_need_a_scheduler() {
    const PRIORITY: u64 = I915_CONTEXT_PARAM_PRIORITY;
    const PERSISTENCE: u64 = I915_CONTEXT_PARAM_PERSISTENCE;
    let set = |name: &str, param, value| Caller::new(name).set_context_param(0, 0, param, value);
    assert_eq!(set("skl", PRIORITY, 1023), None);
    assert_eq!(set("skl", PRIORITY, 1024), Some(Errno::EINVAL));
    assert_eq!(set("skl", PRIORITY, -1023_i64 as u64), None);
    assert_eq!(set("hsw", PRIORITY, 0), Some(Errno::ENODEV));
    assert_eq!(set("skl", PERSISTENCE, 0), None);
    assert_eq!(set("bdw", PERSISTENCE, 0), Some(Errno::ENODEV));
    assert_eq!(set("bdw", PERSISTENCE, 1), None);
}

#[test]
fn an_address_space_is_named_0_once_somebody_destroyed_0_beside_others() {
    let create = |caller: &mut Caller| {
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_GEM_VM_CREATE, drm_i915_gem_vm_control::default());
        assert_eq!(errno, None);
        args.vm_id
    };
    let destroy = |caller: &mut Caller, vm_id| {
        let args = drm_i915_gem_vm_control { vm_id, ..Default::default() };
        caller.on(2, DRM_IOCTL_I915_GEM_VM_DESTROY, args).0
    };
    let mut caller = Caller::new("tgl");
    // Alone it changes nothing.
    assert_eq!(destroy(&mut caller, 0), Some(Errno::ENOENT));
    assert_eq!((create(&mut caller), create(&mut caller)), (1, 2));
    assert_eq!(destroy(&mut caller, 0), Some(Errno::ENOENT));
    assert_eq!((create(&mut caller), create(&mut caller)), (0, 3));
    assert_eq!(destroy(&mut caller, 0), None);
    assert_eq!(create(&mut caller), 0, "a name like any other");
}

#[test]
fn a_resume_finds_bound_what_a_context_without_a_space_of_its_own_used() {
    // The write domain after a submission, a suspend and a resume.
    let domain = |name: &str, submit: bool, level_changes: bool| {
        let device = SimDevice::open(name).unwrap();
        let handle = device.create(4096).unwrap().handle;
        device.set_domain(handle, Domains::CPU, Domains::CPU).unwrap();
        if submit {
            device.execute(&[ExecObject { handle, access: Access::Read }]).unwrap();
        }
        if level_changes {
            device.set_caching(handle, CachingMode::Cached).unwrap();
        }
        device.suspend().unwrap();
        device.resume().unwrap();
        device.snapshot(handle).unwrap().write_domain
    };
    assert_eq!(domain("sim:gm45", true, false), Domains::empty());
    assert_eq!(domain("sim:gm45", false, false), Domains::CPU, "not submitted");
    assert_eq!(domain("sim:gm45", true, true), Domains::CPU, "unbound by the change of level");
    assert_eq!(domain("sim:glk", true, false), Domains::CPU, "bound in a space of the context's own");
}
