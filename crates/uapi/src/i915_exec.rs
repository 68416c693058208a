//! `<drm/i915_drm.h>`: submission and queries.
//!
//! Objects are in [`super::i915`].

use super::i915::i915_user_extension;
use super::{requests, structs, values};

structs! {
    /// An address in an object that the kernel puts another object's address to.
    drm_i915_gem_relocation_entry: 32 {
        /// The other object's name, or its index with `I915_EXEC_HANDLE_LUT`.
        target_handle @ 0: u32,
        /// Added to the address; signed.
        delta @ 4: u32,
        /// The offset in this object that the address is written to.
        offset @ 8: u64,
        /// The other object's address that is there already; back: that is there now.
        presumed_offset @ 16: u64,
        /// The domains in which the batch reads the other object: `I915_GEM_DOMAIN_*`.
        read_domains @ 24: u32,
        /// The domain in which it writes the other object, or 0.
        write_domain @ 28: u32,
    }

    /// A syncobj of a submission.
    drm_i915_gem_exec_fence: 8 {
        /// Its name.
        handle @ 0: u32,
        /// `I915_EXEC_FENCE_WAIT`, `I915_EXEC_FENCE_SIGNAL`.
        flags @ 4: u32,
    }

    /// The extension with points of timelines.
    drm_i915_gem_execbuffer_ext_timeline_fences: 56 {
        /// The head.
        base @ 0: i915_user_extension,
        /// The number of fences.
        fence_count @ 32: u64,
        /// Address of as many [`drm_i915_gem_exec_fence`].
        handles_ptr @ 40: u64,
        /// Address of as many points.
        values_ptr @ 48: u64,
    }

    /// An object of a submission.
    drm_i915_gem_exec_object2: 56 {
        /// The object's name.
        handle @ 0: u32,
        /// Entries at `relocs_ptr`.
        relocation_count @ 4: u32,
        /// Address of the relocations.
        relocs_ptr @ 8: u64,
        /// Alignment in the GPU's address space, a power of two, or 0.
        alignment @ 16: u64,
        /// The presumed address of the object; back: its address.
        offset @ 24: u64,
        /// `EXEC_OBJECT_*`.
        flags @ 32: u64,
        /// Size to pad to, with `EXEC_OBJECT_PAD_TO_SIZE`; otherwise 0.
        rsvd1 @ 40: u64,
        /// Must be 0.
        rsvd2 @ 48: u64,
    }

    /// The argument of GEM_EXECBUFFER2.
    drm_i915_gem_execbuffer2: 64 {
        /// Address of the objects; the batch is the last.
        buffers_ptr @ 0: u64,
        /// The number of objects.
        buffer_count @ 8: u32,
        /// First byte of the batch in its object.
        batch_start_offset @ 12: u32,
        /// Bytes of the batch; 0 for the rest of the object.
        batch_len @ 16: u32,
        /// Must be 0.
        DR1 @ 20: u32,
        /// Must be 0.
        DR4 @ 24: u32,
        /// Must be 0 without `I915_EXEC_FENCE_ARRAY`.
        num_cliprects @ 28: u32,
        /// Must be 0 without `I915_EXEC_FENCE_ARRAY` and `I915_EXEC_USE_EXTENSIONS`.
        cliprects_ptr @ 32: u64,
        /// `I915_EXEC_*`.
        flags @ 40: u64,
        /// The context's id in the lower half.
        rsvd1 @ 48: u64,
        /// Fences as files: in (lower half), out (upper half).
        rsvd2 @ 56: u64,
    }

    /// A memory region's name.
    drm_i915_gem_memory_class_instance: 4 {
        /// `I915_MEMORY_CLASS_*`.
        memory_class @ 0: u16,
        /// Which of its class.
        memory_instance @ 2: u16,
    }

    /// One question of a query.
    drm_i915_query_item: 24 {
        /// `DRM_I915_QUERY_*`.
        query_id @ 0: u64,
        /// Bytes at `data_ptr`, 0 to ask how many; back: the bytes, or a negative errno.
        length @ 8: i32,
        /// Depends on the question.
        flags @ 12: u32,
        /// Address the answer is copied to.
        data_ptr @ 16: u64,
    }

    /// The argument of QUERY.
    drm_i915_query: 16 {
        /// Entries at `items_ptr`.
        num_items @ 0: u32,
        /// Must be 0.
        flags @ 4: u32,
        /// Address of the questions.
        items_ptr @ 8: u64,
    }

    /// A memory region.
    drm_i915_memory_region_info: 88 {
        /// Its name.
        region @ 0: drm_i915_gem_memory_class_instance,
        /// Zero.
        rsvd0 @ 4: u32,
        /// Its size, in bytes.
        probed_size @ 8: u64,
        /// Bytes not allocated, an estimate.
        unallocated_size @ 16: u64,
        /// Bytes the CPU can reach.
        probed_cpu_visible_size @ 24: u64,
        /// Bytes not allocated that the CPU can reach, an estimate.
        unallocated_cpu_visible_size @ 32: u64,
        /// Zero: the rest of C's `rsvd1`, which the two fields above share.
        __rsvd1_rest @ 40: [u64; 6],
    }

    /// The answer to `DRM_I915_QUERY_MEMORY_REGIONS`.
    drm_i915_query_memory_regions: 16 {
        /// Entries in `regions`.
        num_regions @ 0: u32,
        /// Zero.
        rsvd @ 4: [u32; 3],
        /// The regions; a flexible array.
        regions @ 16: [drm_i915_memory_region_info; 0],
    }
}

values! {
    /// The object gets a fence register.
    EXEC_OBJECT_NEEDS_FENCE: u64 = 1 << 0;
    /// The object is bound in the global table.
    EXEC_OBJECT_NEEDS_GTT: u64 = 1 << 1;
    /// The batch writes the object.
    EXEC_OBJECT_WRITE: u64 = 1 << 2;
    /// The object may lie above 4 GiB.
    EXEC_OBJECT_SUPPORTS_48B_ADDRESS: u64 = 1 << 3;
    /// The object must be at `offset`.
    EXEC_OBJECT_PINNED: u64 = 1 << 4;
    /// The object is padded to `rsvd1` bytes.
    EXEC_OBJECT_PAD_TO_SIZE: u64 = 1 << 5;
    /// The kernel does not order the batch against others that use the object.
    EXEC_OBJECT_ASYNC: u64 = 1 << 6;
    /// The object is saved when the GPU hangs.
    EXEC_OBJECT_CAPTURE: u64 = 1 << 7;

    /// The kernel's choice of engine: render.
    I915_EXEC_DEFAULT: u64 = 0;
    /// The render engine.
    I915_EXEC_RENDER: u64 = 1;
    /// A video engine.
    I915_EXEC_BSD: u64 = 2;
    /// The copy engine.
    I915_EXEC_BLT: u64 = 3;
    /// The video enhancement engine.
    I915_EXEC_VEBOX: u64 = 4;
    /// The bits that name the engine.
    I915_EXEC_RING_MASK: u64 = 0x3f;
    /// The addressing of constants: gone.
    I915_EXEC_CONSTANTS_MASK: u64 = 3 << 6;
    /// The offsets of the streamed output are reset: generation 7.
    I915_EXEC_GEN7_SOL_RESET: u64 = 1 << 8;
    /// The batch is privileged.
    I915_EXEC_SECURE: u64 = 1 << 9;
    /// Not looked at.
    I915_EXEC_IS_PINNED: u64 = 1 << 10;
    /// Relocations whose target did not move are not looked at.
    I915_EXEC_NO_RELOC: u64 = 1 << 11;
    /// Relocations name objects by their index.
    I915_EXEC_HANDLE_LUT: u64 = 1 << 12;
    /// Which of several video engines.
    I915_EXEC_BSD_MASK: u64 = 3 << 13;
    /// The resource streamer: gone.
    I915_EXEC_RESOURCE_STREAMER: u64 = 1 << 15;
    /// The batch waits for the fence in the lower half of `rsvd2`.
    I915_EXEC_FENCE_IN: u64 = 1 << 16;
    /// A fence comes back in the upper half of `rsvd2`.
    I915_EXEC_FENCE_OUT: u64 = 1 << 17;
    /// The batch is the first object.
    I915_EXEC_BATCH_FIRST: u64 = 1 << 18;
    /// There are syncobjs at `cliprects_ptr`.
    I915_EXEC_FENCE_ARRAY: u64 = 1 << 19;
    /// The batch waits until the fence in the lower half of `rsvd2` is submitted.
    I915_EXEC_FENCE_SUBMIT: u64 = 1 << 20;
    /// There are extensions at `cliprects_ptr`.
    I915_EXEC_USE_EXTENSIONS: u64 = 1 << 21;

    /// The batch waits for the syncobj.
    I915_EXEC_FENCE_WAIT: u32 = 1 << 0;
    /// The syncobj gets the batch's fence.
    I915_EXEC_FENCE_SIGNAL: u32 = 1 << 1;
    /// The extension [`drm_i915_gem_execbuffer_ext_timeline_fences`].
    DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES: u32 = 0;

    /// Memory that the CPU shares.
    I915_MEMORY_CLASS_SYSTEM: u16 = 0;
    /// Memory of the device.
    I915_MEMORY_CLASS_DEVICE: u16 = 1;
    /// The question for the memory regions.
    DRM_I915_QUERY_MEMORY_REGIONS: u64 = 4;
}

requests! {
    /// Waits until the GPU is at most 20 ms behind the file.
    DRM_IOCTL_I915_GEM_THROTTLE = IO(b'd', 0x58, ()) == 0x0000_6458;
    /// Submits a batch.
    DRM_IOCTL_I915_GEM_EXECBUFFER2 = IOW(b'd', 0x69, drm_i915_gem_execbuffer2) == 0x4040_6469;
    /// Submits a batch, and gets a fence back.
    DRM_IOCTL_I915_GEM_EXECBUFFER2_WR = IOWR(b'd', 0x69, drm_i915_gem_execbuffer2) == 0xc040_6469;
    /// Asks questions.
    DRM_IOCTL_I915_QUERY = IOWR(b'd', 0x79, drm_i915_query) == 0xc010_6479;
}
