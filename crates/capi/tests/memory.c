/* Out of memory: an allocation whose size depends on the caller's numbers fails with -ENOMEM, in one call after
 * another, and never ends the process.
 *
 * The program's allocator refuses large requests from the n-th on; a child tries each n, until none is refused. With a
 * limit of the address space (RLIMIT_AS), it is the kernel that refuses.
 *
 *   memory                   on a software device, whose own memory is not tried
 *   memory DEVICE [STEP]     on this one, with its submissions; STEP 4 tries every fourth n */

#include "check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 8192, BOS = 600, BO_SIZE = 4096, BIG = 64 << 20, STORES = 2000, MOST = 200 };

/* glibc's own allocator. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Number of large requests to grant before the others are refused; negative: grant all. */
static long answered = -1;
static long refused;

static int refuses(size_t size) {
    if (size < LARGE || answered < 0)
        return 0;
    if (answered > 0) {
        answered--;
        return 0;
    }
    refused++;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return refuses(size) ? NULL : __libc_malloc(size); }
void *realloc(void *old, size_t size) { return refuses(size) ? NULL : __libc_realloc(old, size); }
void *calloc(size_t count, size_t size) {
    return count != 0 && refuses(size * count) ? NULL : __libc_calloc(count, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *found = refuses(size) ? NULL : __libc_memalign(alignment, size);
    if (found == NULL)
        return ENOMEM;
    *out = found;
    return 0;
}

/* Number of calls that failed. */
static int failures;

/* Checks that a call succeeds or fails for lack of memory; returns whether it succeeded. */
static int done(int result, const char *call) {
    if (result >= 0)
        return 1;
    failures++;
    if (result != -ENOMEM) {
        fprintf(stderr, "%s: %d: %s\n", call, result, gemco_last_error());
        exit(1);
    }
    return 0;
}
#define DONE(call) done(call, #call)

static gemco_bo *bos[BOS];
static gemco_submission list[BOS];
static gemco_report reports[BOS];

/* Makes every call that takes much memory; after each failure, grants memory and repeats the call. */
static void child(const char *name, int is_sim, long n) {
    gemco_device *device = NULL;
    gemco_bo *big = NULL;
    gemco_prepared *prepared = NULL;
    gemco_batch *batch = NULL;
    unsigned char bytes[64], seen[64];
    memset(bytes, 0xa5, sizeof bytes);
    OK(gemco_device_open(name, 0, &device));
    for (int i = 0; i < BOS; i++) {
        OK(gemco_bo_create(device, BO_SIZE, GEMCO_CACHING_NONE, &bos[i]));
        OK(gemco_bo_map(bos[i], GEMCO_MAP_WB, NULL));
        OK(gemco_bo_flush(bos[i], NULL));
        OK(gemco_bo_write(bos[i], 0, bytes, sizeof bytes, NULL));
        list[i] = (gemco_submission){.bo = bos[i], .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    }
    answered = n;
#define UNTIL_DONE(call)                                                                                               \
    if (!DONE(call)) {                                                                                                 \
        answered = -1;                                                                                                 \
        OK(call);                                                                                                      \
    }
    UNTIL_DONE(gemco_bo_create(device, BIG, GEMCO_CACHING_NONE, &big));
    UNTIL_DONE(gemco_bo_write(big, BIG / 2, bytes, sizeof bytes, NULL));
    UNTIL_DONE(gemco_submit_begin(device, list, BOS, reports, &prepared));
    gemco_submit_end(prepared, 0);
    for (int i = 0; i < BOS; i++) {
        /* If the flush of a BO began before memory ran out, every line counts as dirty again. */
        CHECK(!is_sim || reports[i].lines == 1 || reports[i].lines == BO_SIZE / 64);
        if (is_sim)
            OK(gemco_sim_gpu_read(device, bos[i], GEMCO_MOCS_PAGE_TABLE, 0, seen, sizeof seen));
        else
            OK(gemco_bo_read(bos[i], 0, seen, sizeof seen, NULL));
        CHECK(memcmp(seen, bytes, sizeof bytes) == 0);
    }
    OK(gemco_batch_create(device, &batch));
    for (int i = 0; i < STORES; i++)
        UNTIL_DONE(gemco_batch_store(batch, bos[i % BOS], 0, 7));
    gemco_job *job = NULL;
    if (is_sim) {
        gemco_batch_destroy(batch);
    } else {
        UNTIL_DONE(gemco_submit(device, list, BOS, reports));
        if (DONE(gemco_batch_submit(batch, &job)))
            OK(gemco_job_wait(job, 1000000000));
    }
    answered = -1;
    gemco_job_destroy(job);
    uint64_t handles = 0;
    OK(gemco_device_open_counts(device, &handles, NULL));
    CHECK(handles == BOS + 1);
    gemco_bo_unref(big);
    for (int i = 0; i < BOS; i++)
        gemco_bo_unref(bos[i]);
    OK(gemco_device_open_counts(device, &handles, NULL));
    CHECK(handles == 0);
    gemco_device_unref(device);
    CHECK((failures > 0) == (refused > 0));
}

/* Limits the address space to `more` bytes than there are. */
static void limit(uint64_t more) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    struct rlimit to = {(rlim_t)(pages * (uint64_t)sysconf(_SC_PAGESIZE) + more), RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &to) == 0);
}

/* With little address space, a BO whose tracked state does not fit is refused. Dirty lines of others stay dirty, and with
 * more address space the same call succeeds. */
static void limited_case(const char *name) {
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    gemco_device *device = NULL;
    gemco_bo *bo = NULL, *large = NULL;
    gemco_report report;
    char seen[5];
    uint64_t size = BIG;
    int result = 0;
    OK(gemco_device_open(name, 0, &device));
    OK(gemco_bo_create(device, BO_SIZE, GEMCO_CACHING_NONE, &bo));
    OK(gemco_bo_map(bo, GEMCO_MAP_WB, NULL));
    OK(gemco_bo_flush(bo, NULL));
    OK(gemco_bo_write(bo, BO_SIZE / 2, "dirty", 5, NULL));
    limit(BIG);
    for (; size < UINT64_C(1) << 50; size *= 2) {
        result = gemco_bo_create(device, size, GEMCO_CACHING_NONE, &large);
        if (result != 0)
            break;
        gemco_bo_unref(large);
    }
    CHECK(size > BIG);
    CHECK(result == -ENOMEM);
    CHECK(strstr(gemco_last_error(), "not enough memory") != NULL);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ, .mocs = GEMCO_MOCS_PAGE_TABLE};
    OK(submit_nothing(device, &submission, 1, &report));
    CHECK(report.lines == 1);
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_PAGE_TABLE, BO_SIZE / 2, seen, 5));
    CHECK(memcmp(seen, "dirty", 5) == 0);
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    OK(gemco_bo_create(device, size, GEMCO_CACHING_NONE, &large));
    gemco_bo_unref(large);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "sim:glk";
    long step = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    int tried = 0, status = 0;
    CHECK(step > 0 && step < MOST);
    for (long n = 0; n < MOST; n += step, tried++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(60);
            child(name, strncmp(name, "sim:", 4) == 0, n);
            _exit(refused > 0 ? 0 : 7);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 7)) {
            fprintf(stderr, "request %ld: status %x\n", n, (unsigned)status);
            return 1;
        }
        claims++;
        if (WEXITSTATUS(status) == 7)
            break;
    }
    /* More requests than these were reached, including the last one. */
    CHECK(tried * step > 8 && WEXITSTATUS(status) == 7);

    /* A size that exceeds memory, in a request that allocates nothing itself. */
    gemco_device *device = NULL;
    gemco_bo *bo = NULL;
    OK(gemco_device_open(name, 0, &device));
    FAILS(gemco_bo_create(device, UINT64_C(1) << 60, GEMCO_CACHING_NONE, &bo), ENOMEM, "not enough memory");
    gemco_device_unref(device);
    if (strncmp(name, "sim:", 4) == 0)
        limited_case(name);
    printf("%d claims\n", claims);
    return 0;
}
