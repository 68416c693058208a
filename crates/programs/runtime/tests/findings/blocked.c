// A thread waits in recv(2) for bytes that go to a mapping, while another one submits: the page stays writable until they arrive.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common.h"

enum { BYTES = 3 * LINE };

static struct copy copy;
static int ends[2];
static pid_t receiver;

static void *receive(void *result) {
    __atomic_store_n(&receiver, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    *(ssize_t *)result = recv(ends[0], copy.source, BYTES, 0);
    return NULL;
}

// Waits until the thread is in its system call.
static void await_receiver(void) {
    char path[64], number[8] = "";
    while (!__atomic_load_n(&receiver, __ATOMIC_SEQ_CST)) usleep(1000);
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", receiver);
    while (atoi(number) != SYS_recvfrom) {
        int file = open(path, O_RDONLY);
        if (file < 0 || read(file, number, sizeof number - 1) <= 0) exit(1);
        close(file);
    }
}

int main(int count, char **words) {
    start(count, words);
    copy = copy_create(I915_MMAP_OFFSET_WB);
    pthread_t thread;
    ssize_t received = -1;
    char bytes[BYTES];
    memset(bytes, 7, BYTES);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || pthread_create(&thread, NULL, receive, &received)) return 1;
    await_receiver();
    copy_run(&copy);
    if (write(ends[1], bytes, BYTES) != BYTES || pthread_join(thread, NULL)) return 1;
    if (received != BYTES) {
        fprintf(stderr, "recv: %zd\n", received);
        return 1;
    }
    if (!wrong) flush_lines(copy.source, BYTES);
    copy_run(&copy); /* wrong */
    return compare(copy.source, copy.destination, SIZE);
}
