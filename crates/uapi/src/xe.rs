//! `<drm/xe_drm.h>`: the requests of xe, of Linux 7.2.
//!
//! The numbers of these requests are also numbers of i915's requests: the driver of the file decides which one a number is.
//!
//! Not declared: the extensions (each `extensions` may be 0), properties of queues and address spaces, protected content, the properties of
//! observation streams, and queries other than those below.

use super::{requests, structs, values};

structs! {
    /// An engine's name.
    drm_xe_engine_class_instance: 8 {
        /// `DRM_XE_ENGINE_CLASS_*`.
        engine_class @ 0: u16,
        /// Which of its class.
        engine_instance @ 2: u16,
        /// The GT that has it: `gt_id` of [`drm_xe_gt`].
        gt_id @ 4: u16,
        /// Must be 0.
        pad @ 6: u16,
    }

    /// An engine.
    drm_xe_engine: 32 {
        /// Its name.
        instance @ 0: drm_xe_engine_class_instance,
        /// Zero.
        reserved @ 8: [u64; 3],
    }

    /// The answer to `DRM_XE_DEVICE_QUERY_ENGINES`.
    drm_xe_query_engines: 8 {
        /// Entries in `engines`.
        num_engines @ 0: u32,
        /// Zero.
        pad @ 4: u32,
        /// The engines; a flexible array.
        engines @ 8: [drm_xe_engine; 0],
    }

    /// A memory region.
    drm_xe_mem_region: 88 {
        /// `DRM_XE_MEM_REGION_CLASS_*`.
        mem_class @ 0: u16,
        /// The bit of the region in masks, as `placement` of [`drm_xe_gem_create`].
        instance @ 2: u16,
        /// Size of its smallest page, in bytes; objects and addresses are multiples of it.
        min_page_size @ 4: u32,
        /// Its size, in bytes.
        total_size @ 8: u64,
        /// Bytes allocated, an estimate; 6.12 says 0 to a caller without CAP_PERFMON.
        used @ 16: u64,
        /// Bytes that the CPU can access; 0 for system memory.
        cpu_visible_size @ 24: u64,
        /// Bytes allocated of these, an estimate, as `used`; 0 for system memory.
        cpu_visible_used @ 32: u64,
        /// Zero.
        reserved @ 40: [u64; 6],
    }

    /// The answer to `DRM_XE_DEVICE_QUERY_MEM_REGIONS`.
    drm_xe_query_mem_regions: 8 {
        /// Entries in `mem_regions`.
        num_mem_regions @ 0: u32,
        /// Zero.
        pad @ 4: u32,
        /// The regions; a flexible array.
        mem_regions @ 8: [drm_xe_mem_region; 0],
    }

    /// The answer to `DRM_XE_DEVICE_QUERY_CONFIG`.
    drm_xe_query_config: 8 {
        /// Entries in `info`.
        num_params @ 0: u32,
        /// Zero.
        pad @ 4: u32,
        /// The values, by `DRM_XE_QUERY_CONFIG_*`; a flexible array.
        info @ 8: [u64; 0],
    }

    /// A GT: a part of the GPU with engines of its own.
    drm_xe_gt: 96 {
        /// `DRM_XE_QUERY_GT_TYPE_*`.
        r#type @ 0: u16,
        /// The tile that has the GT.
        tile_id @ 2: u16,
        /// Its number in the device.
        gt_id @ 4: u16,
        /// Zero.
        pad @ 6: [u16; 3],
        /// Frequency of its timestamp, in Hz.
        reference_clock @ 12: u32,
        /// Mask of the memory regions nearest to its engines.
        near_mem_regions @ 16: u64,
        /// Mask of the other memory regions that its engines reach.
        far_mem_regions @ 24: u64,
        /// Major version of its graphics or media; 0 where the hardware does not say it (before Meteor Lake).
        ip_ver_major @ 32: u16,
        /// Minor version.
        ip_ver_minor @ 34: u16,
        /// Revision of that version.
        ip_ver_rev @ 36: u16,
        /// Zero.
        pad2 @ 38: u16,
        /// Zero.
        reserved @ 40: [u64; 7],
    }

    /// The answer to `DRM_XE_DEVICE_QUERY_GT_LIST`.
    drm_xe_query_gt_list: 8 {
        /// Entries in `gt_list`.
        num_gt @ 0: u32,
        /// Zero.
        pad @ 4: u32,
        /// The GTs; a flexible array.
        gt_list @ 8: [drm_xe_gt; 0],
    }

    /// The argument of DEVICE_QUERY.
    drm_xe_device_query: 40 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// `DRM_XE_DEVICE_QUERY_*`.
        query @ 8: u32,
        /// Bytes at `data`, 0 to ask how many; back: the bytes.
        size @ 12: u32,
        /// Address the answer is copied to.
        data @ 16: u64,
        /// Must be 0.
        reserved @ 24: [u64; 2],
    }

    /// The argument of GEM_CREATE.
    drm_xe_gem_create: 56 {
        /// Address of the first extension, or 0.
        extensions @ 0: u64,
        /// Size in bytes, a multiple of the page size of each region of `placement`.
        size @ 8: u64,
        /// Mask of the memory regions where the object may live.
        placement @ 16: u32,
        /// `DRM_XE_GEM_CREATE_FLAG_*`.
        flags @ 20: u32,
        /// The only address space the object may be bound in, or 0; with it, the object is not exported.
        vm_id @ 24: u32,
        /// Must be 0; back: the object's name.
        handle @ 28: u32,
        /// `DRM_XE_GEM_CPU_CACHING_*`.
        cpu_caching @ 32: u16,
        /// Must be 0.
        pad @ 34: [u16; 3],
        /// Must be 0.
        reserved @ 40: [u64; 2],
    }

    /// The argument of GEM_MMAP_OFFSET.
    drm_xe_gem_mmap_offset: 40 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The object's name; 0 with `DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER`.
        handle @ 8: u32,
        /// `DRM_XE_MMAP_OFFSET_FLAG_*`.
        flags @ 12: u32,
        /// Back: the mmap(2) offset.
        offset @ 16: u64,
        /// Must be 0.
        reserved @ 24: [u64; 2],
    }

    /// The argument of VM_CREATE.
    drm_xe_vm_create: 32 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// `DRM_XE_VM_CREATE_FLAG_*`.
        flags @ 8: u32,
        /// Back: the address space's id.
        vm_id @ 12: u32,
        /// Must be 0.
        reserved @ 16: [u64; 2],
    }

    /// The argument of VM_DESTROY.
    drm_xe_vm_destroy: 24 {
        /// The address space.
        vm_id @ 0: u32,
        /// Must be 0.
        pad @ 4: u32,
        /// Must be 0.
        reserved @ 8: [u64; 2],
    }

    /// A change of an address space.
    drm_xe_vm_bind_op: 80 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The object's name, for `DRM_XE_VM_BIND_OP_MAP` and `DRM_XE_VM_BIND_OP_UNMAP_ALL`; otherwise 0.
        obj @ 8: u32,
        /// The mapping's PAT index; must be valid for each operation.
        pat_index @ 12: u16,
        /// Must be 0.
        pad @ 14: u16,
        /// First byte of the object. C has a union: with `DRM_XE_VM_BIND_OP_MAP_USERPTR` it is `userptr`, the address of the first page, and with
        /// `DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR` `cpu_addr_mirror_offset`, which must be 0.
        obj_offset @ 16: u64,
        /// The number of bytes; 0 for `DRM_XE_VM_BIND_OP_UNMAP_ALL`.
        range @ 24: u64,
        /// The GPU's address; 0 for `DRM_XE_VM_BIND_OP_UNMAP_ALL`.
        addr @ 32: u64,
        /// `DRM_XE_VM_BIND_OP_*`.
        op @ 40: u32,
        /// `DRM_XE_VM_BIND_FLAG_*`.
        flags @ 44: u32,
        /// The memory region, by its `instance`, that `DRM_XE_VM_BIND_OP_PREFETCH` moves the pages to; otherwise 0.
        prefetch_mem_region_instance @ 48: u32,
        /// Must be 0.
        pad2 @ 52: u32,
        /// Must be 0.
        reserved @ 56: [u64; 3],
    }

    /// The argument of VM_BIND.
    drm_xe_vm_bind: 136 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The address space.
        vm_id @ 8: u32,
        /// A queue of `DRM_XE_ENGINE_CLASS_VM_BIND` and of this address space, or 0 for the address space's own.
        exec_queue_id @ 12: u32,
        /// Must be 0.
        pad @ 16: u32,
        /// The number of changes; 0 only handles the fences.
        num_binds @ 20: u32,
        /// The change, if there is one. C has a union: if there are more, its first 8 bytes are `vector_of_binds`, the address of as many
        /// [`drm_xe_vm_bind_op`].
        bind @ 24: drm_xe_vm_bind_op,
        /// Must be 0.
        pad2 @ 104: u32,
        /// Entries at `syncs`.
        num_syncs @ 108: u32,
        /// Address of [`drm_xe_sync`]s.
        syncs @ 112: u64,
        /// Must be 0.
        reserved @ 120: [u64; 2],
    }

    /// The argument of EXEC_QUEUE_CREATE.
    drm_xe_exec_queue_create: 48 {
        /// Address of the first extension, or 0.
        extensions @ 0: u64,
        /// Batches per submission.
        width @ 8: u16,
        /// Engines that each batch may run on.
        num_placements @ 10: u16,
        /// The address space.
        vm_id @ 12: u32,
        /// `DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT`, or 0.
        flags @ 16: u32,
        /// Back: the queue's id.
        exec_queue_id @ 20: u32,
        /// Address of `width * num_placements` [`drm_xe_engine_class_instance`]s; the one with placement `i` of batch `j` is at `j + i * width`.
        instances @ 24: u64,
        /// Must be 0.
        reserved @ 32: [u64; 2],
    }

    /// The argument of EXEC_QUEUE_DESTROY.
    drm_xe_exec_queue_destroy: 24 {
        /// The queue.
        exec_queue_id @ 0: u32,
        /// Must be 0.
        pad @ 4: u32,
        /// Must be 0.
        reserved @ 8: [u64; 2],
    }

    /// The argument of EXEC_QUEUE_GET_PROPERTY.
    drm_xe_exec_queue_get_property: 40 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The queue.
        exec_queue_id @ 8: u32,
        /// `DRM_XE_EXEC_QUEUE_GET_PROPERTY_*`.
        property @ 12: u32,
        /// The answer.
        value @ 16: u64,
        /// Must be 0.
        reserved @ 24: [u64; 2],
    }

    /// The argument of EXEC_QUEUE_SET_PROPERTY.
    drm_xe_exec_queue_set_property: 40 {
        /// Not read.
        extensions @ 0: u64,
        /// The queue.
        exec_queue_id @ 8: u32,
        /// `DRM_XE_EXEC_QUEUE_SET_PROPERTY_*`.
        property @ 12: u32,
        /// The property's value.
        value @ 16: u64,
        /// Must be 0.
        reserved @ 24: [u64; 2],
    }

    /// The argument of VM_GET_PROPERTY.
    drm_xe_vm_get_property: 56 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The VM.
        vm_id @ 8: u32,
        /// `DRM_XE_VM_GET_PROPERTY_*`.
        property @ 12: u32,
        /// Size of the memory at `data` in bytes; 0 asks for it.
        size @ 16: u32,
        /// Must be 0.
        pad @ 20: u32,
        /// Address of the answer. C has a union: for an answer of one number it is `value`.
        data @ 24: u64,
        /// Must be 0.
        reserved @ 32: [u64; 3],
    }

    /// The argument of OBSERVATION.
    drm_xe_observation_param: 32 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// `DRM_XE_OBSERVATION_TYPE_*`.
        observation_type @ 8: u64,
        /// `DRM_XE_OBSERVATION_OP_*`.
        observation_op @ 16: u64,
        /// The argument of the operation, or its address.
        param @ 24: u64,
    }

    /// A mapping, as VM_QUERY_MEM_RANGE_ATTRS describes it. C has a struct for each of the pairs.
    drm_xe_mem_range_attr: 64 {
        /// 0.
        extensions @ 0: u64,
        /// The first address.
        start @ 8: u64,
        /// The address after the last one.
        end @ 16: u64,
        /// The location of the process's memory, as MADVISE said, and the policy: `preferred_mem_loc`.
        preferred_mem_loc @ 24: [u32; 2],
        /// `DRM_XE_ATOMIC_*`.
        atomic @ 32: u32,
        /// 0: `atomic.reserved`.
        atomic_reserved @ 36: u32,
        /// The PAT index.
        pat_index @ 40: u32,
        /// 0: `pat_index.reserved`.
        pat_index_reserved @ 44: u32,
        /// 0.
        reserved @ 48: [u64; 2],
    }

    /// The argument of VM_QUERY_MEM_RANGE_ATTRS.
    drm_xe_vm_query_mem_range_attr: 64 {
        /// Not read.
        extensions @ 0: u64,
        /// The VM.
        vm_id @ 8: u32,
        /// Number of `drm_xe_mem_range_attr` at `vector_of_mem_attr`; 0 asks for it.
        num_mem_ranges @ 12: u32,
        /// The first address.
        start @ 16: u64,
        /// Bytes.
        range @ 24: u64,
        /// Bytes of a `drm_xe_mem_range_attr`; 0 with the number.
        sizeof_mem_range_attr @ 32: u64,
        /// Address of the answer; 0 with the number.
        vector_of_mem_attr @ 40: u64,
        /// Not read.
        reserved @ 48: [u64; 2],
    }

    /// A fence of a submission or of a change of an address space.
    drm_xe_sync: 48 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// `DRM_XE_SYNC_TYPE_*`.
        r#type @ 8: u32,
        /// `DRM_XE_SYNC_FLAG_SIGNAL`, or 0 to wait.
        flags @ 12: u32,
        /// Address of a user fence: the GPU's for EXEC, the CPU's for VM_BIND. C has a union: for a syncobj its first 4 bytes are `handle`, the
        /// syncobj's handle.
        addr @ 16: u64,
        /// The point of a timeline, or the value that a user fence gets.
        timeline_value @ 24: u64,
        /// Must be 0.
        reserved @ 32: [u64; 2],
    }

    /// The argument of EXEC.
    drm_xe_exec: 56 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The queue.
        exec_queue_id @ 8: u32,
        /// Entries at `syncs`.
        num_syncs @ 12: u32,
        /// Address of [`drm_xe_sync`]s.
        syncs @ 16: u64,
        /// The GPU's address of the batch; with more than one batch, address of their addresses.
        address @ 24: u64,
        /// The number of batches: the queue's `width`, or 0 to handle the fences only.
        num_batch_buffer @ 32: u16,
        /// Must be 0.
        pad @ 34: [u16; 3],
        /// Must be 0.
        reserved @ 40: [u64; 2],
    }

    /// The argument of WAIT_USER_FENCE: waits until `*addr & mask` compares with `value & mask` as `op` says.
    drm_xe_wait_user_fence: 72 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The CPU's address of the fence, a multiple of 8.
        addr @ 8: u64,
        /// `DRM_XE_UFENCE_WAIT_OP_*`.
        op @ 16: u16,
        /// `DRM_XE_UFENCE_WAIT_FLAG_ABSTIME`, or 0.
        flags @ 18: u16,
        /// Must be 0.
        pad @ 20: u32,
        /// The value the fence is compared with.
        value @ 24: u64,
        /// The bits that are compared.
        mask @ 32: u64,
        /// Nanoseconds to wait, negative for ever; back: what is left. With the flag: until when, by the monotonic clock.
        timeout @ 40: i64,
        /// The queue whose reset ends the wait, or 0.
        exec_queue_id @ 48: u32,
        /// Must be 0.
        pad2 @ 52: u32,
        /// Must be 0.
        reserved @ 56: [u64; 2],
    }

    /// The argument of MADVISE.
    drm_xe_madvise: 64 {
        /// Must be 0: no extension is known.
        extensions @ 0: u64,
        /// The GPU's address of the first page.
        start @ 8: u64,
        /// The number of bytes, a multiple of the page size.
        range @ 16: u64,
        /// The address space.
        vm_id @ 24: u32,
        /// `DRM_XE_MEM_RANGE_ATTR_*`, `DRM_XE_VMA_ATTR_PURGEABLE_STATE`.
        r#type @ 28: u32,
        /// With `DRM_XE_MEM_RANGE_ATTR_PAT`: the PAT index, and three zeroes. C has a union of structs here; the other types use
        /// `preferred_mem_loc`, `atomic` and `purge_state_val`.
        pat_index @ 32: [u32; 4],
        /// Must be 0.
        reserved @ 48: [u64; 2],
    }
}

values! {
    /// The render engines.
    DRM_XE_ENGINE_CLASS_RENDER: u16 = 0;
    /// The copy engines.
    DRM_XE_ENGINE_CLASS_COPY: u16 = 1;
    /// The video engines.
    DRM_XE_ENGINE_CLASS_VIDEO_DECODE: u16 = 2;
    /// The video enhancement engines.
    DRM_XE_ENGINE_CLASS_VIDEO_ENHANCE: u16 = 3;
    /// The compute engines.
    DRM_XE_ENGINE_CLASS_COMPUTE: u16 = 4;
    /// No hardware: queues of VM_BIND.
    DRM_XE_ENGINE_CLASS_VM_BIND: u16 = 5;

    /// Memory that the CPU shares.
    DRM_XE_MEM_REGION_CLASS_SYSMEM: u16 = 0;
    /// Memory of the device.
    DRM_XE_MEM_REGION_CLASS_VRAM: u16 = 1;

    /// Index in `info`: the PCI device id in the lowest 16 bits, the revision in the next 8.
    DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID: usize = 0;
    /// Index in `info`: `DRM_XE_QUERY_CONFIG_FLAG_*`.
    DRM_XE_QUERY_CONFIG_FLAGS: usize = 1;
    /// The device has memory of its own.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM: u64 = 1 << 0;
    /// `DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT` works.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY: u64 = 1 << 1;
    /// `DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR` works.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_CPU_ADDR_MIRROR: u64 = 1 << 2;
    /// `DRM_XE_GEM_CREATE_FLAG_NO_COMPRESSION` works.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_NO_COMPRESSION_HINT: u64 = 1 << 3;
    /// `DRM_XE_EXEC_QUEUE_SET_DISABLE_STATE_CACHE_PERF_FIX` works.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_DISABLE_STATE_CACHE_PERF_FIX: u64 = 1 << 4;
    /// `DRM_XE_VMA_ATTR_PURGEABLE_STATE` works.
    DRM_XE_QUERY_CONFIG_FLAG_HAS_PURGING_SUPPORT: u64 = 1 << 5;
    /// Index in `info`: the smallest alignment of memory, in bytes.
    DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT: usize = 2;
    /// Index in `info`: bits of a GPU's address.
    DRM_XE_QUERY_CONFIG_VA_BITS: usize = 3;
    /// Index in `info`: the highest priority of a queue.
    DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY: usize = 4;

    /// A GT for graphics and compute.
    DRM_XE_QUERY_GT_TYPE_MAIN: u16 = 0;
    /// A GT for video.
    DRM_XE_QUERY_GT_TYPE_MEDIA: u16 = 1;

    /// The question for engines.
    DRM_XE_DEVICE_QUERY_ENGINES: u32 = 0;
    /// The question for the memory regions.
    DRM_XE_DEVICE_QUERY_MEM_REGIONS: u32 = 1;
    /// The question for the configuration.
    DRM_XE_DEVICE_QUERY_CONFIG: u32 = 2;
    /// The question for the GTs.
    DRM_XE_DEVICE_QUERY_GT_LIST: u32 = 3;

    /// Pages are allocated when the object is bound or the CPU accesses it.
    DRM_XE_GEM_CREATE_FLAG_DEFER_BACKING: u32 = 1 << 0;
    /// The display may show the object; it cannot be write-back.
    DRM_XE_GEM_CREATE_FLAG_SCANOUT: u32 = 1 << 1;
    /// In the device's memory, the object stays within reach of the CPU.
    DRM_XE_GEM_CREATE_FLAG_NEEDS_VISIBLE_VRAM: u32 = 1 << 2;
    /// The object is not compressed: PAT indices with compression are refused.
    DRM_XE_GEM_CREATE_FLAG_NO_COMPRESSION: u32 = 1 << 3;
    /// The CPU maps the object write-back; not for the device's memory.
    DRM_XE_GEM_CPU_CACHING_WB: u16 = 1;
    /// The CPU maps the object write-combining; system memory of a discrete device is write-back all the same.
    DRM_XE_GEM_CPU_CACHING_WC: u16 = 2;

    /// MMAP_OFFSET: not of an object, but of a page whose stores order the CPU's writes to the device's memory.
    DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER: u32 = 1 << 0;

    /// Unbound addresses lead to a page of the kernel, not to a fault.
    DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE: u32 = 1 << 0;
    /// Batches may run without a limit of time.
    DRM_XE_VM_CREATE_FLAG_LR_MODE: u32 = 1 << 1;
    /// Pages are bound when the GPU faults; with `DRM_XE_VM_CREATE_FLAG_LR_MODE` only.
    DRM_XE_VM_CREATE_FLAG_FAULT_MODE: u32 = 1 << 2;
    /// `DRM_XE_VM_BIND_FLAG_IMMEDIATE` fails when memory is short; with `DRM_XE_VM_CREATE_FLAG_FAULT_MODE` only.
    DRM_XE_VM_CREATE_FLAG_NO_VM_OVERCOMMIT: u32 = 1 << 3;

    /// Binds an object.
    DRM_XE_VM_BIND_OP_MAP: u32 = 0x0;
    /// Unbinds addresses.
    DRM_XE_VM_BIND_OP_UNMAP: u32 = 0x1;
    /// Binds this process's pages.
    DRM_XE_VM_BIND_OP_MAP_USERPTR: u32 = 0x2;
    /// Unbinds an object wherever the address space has it.
    DRM_XE_VM_BIND_OP_UNMAP_ALL: u32 = 0x3;
    /// Moves pages to a memory region.
    DRM_XE_VM_BIND_OP_PREFETCH: u32 = 0x4;
    /// The GPU only reads the pages.
    DRM_XE_VM_BIND_FLAG_READONLY: u32 = 1 << 0;
    /// Pages are bound now, not when the GPU faults.
    DRM_XE_VM_BIND_FLAG_IMMEDIATE: u32 = 1 << 1;
    /// Reads give zero, writes are dropped.
    DRM_XE_VM_BIND_FLAG_NULL: u32 = 1 << 2;
    /// The mapping is saved when the GPU hangs.
    DRM_XE_VM_BIND_FLAG_DUMPABLE: u32 = 1 << 3;
    /// Refused if the object's key of protected content is no longer valid.
    DRM_XE_VM_BIND_FLAG_CHECK_PXP: u32 = 1 << 4;
    /// The addresses are those of the process; pages are bound when the GPU faults.
    DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR: u32 = 1 << 5;
    /// What MADVISE set is reset by munmap(2); with `DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR` only.
    DRM_XE_VM_BIND_FLAG_MADVISE_AUTORESET: u32 = 1 << 6;
    /// The object is decompressed in place.
    DRM_XE_VM_BIND_FLAG_DECOMPRESS: u32 = 1 << 7;
    /// `prefetch_mem_region_instance`: the memory region that MADVISE set.
    DRM_XE_CONSULT_MEM_ADVISE_PREF_LOC: i32 = -1;

    /// Batches wait little, at the cost of power.
    DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT: u32 = 1 << 0;

    /// Whether the kernel runs nothing more of the queue, as after a hang.
    DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN: u32 = 0;

    /// The priority of a queue in its group: the one property that can be set later.
    DRM_XE_EXEC_QUEUE_SET_PROPERTY_MULTI_QUEUE_PRIORITY: u32 = 5;
    /// The page faults of a VM that could not be handled.
    DRM_XE_VM_GET_PROPERTY_FAULTS: u32 = 0;

    /// A syncobj with one fence.
    DRM_XE_SYNC_TYPE_SYNCOBJ: u32 = 0x0;
    /// A point of a syncobj.
    DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ: u32 = 0x1;
    /// A number of 64 bits in memory; it can only be signalled.
    DRM_XE_SYNC_TYPE_USER_FENCE: u32 = 0x2;
    /// The fence is signalled at the end; otherwise it is waited for.
    DRM_XE_SYNC_FLAG_SIGNAL: u32 = 1 << 0;
    /// The largest number of fences.
    DRM_XE_MAX_SYNCS: u32 = 1024;

    /// Waits until the fence is equal to the value.
    DRM_XE_UFENCE_WAIT_OP_EQ: u16 = 0x0;
    /// Waits until the fence differs from the value.
    DRM_XE_UFENCE_WAIT_OP_NEQ: u16 = 0x1;
    /// Waits until the fence is greater than the value.
    DRM_XE_UFENCE_WAIT_OP_GT: u16 = 0x2;
    /// Waits until the fence is greater than the value or equal to it.
    DRM_XE_UFENCE_WAIT_OP_GTE: u16 = 0x3;
    /// Waits until the fence is less than the value.
    DRM_XE_UFENCE_WAIT_OP_LT: u16 = 0x4;
    /// Waits until the fence is less than the value or equal to it.
    DRM_XE_UFENCE_WAIT_OP_LTE: u16 = 0x5;
    /// `timeout` is a time, not a duration.
    DRM_XE_UFENCE_WAIT_FLAG_ABSTIME: u16 = 1 << 0;

    /// MADVISE: the memory region that the pages should be in.
    DRM_XE_MEM_RANGE_ATTR_PREFERRED_LOC: u32 = 0;
    /// MADVISE: who makes atomic accesses.
    DRM_XE_MEM_RANGE_ATTR_ATOMIC: u32 = 1;
    /// MADVISE: the PAT index.
    DRM_XE_MEM_RANGE_ATTR_PAT: u32 = 2;
    /// MADVISE: whether the contents are needed.
    DRM_XE_VMA_ATTR_PURGEABLE_STATE: u32 = 3;
}

requests! {
    /// Asks a question about the device.
    DRM_IOCTL_XE_DEVICE_QUERY = IOWR(b'd', 0x40, drm_xe_device_query) == 0xc028_6440;
    /// Makes an object.
    DRM_IOCTL_XE_GEM_CREATE = IOWR(b'd', 0x41, drm_xe_gem_create) == 0xc038_6441;
    /// Asks for an object's mmap(2) offset.
    DRM_IOCTL_XE_GEM_MMAP_OFFSET = IOWR(b'd', 0x42, drm_xe_gem_mmap_offset) == 0xc028_6442;
    /// Makes an address space.
    DRM_IOCTL_XE_VM_CREATE = IOWR(b'd', 0x43, drm_xe_vm_create) == 0xc020_6443;
    /// Destroys an address space.
    DRM_IOCTL_XE_VM_DESTROY = IOW(b'd', 0x44, drm_xe_vm_destroy) == 0x4018_6444;
    /// Binds objects in an address space, and unbinds them.
    DRM_IOCTL_XE_VM_BIND = IOW(b'd', 0x45, drm_xe_vm_bind) == 0x4088_6445;
    /// Makes a queue.
    DRM_IOCTL_XE_EXEC_QUEUE_CREATE = IOWR(b'd', 0x46, drm_xe_exec_queue_create) == 0xc030_6446;
    /// Destroys a queue.
    DRM_IOCTL_XE_EXEC_QUEUE_DESTROY = IOW(b'd', 0x47, drm_xe_exec_queue_destroy) == 0x4018_6447;
    /// Asks about a queue.
    DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY = IOWR(b'd', 0x48, drm_xe_exec_queue_get_property) == 0xc028_6448;
    /// Submits batches to a queue.
    DRM_IOCTL_XE_EXEC = IOW(b'd', 0x49, drm_xe_exec) == 0x4038_6449;
    /// Waits for a fence in memory.
    DRM_IOCTL_XE_WAIT_USER_FENCE = IOWR(b'd', 0x4a, drm_xe_wait_user_fence) == 0xc048_644a;
    /// Samples counters of the GPU.
    DRM_IOCTL_XE_OBSERVATION = IOW(b'd', 0x4b, drm_xe_observation_param) == 0x4020_644b;
    /// Changes an attribute of addresses.
    DRM_IOCTL_XE_MADVISE = IOW(b'd', 0x4c, drm_xe_madvise) == 0x4040_644c;
    /// Describes the mappings of addresses.
    DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS = IOWR(b'd', 0x4d, drm_xe_vm_query_mem_range_attr) == 0xc040_644d;
    /// Changes a property of a queue.
    DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY = IOW(b'd', 0x4e, drm_xe_exec_queue_set_property) == 0x4028_644e;
    /// Asks about an address space.
    DRM_IOCTL_XE_VM_GET_PROPERTY = IOWR(b'd', 0x4f, drm_xe_vm_get_property) == 0xc038_644f;
}
