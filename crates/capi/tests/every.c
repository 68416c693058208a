/* Calls every function of the header in states in which it must succeed or must be refused.
 *
 *   every [DEVICE]      on a software device with a display, or on this one */

#include "every.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { SECONDS = 60, CHILDREN = 40, THREADS = 3 };

/* Every call succeeds in a valid state, so the refusals below have their expected cause. */
static void possible_case(const char *device, int is_sim) {
    struct world w;
    for (int i = 0; i < CALLS; i++) {
        begin_world(&w, device);
        if (applies(&w, &calls[i], is_sim)) {
            int result = calls[i].run(&w);
            if (result < 0 && !(calls[i].kind & UNSURE)) {
                fprintf(stderr, "%s: %d: %s\n", calls[i].name, result, gemco_last_error());
                exit(1);
            }
            claims++;
            end_world(&w, calls[i].kind & RELEASES ? &calls[i] : NULL);
        } else {
            end_world(&w, NULL);
        }
    }
}

/* Every call about a closed BO reports that. */
static void closed_case(const char *device, int is_sim) {
    struct world w;
    begin_world(&w, device);
    OK(gemco_bo_map(w.bo, GEMCO_MAP_DEFAULT, NULL));
    OK(gemco_bo_close(w.bo));
    for (int i = 0; i < CALLS; i++) {
        const struct call *call = &calls[i];
        if ((call->kind & BO) != BO || !applies(&w, call, is_sim))
            continue;
        int expected = call->kind & NUMBER ? NONE : -ENOENT, result = call->run(&w);
        if (result != expected || strstr(gemco_last_error(), call->name) == NULL ||
            strstr(gemco_last_error(), "is closed") == NULL) {
            fprintf(stderr, "%s of a closed BO: %d: %s\n", call->name, result, gemco_last_error());
            exit(1);
        }
        claims++;
    }
    w.new_dma_buf = -1;
    end_world(&w, NULL);
}

/* A call that is made in every callback, and its result. */
struct attempt {
    struct world *w;
    const struct call *call;
    unsigned made;
};

static void on_log(unsigned level, const char *line, void *user) {
    struct attempt *attempt = user;
    const struct call *call = attempt->call;
    (void)level, (void)line;
    alarm(SECONDS);
    int result = call->run(attempt->w);
    alarm(0);
    attempt->made++;
    int is_right = result >= 0 || ((call->kind & UNSURE) && result != -EDEADLK);
    if (!(call->kind & QUERIES)) {
        is_right = result == (call->kind & VOID ? 0 : -EDEADLK);
        is_right &= strstr(gemco_last_error(), call->name) != NULL && strstr(gemco_last_error(), "callback") != NULL;
    }
    if (!is_right) {
        fprintf(stderr, "%s in a log callback: %d: %s\n", call->name, result, gemco_last_error());
        exit(1);
    }
    claims++;
}

/* In a log callback, queries succeed and all other calls are refused: nothing hangs, and nothing is released. */
static void callback_case(const char *device, int is_sim) {
    for (int i = 0; i < CALLS; i++) {
        struct world w;
        begin_world(&w, device);
        struct attempt attempt = {&w, &calls[i], 0};
        if (applies(&w, &calls[i], is_sim)) {
            gemco_bo *bo = NULL;
            OK(gemco_set_log(GEMCO_LOG_TRACE, on_log, &attempt));
            OK(gemco_bo_create(w.device, 4096, GEMCO_CACHING_NONE, &bo));
            OK(gemco_bo_write(w.bo, 0, "while", 5, NULL));
            OK(gemco_submit(w.device, ALL_OF(&w), 1, NULL));
            CHECK(gemco_bo_busy(w.bo) >= 0);
            gemco_bo_unref(bo);
            OK(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL));
            CHECK(attempt.made > 5);
        }
        end_world(&w, NULL);
    }
}

/* Used by threads that are inside calls when the process forks. */
static struct world shared;
static atomic_int stop;

static void *busy_thread(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        gemco_bo *bo = NULL;
        gemco_batch *batch = NULL;
        if (gemco_bo_create(shared.device, 8192, GEMCO_CACHING_DEFAULT, &bo) != 0 ||
            gemco_bo_write(bo, 0, "bytes", 5, NULL) != 0 || gemco_bo_flush(bo, NULL) != 0 ||
            gemco_scanout_flush(shared.scanout, NULL) != 0 || gemco_access_written(shared.access, 0, 8) != 0 ||
            gemco_batch_flush(shared.batch) != 0 || gemco_batch_create(shared.device, &batch) != 0 ||
            (shared.address && gemco_sim_load(shared.device, shared.address, &(char){0}, 1) != 0))
            return NULL;
        gemco_batch_destroy(batch);
        gemco_bo_unref(bo);
    }
    return &shared;
}

static void quiet(unsigned level, const char *line, void *user) {
    (void)level, (void)line;
    if (user != (void *)(intptr_t)getpid())
        _exit(3);
}

/* In a child, calls are refused at once, and new devices work. Returns the child's exit status. */
static int child(int is_sim) {
    struct world *w = &shared;
    alarm(SECONDS);
    for (int gives = 0; gives <= RELEASES; gives += RELEASES) {
        for (int i = 0; i < CALLS; i++) {
            const struct call *call = &calls[i];
            /* gemco_batch_submit already takes the batch. */
            if ((call->kind & RELEASES) != gives || !applies(w, call, is_sim) || strcmp(call->name, "gemco_batch_destroy") == 0)
                continue;
            int result = call->run(w), is_right = result >= 0 || (call->kind & UNSURE);
            if (call->kind & OBJECT)
                is_right = result == (call->kind & NUMBER ? NONE : -ECHILD) &&
                           strstr(gemco_last_error(), "process") != NULL;
            if (!is_right) {
                fprintf(stderr, "%s in a child: %d: %s\n", call->name, result, gemco_last_error());
                return 1;
            }
        }
    }
    gemco_bo *bo = NULL;
    gemco_device *own = NULL;
    char back[4];
    int is_right = gemco_device_open("sim:glk", 0, &own) == 0 &&
                   gemco_set_log(GEMCO_LOG_TRACE, quiet, (void *)(intptr_t)getpid()) == 0 &&
                   gemco_bo_create(own, 4096, GEMCO_CACHING_NONE, &bo) == 0 &&
                   gemco_bo_write(bo, 0, "mine", 4, NULL) == 0 && gemco_bo_flush(bo, NULL) == 0 &&
                   gemco_sim_gpu_read(own, bo, GEMCO_MOCS_PAGE_TABLE, 0, back, 4) == 0 && memcmp(back, "mine", 4) == 0;
    gemco_bo_unref(bo);
    gemco_device_unref(own);
    return is_right ? 0 : 2;
}

/* A child can do nothing to its parent's objects, and does not hang; new devices work. */
static void fork_case(const char *device, int is_sim, unsigned threads) {
    uint64_t before = 0, after = 0;
    char back[6] = "";
    begin_world(&shared, device);
    OK(gemco_device_open_counts(shared.device, &before, NULL));
    OK(gemco_set_log(GEMCO_LOG_TRACE, quiet, (void *)(intptr_t)getpid()));
    pthread_t busy[THREADS];
    for (unsigned i = 0; i < threads; i++)
        CHECK(pthread_create(&busy[i], NULL, busy_thread, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(child(is_sim));
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < threads; i++) {
        void *result = NULL;
        CHECK(pthread_join(busy[i], &result) == 0);
        CHECK(result == &shared);
    }
    atomic_store(&stop, 0);
    /* The parent's objects are unchanged and usable. */
    OK(gemco_device_open_counts(shared.device, &after, NULL));
    CHECK(after == before);
    OK(gemco_bo_read(shared.bo, 0, back, 6, NULL));
    CHECK(memcmp(back, "before", 6) == 0);
    OK(gemco_bo_write(shared.bo, 0, "after!", 6, NULL));
    OK(gemco_submit(shared.device, ALL_OF(&shared), 1, NULL));
    OK(gemco_bo_wait(shared.bo, 1000000000));
    OK(gemco_set_log(GEMCO_LOG_OFF, NULL, NULL));
    end_world(&shared, NULL);
}

int main(int argc, char **argv) {
    const char *device = argc > 1 ? argv[1] : "sim:tgl,display=on";
    int is_sim = strncmp(device, "sim:", 4) == 0;
    possible_case(device, is_sim);
    closed_case(device, is_sim);
    callback_case(device, is_sim);
    fork_case(device, is_sim, 0);
#ifndef __SANITIZE_ADDRESS__
    /* Not under AddressSanitizer: a child may inherit the locks of its allocator locked. */
    fork_case(device, is_sim, THREADS);
#else
    fprintf(stderr, "1 case skipped: forking beside threads, under AddressSanitizer\n");
#endif
    printf("%d claims\n", claims);
    return 0;
}
