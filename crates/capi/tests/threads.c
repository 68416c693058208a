/* Many threads share a device: each has a BO of its own and a range of a BO that all write, with lines that two of them
 * share. Threads end while others start. No byte is lost, and each thread keeps its own error and last report. */

#include "check.h"

#include <pthread.h>
#include <unistd.h>

/* A range is no multiple of a line; neighbours share one. */
enum { THREADS = 100, WAVES = 4, RANGE = 100, ROUNDS = 8, OWN = 8192, MAP = GEMCO_MAP_WB };
enum { TABLE = GEMCO_MOCS_PAGE_TABLE };

static gemco_device *device;
static gemco_bo *all;
static pthread_barrier_t together;

struct job {
    unsigned number, wave;
};

/* The bytes that a thread of a wave leaves in its range. */
static void fill(unsigned char bytes[RANGE], unsigned number, unsigned wave) {
    for (unsigned i = 0; i < RANGE; i++)
        bytes[i] = (unsigned char)(number * 7 + wave * 31 + i);
}

/* Stores the thread's bytes in its range of the shared BO, by a call or through a pointer. */
static int store(unsigned number, unsigned round, const unsigned char *bytes) {
    gemco_access *access = NULL;
    void *pointer = NULL;
    if (round % 2 == 0)
        return gemco_bo_write(all, number * RANGE, bytes, RANGE, NULL);
    int result = gemco_access_begin(all, GEMCO_WRITE, number * RANGE, RANGE, &access, &pointer, NULL);
    if (result < 0)
        return result;
    memcpy((char *)pointer + number * RANGE, bytes, RANGE);
    return gemco_access_end(access, NULL);
}

static void *thread(void *argument) {
    const struct job *job = argument;
    unsigned char bytes[RANGE], seen[RANGE];
    char text[200], want[40];
    gemco_bo *own = NULL;
    const unsigned lines = 2 + job->number;
    HOLDS(strcmp(gemco_last_error(), "") == 0);
    HOLDS(gemco_explain(NULL, text, sizeof text) == -ENODATA);
    if (job->wave == 0)
        pthread_barrier_wait(&together);
    HOLDS(gemco_bo_create(device, OWN, GEMCO_CACHING_NONE, &own) == 0);
    HOLDS(gemco_bo_map(own, MAP, NULL) == 0 && gemco_bo_flush(own, NULL) == 0);
    fill(bytes, job->number, job->wave);
    for (unsigned round = 0; round < ROUNDS; round++) {
        gemco_submission list[2] = {{.bo = own, .access = GEMCO_READ, .mocs = TABLE}, {.bo = all, .access = GEMCO_READ, .mocs = TABLE}};
        HOLDS(store(job->number, round, bytes) == 0);
        HOLDS(gemco_bo_write(own, job->number, bytes, RANGE, NULL) == 0);
        HOLDS(gemco_bo_write(own, OWN + job->number, bytes, 1, NULL) == -EINVAL);
        HOLDS(submit_nothing(device, list, 2, NULL) == 0);

        snprintf(want, sizeof want, "offset %u ", OWN + job->number);
        HOLDS(strstr(gemco_last_error(), want) != NULL);
        /* The last report is of this thread's last call that flushes, which flushes its own number of lines. */
        HOLDS(gemco_bo_flush_range(own, 0, 64 * lines, 1u << GEMCO_PATH_GPU_PAGE_TABLE, NULL) == 0);
        snprintf(want, sizeof want, " %u lines ", lines);
        HOLDS(gemco_explain(NULL, text, sizeof text) > 0 && strstr(text, want) != NULL);

        HOLDS(gemco_sim_gpu_read(device, own, TABLE, job->number, seen, RANGE) == 0 && memcmp(seen, bytes, RANGE) == 0);
        HOLDS(gemco_sim_gpu_read(device, all, TABLE, job->number * RANGE, seen, RANGE) == 0);
        HOLDS(memcmp(seen, bytes, RANGE) == 0);
    }
    gemco_bo_unref(own);
    return NULL;
}

int main(void) {
    static struct job jobs[WAVES][THREADS];
    pthread_t threads[THREADS];
    unsigned char bytes[RANGE], seen[RANGE];
    uint64_t handles = 7;
    void *pointer = NULL;
    OK(gemco_device_open("sim:glk", 0, &device));
    OK(gemco_bo_create(device, THREADS * RANGE, GEMCO_CACHING_NONE, &all));
    OK(gemco_bo_map(all, MAP, &pointer));
    OK(gemco_bo_flush(all, NULL));
    CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
    /* All of the first wave run at once; each thread that ends is replaced by one of the next wave. */
    for (unsigned wave = 0; wave <= WAVES; wave++) {
        for (unsigned i = 0; i < THREADS; i++) {
            if (wave > 0)
                CHECK(pthread_join(threads[i], NULL) == 0);
            if (wave < WAVES) {
                jobs[wave][i] = (struct job){i, wave};
                CHECK(pthread_create(&threads[i], NULL, thread, &jobs[wave][i]) == 0);
            }
        }
    }
    OK(gemco_device_open_counts(device, &handles, NULL));
    CHECK(handles == 1);
    for (unsigned i = 0; i < THREADS; i++) {
        fill(bytes, i, WAVES - 1);
        OK(gemco_sim_gpu_read(device, all, TABLE, i * RANGE, seen, RANGE));
        CHECK(memcmp(seen, bytes, RANGE) == 0);
    }

    /* A store that no call reports is lost, so the bytes above were flushed. */
    memset(pointer, 0xee, RANGE);
    gemco_submission submission = {.bo = all, .access = GEMCO_READ, .mocs = TABLE};
    OK(submit_nothing(device, &submission, 1, NULL));
    fill(bytes, 0, WAVES - 1);
    OK(gemco_sim_gpu_read(device, all, TABLE, 0, seen, RANGE));
    CHECK(memcmp(seen, bytes, RANGE) == 0);
    gemco_bo_unref(all);
    gemco_device_unref(device);
    printf("%d claims\n", claims);
    return 0;
}
