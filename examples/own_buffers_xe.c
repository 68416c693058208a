/* A driver with its own buffers under the kernel driver xe, which asks the library how to create and bind them, and lets it track them.
 *
 *   cc -D_GNU_SOURCE examples/own_buffers_xe.c $(pkg-config --cflags --libs gem_coherency) -o own_buffers_xe
 *   ./own_buffers_xe /dev/dri/renderD128            # a device that xe drives
 *   ./own_buffers_xe /dev/dri/renderD128 --wrong    # also binds by a PAT index that the kernel must refuse
 *
 * The CPU fills one object (upload), the copy engine copies it to another one (read-back), and the CPU compares. xe has no request that
 * tells a program its PAT table, and none that flushes: the caching of an object is fixed by GEM_CREATE, that of a mapping by the PAT index
 * of VM_BIND. The library is told both, the stores and the batch, and does what is required before each access, which is printed with its rule.
 * Exit status: 0; 1 for old bytes, or an answer of the kernel that the library did not foresee; 2 after an error. */

#include <errno.h>
#include <fcntl.h>
#include <gem_coherency.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<drm/xe_drm.h>)
#include <drm/drm.h>
#include <drm/xe_drm.h>
#else
/* From the kernel's drm/drm.h and drm/xe_drm.h, which are not installed everywhere. */
struct drm_syncobj_create { uint32_t handle, flags; };
struct drm_syncobj_wait { uint64_t handles; int64_t timeout_nsec; uint32_t count_handles, flags, first_signaled, pad; };
struct drm_syncobj_array { uint64_t handles; uint32_t count_handles, pad; };
struct drm_xe_device_query { uint64_t extensions; uint32_t query, size; uint64_t data, reserved[2]; };
struct drm_xe_query_config { uint32_t num_params, pad; uint64_t info[]; };
struct drm_xe_gt {
    uint16_t type, tile_id, gt_id, pad[3];
    uint32_t reference_clock;
    uint64_t near_mem_regions, far_mem_regions;
    uint16_t ip_ver_major, ip_ver_minor, ip_ver_rev, pad2;
    uint64_t reserved[7];
};
struct drm_xe_query_gt_list { uint32_t num_gt, pad; struct drm_xe_gt gt_list[]; };
struct drm_xe_gem_create {
    uint64_t extensions, size;
    uint32_t placement, flags, vm_id, handle;
    uint16_t cpu_caching, pad[3];
    uint64_t reserved[2];
};
struct drm_xe_gem_mmap_offset { uint64_t extensions; uint32_t handle, flags; uint64_t offset, reserved[2]; };
struct drm_xe_vm_create { uint64_t extensions; uint32_t flags, vm_id; uint64_t reserved[2]; };
struct drm_xe_vm_bind_op {
    uint64_t extensions;
    uint32_t obj;
    uint16_t pat_index, pad;
    uint64_t obj_offset, range, addr;
    uint32_t op, flags, prefetch_mem_region_instance, pad2;
    uint64_t reserved[3];
};
struct drm_xe_vm_bind {
    uint64_t extensions;
    uint32_t vm_id, exec_queue_id, pad, num_binds;
    struct drm_xe_vm_bind_op bind;
    uint32_t pad2, num_syncs;
    uint64_t syncs, reserved[2];
};
struct drm_xe_engine_class_instance { uint16_t engine_class, engine_instance, gt_id, pad; };
struct drm_xe_exec_queue_create {
    uint64_t extensions;
    uint16_t width, num_placements;
    uint32_t vm_id, flags, exec_queue_id;
    uint64_t instances, reserved[2];
};
struct drm_xe_sync { uint64_t extensions; uint32_t type, flags; uint64_t handle, timeline_value, reserved[2]; };
struct drm_xe_exec {
    uint64_t extensions;
    uint32_t exec_queue_id, num_syncs;
    uint64_t syncs, address;
    uint16_t num_batch_buffer, pad[3];
    uint64_t reserved[2];
};
#define DRM_IOCTL_SYNCOBJ_CREATE _IOWR('d', 0xbf, struct drm_syncobj_create)
#define DRM_IOCTL_SYNCOBJ_WAIT _IOWR('d', 0xc3, struct drm_syncobj_wait)
#define DRM_IOCTL_SYNCOBJ_RESET _IOWR('d', 0xc4, struct drm_syncobj_array)
#define DRM_IOCTL_XE_DEVICE_QUERY _IOWR('d', 0x40, struct drm_xe_device_query)
#define DRM_IOCTL_XE_GEM_CREATE _IOWR('d', 0x41, struct drm_xe_gem_create)
#define DRM_IOCTL_XE_GEM_MMAP_OFFSET _IOWR('d', 0x42, struct drm_xe_gem_mmap_offset)
#define DRM_IOCTL_XE_VM_CREATE _IOWR('d', 0x43, struct drm_xe_vm_create)
#define DRM_IOCTL_XE_VM_BIND _IOW('d', 0x45, struct drm_xe_vm_bind)
#define DRM_IOCTL_XE_EXEC_QUEUE_CREATE _IOWR('d', 0x46, struct drm_xe_exec_queue_create)
#define DRM_IOCTL_XE_EXEC _IOW('d', 0x49, struct drm_xe_exec)
enum {
    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT = 2, DRM_XE_DEVICE_QUERY_CONFIG = 2, DRM_XE_DEVICE_QUERY_GT_LIST = 3,
    DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID = 0, DRM_XE_QUERY_GT_TYPE_MAIN = 0, DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE = 1,
    DRM_XE_VM_BIND_OP_MAP = 0, DRM_XE_ENGINE_CLASS_COPY = 1, DRM_XE_SYNC_TYPE_SYNCOBJ = 0, DRM_XE_SYNC_FLAG_SIGNAL = 1,
};
#endif

/* A copy of 16 rows. The GPU address of the first object, and the distance to the next one's. */
enum { SIZE = 65536, PITCH = 4096, FIRST_ADDRESS = 0x1000000, STEP = 0x200000, WAIT_SECONDS = 20 };

/* An object of the driver's, with what the library chose for it. */
struct buffer {
    gemco_xe_mapping chosen;
    uint32_t handle;
    void *mapped;
    gemco_bo *bo;
};

struct driver {
    int fd;
    /* The device as the library's rules know it, and as the library has it open: the driver's file. */
    gemco_xe_device device;
    gemco_device *tracker;
    uint32_t vm, queue, syncobj;
    uint64_t next_address;
};

static void fail(const char *what, int number) {
    fprintf(stderr, "%s: %s\n", what, strerror(number));
    exit(2);
}

/* Returns what a call of the library returns, which ends the program if it is an error. */
static int must(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", gemco_last_error());
        exit(2);
    }
    return result;
}

/* Makes a request; returns 0 or the errno. */
static int try_request(const struct driver *driver, unsigned long code, void *argument) {
    int result;
    do
        result = ioctl(driver->fd, code, argument) < 0 ? errno : 0;
    while (result == EINTR || result == EAGAIN);
    return result;
}

/* Makes a request; one that fails ends the program. */
static void request(const struct driver *driver, unsigned long code, void *argument, const char *name) {
    int number = try_request(driver, code, argument);
    if (number)
        fail(name, number);
}

/* Returns the answer to a query; the caller frees it. */
static void *query(const struct driver *driver, uint32_t number) {
    struct drm_xe_device_query query = {.query = number};
    request(driver, DRM_IOCTL_XE_DEVICE_QUERY, &query, "DEVICE_QUERY");
    void *data = calloc(1, query.size);
    if (!data)
        fail("calloc", ENOMEM);
    query.data = (uintptr_t)data;
    request(driver, DRM_IOCTL_XE_DEVICE_QUERY, &query, "DEVICE_QUERY");
    return data;
}

/* Looks the device up by its ID, the running kernel and the version of its graphics IP. */
static void look_up(struct driver *driver) {
    struct drm_xe_query_config *config = query(driver, DRM_XE_DEVICE_QUERY_CONFIG);
    struct drm_xe_query_gt_list *list = query(driver, DRM_XE_DEVICE_QUERY_GT_LIST);
    struct utsname name;
    unsigned major = 0, minor = 0, gt = 0;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        fail("uname", EINVAL);
    while (gt + 1 < list->num_gt && list->gt_list[gt].type != DRM_XE_QUERY_GT_TYPE_MAIN)
        gt++;
    const struct drm_xe_gt *main_gt = &list->gt_list[gt];
    /* Devices before Meteor Lake report the version 0.0: the library then takes the platform's. */
    must(gemco_xe_device_by_id((uint16_t)config->info[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID], (uint16_t)major, (uint16_t)minor,
                               (uint8_t)main_gt->ip_ver_major, (uint8_t)main_gt->ip_ver_minor, &driver->device));
    printf("%s, graphics version %u.%02u, Linux %u.%u: %u PAT indices\n", driver->device.title, driver->device.graphics_major,
           driver->device.graphics_minor, major, minor, driver->device.pat_indices);
    free(config);
    free(list);
}

/* Creates the address space, a queue of the copy engine, and a syncobj. */
static void set_up(struct driver *driver) {
    struct drm_xe_vm_create vm = {.flags = DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE};
    request(driver, DRM_IOCTL_XE_VM_CREATE, &vm, "VM_CREATE");
    driver->vm = vm.vm_id;
    struct drm_xe_engine_class_instance copy_engine = {.engine_class = DRM_XE_ENGINE_CLASS_COPY};
    struct drm_xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = driver->vm, .instances = (uintptr_t)&copy_engine};
    request(driver, DRM_IOCTL_XE_EXEC_QUEUE_CREATE, &queue, "EXEC_QUEUE_CREATE");
    driver->queue = queue.exec_queue_id;
    struct drm_syncobj_create syncobj = {0};
    request(driver, DRM_IOCTL_SYNCOBJ_CREATE, &syncobj, "SYNCOBJ_CREATE");
    driver->syncobj = syncobj.handle;
    driver->next_address = FIRST_ADDRESS;
}

/* Returns the sync that signals the syncobj. */
static struct drm_xe_sync signal_syncobj(const struct driver *driver) {
    return (struct drm_xe_sync){.type = DRM_XE_SYNC_TYPE_SYNCOBJ, .flags = DRM_XE_SYNC_FLAG_SIGNAL, .handle = driver->syncobj};
}

/* Waits for the syncobj, and resets it for the next request. */
static void wait_for(struct driver *driver) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct drm_syncobj_wait wait = {.handles = (uintptr_t)&driver->syncobj, .count_handles = 1,
                                    .timeout_nsec = (now.tv_sec + WAIT_SECONDS) * INT64_C(1000000000),
                                    .flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT};
    request(driver, DRM_IOCTL_SYNCOBJ_WAIT, &wait, "SYNCOBJ_WAIT");
    struct drm_syncobj_array reset = {.handles = (uintptr_t)&driver->syncobj, .count_handles = 1};
    request(driver, DRM_IOCTL_SYNCOBJ_RESET, &reset, "SYNCOBJ_RESET");
}

/* Binds all of a buffer at an unused address by this PAT index; returns 0 or the errno. The library's answer comes first. */
static int bind_by(struct driver *driver, struct buffer *buffer, unsigned pat_index, gemco_xe_refusal *foreseen) {
    buffer->chosen.pat_index = pat_index;
    buffer->chosen.address = driver->next_address;
    must(gemco_xe_bind_refusal(&driver->device, &buffer->chosen, foreseen));
    struct drm_xe_sync sync = signal_syncobj(driver);
    struct drm_xe_vm_bind bind = {.vm_id = driver->vm, .num_binds = 1, .num_syncs = 1, .syncs = (uintptr_t)&sync};
    bind.bind = (struct drm_xe_vm_bind_op){.op = DRM_XE_VM_BIND_OP_MAP, .obj = buffer->handle, .pat_index = (uint16_t)pat_index,
                                           .range = buffer->chosen.range, .addr = buffer->chosen.address};
    int number = try_request(driver, DRM_IOCTL_XE_VM_BIND, &bind);
    if (number == 0) {
        wait_for(driver);
        driver->next_address += STEP;
    }
    return number;
}

/* Ends the program unless the kernel's answer is the library's. */
static void compare(const char *what, int number, const gemco_xe_refusal *foreseen) {
    if (number != foreseen->error) {
        printf("%s: the library foresees '%s', the kernel says '%s'\n", what, strerror(foreseen->error), strerror(number));
        exit(1);
    }
}

/* Creates an object for a use, as the library chooses, and maps it. */
static struct buffer create(struct driver *driver, const char *name, unsigned purpose) {
    struct buffer buffer = {0};
    must(gemco_xe_choose(&driver->device, purpose, SIZE, &buffer.chosen));
    const gemco_xe_mapping *chosen = &buffer.chosen;
    printf("%s: the CPU maps it %s, placement %#x, PAT index %u\n", name,
           chosen->memory == GEMCO_XE_MEMORY_WB ? "write-back" : "write-combining", chosen->placement, chosen->pat_index);
    struct drm_xe_gem_create create = {.size = chosen->size, .placement = chosen->placement, .flags = chosen->create_flags,
                                       .cpu_caching = (uint16_t)chosen->memory};
    request(driver, DRM_IOCTL_XE_GEM_CREATE, &create, "GEM_CREATE");
    struct drm_xe_gem_mmap_offset offset = {.handle = create.handle};
    request(driver, DRM_IOCTL_XE_GEM_MMAP_OFFSET, &offset, "GEM_MMAP_OFFSET");
    buffer.handle = create.handle;
    buffer.mapped = mmap(NULL, chosen->size, PROT_READ | PROT_WRITE, MAP_SHARED, driver->fd, (off_t)offset.offset);
    if (buffer.mapped == MAP_FAILED)
        fail("mmap", errno);
    return buffer;
}

/* Binds a buffer as the library chose. */
static void bind_chosen(struct driver *driver, struct buffer *buffer, const char *name) {
    gemco_xe_refusal foreseen;
    compare(name, bind_by(driver, buffer, buffer->chosen.pat_index, &foreseen), &foreseen);
    if (foreseen.error)
        fail(name, foreseen.error);
}

/* Lets the library track a buffer, which is bound by its mapping. The driver waits for its own batches. Returns 0 or a negative errno. */
static int try_adopt(const struct driver *driver, const gemco_xe_mapping *mapping, const struct buffer *buffer, gemco_bo **bo) {
    unsigned mode = mapping->memory == GEMCO_XE_MEMORY_WB ? GEMCO_MAP_WB : GEMCO_MAP_WC;
    gemco_object object = {.size = mapping->size, .mapped = buffer->mapped, .handle = buffer->handle,
                           .map_mode = driver->device.regions & GEMCO_XE_LOCAL ? GEMCO_MAP_FIXED : mode,
                           .flags = GEMCO_ADOPT_NEW | GEMCO_ADOPT_WAITED};
    return gemco_bo_adopt_xe(driver->tracker, &object, mapping, 1, bo);
}

/* Binds a buffer as the library chose, and lets the library track it. */
static void set_up_buffer(struct driver *driver, struct buffer *buffer, const char *name) {
    bind_chosen(driver, buffer, name);
    must(try_adopt(driver, &buffer->chosen, buffer, &buffer->bo));
}

/* Prints what the library did between a write to a buffer and the next access. The program ends unless that is what the rules require. */
static void say(const struct driver *driver, const struct buffer *buffer, const char *what, unsigned writer, unsigned next,
                const gemco_report *report) {
    char text[512];
    must(gemco_explain(report, text, sizeof text));
    printf("%s: %s\n", what, text);
    gemco_decision decision;
    unsigned verdict = (unsigned)must(gemco_xe_needs_flush(&driver->device, &buffer->chosen, writer, next, GEMCO_XE_AFTER_FENCE, &decision));
    if (verdict != report->decision.verdict) {
        printf("%s: the rules require another operation, by %s\n", what, gemco_rule_name(decision.rule));
        exit(1);
    }
}

/* Writes a batch that copies all of a buffer to another one: XY_FAST_COPY_BLT with 32 bits a pixel. */
static void write_batch(const struct buffer *batch, const struct buffer *to, const struct buffer *from) {
    const uint64_t target = to->chosen.address, source = from->chosen.address;
    const uint32_t words[] = {
        2u << 29 | 0x42u << 22 | 8, 3u << 24 | PITCH, 0, SIZE / PITCH << 16 | PITCH / 4, (uint32_t)target, (uint32_t)(target >> 32),
        0, PITCH, (uint32_t)source, (uint32_t)(source >> 32), 0x0au << 23 /* MI_BATCH_BUFFER_END */, 0,
    };
    memcpy(batch->mapped, words, sizeof words);
}

/* Binds the write-back buffer by the first PAT index that the library refuses for it. The kernel must refuse it by the same errno, and the
 * library must not track such a mapping. */
static void bind_wrong(struct driver *driver, struct buffer *buffer) {
    gemco_xe_mapping mapping = buffer->chosen;
    mapping.pat_index = 0;
    while (must(gemco_xe_bind_refusal(&driver->device, &mapping, NULL)) == 0)
        mapping.pat_index++;
    gemco_xe_refusal foreseen;
    int number = bind_by(driver, buffer, mapping.pat_index, &foreseen);
    compare("wrong", number, &foreseen);
    printf("wrong: PAT index %u is refused (%s), by %s: %s\n", mapping.pat_index, strerror(number), gemco_rule_name(foreseen.rule),
           gemco_rule_reason(foreseen.rule));
    printf("  source: %s\n", gemco_rule_source(foreseen.rule));
    gemco_bo *bo;
    compare("adopting", -try_adopt(driver, &mapping, buffer, &bo), &foreseen);
    printf("  %s\n", gemco_last_error());
}

int main(int argc, char **argv) {
    int is_wrong = argc == 3 && strcmp(argv[2], "--wrong") == 0;
    if (argc != 2 + is_wrong)
        fail("own_buffers_xe DEVICE [--wrong]", EINVAL);
    struct driver driver = {.fd = open(argv[1], O_RDWR | O_CLOEXEC)};
    if (driver.fd < 0)
        fail(argv[1], errno);
    look_up(&driver);
    set_up(&driver);
    must(gemco_device_open_fd(driver.fd, 0, &driver.tracker));

    struct buffer upload = create(&driver, "upload", GEMCO_XE_USE_UPLOAD), batch = create(&driver, "batch", GEMCO_XE_USE_UPLOAD);
    struct buffer read_back = create(&driver, "read-back", GEMCO_XE_USE_READ_BACK);
    if (is_wrong) {
        gemco_xe_mapping chosen = read_back.chosen;
        bind_wrong(&driver, &read_back);
        read_back.chosen = chosen;
    }
    set_up_buffer(&driver, &upload, "upload");
    set_up_buffer(&driver, &batch, "batch");
    set_up_buffer(&driver, &read_back, "read-back");

    unsigned char *from = upload.mapped, *to = read_back.mapped;
    for (int i = 0; i < SIZE; i++)
        from[i] = (unsigned char)(7 * i + i / PITCH + 1);
    memset(to, 0x55, SIZE);
    write_batch(&batch, &read_back, &upload);
    must(gemco_bo_mark_written(upload.bo, 0, SIZE));
    must(gemco_bo_mark_written(batch.bo, 0, SIZE));
    must(gemco_bo_mark_written(read_back.bo, 0, SIZE));

    const gemco_submission list[] = {{.bo = upload.bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE},
                                     {.bo = batch.bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE},
                                     {.bo = read_back.bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE}};
    gemco_report reports[3];
    gemco_prepared *prepared;
    must(gemco_submit_begin(driver.tracker, list, 3, reports, &prepared));
    struct drm_xe_sync sync = signal_syncobj(&driver);
    struct drm_xe_exec exec = {.exec_queue_id = driver.queue, .num_syncs = 1, .syncs = (uintptr_t)&sync,
                               .address = batch.chosen.address, .num_batch_buffer = 1};
    request(&driver, DRM_IOCTL_XE_EXEC, &exec, "EXEC");
    must(gemco_submit_end(prepared, 0));
    wait_for(&driver);
    gemco_report back;
    must(gemco_bo_invalidate_range(read_back.bo, 0, SIZE, &back));
    say(&driver, &upload, "CPU to GPU, upload", GEMCO_XE_AGENT_CPU, GEMCO_XE_AGENT_GPU, &reports[0]);
    say(&driver, &batch, "CPU to GPU, batch", GEMCO_XE_AGENT_CPU, GEMCO_XE_AGENT_GPU, &reports[1]);
    say(&driver, &read_back, "CPU to GPU, read-back", GEMCO_XE_AGENT_CPU, GEMCO_XE_AGENT_GPU, &reports[2]);
    say(&driver, &read_back, "GPU to CPU, read-back", GEMCO_XE_AGENT_GPU, GEMCO_XE_AGENT_CPU, &back);

    unsigned wrong = 0;
    for (int i = 0; i < SIZE; i++)
        wrong += to[i] != from[i];
    printf("wrong bytes: %u of %d\n", wrong, SIZE);
    gemco_bo_unref(upload.bo);
    gemco_bo_unref(batch.bo);
    gemco_bo_unref(read_back.bo);
    gemco_device_unref(driver.tracker);
    /* The kernel releases what belongs to the file. */
    close(driver.fd);
    return wrong != 0;
}
