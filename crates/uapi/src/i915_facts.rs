//! `<drm/i915_drm.h>`: what the driver says about the device, and about its GPU's resets.

use super::{requests, structs, values};

structs! {
    /// The argument of GETPARAM.
    drm_i915_getparam: 16 {
        /// `I915_PARAM_*`.
        param @ 0: i32,
        /// Padding.
        __pad0 @ 4: u32,
        /// Address of the `int` the value is stored to.
        value @ 8: u64,
    }

    /// The argument of GEM_GET_APERTURE.
    drm_i915_gem_get_aperture: 16 {
        /// Bytes of the global GTT.
        aper_size @ 0: u64,
        /// Bytes of it that nothing is pinned to.
        aper_available_size @ 8: u64,
    }

    /// The argument of REG_READ.
    drm_i915_reg_read: 16 {
        /// The register's offset; `I915_REG_READ_8B_WA` in its lowest bits.
        offset @ 0: u64,
        /// Back: its value.
        val @ 8: u64,
    }

    /// The argument of GET_RESET_STATS.
    drm_i915_reset_stats: 24 {
        /// The context.
        ctx_id @ 0: u32,
        /// Must be 0.
        flags @ 4: u32,
        /// Back: resets since the driver was loaded.
        reset_count @ 8: u32,
        /// Back: batches of the context that hung the GPU.
        batch_active @ 12: u32,
        /// Back: batches of the context that were lost by the hang of another.
        batch_pending @ 16: u32,
        /// Must be 0.
        pad @ 20: u32,
    }
}

values! {
    /// Gone with the user-mode drivers.
    I915_PARAM_IRQ_ACTIVE: i32 = 1;
    /// Gone with the user-mode drivers.
    I915_PARAM_ALLOW_BATCHBUFFER: i32 = 2;
    /// Gone with the user-mode drivers.
    I915_PARAM_LAST_DISPATCH: i32 = 3;
    /// The PCI device id.
    I915_PARAM_CHIPSET_ID: i32 = 4;
    /// Objects can be made.
    I915_PARAM_HAS_GEM: i32 = 5;
    /// The number of fence registers.
    I915_PARAM_NUM_FENCES_AVAIL: i32 = 6;
    /// The display has an overlay.
    I915_PARAM_HAS_OVERLAY: i32 = 7;
    /// Page flips work.
    I915_PARAM_HAS_PAGEFLIPPING: i32 = 8;
    /// EXECBUFFER2 works.
    I915_PARAM_HAS_EXECBUF2: i32 = 9;
    /// A video engine exists.
    I915_PARAM_HAS_BSD: i32 = 10;
    /// A copy engine exists.
    I915_PARAM_HAS_BLT: i32 = 11;
    /// Tiled objects need not be as large as their fence.
    I915_PARAM_HAS_RELAXED_FENCING: i32 = 12;
    /// Writes of one engine are seen by the next.
    I915_PARAM_HAS_COHERENT_RINGS: i32 = 13;
    /// Gone with `I915_EXEC_CONSTANTS_*`.
    I915_PARAM_HAS_EXEC_CONSTANTS: i32 = 14;
    /// Relocations may point outside of the object.
    I915_PARAM_HAS_RELAXED_DELTA: i32 = 15;
    /// `I915_EXEC_GEN7_SOL_RESET` works.
    I915_PARAM_HAS_GEN7_SOL_RESET: i32 = 16;
    /// CPU and GPU share the LLC.
    I915_PARAM_HAS_LLC: i32 = 17;
    /// The GPU's own page tables: 0 none, 1 one, 2 one per context.
    I915_PARAM_HAS_ALIASING_PPGTT: i32 = 18;
    /// GEM_WAIT works.
    I915_PARAM_HAS_WAIT_TIMEOUT: i32 = 19;
    /// Engines wait for each other without the CPU.
    I915_PARAM_HAS_SEMAPHORES: i32 = 20;
    /// The kernel's own maps of imports are flushed.
    I915_PARAM_HAS_PRIME_VMAP_FLUSH: i32 = 21;
    /// A video enhancement engine exists.
    I915_PARAM_HAS_VEBOX: i32 = 22;
    /// The caller may submit privileged batches.
    I915_PARAM_HAS_SECURE_BATCHES: i32 = 23;
    /// Batches may be pinned.
    I915_PARAM_HAS_PINNED_BATCHES: i32 = 24;
    /// `I915_EXEC_NO_RELOC` works.
    I915_PARAM_HAS_EXEC_NO_RELOC: i32 = 25;
    /// `I915_EXEC_HANDLE_LUT` works.
    I915_PARAM_HAS_EXEC_HANDLE_LUT: i32 = 26;
    /// Size of the eDRAM in MiB; 0 if the level WT does not exist.
    I915_PARAM_HAS_WT: i32 = 27;
    /// Version of the command parser; 0 without.
    I915_PARAM_CMD_PARSER_VERSION: i32 = 28;
    /// Physically contiguous objects agree with the aperture.
    I915_PARAM_HAS_COHERENT_PHYS_GTT: i32 = 29;
    /// Version of GEM_MMAP.
    I915_PARAM_MMAP_VERSION: i32 = 30;
    /// A second video engine exists.
    I915_PARAM_HAS_BSD2: i32 = 31;
    /// PCI revision.
    I915_PARAM_REVISION: i32 = 32;
    /// The number of subslices.
    I915_PARAM_SUBSLICE_TOTAL: i32 = 33;
    /// The number of execution units.
    I915_PARAM_EU_TOTAL: i32 = 34;
    /// 1: the GPU can be reset; 2: its engines, too.
    I915_PARAM_HAS_GPU_RESET: i32 = 35;
    /// Gone.
    I915_PARAM_HAS_RESOURCE_STREAMER: i32 = 36;
    /// `EXEC_OBJECT_PINNED` works.
    I915_PARAM_HAS_EXEC_SOFTPIN: i32 = 37;
    /// Execution units are pooled.
    I915_PARAM_HAS_POOLED_EU: i32 = 38;
    /// The smallest number of execution units in a pool.
    I915_PARAM_MIN_EU_IN_POOL: i32 = 39;
    /// Version of MMAP_GTT and MMAP_OFFSET.
    I915_PARAM_MMAP_GTT_VERSION: i32 = 40;
    /// `I915_SCHEDULER_CAP_*`.
    I915_PARAM_HAS_SCHEDULER: i32 = 41;
    /// The HuC's firmware runs.
    I915_PARAM_HUC_STATUS: i32 = 42;
    /// `EXEC_OBJECT_ASYNC` works.
    I915_PARAM_HAS_EXEC_ASYNC: i32 = 43;
    /// `I915_EXEC_FENCE_IN` and `_OUT` work.
    I915_PARAM_HAS_EXEC_FENCE: i32 = 44;
    /// `EXEC_OBJECT_CAPTURE` works.
    I915_PARAM_HAS_EXEC_CAPTURE: i32 = 45;
    /// Which slices there are.
    I915_PARAM_SLICE_MASK: i32 = 46;
    /// Which subslices there are in the first slice.
    I915_PARAM_SUBSLICE_MASK: i32 = 47;
    /// `I915_EXEC_BATCH_FIRST` works.
    I915_PARAM_HAS_EXEC_BATCH_FIRST: i32 = 48;
    /// `I915_EXEC_FENCE_ARRAY` works.
    I915_PARAM_HAS_EXEC_FENCE_ARRAY: i32 = 49;
    /// The engine classes whose contexts do not see each other's registers.
    I915_PARAM_HAS_CONTEXT_ISOLATION: i32 = 50;
    /// Frequency of the engines' timestamp, in Hz.
    I915_PARAM_CS_TIMESTAMP_FREQUENCY: i32 = 51;
    /// Writes through the aperture need only a barrier.
    I915_PARAM_MMAP_GTT_COHERENT: i32 = 52;
    /// `I915_EXEC_FENCE_SUBMIT` works.
    I915_PARAM_HAS_EXEC_SUBMIT_FENCE: i32 = 53;
    /// Version of PERF_OPEN.
    I915_PARAM_PERF_REVISION: i32 = 54;
    /// `DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES` works.
    I915_PARAM_HAS_EXEC_TIMELINE_FENCES: i32 = 55;
    /// `I915_USERPTR_PROBE` works.
    I915_PARAM_HAS_USERPTR_PROBE: i32 = 56;
    /// Frequency of the counters' timestamp, in Hz.
    I915_PARAM_OA_TIMESTAMP_FREQUENCY: i32 = 57;
    /// Protected content is possible.
    I915_PARAM_PXP_STATUS: i32 = 58;
    /// `I915_CONTEXT_PARAM_LOW_LATENCY` works.
    I915_PARAM_HAS_CONTEXT_FREQ_HINT: i32 = 59;

    /// Batches are scheduled.
    I915_SCHEDULER_CAP_ENABLED: i32 = 1 << 0;
    /// Contexts have priorities.
    I915_SCHEDULER_CAP_PRIORITY: i32 = 1 << 1;
    /// Batches are preempted.
    I915_SCHEDULER_CAP_PREEMPTION: i32 = 1 << 2;
    /// Engines wait for each other.
    I915_SCHEDULER_CAP_SEMAPHORES: i32 = 1 << 3;
    /// Engines say how busy they are.
    I915_SCHEDULER_CAP_ENGINE_BUSY_STATS: i32 = 1 << 4;

    /// REG_READ: a register of 64 bits is read in two halves.
    I915_REG_READ_8B_WA: u64 = 1 << 0;
}

requests! {
    /// Asks for one fact.
    DRM_IOCTL_I915_GETPARAM = IOWR(b'd', 0x46, drm_i915_getparam) == 0xc010_6446;
    /// Asks how large the global GTT is.
    DRM_IOCTL_I915_GEM_GET_APERTURE = IOR(b'd', 0x63, drm_i915_gem_get_aperture) == 0x8010_6463;
    /// Reads a register.
    DRM_IOCTL_I915_REG_READ = IOWR(b'd', 0x71, drm_i915_reg_read) == 0xc010_6471;
    /// Asks for a context's share in resets.
    DRM_IOCTL_I915_GET_RESET_STATS = IOWR(b'd', 0x72, drm_i915_reset_stats) == 0xc018_6472;
}
