/* On a device of the real driver: a device file of the caller, handles, dma-bufs, and accesses by every path of the
 * interface.
 *
 *   real /dev/dri/renderD128 */

#include "check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
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

int main(int argc, char **argv) {
    unsigned char fresh[LEN], seen[LEN];
    for (int i = 0; i < LEN; i++)
        fresh[i] = (unsigned char)(0xa5 ^ i);
    CHECK(argc == 2);
    int mine = open(argv[1], O_RDWR | O_CLOEXEC), other = open(argv[1], O_RDWR | O_CLOEXEC);
    CHECK(mine >= 0 && other >= 0);

    /* A handle is valid for the caller's file and for the library, but not for another file. */
    gemco_device *device = NULL, *second = NULL;
    gemco_bo *bo = NULL, *imported = NULL;
    OK(gemco_device_open_fd(mine, 0, &device));
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &bo));
    uint32_t handle = gemco_bo_handle(bo);
    CHECK(busy(mine, handle) == 0);
    CHECK(busy(other, handle) == -ENOENT);
    CHECK(close(other) == 0);

    /* Bytes written by one path are read by the others, also on another device file. */
    gemco_submission submission = {bo, GEMCO_WRITE, GEMCO_MOCS_PAGE_TABLE};
    gemco_access *access = NULL;
    void *pointer = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_submit(device, &submission, 1, NULL));
    OK(gemco_bo_wait(bo, -1));
    CHECK(gemco_bo_busy(bo) == 0);
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, NULL));
    OK(gemco_access_pointer(access, &pointer));
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

    /* A real device has no access as the simulated GPU. */
    FAILS(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN), EOPNOTSUPP, "not a software device");

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
