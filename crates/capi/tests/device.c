/* BOs on software devices: reads by the GPU and the display, with the library's flushes and without. */

#include "bos.h"

#include <pthread.h>
#include <unistd.h>

/* The GPU's reads of a CPU write: new bytes after a submission; before it, old bytes if lines must be flushed. */
static void submit_case(const char *name, unsigned caching, unsigned mocs, const char *rule, uint64_t lines) {
    gemco_device *device = open_device(name);
    gemco_bo *bo = new_bo(device, caching, GEMCO_MAP_WB);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));

    look(device, bo, mocs);
    CHECK(is_fresh() == (lines == 0));

    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = mocs};
    gemco_report report;
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.step == GEMCO_STEP_SUBMIT && report.lines == lines && report.bytes == lines * 64);
    CHECK((report.decision.verdict == GEMCO_FLUSH) == (lines != 0));
    BY_RULE(report.decision, rule);
    look(device, bo, mocs);
    CHECK(is_fresh());

    OK(gemco_submit(device, &submission, 1, &report));
    CHECK(report.lines == 0);
    gemco_bo_unref(bo);
    close_device(device);
}

/* The CPU's reads of GPU writes: new bytes if the write was reported, by a submission or afterwards. */
static void gpu_write_case(void) {
    gemco_device *device = open_device("sim:glk");
    for (int told = 0; told < 3; told++) {
        gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
        gemco_report report;
        OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
        gemco_submission submission = {.bo = bo, .access = GEMCO_WRITE, .mocs = GEMCO_MOCS_PAGE_TABLE};
        gemco_prepared *prepared = NULL;
        if (told == 1) {
            OK(gemco_submit_begin(device, &submission, 1, &report, &prepared));
            FAILS(gemco_bo_close(bo), EBUSY, "submissions in progress");
        }
        OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
        OK(gemco_submit_end(prepared, 0));
        if (told == 2)
            OK(gemco_gpu_wrote(bo, GEMCO_MOCS_PAGE_TABLE));
        OK(gemco_bo_read(bo, AT, seen, LEN, &report));
        CHECK(is_fresh() == (told != 0) && report.lines == (told ? LINES : 0));
        if (told)
            BY_RULE(report.decision, "stale-after-gpu-write");

        /* Stands for a write by another process. */
        memset(seen, 0x11, LEN);
        OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
        OK(gemco_bo_mark_stale(bo, AT, LEN));
        OK(gemco_bo_read(bo, AT, seen, LEN, &report));
        CHECK(seen[0] == 0x11 && seen[LEN - 1] == 0x11);
        gemco_bo_unref(bo);
    }
    close_device(device);
}

/* The display reads what was written before the BO was prepared, and of later writes those that were flushed. */
static void scanout_case(const char *name, unsigned caching) {
    gemco_device *device = open_device(name);
    gemco_bo *bo = new_bo(device, caching, GEMCO_MAP_WB);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    look(device, bo, ~0u);
    CHECK(!is_fresh());

    gemco_scanout *scanout = NULL;
    gemco_report report;
    OK(gemco_prepare_scanout(bo, &scanout, &report));
    CHECK(report.step == GEMCO_STEP_SCANOUT && report.lines == LINES);
    BY_RULE(report.decision, "display-reads-memory");
    look(device, bo, ~0u);
    CHECK(is_fresh());
    /* Nothing is shown yet, so the level is the BO's own. */
    CHECK(gemco_bo_level(bo) == (caching == GEMCO_CACHING_CACHED ? GEMCO_LEVEL_LLC : GEMCO_LEVEL_NONE));
    FAILS(gemco_bo_set_caching(bo, GEMCO_CACHING_CACHED), EBUSY, "on screen");

    fresh[0] ^= 0xff;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    look(device, bo, ~0u);
    CHECK(!is_fresh());
    OK(gemco_scanout_flush(scanout, &report));
    CHECK(report.lines == LINES);
    look(device, bo, ~0u);
    CHECK(is_fresh());
    gemco_scanout_end(scanout);
    OK(gemco_bo_set_caching(bo, GEMCO_CACHING_CACHED));
    CHECK(gemco_bo_level(bo) == GEMCO_LEVEL_LLC);
    gemco_bo_unref(bo);
    close_device(device);
}

/* Uploaded bytes are in memory at once, and not dirty; written bytes are dirty and not in memory. */
static void upload_case(void) {
    gemco_device *device = open_device("sim:glk");
    for (unsigned hint = GEMCO_UPLOAD_ONCE; hint <= GEMCO_UPLOAD_AUTO; hint++) {
        gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
        gemco_report report;
        uint64_t dirty = 7;
        OK(gemco_bo_upload(bo, AT, fresh, LEN, hint, &report));
        OK(gemco_bo_lines(bo, &dirty, NULL));
        CHECK(dirty == 0 && report.lines == LINES);
        look(device, bo, GEMCO_MOCS_PAGE_TABLE);
        CHECK(is_fresh());
        fresh[1] ^= 0xff;
        OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
        OK(gemco_bo_lines(bo, &dirty, NULL));
        look(device, bo, GEMCO_MOCS_PAGE_TABLE);
        CHECK(dirty == LINES && !is_fresh());
        gemco_bo_unref(bo);
    }
    close_device(device);
}

/* A dma-buf contains the BO's bytes, and its import on the same device is the same BO. */
static void share_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB), *same = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    int fd = gemco_bo_export(bo);
    CHECK(fd >= 0);
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(is_fresh());
    OK(gemco_bo_import(device, fd, &same));
    CHECK(gemco_bo_handle(same) == gemco_bo_handle(bo));
    gemco_bo_unref(bo);
    OK(gemco_bo_read(same, AT, seen, LEN, NULL));
    CHECK(is_fresh());
    CHECK(close(fd) == 0);
    gemco_bo_unref(same);
    close_device(device);
}

/* Creates a BO that was written: a BO without contents is not kept for reuse. */
static gemco_bo *used_bo(gemco_device *device) {
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_CACHED, GEMCO_MAP_WB);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    return bo;
}

/* An object is reused if the library may keep it, and only then. */
static void reuse_case(void) {
    gemco_device *device = open_device("sim:tgl");
    gemco_reuse_stats stats;
    for (unsigned kept = 0; kept < 2; kept++) {
        OK(gemco_device_set_reuse_limit(device, kept ? 1 << 20 : 0));
        gemco_bo_unref(used_bo(device));
        gemco_bo_unref(used_bo(device));
        OK(gemco_device_reuse_stats(device, &stats));
        CHECK(stats.hits == kept && stats.held == kept && stats.held_bytes == kept * SIZE);
    }
    gemco_bo *bo = used_bo(device);
    OK(gemco_bo_never_reuse(bo));
    gemco_bo_unref(bo);
    OK(gemco_device_reuse_stats(device, &stats));
    CHECK(stats.hits == 2 && stats.held == 0);
    gemco_bo_unref(used_bo(device));
    OK(gemco_device_set_reuse_age(device, 5));
    OK(gemco_device_trim(device));
    close_device(device);
}

/* Every call about a closed BO reports it; references and devices end in any order. */
static void life_case(void) {
    gemco_device *device = open_device("sim:jsl");
    gemco_bo *bo = used_bo(device), *other = gemco_bo_ref(bo);
    CHECK(other == bo);
    CHECK(gemco_bo_busy(bo) == 0);
    OK(gemco_bo_wait(bo, -1));
    OK(gemco_bo_wait(bo, 0));
    CHECK(gemco_bo_dont_need(bo) == 1);
    FAILS(gemco_bo_write(bo, 0, fresh, 1, NULL), EFAULT, "not needed");
    CHECK(gemco_bo_will_need(bo) == 1);
    OK(gemco_bo_write(bo, 0, fresh, 1, NULL));

    OK(gemco_bo_close(bo));
    gemco_bo_unref(other);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    FAILS(gemco_bo_close(bo), ENOENT, "is closed");
    FAILS(gemco_bo_write(bo, 0, fresh, 1, NULL), ENOENT, "is closed");
    FAILS(gemco_bo_read(bo, 0, seen, 1, NULL), ENOENT, "is closed");
    FAILS(gemco_bo_mark_written(bo, 0, 1), ENOENT, "is closed");
    FAILS(gemco_bo_export(bo), ENOENT, "is closed");
    FAILS(gemco_bo_busy(bo), ENOENT, "is closed");
    FAILS(gemco_bo_wait(bo, 0), ENOENT, "is closed");
    FAILS(gemco_bo_set_caching(bo, GEMCO_CACHING_NONE), ENOENT, "is closed");
    FAILS(gemco_bo_dont_need(bo), ENOENT, "is closed");
    FAILS(gemco_bo_will_need(bo), ENOENT, "is closed");
    FAILS(gemco_gpu_wrote(bo, GEMCO_MOCS_PAGE_TABLE), ENOENT, "is closed");
    FAILS(submit_nothing(device, &submission, 1, NULL), ENOENT, "is closed");
    FAILS(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, 0, seen, 1), ENOENT, "is closed");
    gemco_bo_unref(bo);

    /* The last reference to the device is dropped before the BO's; an access keeps both alive. */
    gemco_access *access = NULL;
    CHECK(gemco_device_ref(device) == device);
    gemco_device_unref(device);
    bo = new_bo(device, GEMCO_CACHING_CACHED, GEMCO_MAP_WB);
    gemco_device_unref(device);
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, NULL, NULL));
    gemco_bo_unref(bo);
    void *pointer = NULL;
    OK(gemco_access_pointer(access, &pointer));
    memcpy((char *)pointer + AT, fresh, LEN);
    OK(gemco_access_end(access, NULL));
}

/* Two files of one device, like those of two processes: they share objects. Writes by one file are seen by the other's
 * GPU after a flush, and by its CPU after mark_stale. Two software devices with the same name are separate. */
static void again_case(const char *name) {
    unsigned char back[LEN], old[LEN], newer[LEN];
    gemco_device *one = open_device(name), *two = NULL, *other = open_device(name);
    OK(gemco_device_open_again(one, 0, &two));
    FAILS(gemco_device_open_again(NULL, 0, &two), EINVAL, "device is NULL");
    FAILS(gemco_device_open_again(one, 2, &two), EINVAL, "flags is 2");
    gemco_bo *bo = new_bo(one, GEMCO_CACHING_NONE, GEMCO_MAP_WB), *same = NULL, *foreign = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    int dma_buf = gemco_bo_export(bo);
    CHECK(dma_buf >= 0);

    OK(gemco_bo_import(other, dma_buf, &foreign));
    CHECK(gemco_bo_map(foreign, GEMCO_MAP_WB, NULL) == -ENODEV);
    OK(gemco_bo_import(two, dma_buf, &same));
    OK(gemco_bo_map(same, GEMCO_MAP_WB, NULL));
    OK(gemco_bo_read(same, AT, back, LEN, NULL));
    CHECK(memcmp(back, fresh, LEN) == 0);

    memset(newer, 0x5a, LEN);
    OK(gemco_bo_write(same, AT, newer, LEN, NULL));
    OK(gemco_sim_gpu_read(one, bo, GEMCO_MOCS_PAGE_TABLE, AT, old, LEN));
    CHECK(memcmp(old, fresh, LEN) == 0);
    OK(gemco_bo_flush(same, NULL));
    OK(gemco_sim_gpu_read(one, bo, GEMCO_MOCS_PAGE_TABLE, AT, back, LEN));
    CHECK(memcmp(back, newer, LEN) == 0);

    OK(gemco_bo_read(bo, AT, back, LEN, NULL));
    OK(gemco_sim_gpu_write(two, same, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
    OK(gemco_bo_read(bo, AT, old, LEN, NULL));
    CHECK(memcmp(old, newer, LEN) == 0);
    OK(gemco_bo_mark_stale(bo, AT, LEN));
    OK(gemco_bo_read(bo, AT, back, LEN, NULL));
    CHECK(memcmp(back, fresh, LEN) == 0);

    CHECK(close(dma_buf) == 0);
    gemco_bo_unref(foreign);
    gemco_bo_unref(same);
    gemco_bo_unref(bo);
    close_device(other);
    close_device(two);
    close_device(one);
}

/* A report is formatted as a sentence, cut to the buffer; NULL stands for the last report. */
static void explain_case(void) {
    char text[400], short_text[10];
    gemco_device *device = open_device("sim:jsl");
    gemco_platform platform;
    OK(gemco_device_platform(device, &platform));
    CHECK(strcmp(platform.name, "jsl") == 0 && (platform.caps & GEMCO_CAP_LLC_BYPASS_MOCS));
    CHECK(gemco_device_mocs(device, 16) == GEMCO_MOCS_BYPASS_LLC);
    CHECK(gemco_device_mocs(device, 2) == GEMCO_MOCS_PAGE_TABLE);

    gemco_bo *bo = new_bo(device, GEMCO_CACHING_CACHED, GEMCO_MAP_WB);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = (unsigned)gemco_device_mocs(device, 16)};
    gemco_report report;
    OK(submit_nothing(device, &submission, 1, &report));
    int len = gemco_explain(&report, text, sizeof text);
    CHECK(len == (int)strlen(text));
    CHECK(strstr(text, "submit: flush, 3 lines (192 bytes), by bypass-mocs-read: Reads with MOCS") == text);
    CHECK(strstr(text, gemco_rule_reason(report.decision.rule)) != NULL);
    CHECK(gemco_explain(NULL, short_text, sizeof short_text) == len);
    CHECK(strcmp(short_text, "submit: f") == 0);
    CHECK(gemco_explain(&report, NULL, 0) == len);
    CHECK(gemco_explain(&report, short_text, 1) == len && short_text[0] == 0);
    report.reserved = 1;
    FAILS(gemco_explain(&report, text, sizeof text), EINVAL, "report->reserved is not 0");
    report.reserved = 0;
    report.step = 99;
    FAILS(gemco_explain(&report, text, sizeof text), EINVAL, "report->step is 99");
    gemco_bo_unref(bo);
    close_device(device);
}

/* Threads share a device; each has its own BO and its own error text. */
static gemco_device *shared;

static void *thread(void *argument) {
    unsigned char mine[LEN], back[LEN];
    const unsigned number = *(const unsigned *)argument;
    gemco_bo *bo = NULL;
    memset(mine, (int)number, LEN);
    if (strcmp(gemco_last_error(), "") != 0 || gemco_bo_create(shared, SIZE, GEMCO_CACHING_NONE, &bo) != 0)
        return NULL;
    int is_right = 1;
    for (unsigned round = 0; round < 50; round++) {
        char text[40];
        gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
        is_right &= gemco_bo_write(bo, round, mine, LEN, NULL) == 0;
        is_right &= submit_nothing(shared, &submission, 1, NULL) == 0;
        is_right &= gemco_sim_gpu_read(shared, bo, GEMCO_MOCS_PAGE_TABLE, round, back, LEN) == 0;
        is_right &= memcmp(mine, back, LEN) == 0;
        is_right &= gemco_bo_write(bo, SIZE + number, mine, 1, NULL) == -EINVAL;
        snprintf(text, sizeof text, "offset %u ", SIZE + number);
        is_right &= strstr(gemco_last_error(), text) != NULL;
    }
    gemco_bo_unref(bo);
    return is_right ? argument : NULL;
}

static void thread_case(void) {
    pthread_t threads[4];
    unsigned numbers[4] = {1, 2, 3, 4};
    shared = open_device("sim:glk");
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, &numbers[i]) == 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0);
        CHECK(result == &numbers[i]);
    }
    close_device(shared);
}

int main(void) {
    fill_fresh();
    submit_case("sim:jsl", GEMCO_CACHING_CACHED, GEMCO_MOCS_BYPASS_LLC, "bypass-mocs-read", LINES);
    submit_case("sim:jsl", GEMCO_CACHING_CACHED, GEMCO_MOCS_PAGE_TABLE, "llc-coherent", 0);
    submit_case("sim:jsl", GEMCO_CACHING_NONE, GEMCO_MOCS_UNCACHED, "llc-coherent", 0);
    submit_case("sim:glk", GEMCO_CACHING_NONE, GEMCO_MOCS_PAGE_TABLE, "non-coherent-read", LINES);
    submit_case("sim:glk", GEMCO_CACHING_CACHED, GEMCO_MOCS_PAGE_TABLE, "snooped", 0);
    submit_case("sim:tgl", GEMCO_CACHING_DEFAULT, GEMCO_MOCS_PAGE_TABLE, "llc-coherent", 0);
    submit_case("sim:tgl", GEMCO_CACHING_CACHED, GEMCO_MOCS_BYPASS_LLC, "llc-coherent", 0);
    gpu_write_case();
    scanout_case("sim:tgl", GEMCO_CACHING_CACHED);
    scanout_case("sim:jsl", GEMCO_CACHING_CACHED);
    scanout_case("sim:glk", GEMCO_CACHING_NONE);
    upload_case();
    share_case();
    reuse_case();
    life_case();
    again_case("sim:glk");
    explain_case();
    thread_case();
    printf("%d claims\n", claims);
    return 0;
}
