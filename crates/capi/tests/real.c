/* On a device of the real driver: a device file of the caller, handles, dma-bufs, and accesses by every path of the
 * interface.
 *
 *   real /dev/dri/renderD128 */

#include "check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AT = 4076, LEN = 100, SIZE = 16384 };

/* I915_GEM_BUSY as the caller's own ioctl, on a handle that the library returned. */
struct busy {
    uint32_t handle;
    uint32_t busy;
};

static int busy(int fd, uint32_t handle) {
    struct busy request = {handle, 77};
    return ioctl(fd, _IOWR('d', 0x40 + 0x17, struct busy), &request) == 0 ? (int)request.busy : -errno;
}

/* I915_GEM_CREATE, I915_GEM_MMAP_OFFSET (WB, or FIXED on a discrete device) and GEM_CLOSE as the caller's own ioctls. */
struct create {
    uint64_t size;
    uint32_t handle, pad;
};

struct mmap_offset {
    uint32_t handle, pad;
    uint64_t offset, flags, extensions;
};

struct close {
    uint32_t handle, pad;
};

static uint32_t create(int fd, uint64_t size) {
    struct create request = {.size = size};
    OK(ioctl(fd, _IOWR('d', 0x40 + 0x1b, struct create), &request));
    CHECK(request.size == size);
    return request.handle;
}

static unsigned char *map(int fd, uint32_t handle, size_t size, unsigned mode) {
    struct mmap_offset request = {.handle = handle, .flags = mode == GEMCO_MAP_FIXED ? 4 : 2};
    OK(ioctl(fd, _IOWR('d', 0x40 + 0x24, struct mmap_offset), &request));
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)request.offset);
    CHECK(mapped != MAP_FAILED);
    return mapped;
}

/* A buffer that the caller creates, maps and closes: the library flushes it, and closes and unmaps nothing. */
static void adopted(gemco_device *device, int fd, const unsigned char *bytes) {
    gemco_platform platform;
    OK(gemco_device_platform(device, &platform));
    unsigned mode = platform.caps & GEMCO_CAP_DISCRETE ? GEMCO_MAP_FIXED : GEMCO_MAP_WB;
    uint32_t handle = create(fd, SIZE);
    unsigned char *mapped = map(fd, handle, SIZE, mode);
    gemco_object object = {.size = SIZE, .mapped = mapped, .handle = handle, .map_mode = mode,
                           .flags = GEMCO_ADOPT_ASK_LEVEL | GEMCO_ADOPT_NEW};
    gemco_bo *bo = NULL, *again = NULL;
    OK(gemco_bo_adopt(device, &object, &bo));
    OK(gemco_bo_adopt(device, &object, &again));
    CHECK(gemco_bo_handle(again) == handle);
    gemco_bo_unref(again);
    object.size = SIZE / 2;
    FAILS(gemco_bo_adopt(device, &object, &again), EINVAL, "is adopted already");
    CHECK(gemco_bo_handle(bo) == handle && gemco_bo_size(bo) == SIZE);
    CHECK(gemco_bo_level(bo) == gemco_caching_level(&platform, GEMCO_CACHING_DEFAULT));
    void *pointer = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    CHECK(pointer == mapped);

    /* A store of the caller's, a batch that reads it, and bytes that the library reads through the caller's mapping. */
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_question question = {.level = (unsigned)gemco_bo_level(bo), .writer = (unsigned)gemco_map_path(mode),
                               .next = GEMCO_PATH_GPU_PAGE_TABLE, .access = GEMCO_READ};
    gemco_report report;
    OK(gemco_bo_flush(bo, NULL));
    memcpy(mapped + AT, bytes, LEN);
    OK(gemco_bo_mark_written(bo, AT, LEN));
    int verdict = gemco_needs_flush(&platform, &question, NULL);
    OK(gemco_submit(device, &submission, 1, &report));
    CHECK((report.lines > 0) == (verdict == GEMCO_FLUSH) && (int)report.decision.verdict == verdict);
    unsigned char seen[LEN];
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    OK(gemco_bo_flush_range(bo, AT, LEN, 1u << GEMCO_PATH_GPU_PAGE_TABLE, &report));
    CHECK((report.lines > 0) == (verdict == GEMCO_FLUSH));
    OK(gemco_bo_invalidate_range(bo, AT, GEMCO_WHOLE_SIZE, NULL));
    OK(gemco_bo_wait(bo, -1));

    /* The mapping moves: what was stored through the old one is flushed first. Then the library has none of the caller's. */
    unsigned char *moved = map(fd, handle, SIZE, mode);
    uint64_t dirty = 7;
    memcpy(mapped + AT, bytes, LEN);
    OK(gemco_bo_mark_written(bo, AT, LEN));
    FAILS(gemco_bo_remap(bo, moved + 1, mode), EINVAL, "start of a page");
    FAILS(gemco_bo_remap(bo, NULL, mode), EINVAL, "mapped is NULL");
    FAILS(gemco_bo_remap(bo, moved, GEMCO_MAP_DEFAULT), EINVAL, "mode is 5");
    OK(gemco_bo_remap(bo, moved, mode));
    OK(munmap(mapped, SIZE));
    OK(gemco_bo_lines(bo, &dirty, NULL));
    CHECK(dirty == 0 || mode == GEMCO_MAP_FIXED);
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    CHECK(pointer == moved && memcmp(moved + AT, bytes, LEN) == 0);
    OK(gemco_bo_unmap(bo));
    OK(munmap(moved, SIZE));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    mapped = map(fd, handle, SIZE, mode);

    /* Handle and mapping are the caller's. */
    gemco_bo_unref(bo);
    CHECK(busy(fd, handle) == 0);
    CHECK(memcmp(mapped + AT, bytes, LEN) == 0);
    OK(munmap(mapped, SIZE));
    struct close request = {.handle = handle};
    OK(ioctl(fd, _IOW('d', 0x09, struct close), &request));
    CHECK(busy(fd, handle) == -ENOENT);
}

/* A buffer of the caller's own memory (USERPTR), which the library cannot map: the GPU snoops it, on every platform. */
static void own_memory(gemco_device *device, int fd, const unsigned char *bytes) {
    struct {
        uint64_t pointer, size;
        uint32_t flags, handle;
    } request = {.size = SIZE};
    void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    request.pointer = (uintptr_t)memory;
    OK(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0x40 + 0x33, sizeof request), &request));
    gemco_platform platform;
    OK(gemco_device_platform(device, &platform));
    unsigned mode = platform.caps & GEMCO_CAP_DISCRETE ? GEMCO_MAP_FIXED : GEMCO_MAP_WB;
    gemco_object object = {.size = SIZE, .mapped = memory, .handle = request.handle, .map_mode = mode,
                           .level = GEMCO_LEVEL_LLC};
    gemco_bo *bo = NULL;
    OK(gemco_bo_adopt(device, &object, &bo));
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_report report;
    memcpy((char *)memory + AT, bytes, LEN);
    OK(gemco_bo_flush_range(bo, AT, LEN, 1u << GEMCO_PATH_GPU_PAGE_TABLE, &report));
    CHECK(report.decision.verdict == GEMCO_NOT_NEEDED && report.lines == 0);
    OK(gemco_submit(device, &submission, 1, &report));
    CHECK(report.lines == 0);
    unsigned char seen[LEN];
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, bytes, LEN) == 0);
    gemco_bo_unref(bo);
    struct close request_close = {.handle = request.handle};
    OK(ioctl(fd, _IOW('d', 0x09, struct close), &request_close));
    OK(munmap(memory, SIZE));
}

int main(int argc, char **argv) {
    unsigned char fresh[LEN], seen[LEN];
    for (int i = 0; i < LEN; i++)
        fresh[i] = (unsigned char)(0xa5 ^ i);
    CHECK(argc == 2);
    int mine = open(argv[1], O_RDWR | O_CLOEXEC), other = open(argv[1], O_RDWR | O_CLOEXEC);
    CHECK(mine >= 0 && other >= 0);

    gemco_platform by_fd, by_device;
    OK(gemco_platform_by_fd(mine, &by_fd));

    /* A handle is valid for the caller's file and for the library, but not for another file. */
    gemco_device *device = NULL, *second = NULL;
    gemco_bo *bo = NULL, *imported = NULL;
    OK(gemco_device_open_fd(mine, 0, &device));
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &bo));
    uint32_t handle = gemco_bo_handle(bo);
    CHECK(busy(mine, handle) == 0);
    CHECK(busy(gemco_device_fd(device), handle) == 0);
    OK(gemco_device_platform(device, &by_device));
    CHECK(by_fd.caps == by_device.caps && by_fd.pci_id == by_device.pci_id && strcmp(by_fd.name, by_device.name) == 0);
    CHECK(busy(other, handle) == -ENOENT);
    CHECK(close(other) == 0);

    /* Bytes written by one path are read by the others, also on another device file. */
    gemco_submission submission = {.bo = bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_access *access = NULL;
    void *pointer = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_submit(device, &submission, 1, NULL));
    OK(gemco_bo_wait(bo, -1));
    CHECK(gemco_bo_busy(bo) == 0);
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, &pointer, NULL));
    CHECK(memcmp((char *)pointer + AT, fresh, LEN) == 0);
    ((unsigned char *)pointer)[AT] = fresh[0] = 0x42;
    OK(gemco_access_end(access, NULL));
    OK(gemco_bo_upload(bo, AT + 1, fresh + 1, LEN - 1, GEMCO_UPLOAD_ONCE, NULL));

    OK(gemco_device_open(argv[1], 0, &second));
    int fd = gemco_bo_export(bo);
    CHECK(fd >= 0);
    OK(gemco_bo_import(second, fd, &imported));
    CHECK(close(fd) == 0);
    OK(gemco_bo_read(imported, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, fresh, LEN) == 0);
    gemco_bo_unref(imported);
    gemco_device_unref(second);

    adopted(device, mine, fresh);
    own_memory(device, mine, fresh);

    /* A released BO is reused. */
    OK(gemco_device_set_reuse_limit(device, 1 << 20));
    for (int round = 0; round < 2; round++) {
        gemco_bo *kept = NULL;
        OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &kept));
        OK(gemco_bo_write(kept, AT, fresh, LEN, NULL));
        gemco_bo_unref(kept);
    }
    gemco_reuse_stats stats;
    OK(gemco_device_reuse_stats(device, &stats));
    CHECK(stats.hits == 1 && stats.held == 1);
    OK(gemco_device_trim(device));

    /* A real device has no access as the simulated GPU, and its own system calls. */
    FAILS(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN), EOPNOTSUPP, "not a software device");
    uint64_t address = 7;
    FAILS(gemco_sim_ioctl(device, 0, NULL), EOPNOTSUPP, "not a software device");
    FAILS(gemco_sim_mmap(device, SIZE, 0, &address), EOPNOTSUPP, "not a software device");
    FAILS(gemco_sim_load(device, address, seen, LEN), EOPNOTSUPP, "not a software device");
    FAILS(gemco_sim_store(device, address, seen, LEN), EOPNOTSUPP, "not a software device");
    FAILS(gemco_sim_munmap(device, address), EOPNOTSUPP, "not a software device");
    CHECK(address == 7);

    /* The caller's file can be closed first; nothing stays open in the end. */
    OK(gemco_bo_close(bo));
    CHECK(busy(mine, handle) == -ENOENT);
    CHECK(close(mine) == 0);
    gemco_bo_unref(bo);
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &bo));
    gemco_bo_unref(bo);
    OK(gemco_device_trim(device));
    uint64_t handles = 7, mappings = 7;
    OK(gemco_device_open_counts(device, &handles, &mappings));
    CHECK(handles == 0 && mappings == 0);
    gemco_device_unref(device);
    printf("%d claims\n", claims);
    return 0;
}
