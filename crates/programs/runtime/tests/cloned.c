/* Children that fork(3) does not announce: of vfork(2), clone(2) and _Fork(3). One that shares the memory makes requests as its parent,
 * one that has a copy is a process of its own. */

#include "check.h"

#include <sched.h>
#include <spawn.h>

enum { SIZE = 4 * PAGE };

static int fd;
static uint32_t handle;
static char *bytes;
static char stack[1 << 18] __attribute__((aligned(64)));

/* A child with a copy of the memory: its mappings are its own. */
static int with_copy(void *number) {
    SAME(bytes[0], *(char *)number);
    bytes[0] = 7;
    first_byte(fd, handle, 7);
    OK(munmap(bytes, SIZE));
    bytes = map(fd, handle, SIZE);
    SAME(bytes[0], 7);
    OK(close_handle(fd, create(fd, SIZE)));
    return 5;
}

static void copies(void) {
    for (int n = 0; n < 2; n++) {
        char number = (char)n;
        bytes[0] = number;
        pid_t child;
        if (n == 0) {
            child = clone(with_copy, stack + sizeof stack, SIGCHLD, &number);
        } else {
            child = _Fork();
            if (child == 0) _exit(with_copy(&number));
        }
        ends_with(child, 5);
        /* The parent's mapping is as it was. */
        SAME(bytes[0], 7);
        bytes[0] = 8;
        first_byte(fd, handle, 8);
    }
}

static volatile uint32_t made;
static volatile int opened;

/* A child that shares the memory: objects, mappings, files of its own. */
static int sharing(void *argument) {
    (void)argument;
    made = create(fd, SIZE);
    first_byte(fd, handle, bytes[0]);
    bytes[0]++;
    int own = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    if (own < 0) _exit(1);
    uint32_t other = create(own, PAGE);
    char *mapped = map(own, other, PAGE);
    mapped[0] = 9;
    first_byte(own, other, 9);
    OK(munmap(mapped, PAGE));
    /* Its descriptors are its own. */
    SAME(dup2(own, 600), 600);
    OK(close(own));
    opened = 1;
    return 6;
}

static void sharers(void) {
    for (int n = 0; n < 3; n++) {
        bytes[0] = (char)n;
        opened = 0;
        pid_t child;
        if (n == 0) {
            child = vfork();
            if (child == 0) _exit(sharing(NULL));
        } else {
            child = clone(sharing, stack + sizeof stack, SIGCHLD | CLONE_VM | (n == 1 ? CLONE_VFORK : 0), NULL);
        }
        ends_with(child, 6);
        SAME(opened, 1);
        /* It was the parent's process: the object is there, and the parent goes on. */
        OK(close_handle(fd, made));
        FAILS(fcntl(600, F_GETFD), EBADF);
        SAME(bytes[0], n + 1);
        first_byte(fd, handle, (char)(n + 1));
        OK(close_handle(fd, create(fd, SIZE)));
    }
}

/* The first request of a process, by a child of vfork. */
static void first(void) {
    pid_t child = vfork();
    if (child == 0) {
        int own = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
        _exit(own < 0 || close_handle(own, create(own, PAGE)) != 0);
    }
    ends_with(child, 0);
}

int main(void) {
    first();
    fd = open_card();
    handle = create(fd, SIZE);
    bytes = map(fd, handle, SIZE);
    copies();
    sharers();
    /* A pointer to memory of the parent's is read by the server after all of it. */
    if (has_transfers(fd)) {
        char text[4] = "abc", seen[4] = "";
        uint32_t other = create(fd, PAGE);
        OK(pwrite_object(fd, other, 0, text, 4));
        OK(pread_object(fd, other, 0, seen, 4));
        CHECK(strcmp(seen, "abc") == 0);
    }
    return done();
}
