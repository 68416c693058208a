/* Mappings that end before their BO: nothing that was reported is lost, and the next access maps again. The pointers of
 * accesses, on one thread and on two. Mappings of the caller's exist on a real device only: crates/capi/tests/real.c. */

#include "check.h"

#include <pthread.h>

/* A range that touches three lines, on two pages. */
enum { AT = 4076, LEN = 100, LINES = 3, SIZE = 16384 };

static unsigned char fresh[LEN], seen[LEN];

static int is_fresh(void) { return memcmp(seen, fresh, LEN) == 0; }

static gemco_device *open_device(const char *name) {
    gemco_device *device = NULL;
    OK(gemco_device_open(name, 0, &device));
    return device;
}

/* Creates a BO whose zeroes are in memory. */
static gemco_bo *new_bo(gemco_device *device, unsigned map) {
    gemco_bo *bo = NULL;
    OK(gemco_bo_create(device, SIZE, GEMCO_CACHING_NONE, &bo));
    OK(gemco_bo_map(bo, map, NULL));
    OK(gemco_bo_flush(bo, NULL));
    return bo;
}

static uint64_t mappings(gemco_device *device) {
    uint64_t count = 77;
    OK(gemco_device_open_counts(device, NULL, &count));
    return count;
}

static void gpu(gemco_device *device, gemco_bo *bo) {
    memset(seen, 0xee, LEN);
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, AT, seen, LEN));
}

/* The library's mapping ends; a dirty line stays dirty, and is flushed through a new mapping. */
static void dirty_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_MAP_WB);
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
    gpu(device, bo);
    CHECK(!is_fresh());
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == LINES && mappings(device) == 1);
    gpu(device, bo);
    CHECK(is_fresh());

    /* Every access maps again. */
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_read(bo, AT, seen, LEN, NULL));
    CHECK(is_fresh() && mappings(device) == 1);
    OK(gemco_bo_unmap(bo));
    OK(gemco_bo_map(bo, GEMCO_MAP_WC, &pointer));
    CHECK(memcmp((char *)pointer + AT, fresh, LEN) == 0 && gemco_bo_map_mode(bo) == GEMCO_MAP_WC);
    gemco_bo_unref(bo);
    CHECK(mappings(device) == 0);
    gemco_device_unref(device);
}

/* Stores that bypass the cache are drained; without the end of the mapping the GPU misses them. */
static void drain_case(unsigned map) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, map);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    gpu(device, bo);
    CHECK(!is_fresh());
    OK(gemco_bo_unmap(bo));
    gpu(device, bo);
    CHECK(is_fresh());
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

/* A pointer comes with its access, at the BO's first byte, after the range's stale lines were invalidated. */
static void pointer_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_MAP_WB);
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
    gemco_device_unref(device);
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
    gemco_bo *bo = new_bo(device, GEMCO_MAP_WB);
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
    gpu(device, bo);
    CHECK(is_fresh() == is_stored);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

/* A mapping stays while an access or a submission is open, and without contents. */
static void busy_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ};
    gemco_access *access = NULL;
    gemco_prepared *prepared = NULL;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, NULL, NULL));
    FAILS(gemco_bo_unmap(bo), EBUSY, "1 write and 0 read guards are open");
    OK(gemco_access_end(access, NULL));
    OK(gemco_submit_begin(device, &submission, 1, NULL, &prepared));
    FAILS(gemco_bo_unmap(bo), EBUSY, "1 submissions in progress");
    OK(gemco_submit_end(prepared, 0));
    CHECK(mappings(device) == 1);
    OK(gemco_bo_unmap(bo));
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
    gemco_device_unref(device);
}

int main(void) {
    for (int i = 0; i < LEN; i++)
        fresh[i] = (unsigned char)(0xa5 ^ i);
    dirty_case();
    drain_case(GEMCO_MAP_WC);
    drain_case(GEMCO_MAP_GTT);
    busy_case();
    pointer_case();
    thread_case(1);
    thread_case(0);
    printf("%d claims\n", claims);
    return 0;
}
