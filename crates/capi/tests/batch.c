/* Batches of stores, fills and copies: the CPU writes, the GPU copies, the CPU reads.
 *
 *   batch [DEVICE]      on several software devices, or on this one */

#include "check.h"

enum { SIZE = 16384, PITCH = 256, WIDTH = 100, ROWS = 3, TIMEOUT_NS = 2000000000 };

static uint32_t source[SIZE / 4], target[SIZE / 4], seen[SIZE / 4];

static gemco_bo *filled(gemco_device *device, const void *bytes) {
    gemco_bo *bo = NULL;
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_DEFAULT, &bo));
    OK(gemco_bo_write(bo, 0, bytes, SIZE, NULL));
    return bo;
}

static void finish(gemco_batch *batch) {
    gemco_job *job = NULL;
    OK(gemco_batch_submit(batch, &job));
    OK(gemco_job_wait(job, TIMEOUT_NS));
    gemco_job_destroy(job);
}

/* Commands take effect, in order, and change nothing else. */
static void commands_case(gemco_device *device) {
    for (uint32_t i = 0; i < SIZE / 4; i++) {
        source[i] = i * 0x9e3779b9u;
        target[i] = ~i;
    }
    gemco_bo *from = filled(device, source), *to = filled(device, target);
    gemco_batch *batch = NULL;
    OK(gemco_batch_create(device, &batch));
    const gemco_region start = {.bo = to, .pitch = PITCH, .mocs = -1};
    const gemco_region rows = {.bo = to, .offset = 4096 + 4, .pitch = PITCH, .mocs = -1};
    const gemco_region origin = {.bo = from, .offset = 72, .pitch = 2 * PITCH, .mocs = -1};
    OK(gemco_batch_fill(batch, &start, WIDTH, ROWS, 0x01020304));
    OK(gemco_batch_copy(batch, &rows, &origin, WIDTH, ROWS));
    OK(gemco_batch_flush(batch));
    OK(gemco_batch_store(batch, to, 0, 0xdeadbeef));
    finish(batch);
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < WIDTH / 4; i++) {
            target[row * PITCH / 4 + i] = 0x01020304;
            target[(4096 + 4 + row * PITCH) / 4 + i] = source[(72 + row * 2 * PITCH) / 4 + i];
        }
    }
    target[0] = 0xdeadbeef;
    OK(gemco_bo_read(to, 0, seen, SIZE, NULL));
    CHECK(memcmp(seen, target, SIZE) == 0);
    OK(gemco_bo_read(from, 0, seen, SIZE, NULL));
    CHECK(memcmp(seen, source, SIZE) == 0);
    gemco_bo_unref(from);
    gemco_bo_unref(to);
}

/* Invalid commands are refused by name, and the batch remains usable. */
static void arguments_case(gemco_device *device, gemco_device *other) {
    gemco_bo *bo = filled(device, source), *foreign = filled(other, source);
    gemco_batch *batch = NULL;
    gemco_job *job = NULL;
    FAILS(gemco_batch_create(NULL, &batch), EINVAL, "device");
    FAILS(gemco_batch_create(device, NULL), EINVAL, "batch");
    OK(gemco_batch_create(device, &batch));
    gemco_region good = {.bo = bo, .pitch = PITCH, .mocs = -1}, bad = good;
    FAILS(gemco_batch_store(batch, NULL, 0, 0), EINVAL, "bo");
    FAILS(gemco_batch_store(batch, bo, SIZE, 0), EINVAL, "16384");
    FAILS(gemco_batch_store(batch, bo, 2, 0), EINVAL, "offset 2");
    FAILS(gemco_batch_store(batch, foreign, 0, 0), EINVAL, "another device");
    FAILS(gemco_batch_fill(batch, NULL, 4, 1, 0), EINVAL, "to");
    bad.pitch = 100;
    FAILS(gemco_batch_fill(batch, &bad, 4, 1, 0), EINVAL, "pitch 100");
    bad = good;
    bad.mocs = 256;
    FAILS(gemco_batch_copy(batch, &good, &bad, 4, 1), EINVAL, "mocs");
    bad.mocs = 64;
    FAILS(gemco_batch_copy(batch, &good, &bad, 4, 1), EINVAL, "64");
    bad.mocs = -2;
    FAILS(gemco_batch_copy(batch, &good, &bad, 4, 1), EINVAL, "mocs");
    bad = good;
    bad.bo = NULL;
    FAILS(gemco_batch_copy(batch, &bad, &good, 4, 1), EINVAL, "region.bo");
    for (int i = 0; i < 2; i++) {
        bad = good;
        bad.reserved[i] = 1;
        FAILS(gemco_batch_fill(batch, &bad, 4, 1, 0), EINVAL, "region.reserved is not 0");
    }
    FAILS(gemco_batch_fill(batch, &good, 6, 1, 0), EINVAL, "width 6");
    FAILS(gemco_batch_fill(batch, &good, 4, 0, 0), EINVAL, "height 0");
    FAILS(gemco_batch_fill(batch, &good, 4, 65, 0), EINVAL, "16384");
    FAILS(gemco_batch_submit(NULL, &job), EINVAL, "batch");
    FAILS(gemco_job_wait(NULL, 0), EINVAL, "job");
    OK(gemco_batch_store(batch, bo, 4, 77));
    finish(batch);
    OK(gemco_bo_read(bo, 4, seen, 4, NULL));
    CHECK(seen[0] == 77);

    /* A dropped batch, a closed BO, and a missing pointer for the job. */
    OK(gemco_batch_create(device, &batch));
    OK(gemco_batch_store(batch, bo, 4, 78));
    gemco_batch_destroy(batch);
    gemco_batch_destroy(NULL);
    gemco_job_destroy(NULL);
    OK(gemco_batch_create(device, &batch));
    FAILS(gemco_batch_submit(batch, NULL), EINVAL, "job");
    OK(gemco_batch_create(device, &batch));
    OK(gemco_batch_store(batch, bo, 4, 79));
    OK(gemco_bo_close(bo));
    FAILS(gemco_batch_submit(batch, &job), ENOENT, "is closed");
    gemco_bo_unref(bo);
    gemco_bo_unref(foreign);
}

/* Where a batch cannot store, it copies. */
static void without_store_case(gemco_device *device) {
    gemco_bo *from = filled(device, source), *to = filled(device, target);
    gemco_batch *batch = NULL;
    OK(gemco_batch_create(device, &batch));
    FAILS(gemco_batch_store(batch, to, 0, 7), ENODEV, "secure batches");
    const gemco_region there = {.bo = to, .pitch = PITCH, .mocs = -1}, here = {.bo = from, .pitch = PITCH, .mocs = -1};
    OK(gemco_batch_copy(batch, &there, &here, PITCH, SIZE / PITCH));
    finish(batch);
    OK(gemco_bo_read(to, 0, seen, SIZE, NULL));
    CHECK(memcmp(seen, source, SIZE) == 0);
    gemco_bo_unref(from);
    gemco_bo_unref(to);
}

static void on(const char *name) {
    gemco_device *device = NULL, *other = NULL;
    OK(gemco_device_open(name, 0, &device));
    OK(gemco_device_open(name, 0, &other));
    commands_case(device);
    arguments_case(device, other);
    uint64_t handles = 7, mappings = 7;
    OK(gemco_device_open_counts(device, &handles, &mappings));
    CHECK(handles == 0 && mappings == 0);
    gemco_device_unref(other);
    gemco_device_unref(device);
}

int main(int argc, char **argv) {
    static const char *const all[] = {"sim:i945gm", "sim:snb", "sim:hsw", "sim:chv", "sim:glk", "sim:jsl",
                                      "sim:tgl", "sim:dg1", "sim:dg2", "sim:mtl"};
    if (argc > 1) {
        on(argv[1]);
    } else {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            on(all[i]);
        gemco_device *device = NULL;
        OK(gemco_device_open("sim:ilk", 0, &device));
        without_store_case(device);
        gemco_device_unref(device);
    }
    printf("%d claims\n", claims);
    return 0;
}
