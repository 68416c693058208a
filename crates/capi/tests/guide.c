/* Tests the C code of docs/driver-guide.md and docs/c-api.md, which ci/capi extracts into files beside the header:
 * calls each of its functions on a software device, and compares the other agents' reads with the text. A missing call
 * of the library shows as old bytes. */

#include "check.h"

#include "driver-guide.h"

#include <gem_coherency_rules.h>

#include "c-api.h"

enum { JSL = 0x4e61, GLK = 0x3185, SIZE = 1 << 14, AT = 4076, LEN = 100 };

static unsigned char drawn[LEN], fresh[LEN], seen[LEN];

/* The rules alone, for the process's own memory. */
static void rules_alone(void) {
    static char map[SIZE];
    gemco_platform jsl, glk;
    OK(find_platform(JSL, 0, &jsl));
    OK(find_platform(GLK, 0, &glk));
    CHECK(find_platform(0xffff, 0, &glk) < 0 && glk.pci_id == GLK);

    CHECK(after_cpu_write(&jsl, GEMCO_LEVEL_LLC, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_READ, map, SIZE) == GEMCO_NOT_NEEDED);
    CHECK(after_cpu_write(&jsl, GEMCO_LEVEL_LLC, GEMCO_PATH_GPU_BYPASS_LLC, GEMCO_READ, map, SIZE) == GEMCO_FLUSH);
    CHECK(after_cpu_write(&jsl, GEMCO_LEVEL_LLC, GEMCO_PATH_DISPLAY, GEMCO_READ, map, SIZE) == GEMCO_FLUSH);
    CHECK(after_cpu_write(&glk, GEMCO_LEVEL_NONE, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_WRITE, map, SIZE) == GEMCO_FLUSH);
    CHECK(after_cpu_write(&glk, GEMCO_LEVEL_LLC, GEMCO_PATH_GPU_PAGE_TABLE, GEMCO_READ, map, SIZE) == GEMCO_NOT_NEEDED);
    CHECK(after_cpu_write(&glk, 99, GEMCO_PATH_DISPLAY, GEMCO_READ, map, SIZE) == -EINVAL);

    CHECK(before_cpu_access(&glk, GEMCO_LEVEL_NONE, GEMCO_READ, map, SIZE) == GEMCO_INVALIDATE);
    CHECK(before_cpu_access(&glk, GEMCO_LEVEL_NONE, GEMCO_WRITE, map, SIZE) == GEMCO_INVALIDATE);
    CHECK(before_cpu_access(&jsl, GEMCO_LEVEL_NONE, GEMCO_READ, map, SIZE) == GEMCO_NOT_NEEDED);

    struct gemcr_decision jsl_batch = before_batch(0x4e61, 6, 12, GEMCR_CACHING_CACHED, 16);
    CHECK(jsl_batch.verdict == GEMCR_VERDICT_FLUSH && strcmp(gemcr_rule_name(jsl_batch.rule), "bypass-mocs-read") == 0);
    CHECK(before_batch(0x4e61, 6, 12, GEMCR_CACHING_CACHED, 2).verdict == GEMCR_VERDICT_NOT_NEEDED);
    CHECK(before_batch(0x0001, 6, 12, GEMCR_CACHING_CACHED, 2).verdict == GEMCR_VERDICT_REFUSED);
    flush_all((const void *[]){map, map + AT}, (size_t[]){LEN, LEN}, 2);
    CHECK(before_submit(&jsl, map, AT, LEN) == 0);
    CHECK(before_submit(&glk, map, AT, LEN) == GEMCO_NOT_NEEDED);
    static const uint32_t nop[] = {0x7e, 0, 0, 0};
    OK(check_shader(&jsl, nop, sizeof nop));
    CHECK(check_shader(&jsl, nop, 12) == -EINVAL);
}

static gemco_bo *new_bo(gemco_device *device) {
    gemco_bo *bo = NULL;
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_NONE, &bo));
    OK(gemco_bo_map(bo, GEMCO_MAP_WB, NULL));
    OK(gemco_bo_flush(bo, NULL));
    return bo;
}

/* c-api.md, "Tracking without owning": the vk calls on a BO of the library; adopting, as far as a software device has it. */
static void tracking_case(void) {
    gemco_device *device = NULL;
    gemco_bo *adopted = NULL;
    OK(gemco_device_open("sim:glk", 0, &device));
    gemco_bo *bo = new_bo(device);
    void *map = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_WB, &map));
    memset((char *)map + AT, 7, LEN);
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(seen[0] != 7);
    OK(flush_mapped(bo, AT, LEN));
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(seen[0] == 7 && seen[LEN - 1] == 7);
    memset(seen, 8, LEN);
    OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    OK(invalidate_mapped(bo, AT, GEMCO_WHOLE_SIZE));
    CHECK(((char *)map)[AT] == 8);
    OK(track(device, 4000, SIZE, NULL, &adopted));
    gemco_bo_unref(adopted);
    CHECK(track(device, 4000, SIZE, map, &adopted) == -EINVAL);
    CHECK(track(device, gemco_bo_handle(bo), SIZE, NULL, &adopted) == -EBUSY);
    /* "Under xe". */
    CHECK(track_xe(device, 4000, &(gemco_xe_mapping){.size = SIZE}, NULL, 0, &adopted) == -ENODEV);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

/* The GPU of step 4: reads one BO, and draws into the other. */
struct batch {
    gemco_device *device;
    gemco_bo *vertices, *target;
    unsigned mocs;
    int result;
};

static int execbuf(void *arg) {
    struct batch *batch = arg;
    OK(gemco_sim_gpu_read(batch->device, batch->vertices, batch->mocs, AT, seen, LEN));
    OK(gemco_sim_gpu_write(batch->device, batch->target, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
    return batch->result;
}

/* Draws, submits and reads back, and shows the effect of leaving out the previous step. */
static void frame(const char *name, uint64_t flushed, uint64_t stale) {
    gemco_device *device = NULL;
    OK(gemco_device_open(name, 0, &device));
    gemco_bo *vertices = new_bo(device), *target = new_bo(device);
    int mocs = gemco_device_mocs(device, 16);
    CHECK(mocs >= 0);
    struct batch batch = {device, vertices, target, (unsigned)mocs, 0};

    OK(draw(vertices, AT, LEN));
    CHECK(draw(vertices, SIZE, 1) == -EINVAL);
    OK(gemco_sim_gpu_read(device, vertices, batch.mocs, AT, seen, LEN));
    CHECK((memcmp(seen, drawn, LEN) == 0) == (flushed == 0));

    /* The CPU caches the target's old lines. */
    gemco_report reports[2], report;
    OK(gemco_bo_read(target, AT, seen, LEN, NULL));
    OK(submit(device, vertices, target, execbuf, &batch, reports));
    CHECK(reports[0].lines == flushed && memcmp(seen, drawn, LEN) == 0);
    OK(gemco_bo_read(target, AT, seen, LEN, &report));
    CHECK(report.lines == stale && memcmp(seen, fresh, LEN) == 0);
    batch.result = -EIO;
    CHECK(submit(device, vertices, target, execbuf, &batch, reports) == -EIO);

    /* A batch that was not reported to the library, before and after the report. */
    unsigned char all[SIZE];
    OK(gemco_bo_read(target, 0, all, SIZE, NULL));
    OK(gemco_sim_gpu_write(device, target, GEMCO_MOCS_PAGE_TABLE, AT, drawn, LEN));
    OK(gemco_bo_read(target, 0, all, SIZE, &report));
    CHECK((memcmp(all + AT, drawn, LEN) == 0) == (stale == 0));
    OK(read_back(target, all, SIZE, &report));
    CHECK(memcmp(all + AT, drawn, LEN) == 0);

    gemco_bo_unref(target);
    gemco_bo_unref(vertices);
    gemco_device_unref(device);
}

/* Checks the display's reads at the flip. */
static int flip(void *arg) {
    struct batch *batch = arg;
    OK(gemco_sim_display_read(batch->device, batch->target, AT, seen, LEN));
    return batch->result;
}

static void scanout(const char *name) {
    gemco_device *device = NULL;
    OK(gemco_device_open(name, 0, &device));
    gemco_bo *bo = new_bo(device);
    struct batch crtc = {device, NULL, bo, 0, 0};
    gemco_scanout *shown = NULL;
    gemco_report report;

    OK(draw(bo, AT, LEN));
    OK(flip(&crtc));
    CHECK(memcmp(seen, drawn, LEN) != 0);
    OK(show(bo, flip, &crtc, &shown, &report));
    CHECK(report.lines == 3 && memcmp(seen, drawn, LEN) == 0);

    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(flip(&crtc));
    CHECK(memcmp(seen, fresh, LEN) != 0);
    OK(drew_in_front(shown, &report));
    OK(flip(&crtc));
    CHECK(report.lines == 3 && memcmp(seen, fresh, LEN) == 0);
    gemco_scanout_end(shown);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

/* The GPU stands for the importer of a dma-buf: it reads memory, and writes there. */
static void sharing(void) {
    gemco_device *device = NULL;
    OK(gemco_device_open("sim:glk", 0, &device));
    gemco_bo *bo = new_bo(device);
    gemco_report report;
    OK(draw(bo, AT, LEN));
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(memcmp(seen, drawn, LEN) != 0);
    OK(hand_over(bo, &report));
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
    CHECK(report.lines == 3 && memcmp(seen, drawn, LEN) == 0);

    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, fresh, LEN) != 0);
    OK(take_back(bo, AT, LEN));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(memcmp(seen, fresh, LEN) == 0);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

int main(void) {
    memset(drawn, 0x3f, LEN);
    memset(fresh, 0xa5, LEN);
    rules_alone();
    tracking_case();
    frame("sim:glk", 3, 3);
    frame("sim:jsl", 3, 0);
    frame("sim:tgl", 0, 0);
    scanout("sim:glk");
    scanout("sim:tgl");
    sharing();
    printf("%d claims\n", claims);
    return 0;
}
