//! Requests that user-space drivers make when they open a device, and without which they would give up.
//!
//! The requests are those of Mesa's iris and anv (`intel_gem.c`, `anv_device.c`, `iris_kmd_backend.c` of its i915
//! folders), and of the media driver (`mos_bufmgr.c`).

use gem_coherency::Errno;
use gem_coherency_uapi::dma_buf::*;
use gem_coherency_uapi::drm::*;
use gem_coherency_uapi::drm_syncobj::*;
use gem_coherency_uapi::i915::i915_user_extension;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_facts::*;

use crate::requests::caller::{Caller, LIST};

/// Parameters that Mesa requires, or that decide what it uses.
const REQUIRED: &[i32] = &[
    I915_PARAM_CHIPSET_ID,
    I915_PARAM_HAS_WAIT_TIMEOUT,
    I915_PARAM_HAS_EXECBUF2,
    I915_PARAM_MMAP_VERSION,
    I915_PARAM_HAS_EXEC_SOFTPIN,
    I915_PARAM_HAS_EXEC_FENCE_ARRAY,
    I915_PARAM_HAS_EXEC_ASYNC,
    I915_PARAM_HAS_EXEC_CAPTURE,
    I915_PARAM_HAS_EXEC_TIMELINE_FENCES,
    I915_PARAM_HAS_EXEC_FENCE,
    I915_PARAM_HAS_USERPTR_PROBE,
    I915_PARAM_MMAP_GTT_VERSION,
    I915_PARAM_CS_TIMESTAMP_FREQUENCY,
];

/// A parameter in a chain of extensions.
fn extension(param: u64, value: u64, size: u32, next: u64) -> drm_i915_gem_context_create_ext_setparam {
    let base = i915_user_extension {
        next_extension: next,
        name: I915_CONTEXT_CREATE_EXT_SETPARAM,
        ..Default::default()
    };
    let param = drm_i915_gem_context_param { ctx_id: 0, size, param, value };
    drm_i915_gem_context_create_ext_setparam { base, param }
}

#[test]
fn parameters_and_capabilities_are_known() {
    for name in ["hsw", "bdw", "glk", "jsl", "tgl", "dg2", "mtl"] {
        let mut caller = Caller::new(name);
        for &param in REQUIRED {
            assert!(caller.param(param).is_ok_and(|value| value > 0), "{name} {param}");
        }
        for capability in [DRM_CAP_PRIME, DRM_CAP_SYNCOBJ, DRM_CAP_SYNCOBJ_TIMELINE] {
            let (errno, args) = caller.on(2, DRM_IOCTL_GET_CAP, drm_get_cap { capability, value: 0 });
            assert!(errno.is_none() && args.value > 0, "{name} {capability}");
        }
        let offset = 0x2358 | I915_REG_READ_8B_WA;
        let (errno, args) = caller.on(2, DRM_IOCTL_I915_REG_READ, drm_i915_reg_read { offset, val: 0 });
        assert!(errno.is_none() && args.val > 0, "{name}");
        let unknown = caller.on(2, DRM_IOCTL_I915_REG_READ, drm_i915_reg_read { offset: 0x2000, val: 0 }).0;
        assert_eq!(unknown, Some(Errno::EINVAL));
    }
}

#[test]
fn a_context_with_engines_and_an_address_space_is_made_in_one_request() {
    for (name, done) in [("glk", true), ("jsl", true), ("tgl", true), ("dg2", true), ("hsw", false)] {
        let mut caller = Caller::new(name);
        let (errno, space) = caller.on(2, DRM_IOCTL_I915_GEM_VM_CREATE, drm_i915_gem_vm_control::default());
        assert_eq!(errno, if done { None } else { Some(Errno::ENODEV) }, "{name}: hsw has an aliasing PPGTT");
        if !done {
            continue;
        }
        let engines = caller.put(LIST, &[0_u64, 0]);
        let vm = caller.put(LIST + 0x100, &extension(I915_CONTEXT_PARAM_VM, space.vm_id.into(), 0, 0));
        let recoverable = caller.put(LIST + 0x200, &extension(I915_CONTEXT_PARAM_RECOVERABLE, 0, 0, vm));
        let first = extension(I915_CONTEXT_PARAM_ENGINES, engines, 12, recoverable);
        let extensions = caller.put(LIST + 0x300, &first);
        let flags = I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS;
        let create = drm_i915_gem_context_create_ext { flags, extensions, ..Default::default() };
        let (errno, context) = caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, create);
        assert_eq!(errno, None, "{name}");
        for priority in [-512_i64, 0, 512, 1023] {
            let set =
                caller.set_context_param(context.ctx_id, 0, I915_CONTEXT_PARAM_PRIORITY, priority as u64);
            assert_eq!(set, None, "{name} {priority}");
        }
        assert_eq!(caller.context_param(0, I915_CONTEXT_PARAM_VM).0, None, "{name}");
        let stats = drm_i915_reset_stats { ctx_id: context.ctx_id, ..Default::default() };
        let (errno, stats) = caller.on(2, DRM_IOCTL_I915_GET_RESET_STATS, stats);
        assert_eq!((errno, stats.batch_active, stats.batch_pending), (None, 0, 0));
        // No firmware schedules the GPU, so that there is no low latency (since 6.10).
        let low = extension(I915_CONTEXT_PARAM_LOW_LATENCY, 1, 0, 0);
        let extensions = caller.put(LIST + 0x300, &low);
        let create = drm_i915_gem_context_create_ext { flags, extensions, ..Default::default() };
        let refused = caller.on(2, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, create).0;
        assert_eq!(refused, Some(Errno::EINVAL), "{name}");
    }
}

#[test]
fn fences_of_dma_bufs_and_syncobjs_work_on_an_idle_device() {
    let mut caller = Caller::new("tgl");
    let handle = caller.create(2);
    let prime = drm_prime_handle { handle, flags: DRM_CLOEXEC | DRM_RDWR, fd: -1 };
    let (errno, prime) = caller.on(2, DRM_IOCTL_PRIME_HANDLE_TO_FD, prime);
    assert_eq!(errno, None);
    caller.put(LIST, &dma_buf_export_sync_file { flags: DMA_BUF_SYNC_RW as u32, fd: -1 });
    assert_eq!(caller.process.ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE.code, LIST), Ok(0));
    assert_eq!(caller.process.ioctl(prime.fd, DMA_BUF_IOCTL_IMPORT_SYNC_FILE.code, LIST), Ok(0));
    let create = drm_syncobj_create { flags: DRM_SYNCOBJ_CREATE_SIGNALED, handle: 0 };
    let (_, syncobj) = caller.on(2, DRM_IOCTL_SYNCOBJ_CREATE, create);
    let handles = caller.put(LIST, &syncobj.handle);
    let flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
    let wait = drm_syncobj_wait { handles, count_handles: 1, flags, ..Default::default() };
    assert_eq!(caller.on(2, DRM_IOCTL_SYNCOBJ_WAIT, wait).0, None);
}
