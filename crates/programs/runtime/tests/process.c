/* Processes: fork, vfork, exec, descriptors that are sent, and the end of a process. */

#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>

extern char **environ;

enum { SIZE = 4 * PAGE };

/* A child has the parent's mappings, files and handles; what either closes or unmaps stays with the other. */
static void forked(void) {
    int fd = open_card(), pair[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE), byte = 0;
    bytes[0] = 1;
    pid_t child = fork();
    if (child == 0) {
        /* The parent has unmapped. */
        SAME(read(pair[1], &byte, 1), 1);
        SAME(bytes[0], 1);
        bytes[0] = 2;
        bytes[PAGE] = 3;
        first_byte(fd, handle, 2);
        uint32_t own = create(fd, PAGE);
        OK(close_handle(fd, own));
        SAME(write(pair[1], &byte, 1), 1);
        /* The parent has closed its copy of the file. */
        SAME(read(pair[1], &byte, 1), 1);
        first_byte(fd, handle, 2);
        _exit(7);
    }
    OK(munmap(bytes, SIZE));
    SAME(write(pair[0], &byte, 1), 1);
    SAME(read(pair[0], &byte, 1), 1);
    first_byte(fd, handle, 2);
    bytes = map(fd, handle, SIZE);
    SAME(bytes[PAGE], 3);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CHECK(copy >= 0);
    OK(close(fd));
    SAME(write(pair[0], &byte, 1), 1);
    ends_with(child, 7);
    /* The child's end closed nothing of the parent's. */
    SAME(bytes[PAGE], 3);
    first_byte(copy, handle, 2);
    OK(close_handle(copy, handle));
    OK(munmap(bytes, SIZE));
    OK(close(copy));
    close(pair[0]), close(pair[1]);
}

/* Children of children, and a child that forks in the middle of requests. */
static void descendants(void) {
    int fd = open_card();
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            bytes[0] = 9;
            first_byte(fd, handle, 9);
            OK(munmap(bytes, SIZE));
            _exit(3);
        }
        ends_with(grandchild, 3);
        first_byte(fd, handle, 9);
        SAME(bytes[0], 9);
        _exit(4);
    }
    ends_with(child, 4);
    first_byte(fd, handle, 9);
    OK(munmap(bytes, SIZE));
    OK(close(fd));
}

static _Atomic int stop;

static void *make_requests(void *argument) {
    int fd = *(int *)argument;
    while (!stop) {
        uint32_t handle = create(fd, SIZE);
        char *bytes = map(fd, handle, SIZE);
        bytes[PAGE] = 1;
        OK(munmap(bytes, SIZE));
        OK(close_handle(fd, handle));
    }
    return NULL;
}

/* fork in one thread while others make requests. */
static void forked_among_threads(void) {
    int fd = open_card();
    pthread_t threads[3];
    stop = 0;
    for (int n = 0; n < 3; n++) OK(pthread_create(&threads[n], NULL, make_requests, &fd));
    for (int n = 0; n < 30; n++) {
        pid_t child = fork();
        if (child == 0) {
            uint32_t handle = create(fd, SIZE);
            char *bytes = map(fd, handle, SIZE);
            bytes[0] = 5;
            first_byte(fd, handle, 5);
            _exit(0);
        }
        ends_with(child, 0);
    }
    stop = 1;
    for (int n = 0; n < 3; n++) OK(pthread_join(threads[n], NULL));
    OK(close(fd));
}

/* A new program uses an inherited descriptor, started in each way. */
static void executed(const char *self) {
    int fd = open_node("/dev/dri/card0");
    OK(fcntl(fd, F_SETFD, 0));
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE), number[16], object[16];
    snprintf(number, sizeof number, "%d", fd);
    snprintf(object, sizeof object, "%u", handle);
    char *arguments[] = {(char *)self, "inherited", number, object, NULL};
    bytes[0] = 5;
    pid_t child = fork();
    if (child == 0) {
        execv(self, arguments);
        _exit(9);
    }
    ends_with(child, 0);
    SAME(bytes[0], 6);
    bytes[0] = 5;
    OK(posix_spawn(&child, self, NULL, NULL, arguments, environ));
    ends_with(child, 0);
    SAME(bytes[0], 6);
    bytes[0] = 5;
    child = vfork();
    if (child == 0) {
        execve(self, arguments, environ);
        _exit(9);
    }
    ends_with(child, 0);
    SAME(bytes[0], 6);
    bytes[0] = 5;
    char line[4096];
    snprintf(line, sizeof line, "'%s' inherited %d %u", self, fd, handle);
    OK(system(line));
    SAME(bytes[0], 6);
    bytes[0] = 5;
    FILE *stream = popen(line, "r");
    CHECK(stream != NULL);
    CHECK(fgets(line, sizeof line, stream) != NULL);
    OK(pclose(stream));
    SAME(bytes[0], 6);
    /* Without an environment, as env -i. */
    char *nothing[] = {NULL};
    bytes[0] = 5;
    child = fork();
    if (child == 0) {
        execve(self, arguments, nothing);
        _exit(9);
    }
    ends_with(child, 0);
    SAME(bytes[0], 6);
    bytes[0] = 5;
    OK(posix_spawnp(&child, self, NULL, NULL, arguments, nothing));
    ends_with(child, 0);
    SAME(bytes[0], 6);
    bytes[0] = 5;
    child = fork();
    if (child == 0) {
        clearenv();
        execl(self, self, "inherited", number, object, (char *)NULL);
        _exit(9);
    }
    ends_with(child, 0);
    SAME(bytes[0], 6);
    /* The parent's work goes on after it all. */
    OK(munmap(bytes, SIZE));
    OK(close(fd));
}

/* The program that `executed` runs: it has the file and its handles, but none of the mappings. */
static int inherited(int fd, uint32_t handle) {
    first_byte(fd, handle, 5);
    char *bytes = map(fd, handle, SIZE);
    SAME(bytes[0], 5);
    bytes[0] = 6;
    return done();
}

/* A compositor and a client, which share nothing but a socket. */
static void sent(const char *self) {
    int pair[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    char number[16];
    snprintf(number, sizeof number, "%d", pair[1]);
    OK(fcntl(pair[0], F_SETFD, FD_CLOEXEC));
    pid_t client;
    char *arguments[] = {(char *)self, "client", number, NULL};
    OK(posix_spawn(&client, self, NULL, NULL, arguments, environ));
    close(pair[1]);
    int device = receive_fd(pair[0]), buffer = receive_fd(pair[0]), sync = receive_fd(pair[0]);
    int own = open_card();
    struct drm_prime_handle import = {.fd = buffer};
    OK(request(own, DRM_IOCTL_PRIME_FD_TO_HANDLE, &import));
    first_byte(own, import.handle, 11);
    char *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, 0);
    CHECK(bytes != MAP_FAILED);
    SAME(bytes[0], 11);
    bytes[0] = 12;
    SAME(lseek(buffer, 0, SEEK_END), SIZE);
    struct drm_syncobj_handle syncobj = {.fd = sync};
    OK(request(own, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &syncobj));
    struct drm_syncobj_wait wait = {.handles = (uint64_t)(uintptr_t)&syncobj.handle, .count_handles = 1};
    OK(request(own, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
    /* The client's device: its handles, too. */
    first_byte(device, 1, 12);
    char byte = 0;
    SAME(write(pair[0], &byte, 1), 1);
    ends_with(client, 0);
    first_byte(device, 1, 12);
    first_byte(own, import.handle, 12);
    /* Not a file of a device. */
    struct drm_prime_handle wrong = {.fd = pair[0]};
    SAME(request(own, DRM_IOCTL_PRIME_FD_TO_HANDLE, &wrong), -EINVAL);
    wrong.fd = 999;
    SAME(request(own, DRM_IOCTL_PRIME_FD_TO_HANDLE, &wrong), -EBADF);
    OK(munmap(bytes, SIZE));
    close(device), close(buffer), close(sync), close(own), close(pair[0]);
}

static int client(int socket) {
    int fd = open_card();
    uint32_t handle = create(fd, SIZE);
    SAME(handle, 1);
    char *bytes = map(fd, handle, SIZE), byte = 0;
    bytes[0] = 11;
    struct drm_prime_handle export = {.handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR};
    OK(request(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export));
    struct drm_syncobj_create syncobj = {.flags = DRM_SYNCOBJ_CREATE_SIGNALED};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_CREATE, &syncobj));
    struct drm_syncobj_handle file = {.handle = syncobj.handle};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file));
    send_fd(socket, fd), send_fd(socket, export.fd), send_fd(socket, file.fd);
    SAME(read(socket, &byte, 1), 1);
    SAME(bytes[0], 12);
    return done();
}

/* Copies of a descriptor, and the order of closing; the last copy's close frees handles at once. */
static void copies(void) {
    int fd = open_node("/dev/dri/card0"), other = open_node("/dev/dri/card0");
    uint32_t handle = create(fd, SIZE), name = flink(fd, handle);
    int first = dup(fd), second = dup2(fd, 100), third = fcntl(fd, F_DUPFD, 200);
    SAME(second, 100);
    CHECK(first > 0 && third >= 200);
    OK(close(fd));
    first_byte(first, handle, 0);
    OK(close(second));
    first_byte(third, handle, 0);
    OK(close(first));
    OK(open_name(other, name));
    OK(close_handle(other, 1));
    OK(close(third));
    SAME(open_name(other, name), -ENOENT);
    /* dup2 over the last copy closes it. */
    fd = open_node("/dev/dri/card0");
    name = flink(fd, create(fd, SIZE));
    SAME(dup2(other, fd), fd);
    SAME(open_name(fd, name), -ENOENT);
    OK(close(fd));
    OK(close(other));
}

/* A killed program leaves nothing. */
static void killed(void) {
    int fd = open_node("/dev/dri/card0"), pair[2];
    OK(pipe(pair));
    pid_t child = fork();
    if (child == 0) {
        int own = open_node("/dev/dri/card0");
        uint32_t handle = create(own, SIZE), name = flink(own, handle);
        char *bytes = map(own, handle, SIZE);
        bytes[0] = 1;
        SAME(write(pair[1], &name, sizeof name), sizeof name);
        for (;;) create(own, SIZE);
    }
    uint32_t name = 0;
    SAME(read(pair[0], &name, sizeof name), sizeof name);
    OK(open_name(fd, name));
    OK(close_handle(fd, 1));
    OK(kill(child, SIGKILL));
    int status = 0;
    SAME(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    SAME(open_name(fd, name), -ENOENT);
    close(pair[0]), close(pair[1]), close(fd);
}

int main(int count, char **arguments) {
    if (count == 4 && strcmp(arguments[1], "inherited") == 0)
        return inherited(atoi(arguments[2]), (uint32_t)atoi(arguments[3]));
    if (count == 3 && strcmp(arguments[1], "client") == 0) return client(atoi(arguments[2]));
    forked();
    descendants();
    forked_among_threads();
    executed(arguments[0]);
    sent(arguments[0]);
    copies();
    killed();
    return done();
}
