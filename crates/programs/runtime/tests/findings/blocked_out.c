// A thread waits in send(2) to load from a mapping, while another one submits a batch that writes the object: the page can be loaded from
// until the bytes are sent.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common.h"

enum { BYTES = 3 * LINE };

static struct copy copy;
static const char *seen;
static int ends[2];
static pid_t sender;

static void *send_lines(void *result) {
    __atomic_store_n(&sender, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    *(ssize_t *)result = send(ends[0], seen, BYTES, 0);
    return NULL;
}

// Waits until the thread is in its system call.
static void await_sender(void) {
    char path[64], number[8] = "";
    while (!__atomic_load_n(&sender, __ATOMIC_SEQ_CST)) usleep(1000);
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", sender);
    while (atoi(number) != SYS_sendto) {
        int file = open(path, O_RDONLY);
        if (file < 0 || read(file, number, sizeof number - 1) <= 0) exit(1);
        close(file);
    }
}

int main(int count, char **words) {
    start(count, words);
    copy = copy_create(I915_MMAP_OFFSET_WC);
    seen = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
    pthread_t thread;
    ssize_t sent = -1;
    char bytes[4096] = "";
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    // A full socket lets the thread wait.
    size_t full = 0, drained = 0;
    for (ssize_t more; (more = send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) full += more;
    if (pthread_create(&thread, NULL, send_lines, &sent)) return 1;
    await_sender();
    memset(copy.source, 7, SIZE);
    copy_run(&copy);
    for (ssize_t more; drained < full && (more = recv(ends[1], bytes, sizeof bytes, 0)) > 0;) drained += more;
    if (pthread_join(thread, NULL) || sent != BYTES) {
        fprintf(stderr, "send: %zd\n", sent);
        return 1;
    }
    memset(copy.source, 8, SIZE);
    copy_run(&copy);
    if (!wrong) flush_lines(seen, BYTES);
    return count_old(seen, 1, 0x08080808); /* wrong */
}
