/* Ranges that are flushed and invalidated in one call, and what gemco_bo_adopt refuses. */

#include "bos.h"

/* vkFlush and vkInvalidateMappedMemoryRanges: one call each, for stores and writes that nothing reported. */
static void range_case(void) {
    unsigned table = 1u << GEMCO_PATH_GPU_PAGE_TABLE, bypass = 1u << GEMCO_PATH_GPU_BYPASS_LLC;
    gemco_device *device = open_device("sim:jsl");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_CACHED, GEMCO_MAP_WB);
    gemco_report report;
    void *pointer = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    memcpy((char *)pointer + AT, fresh, LEN);
    OK(gemco_bo_flush_range(bo, AT, LEN, table, &report));
    CHECK(report.lines == 0);
    BY_RULE(report.decision, "llc-coherent");
    look(device, bo, GEMCO_MOCS_BYPASS_LLC);
    CHECK(!is_fresh());
    OK(gemco_bo_flush_range(bo, AT, LEN, table | bypass, &report));
    CHECK(report.lines == LINES);
    BY_RULE(report.decision, "bypass-mocs-read");
    look(device, bo, GEMCO_MOCS_BYPASS_LLC);
    CHECK(is_fresh());
    OK(gemco_bo_flush_range(bo, 4096, GEMCO_WHOLE_SIZE, bypass, &report));
    CHECK(report.bytes == SIZE - 4096);
    FAILS(gemco_bo_flush_range(bo, SIZE + 1, GEMCO_WHOLE_SIZE, bypass, NULL), EINVAL, "do not fit");
    FAILS(gemco_bo_flush_range(bo, 0, 64, 0, NULL), EINVAL, "readers is 0");
    FAILS(gemco_bo_flush_range(bo, 0, 64, 1u << 9, NULL), EINVAL, "readers is 512");
    FAILS(gemco_bo_flush_range(bo, 0, 64, 1u << GEMCO_PATH_CPU_FIXED, NULL), ENODEV, "fixed");
    gemco_bo_unref(bo);
    close_device(device);

    device = open_device("sim:glk");
    bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
    CHECK(memcmp((char *)pointer + AT, fresh, LEN) != 0);
    OK(gemco_bo_invalidate_range(bo, AT, LEN, &report));
    CHECK(report.lines == LINES);
    BY_RULE(report.decision, "stale-after-gpu-write");
    CHECK(memcmp((char *)pointer + AT, fresh, LEN) == 0);
    FAILS(gemco_bo_invalidate_range(bo, 0, SIZE + 1, NULL), EINVAL, "do not fit");
    gemco_bo_unref(bo);
    close_device(device);
}

/* Objects and files of the caller's, as far as a software device has them; crates/capi/tests/real.c has them on a real one. */
static void callers_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    void *pointer = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    FAILS(gemco_device_fd(device), EOPNOTSUPP, "software device");
    gemco_platform platform;
    FAILS(gemco_platform_by_fd(-1, &platform), EBADF, "fd");
    FAILS(gemco_platform_by_fd(0, NULL), EINVAL, "platform is NULL");

    gemco_bo *adopted = NULL;
    gemco_object object = {.size = 8192, .handle = gemco_bo_handle(bo)};
    FAILS(gemco_bo_adopt(device, &object, &adopted), EBUSY, "has a BO already");
    object.handle = 0;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "object->handle is 0");
    object.handle = 4000;
    object.size = 100;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "whole pages");
    object.size = 8192;
    object.level = 4;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "object->level is 4");
    object.level = GEMCO_LEVEL_NONE;
    object.flags = 16;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "object->flags is 16");
    object.flags = 0;
    object.readers = 1u << 9 | 1u << GEMCO_PATH_DISPLAY;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "object->readers is 768");
    object.readers = 0;
    object.reserved[1] = 1;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "object->reserved");
    object.reserved[1] = 0;
    object.map_mode = GEMCO_MAP_WC;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "there is a map mode");
    object.mapped = pointer;
    FAILS(gemco_bo_adopt(device, &object, &adopted), EINVAL, "software device");
    FAILS(gemco_bo_adopt(device, NULL, &adopted), EINVAL, "object is NULL");
    CHECK(adopted == NULL);
    gemco_bo_unref(bo);
    close_device(device);
}

int main(void) {
    fill_fresh();
    range_case();
    callers_case();
    printf("%d claims\n", claims);
    return 0;
}
