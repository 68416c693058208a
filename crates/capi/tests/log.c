/* Log callbacks: the process's, and those of single devices. */

#include "bos.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* How often a callback is replaced. */
enum { ROUNDS = 200 };

/* The arguments of a callback. */
struct log {
    int lines;
    char last[300];
    gemco_device *device;
};

static void on_log(unsigned level, const char *text, void *user) {
    struct log *log = user;
    CHECK(level >= GEMCO_LOG_ERROR && level <= GEMCO_LOG_DEBUG && strchr(text, '\n') == NULL);
    if (strstr(text, "rule=") != NULL) {
        log->lines++;
        snprintf(log->last, sizeof log->last, "%s", text);
    }
    /* A callback can query the library, but not change the log. */
    gemco_platform platform;
    OK(gemco_device_platform(log->device, &platform));
    FAILS(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL), EDEADLK, "callback");
}

static void log_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    struct log log = {0, "", device};
    OK(gemco_set_log(GEMCO_LOG_DEBUG, on_log, &log));
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_bo_flush(bo, NULL));
    CHECK(log.lines >= 2);
    CHECK(strstr(log.last, "step=sync") && strstr(log.last, "verdict=flush") && strstr(log.last, "lines=3"));
    int lines = log.lines;
    OK(gemco_set_log(GEMCO_LOG_WARN, on_log, &log));
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    OK(gemco_set_log(GEMCO_LOG_DEBUG, NULL, NULL));
    OK(gemco_bo_flush(bo, NULL));
    CHECK(log.lines == lines);
    FAILS(gemco_set_log(6, on_log, NULL), EINVAL, "level is 6");
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

/* Counts lines. */
static void count(unsigned level, const char *text, void *user) {
    CHECK(level != GEMCO_LOG_OFF && *text != 0);
    ++*(int *)user;
}

/* Checks which of the callbacks got lines since the last time: the process's, the first device's, the second's. */
static void got(int lines[3], int by_process, int by_one, int by_two) {
    CHECK((lines[0] > 0) == by_process && (lines[1] > 0) == by_one && (lines[2] > 0) == by_two);
    lines[0] = lines[1] = lines[2] = 0;
}

/* Calls on each kind of object of a device; after each, the device's callback has lines, and no other. */
static void calls(gemco_device *device, int lines[3], int by_process, int by_one, int by_two) {
    gemco_access *access = NULL;
    gemco_prepared *prepared = NULL;
    gemco_scanout *scanout = NULL;
    gemco_batch *batch = NULL;
    gemco_job *job = NULL;
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    gemco_submission submission = {.bo = bo, .access = GEMCO_READ};
    got(lines, by_process, by_one, by_two);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    got(lines, by_process, by_one, by_two);
    OK(gemco_submit_begin(device, &submission, 1, NULL, &prepared));
    OK(gemco_submit_end(prepared, 0));
    got(lines, by_process, by_one, by_two);
    OK(gemco_gpu_wrote(bo, GEMCO_MOCS_PAGE_TABLE));
    OK(gemco_access_begin(bo, GEMCO_WRITE, AT, LEN, &access, NULL, NULL));
    got(lines, by_process, by_one, by_two);
    OK(gemco_bo_mark_stale(bo, AT, LEN));
    OK(gemco_access_pointer(access, &(void *){NULL}));
    got(lines, by_process, by_one, by_two);
    OK(gemco_access_end(access, NULL));
    OK(gemco_prepare_scanout(bo, &scanout, NULL));
    got(lines, by_process, by_one, by_two);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    got(lines, by_process, by_one, by_two);
    OK(gemco_scanout_flush(scanout, NULL));
    got(lines, by_process, by_one, by_two);
    gemco_scanout_end(scanout);
    OK(gemco_batch_create(device, &batch));
    OK(gemco_batch_store(batch, bo, 0, 7));
    lines[0] = lines[1] = lines[2] = 0;
    OK(gemco_batch_submit(batch, &job));
    got(lines, by_process, by_one, by_two);
    OK(gemco_job_wait(job, -1));
    gemco_job_destroy(job);
    lines[0] = lines[1] = lines[2] = 0;
    gemco_bo_unref(bo);
    got(lines, by_process, by_one, by_two);
}

/* The events of a device go to its callback if it has one, and otherwise to the process's. */
static void devices_case(void) {
    int lines[3] = {0, 0, 0};
    gemco_device *one = open_device("sim:glk"), *two = open_device("sim:glk");
    calls(one, lines, 0, 0, 0);
    OK(gemco_device_set_log(one, GEMCO_LOG_TRACE, count, &lines[1]));
    calls(one, lines, 0, 1, 0);
    calls(two, lines, 0, 0, 0);
    OK(gemco_set_log(GEMCO_LOG_TRACE, count, &lines[0]));
    calls(one, lines, 0, 1, 0);
    calls(two, lines, 1, 0, 0);
    OK(gemco_device_set_log(two, GEMCO_LOG_TRACE, count, &lines[2]));
    calls(one, lines, 0, 1, 0);
    calls(two, lines, 0, 0, 1);
    OK(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL));
    calls(two, lines, 0, 0, 1);

    /* NULL ends the device's; OFF keeps it, and silences the device. */
    OK(gemco_set_log(GEMCO_LOG_TRACE, count, &lines[0]));
    OK(gemco_device_set_log(one, GEMCO_LOG_TRACE, NULL, NULL));
    calls(one, lines, 1, 0, 0);
    OK(gemco_device_set_log(one, GEMCO_LOG_OFF, count, &lines[1]));
    calls(one, lines, 0, 0, 0);
    calls(two, lines, 0, 0, 1);

    /* Each callback has its own level. */
    OK(gemco_device_set_log(one, GEMCO_LOG_WARN, count, &lines[1]));
    calls(one, lines, 0, 0, 0);
    OK(gemco_device_set_log(one, GEMCO_LOG_DEBUG, count, &lines[1]));
    OK(gemco_set_log(GEMCO_LOG_WARN, count, &lines[0]));
    OK(gemco_device_set_log(two, GEMCO_LOG_TRACE, NULL, NULL));
    calls(one, lines, 0, 1, 0);
    calls(two, lines, 0, 0, 0);

    /* The last reference to a device ends its callback; its BOs are logged by the process's. */
    OK(gemco_set_log(GEMCO_LOG_TRACE, count, &lines[0]));
    gemco_bo *bo = new_bo(one, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    got(lines, 0, 1, 0);
    gemco_device_ref(one);
    gemco_device_unref(one);
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    got(lines, 0, 1, 0);
    gemco_device_unref(one);
    lines[0] = 0;
    OK(gemco_bo_write(bo, AT, fresh, LEN, NULL));
    got(lines, 1, 0, 0);
    gemco_bo_unref(bo);
    gemco_device_unref(two);
    OK(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL));
}

/* A callback that tries to change its own log and that of another device. */
struct attempt {
    gemco_device *own, *other;
    int made;
};

static void try_to_set(unsigned level, const char *text, void *user) {
    struct attempt *attempt = user;
    (void)level, (void)text;
    FAILS(gemco_device_set_log(attempt->own, GEMCO_LOG_OFF, NULL, NULL), EDEADLK, "callback");
    FAILS(gemco_device_set_log(attempt->other, GEMCO_LOG_OFF, NULL, NULL), EDEADLK, "callback");
    FAILS(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL), EDEADLK, "callback");
    CHECK(gemco_device_mocs(attempt->other, 2) >= 0);
    attempt->made++;
}

static void arguments_case(void) {
    struct attempt attempt = {open_device("sim:glk"), open_device("sim:glk"), 0};
    int lines = 0;
    OK(gemco_device_set_log(attempt.own, GEMCO_LOG_DEBUG, try_to_set, &attempt));
    OK(gemco_device_set_log(attempt.other, GEMCO_LOG_DEBUG, count, &lines));
    gemco_bo_unref(new_bo(attempt.own, GEMCO_CACHING_NONE, GEMCO_MAP_WB));
    CHECK(attempt.made > 0 && lines == 0);
    FAILS(gemco_device_set_log(NULL, GEMCO_LOG_DEBUG, count, NULL), EINVAL, "device is NULL");
    FAILS(gemco_device_set_log(attempt.own, 6, count, NULL), EINVAL, "level is 6");
    int made = attempt.made;
    gemco_bo_unref(new_bo(attempt.own, GEMCO_CACHING_NONE, GEMCO_MAP_WB));
    CHECK(attempt.made > made);
    gemco_device_unref(attempt.own);
    gemco_device_unref(attempt.other);
}

/* A callback that may run only while it is set. */
static atomic_int is_set, was_called, stop;

static void while_set(unsigned level, const char *text, void *user) {
    (void)level, (void)text, (void)user;
    /* It takes long, so that it is likely to run while it is replaced. */
    int was_set = atomic_load(&is_set);
    usleep(20);
    if (!was_set || !atomic_load(&is_set)) {
        fprintf(stderr, "a callback runs after it was replaced\n");
        exit(1);
    }
    atomic_fetch_add(&was_called, 1);
}

/* Replaces the other one, with a level at which nothing happens here. */
static void unexpected(unsigned level, const char *text, void *user) {
    (void)user;
    fprintf(stderr, "a line of level %u for a callback of errors: %s\n", level, text);
    exit(1);
}

static void *write_until_stopped(void *bo) {
    while (!atomic_load(&stop))
        if (gemco_bo_write(bo, AT, fresh, LEN, NULL) != 0)
            return NULL;
    return bo;
}

/* Once a callback was replaced, it neither runs nor is called again, whatever other threads do. */
static void thread_case(void) {
    gemco_device *device = open_device("sim:glk");
    gemco_bo *bo = new_bo(device, GEMCO_CACHING_NONE, GEMCO_MAP_WB);
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, write_until_stopped, bo) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        int before = atomic_load(&was_called);
        atomic_store(&is_set, 1);
        OK(gemco_device_set_log(device, GEMCO_LOG_TRACE, while_set, NULL));
        while (atomic_load(&was_called) == before)
            sched_yield();
        OK(gemco_device_set_log(device, GEMCO_LOG_ERROR, unexpected, NULL));
        atomic_store(&is_set, 0);
    }
    atomic_store(&stop, 1);
    CHECK(pthread_join(thread, &result) == 0 && result == bo);
    gemco_bo_unref(bo);
    gemco_device_unref(device);
}

int main(void) {
    log_case();
    devices_case();
    arguments_case();
    thread_case();
    printf("%d claims\n", claims);
    return 0;
}
