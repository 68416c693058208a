// Requests of xe, from drm/xe_drm.h, which is not installed everywhere.
#ifndef XE_H
#define XE_H

#include <stdint.h>
#include <drm.h>

struct xe_query {
    uint64_t extensions;
    uint32_t query, size;
    uint64_t data, reserved[2];
};
struct xe_region {
    uint16_t mem_class, instance;
    uint32_t min_page_size;
    uint64_t total_size, used, cpu_visible_size, cpu_visible_used, reserved[6];
};
struct xe_regions {
    uint32_t count, pad;
    struct xe_region region[2];
};
struct xe_gem_create {
    uint64_t extensions, size;
    uint32_t placement, flags, vm_id, handle;
    uint16_t cpu_caching, pad[3];
    uint64_t reserved[2];
};
struct xe_gem_mmap_offset {
    uint64_t extensions;
    uint32_t handle, flags;
    uint64_t offset, reserved[2];
};
struct xe_vm_create {
    uint64_t extensions;
    uint32_t flags, vm_id;
    uint64_t reserved[2];
};
struct xe_vm_bind_op {
    uint64_t extensions;
    uint32_t obj;
    uint16_t pat_index, pad;
    uint64_t obj_offset, range, addr;
    uint32_t op, flags, prefetch_mem_region_instance, pad2;
    uint64_t reserved[3];
};
struct xe_vm_bind {
    uint64_t extensions;
    uint32_t vm_id, exec_queue_id, pad, num_binds;
    struct xe_vm_bind_op bind;
    uint32_t pad2, num_syncs;
    uint64_t syncs, reserved[2];
};
struct xe_sync {
    uint64_t extensions;
    uint32_t type, flags;
    uint64_t handle, timeline_value, reserved[2];
};
struct xe_engine {
    uint16_t engine_class, engine_instance, gt_id, pad;
};
struct xe_exec_queue_create {
    uint64_t extensions;
    uint16_t width, num_placements;
    uint32_t vm_id, flags, exec_queue_id;
    uint64_t instances, reserved[2];
};
struct xe_exec {
    uint64_t extensions;
    uint32_t exec_queue_id, num_syncs;
    uint64_t syncs, address;
    uint16_t num_batch_buffer, pad[3];
    uint64_t reserved[2];
};
struct xe_madvise {
    uint64_t extensions, start, range;
    uint32_t vm_id, type, pat_index, pad;
    uint64_t more, reserved[2];
};
#define XE_DEVICE_QUERY _IOWR('d', 0x40, struct xe_query)
#define XE_GEM_CREATE _IOWR('d', 0x41, struct xe_gem_create)
#define XE_GEM_MMAP_OFFSET _IOWR('d', 0x42, struct xe_gem_mmap_offset)
#define XE_VM_CREATE _IOWR('d', 0x43, struct xe_vm_create)
#define XE_VM_BIND _IOW('d', 0x45, struct xe_vm_bind)
#define XE_EXEC_QUEUE_CREATE _IOWR('d', 0x46, struct xe_exec_queue_create)
#define XE_EXEC _IOW('d', 0x49, struct xe_exec)
#define XE_MADVISE _IOW('d', 0x4c, struct xe_madvise)
enum { SYSTEM = 1, LOCAL = 2, REGIONS = 1, SCANOUT = 2, SCRATCH_PAGE = 1, WB = 1, WC = 2, COPY_ENGINE = 1, SIGNAL = 1, PAT = 2 };

#endif
