/* Threads: with all signals blocked, many at once, under a timer whose handler makes requests, cancelled, and at exit. */

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { SIZE = 4 * PAGE, THREADS = 8, ROUNDS = 60 };

static int fd;
static _Atomic int handled, stop;

/* Requests and mappings; each thread sees its own object's bytes. */
static void work(char mark) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE);
    bytes[0] = mark;
    bytes[3 * PAGE] = mark;
    SAME(bytes[0], mark);
    OK(munmap(bytes + PAGE, PAGE));
    SAME(bytes[3 * PAGE], mark);
    /* Not what another thread may have in the hole. */
    OK(munmap(bytes, PAGE));
    OK(munmap(bytes + 2 * PAGE, 2 * PAGE));
    first_byte(fd, handle, mark);
    OK(close_handle(fd, handle));
}

static void *worker(void *mark) {
    sigset_t all;
    sigfillset(&all);
    if ((long)mark % 2) OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
    for (int round = 0; round < ROUNDS; round++) work((char)(long)mark);
    return NULL;
}

/* Threads at once, half of them with all signals blocked; the masks are the program's own afterwards. */
static void at_once(void) {
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++) OK(pthread_create(&threads[n], NULL, worker, (void *)(n + 1)));
    for (int n = 0; n < THREADS; n++) OK(pthread_join(threads[n], NULL));
    sigset_t before, after;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
    work(1);
    OK(pthread_sigmask(SIG_SETMASK, NULL, &after));
    SAME(sigismember(&after, SIGUSR1), 1);
    SAME(sigismember(&after, SIGALRM), 0);
    sigemptyset(&before);
    OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
}

/* A handler makes a request; errno stays as it was. */
static void on_alarm(int signal) {
    int before = errno;
    (void)signal;
    uint32_t handle = create(fd, PAGE);
    CHECK(get(fd, I915_PARAM_CHIPSET_ID) != 0);
    char *bytes = map(fd, handle, PAGE);
    bytes[0] = 1;
    OK(munmap(bytes, PAGE));
    OK(close_handle(fd, handle));
    handled++;
    errno = before;
}

static void under_alarms(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    OK(sigaction(SIGALRM, &action, NULL));
    // Longer than a handler takes, also in a debug build on a busy machine: else the program makes no progress.
    struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    OK(setitimer(ITIMER_REAL, &every, NULL));
    pthread_t thread;
    OK(pthread_create(&thread, NULL, worker, (void *)6L));
    for (int round = 0; round < 200 || handled < 20; round++) work(3);
    OK(pthread_join(thread, NULL));
    for (int n = 0; n < 5; n++) {
        pid_t child = fork();
        if (child == 0) {
            OK(setitimer(ITIMER_REAL, &never, NULL));
            work(4);
            _exit(0);
        }
        ends_with(child, 0);
    }
    OK(setitimer(ITIMER_REAL, &never, NULL));
    CHECK(handled >= 20);
}

static void *until_cancelled(void *mark) {
    for (;;) {
        work((char)(long)mark);
        pthread_testcancel();
    }
    return NULL;
}

static void *until_cancelled_at_once(void *unused) {
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL));
    while (!stop) get(fd, I915_PARAM_CHIPSET_ID);
    return unused;
}

/* Cancelled threads leave no lock held. */
static void cancelled(void) {
    for (int n = 0; n < 10; n++) {
        pthread_t thread, other;
        void *result = &thread;
        OK(pthread_create(&thread, NULL, until_cancelled, (void *)7L));
        OK(pthread_create(&other, NULL, until_cancelled_at_once, NULL));
        usleep(2000);
        OK(pthread_cancel(thread));
        OK(pthread_join(thread, NULL));
        /* ioctl(2) is no point of cancellation: the thread goes on. */
        OK(pthread_cancel(other));
        work(8);
        stop = 1;
        OK(pthread_join(other, &result));
        CHECK(result == NULL);
        stop = 0;
    }
}

/* exit while threads make requests. */
static void ends_among_requests(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        for (long n = 0; n < THREADS; n++) OK(pthread_create(&thread, NULL, until_cancelled, (void *)(n + 1)));
        usleep(20000);
        exit(5);
    }
    ends_with(child, 5);
    work(9);
}

int main(void) {
    fd = open_card();
    at_once();
    under_alarms();
    ends_among_requests();
    cancelled();
    return done();
}
