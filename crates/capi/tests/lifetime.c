/* Calls at the end of a thread and of the process, when thread-local variables may be gone already: they succeed and
 * fail as ever, keep the thread's error text and last report, and are logged. */

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60, BUSY = 3, ENDS = 20, PER_USE = 5, ROUNDS = 2 };

/* Registers a destructor for the end of this thread, as C++ does for a `thread_local` object. Later ones run first. */
int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle;

/* Claims that held in the child that runs, which ends in too many ways to return them. */
static atomic_int *held;

/* Checks a condition in a child, and counts it there. */
#define COUNTS(claim)                                                                                                  \
    do {                                                                                                               \
        HOLDS(claim);                                                                                                  \
        atomic_fetch_add(held, 1);                                                                                     \
    } while (0)

static gemco_device *device;
static gemco_bo *bo;
static _Thread_local unsigned lines;
static pthread_key_t key;
/* Whether this process is a child whose destructor function uses the library. */
static int has_destructor;

static void on_log(unsigned level, const char *line, void *user) {
    (void)level, (void)line, (void)user;
    lines++;
}

/* Calls that succeed, are logged, fail, and return what the thread keeps: PER_USE claims. */
static void use(void) {
    char text[100];
    unsigned before = lines;
    COUNTS(gemco_bo_write(bo, 0, "bytes", 5, NULL) == 0 && gemco_bo_flush(bo, NULL) == 0);
    COUNTS(gemco_explain(NULL, text, sizeof text) > 0 && strstr(text, "sync: ") == text);
    COUNTS(gemco_bo_write(bo, 99999, "bytes", 5, NULL) == -EINVAL);
    COUNTS(strstr(gemco_last_error(), "99999") != NULL);
    COUNTS(lines > before);
}

static void use_for(void *unused) {
    (void)unused;
    use();
}

/* Opens a device with a BO; both stay open. */
static void open_all(void) {
    if (gemco_device_open("sim:glk", 0, &device) != 0 || gemco_set_log(GEMCO_LOG_DEBUG, on_log, NULL) != 0 ||
        gemco_bo_create(device, 4096, GEMCO_CACHING_NONE, &bo) != 0)
        _exit(2);
}

__attribute__((destructor)) static void at_unload(void) {
    if (has_destructor)
        use();
}

/* exit() with open objects: the main thread's thread-local destructors, then handlers, then destructor functions. */
static void ends_process(void) {
    has_destructor = 1;
    atexit(use);
    __cxa_thread_atexit_impl(use_for, NULL, &__dso_handle);
    open_all();
    use();
    exit(0);
}

/* Uses the library in ROUNDS rounds of key destructors, and closes an object of the thread in the last one. */
static void at_key(void *value) {
    gemco_bo **own = value;
    use();
    if (*own == NULL) {
        COUNTS(gemco_bo_create(device, 4096, GEMCO_CACHING_NONE, own) == 0);
        pthread_setspecific(key, own);
    } else {
        COUNTS(gemco_bo_write(*own, 0, "last", 4, NULL) == 0);
        gemco_bo_unref(*own);
    }
}

/* A thread whose first call of the library is in this function, or later in a destructor. */
static void *thread(void *argument) {
    static _Thread_local gemco_bo *own;
    __cxa_thread_atexit_impl(use_for, NULL, &__dso_handle);
    pthread_setspecific(key, &own);
    if (argument != NULL)
        use();
    return NULL;
}

static void ends_threads(void) {
    open_all();
    pthread_key_create(&key, at_key);
    for (int calls = 0; calls < 2; calls++) {
        pthread_t id;
        COUNTS(pthread_create(&id, NULL, thread, calls ? &calls : NULL) == 0);
        COUNTS(pthread_join(id, NULL) == 0);
    }
    gemco_bo_unref(bo);
    gemco_device_unref(device);
    exit(0);
}

static atomic_int busy;

static void *busy_thread(void *unused) {
    for (unsigned i = 0;; i++) {
        gemco_bo *other = NULL;
        char byte = (char)i;
        if (gemco_bo_create(device, 65536, GEMCO_CACHING_NONE, &other) != 0 ||
            gemco_bo_write(other, i % 65536, &byte, 1, NULL) != 0 || gemco_bo_flush(bo, NULL) != 0)
            _exit(3);
        gemco_bo_unref(other);
        if (i == 0)
            atomic_fetch_add(&busy, 1);
    }
    return unused;
}

static void *exiting_thread(void *unused) {
    (void)unused;
    while (atomic_load(&busy) < BUSY)
        ;
    exit(0);
}

/* exit() on one thread while others are in calls. */
static void ends_beside_calls(void) {
    pthread_t id;
    has_destructor = 1;
    open_all();
    atexit(use);
    for (int i = 0; i < BUSY; i++)
        pthread_create(&id, NULL, busy_thread, NULL);
    pthread_create(&id, NULL, exiting_thread, NULL);
    for (;;)
        pause();
}

/* What must be noticed: a crash in a handler, and a claim that fails there. */
static void crash(void) { raise(SIGKILL); }
static void crashes_at_exit(void) {
    atexit(crash);
    exit(0);
}
static void fails_at_exit(void) {
    atexit(use);
    exit(freopen("/dev/null", "w", stderr) == NULL ? 5 : 0);
}

/* Runs a function that ends its process; returns the claims that held there, or -1 if it ended badly. */
static int in_child(void (*run)(void)) {
    int status = -1;
    atomic_store(held, 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(SECONDS);
        run();
        _exit(4);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? atomic_load(held) : -1;
}

int main(void) {
    held = mmap(NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(held != MAP_FAILED);
    /* In main, in a thread-local destructor, in a handler, in a destructor function. */
    CHECK(in_child(ends_process) == 4 * PER_USE);
    /* For each thread: created and joined, a thread-local destructor, the rounds of key destructors with their own claims. */
    int each = 2 + PER_USE + ROUNDS * (PER_USE + 1);
    CHECK(in_child(ends_threads) == 2 * each + PER_USE);
    for (int i = 0; i < ENDS; i++)
        CHECK(in_child(ends_beside_calls) == 2 * PER_USE);

    CHECK(in_child(fails_at_exit) == -1);
    CHECK(in_child(crashes_at_exit) == -1);
    printf("%d claims\n", claims);
    return 0;
}
