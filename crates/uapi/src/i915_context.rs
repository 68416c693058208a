//! `<drm/i915_drm.h>`: contexts and address spaces.

use super::i915::i915_user_extension;
use super::{requests, structs, values};

structs! {
    /// An engine's name.
    i915_engine_class_instance: 4 {
        /// `I915_ENGINE_CLASS_*`.
        engine_class @ 0: u16,
        /// Which of its class.
        engine_instance @ 2: u16,
    }

    /// The argument of CONTEXT_CREATE.
    drm_i915_gem_context_create: 8 {
        /// Back: the context's name.
        ctx_id @ 0: u32,
        /// Must be 0; the longer struct has its flags here.
        pad @ 4: u32,
    }

    /// The argument of CONTEXT_CREATE with extensions.
    drm_i915_gem_context_create_ext: 16 {
        /// Back: the context's name.
        ctx_id @ 0: u32,
        /// `I915_CONTEXT_CREATE_FLAGS_*`.
        flags @ 4: u32,
        /// Address of the first extension, or 0.
        extensions @ 8: u64,
    }

    /// The argument of CONTEXT_GETPARAM and CONTEXT_SETPARAM.
    drm_i915_gem_context_param: 24 {
        /// The context.
        ctx_id @ 0: u32,
        /// Bytes at the address that `value` is, for parameters that are structs.
        size @ 4: u32,
        /// `I915_CONTEXT_PARAM_*`.
        param @ 8: u64,
        /// The value, or its address.
        value @ 16: u64,
    }

    /// The value of `I915_CONTEXT_PARAM_SSEU`.
    drm_i915_gem_context_param_sseu: 32 {
        /// The engine, or with `I915_CONTEXT_SSEU_FLAG_ENGINE_INDEX` its index.
        engine @ 0: i915_engine_class_instance,
        /// `I915_CONTEXT_SSEU_FLAG_*`.
        flags @ 4: u32,
        /// The slices that are on.
        slice_mask @ 8: u64,
        /// The subslices that are on.
        subslice_mask @ 16: u64,
        /// Execution units per subslice, at least.
        min_eus_per_subslice @ 24: u16,
        /// Execution units per subslice, at most.
        max_eus_per_subslice @ 26: u16,
        /// Must be 0.
        rsvd @ 28: u32,
    }

    /// The extension of the engines that makes one of several.
    i915_context_engines_load_balance: 48 {
        /// The head; its name is `I915_CONTEXT_ENGINES_EXT_LOAD_BALANCE`.
        base @ 0: i915_user_extension,
        /// Which of the engines.
        engine_index @ 32: u16,
        /// Entries in `engines`.
        num_siblings @ 34: u16,
        /// Must be 0.
        flags @ 36: u32,
        /// Must be 0.
        mbz64 @ 40: u64,
        /// The engines to choose from; a flexible array.
        engines @ 48: [i915_engine_class_instance; 0],
    }

    /// The extension of the engines that ties some to another.
    i915_context_engines_bond: 80 {
        /// The head; its name is `I915_CONTEXT_ENGINES_EXT_BOND`.
        base @ 0: i915_user_extension,
        /// The other.
        master @ 32: i915_engine_class_instance,
        /// Which of the engines.
        virtual_index @ 36: u16,
        /// Entries in `engines`.
        num_bonds @ 38: u16,
        /// Must be 0.
        flags @ 40: u64,
        /// Must be 0.
        mbz64 @ 48: [u64; 4],
        /// The engines; a flexible array.
        engines @ 80: [i915_engine_class_instance; 0],
    }

    /// The extension of the engines that runs several batches at once.
    i915_context_engines_parallel_submit: 72 {
        /// The head; its name is `I915_CONTEXT_ENGINES_EXT_PARALLEL_SUBMIT`.
        base @ 0: i915_user_extension,
        /// Which of the engines.
        engine_index @ 32: u16,
        /// The number of batches.
        width @ 34: u16,
        /// The number of engines to choose from, per batch.
        num_siblings @ 36: u16,
        /// Must be 0.
        mbz16 @ 38: u16,
        /// Must be 0.
        flags @ 40: u64,
        /// Must be 0.
        mbz64 @ 48: [u64; 3],
        /// The engines, by batch; a flexible array.
        engines @ 72: [i915_engine_class_instance; 0],
    }

    /// The value of `I915_CONTEXT_PARAM_ENGINES`.
    i915_context_param_engines: 8 {
        /// Address of the first extension, or 0.
        extensions @ 0: u64,
        /// The engines; a flexible array.
        engines @ 8: [i915_engine_class_instance; 0],
    }

    /// The extension of CONTEXT_CREATE that sets a parameter.
    drm_i915_gem_context_create_ext_setparam: 56 {
        /// The head; its name is `I915_CONTEXT_CREATE_EXT_SETPARAM`.
        base @ 0: i915_user_extension,
        /// The parameter; its context must be 0.
        param @ 32: drm_i915_gem_context_param,
    }

    /// The argument of CONTEXT_DESTROY.
    drm_i915_gem_context_destroy: 8 {
        /// The context.
        ctx_id @ 0: u32,
        /// Must be 0.
        pad @ 4: u32,
    }

    /// The argument of VM_CREATE and VM_DESTROY.
    drm_i915_gem_vm_control: 16 {
        /// Address of the first extension, or 0; none is known.
        extensions @ 0: u64,
        /// Must be 0.
        flags @ 8: u32,
        /// The address space.
        vm_id @ 12: u32,
    }
}

values! {
    /// Draws and computes.
    I915_ENGINE_CLASS_RENDER: u16 = 0;
    /// Copies.
    I915_ENGINE_CLASS_COPY: u16 = 1;
    /// Decodes and encodes video.
    I915_ENGINE_CLASS_VIDEO: u16 = 2;
    /// Enhances video.
    I915_ENGINE_CLASS_VIDEO_ENHANCE: u16 = 3;
    /// Computes only.
    I915_ENGINE_CLASS_COMPUTE: u16 = 4;

    /// CONTEXT_CREATE: `extensions` counts.
    I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS: u32 = 1 << 0;
    /// CONTEXT_CREATE: the engines share one timeline.
    I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE: u32 = 1 << 1;
    /// Name of the extension `drm_i915_gem_context_create_ext_setparam`.
    I915_CONTEXT_CREATE_EXT_SETPARAM: u32 = 0;
    /// Name of an extension that is gone.
    I915_CONTEXT_CREATE_EXT_CLONE: u32 = 1;

    /// Gone.
    I915_CONTEXT_PARAM_BAN_PERIOD: u64 = 0x1;
    /// Gone.
    I915_CONTEXT_PARAM_NO_ZEROMAP: u64 = 0x2;
    /// Bytes of the address space.
    I915_CONTEXT_PARAM_GTT_SIZE: u64 = 0x3;
    /// Hangs are not recorded.
    I915_CONTEXT_PARAM_NO_ERROR_CAPTURE: u64 = 0x4;
    /// Too many hangs ban the context.
    I915_CONTEXT_PARAM_BANNABLE: u64 = 0x5;
    /// The priority.
    I915_CONTEXT_PARAM_PRIORITY: u64 = 0x6;
    /// Slices and subslices.
    I915_CONTEXT_PARAM_SSEU: u64 = 0x7;
    /// The context goes on after a hang.
    I915_CONTEXT_PARAM_RECOVERABLE: u64 = 0x8;
    /// The address space.
    I915_CONTEXT_PARAM_VM: u64 = 0x9;
    /// The engines.
    I915_CONTEXT_PARAM_ENGINES: u64 = 0xa;
    /// Batches outlive the context.
    I915_CONTEXT_PARAM_PERSISTENCE: u64 = 0xb;
    /// Gone.
    I915_CONTEXT_PARAM_RINGSIZE: u64 = 0xc;
    /// The context uses protected objects.
    I915_CONTEXT_PARAM_PROTECTED_CONTENT: u64 = 0xd;
    /// The GPU's frequency rises at once; from 6.10 on.
    I915_CONTEXT_PARAM_LOW_LATENCY: u64 = 0xe;
    /// The context's image, to replay hangs; from 6.10 on.
    I915_CONTEXT_PARAM_CONTEXT_IMAGE: u64 = 0xf;
    /// The largest priority.
    I915_CONTEXT_MAX_USER_PRIORITY: i64 = 1023;
    /// The smallest priority.
    I915_CONTEXT_MIN_USER_PRIORITY: i64 = -1023;
    /// `engine` of the slices is an index.
    I915_CONTEXT_SSEU_FLAG_ENGINE_INDEX: u32 = 1 << 0;

    /// Name of the extension `i915_context_engines_load_balance`.
    I915_CONTEXT_ENGINES_EXT_LOAD_BALANCE: u32 = 0;
    /// Name of the extension `i915_context_engines_bond`.
    I915_CONTEXT_ENGINES_EXT_BOND: u32 = 1;
    /// Name of the extension `i915_context_engines_parallel_submit`.
    I915_CONTEXT_ENGINES_EXT_PARALLEL_SUBMIT: u32 = 2;
}

requests! {
    /// Makes a context.
    DRM_IOCTL_I915_GEM_CONTEXT_CREATE = IOWR(b'd', 0x6d, drm_i915_gem_context_create) == 0xc008_646d;
    /// Makes a context, with extensions.
    DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT = IOWR(b'd', 0x6d, drm_i915_gem_context_create_ext) == 0xc010_646d;
    /// Gives a context's name back.
    DRM_IOCTL_I915_GEM_CONTEXT_DESTROY = IOW(b'd', 0x6e, drm_i915_gem_context_destroy) == 0x4008_646e;
    /// Asks for a context's parameter.
    DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM = IOWR(b'd', 0x74, drm_i915_gem_context_param) == 0xc018_6474;
    /// Sets a context's parameter.
    DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM = IOWR(b'd', 0x75, drm_i915_gem_context_param) == 0xc018_6475;
    /// Makes an address space.
    DRM_IOCTL_I915_GEM_VM_CREATE = IOWR(b'd', 0x7a, drm_i915_gem_vm_control) == 0xc010_647a;
    /// Gives an address space's name back.
    DRM_IOCTL_I915_GEM_VM_DESTROY = IOW(b'd', 0x7b, drm_i915_gem_vm_control) == 0x4010_647b;
}
