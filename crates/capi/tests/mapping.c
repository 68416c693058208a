/* Mappings that end before their BO: nothing that was reported is lost, and the next access maps again. The pointers of
 * accesses, on one thread and on two. Mappings of the caller's exist on a real device only: crates/capi/tests/real.c. */

#include "bos.h"

#include <pthread.h>

static uint64_t mappings(gemco_device *device) {
    uint64_t count = 77;
    OK(gemco_device_open_counts(device, NULL, &count));
    return count;
}

/* The library's mapping ends; a dirty line stays dirty, and is flushed through a new mapping. */
static void dirty_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ};
    gemco_report report;
    uint64_t dirty = 0;
    void *pointer = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    memcpy((char *)pointer + AT, fresh, LEN);
    OK(gemco_bo_mark_written(bo, AT, LEN));
    CHECK(mappings(device) == 1);
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_unmap(bo));
    CHECK(mappings(device) == 0);
    OK(gemco_bo_lines(bo, &dirty, NULL));
    CHECK(dirty == LINES);
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(!is_fresh());
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == LINES && mappings(device) == 1);
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(is_fresh());

    /* Every access maps again. */
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(is_fresh() && mappings(device) == 1);
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_map(bo, GEMCO_MAP_WC, &pointer));
    CHECK(memcmp((char *)pointer + AT, fresh, LEN) == 0 && gemco_bo_map_mode(bo) == GEMCO_MAP_WC);
    gemco_bo_unref(bo);
    close_device(device);
}

/* Stores that bypass the cache are drained; without the end of the mapping the GPU misses them. */
static void drain_case(unsigned map) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, map);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(!is_fresh());
    OK(gemco_bo_unmap(bo));
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(is_fresh());
    gemco_bo_unref(bo);
    close_device(device);
}

/* Stores through pointers: tracked if reported, by the end of the access or one by one; lost otherwise. */
static void stores_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_report report;
    void *pointer = NULL, *again = NULL;

    /* The store is not reported. */
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &pointer));
    memcpy((char *)pointer + AT, fresh, LEN);
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 0);
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(!is_fresh());

    /* Now it is. */
    OK(gemco_bo_mark_written(bo, AT, LEN));
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == LINES);
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(is_fresh());

    /* The end of an access reports its whole range, unless earlier reports named parts of it. */
    for (int told = 0; told < 2; told++) {
        gemco_access *access = NULL;
        void *begun = NULL;
        OK(gemco_access_begin(bo, GEMCO_WRITE, 0, 8192, &access, &begun, NULL));
        FAILS(gemco_bo_close(bo), EBUSY, "in use");
        OK(gemco_access_pointer(access, &again));
        CHECK(again == pointer && begun == pointer);
        memset((char *)again + 64, told, 64);
        if (told)
            OK(gemco_access_written(access, 64, 64));
        FAILS(gemco_access_written(access, 8191, 2), EINVAL, "guarded range");
        OK(gemco_access_end(access, &report));
        CHECK(report.step == GEMCO_STEP_WRITE);
        OK(submit_nothing(device, &submission, 1, &report));
        CHECK(report.lines == (told ? 1 : 128));
    }
    gemco_access *access = NULL;
    OK(gemco_access_begin(bo, GEMCO_READ, AT, LEN, &access, NULL, NULL));
    FAILS(gemco_access_written(access, AT, 1), EACCES, "read guard");
    OK(gemco_access_end(access, NULL));
    gemco_bo_unref(bo);
    close_device(device);
}

/* A stream marks what it stored: at its end, and for every submission meanwhile. */
static void stream_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    gemco_report report;
    gemco_stream *stream = NULL, *second = NULL;
    void *pointer = NULL, *first = NULL;
    OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &first));
    OK(gemco_stream_begin(bo, 64, 1024, &stream, &pointer));
    CHECK(pointer == first);
    FAILS(gemco_stream_begin(bo, 4096, 64, &second, &pointer), EBUSY, "another one is open");
    FAILS(gemco_bo_close(bo), EBUSY, "in use");
    memset((char *)pointer + 64, 1, 128);
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 16);
    OK(gemco_stream_announce(stream, 192));
    FAILS(gemco_stream_announce(stream, 191), EINVAL, "guarded range");
    FAILS(gemco_stream_announce(stream, 1089), EINVAL, "guarded range");
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 16);
    memset((char *)pointer + 192, 2, 8);
    OK(gemco_stream_end(stream, 200, &report));
    CHECK(report.step == GEMCO_STEP_WRITE);
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 1);
    /* After a wrong end, the whole range counts as stored. */
    OK(gemco_stream_begin(bo, 0, 256, &stream, &pointer));
    FAILS(gemco_stream_end(stream, 257, NULL), EINVAL, "guarded range");
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 4);
    gemco_bo_unref(bo);
    close_device(device);
}

/* A pointer comes with its access, at the BO's first byte, after the range's stale lines were invalidated. */
static void pointer_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_access *access = NULL;
    gemco_report report;
    void *pointer = NULL, *first = NULL;
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        /* The CPU caches the old lines. */
        OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
        fresh[0] ^= 0xff;
        OK(gemco_sim_gpu_write(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, fresh, LEN));
        OK(gemco_bo_mark_stale(bo, AT, LEN));
        OK(gemco_bo_map(bo, GEMCO_MAP_DEFAULT, &first));
        OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, is_asked ? &pointer : NULL, &report));
        CHECK(report.lines == (is_asked ? LINES : 0) && pointer == (is_asked ? first : NULL));
        CHECK((memcmp((char *)first + AT, fresh, LEN) == 0) == is_asked);
        OK(gemco_access_end(access, NULL));
        OK(gemco_bo_flush(bo, &report));
        CHECK(report.lines == (is_asked ? LINES : 0));
    }
    gemco_bo_unref(bo);
    close_device(device);
}

/* A store by another thread than the one that begins and ends the access. */
struct store {
    gemco_access *access;
    void *pointer;
};

static void *store(void *arg) {
    struct store *store = arg;
    memcpy((char *)store->pointer + AT, fresh, LEN);
    return gemco_access_written(store->access, AT, LEN) == 0 ? store : NULL;
}

/* An access that one thread begins, another one stores in, and the first ends. */
static void thread_case(int is_stored) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ};
    gemco_report report;
    struct store work = {NULL, NULL};
    OK(gemco_access_begin(bo, GEMCO_WRITE, 0, SIZE, &work.access, &work.pointer, NULL));
    if (is_stored) {
        pthread_t thread;
        void *result = NULL;
        CHECK(pthread_create(&thread, NULL, store, &work) == 0 && pthread_join(thread, &result) == 0 && result == &work);
    }
    OK(gemco_access_end(work.access, NULL));
    OK(submit_nothing(device, &submission, 1, &report));
    /* Without a report the whole range counts as written. */
    CHECK(report.lines == (is_stored ? LINES : SIZE / 64));
    look(device, bo, GEMCO_MOCS_PAGE_TABLE);
    CHECK(is_fresh() == is_stored);
    gemco_bo_unref(bo);
    close_device(device);
}

/* A mapping stays while an access is open, and without contents. It may end while a submission is open. */
static void busy_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ};
    gemco_access *access = NULL;
    gemco_prepared *prepared = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, NULL, NULL));
    FAILS(gemco_bo_unmap(bo), EBUSY, "1 write and 0 read guards are open");
    OK(gemco_access_end(access, NULL));
    OK(gemco_submit_begin(device, &submission, 1, NULL, &prepared));
    CHECK(mappings(device) == 1);
    OK(gemco_bo_unmap(bo));
    CHECK(mappings(device) == 0);
    FAILS(gemco_bo_close(bo), EBUSY, "1 submissions in progress");
    OK(gemco_submit_end(prepared, 0));
    CHECK(gemco_bo_dont_need(bo) == 1);
    FAILS(gemco_bo_unmap(bo), EFAULT, "not needed");
    CHECK(gemco_bo_will_need(bo) == 1);
    FAILS(gemco_bo_unmap(NULL), EINVAL, "bo is NULL");

    static _Alignas(4096) char page[SIZE];
    FAILS(gemco_bo_remap(bo, page, GEMCO_MAP_WB), EINVAL, "software device");
    FAILS(gemco_bo_remap(NULL, page, GEMCO_MAP_WB), EINVAL, "bo is NULL");
    OK(gemco_bo_close(bo));
    FAILS(gemco_bo_unmap(bo), ENOENT, "is closed");
    gemco_bo_unref(bo);
    close_device(device);
}

int main(void) {
    fill_fresh();
    dirty_case();
    drain_case(GEMCO_MAP_WC);
    drain_case(GEMCO_MAP_GTT);
    busy_case();
    stores_case();
    stream_case();
    pointer_case();
    thread_case(1);
    thread_case(0);
    printf("%d claims\n", claims);
    return 0;
}
