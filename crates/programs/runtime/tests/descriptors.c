/* Descriptors: the program's are the lowest numbers, and those of the library are not in its way. */

#include "check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>

/* The first descriptor is the lowest number, and closing all does not break the library. */
static void lowest(void) {
    SAME(open_card(), 3);
    SAME(open_card(), 4);
    OK(close(3));
    SAME(open_card(), 3);
    struct drm_prime_handle export = {.handle = create(3, PAGE), .flags = DRM_CLOEXEC};
    OK(request(3, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export));
    SAME(export.fd, 5);
    SAME(fcntl(5, F_GETFD), FD_CLOEXEC);
    SAME(fcntl(3, F_GETFD), FD_CLOEXEC);
    int fd = open("/dev/dri/renderD128", O_RDWR | O_NONBLOCK);
    SAME(fd, 6);
    SAME(fcntl(fd, F_GETFD), 0);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    for (int n = 3; n < 1024; n++) close(n);
    SAME(open_card(), 3);
    OK(close_range(3, ~0u, 0));
    SAME(open_card(), 3);
    closefrom(3);
    SAME(open_card(), 3);
    OK(close_handle(3, create(3, PAGE)));
    FAILS(close_range(5, 4, 0), EINVAL);
    OK(close_range(3, 3, CLOSE_RANGE_CLOEXEC));
    CHECK(get(3, I915_PARAM_CHIPSET_ID) != 0);
    OK(close(3));
    FAILS(close(3), EBADF);
}

/* Every number is the program's to copy to. */
static void onto_each(void) {
    SAME(open_card(), 3);
    for (int n = 4; n < 1024; n++) {
        SAME(dup2(3, n), n);
        CHECK(get(n, I915_PARAM_CHIPSET_ID) != 0);
    }
    for (int n = 4; n < 1024; n++) OK(close(n));
    CHECK(get(3, I915_PARAM_CHIPSET_ID) != 0);
    OK(close(3));
}

/* Few descriptors: requests still work, and what needs one more fails. */
static void few(void) {
    pid_t child = fork();
    if (child == 0) {
        int fd = open_card();
        struct rlimit limit = {32, 32};
        OK(setrlimit(RLIMIT_NOFILE, &limit));
        uint32_t handle = create(fd, PAGE);
        char *bytes = map(fd, handle, PAGE);
        bytes[0] = 1;
        int count = 0, last = -1;
        while ((last = open("/dev/dri/renderD128", O_RDWR)) >= 0 && count < 64) count++;
        SAME(last, -1);
        SAME(errno, EMFILE);
        CHECK(count > 10 && count < 32);
        struct drm_prime_handle export = {.handle = handle};
        SAME(request(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export), -EMFILE);
        FAILS(dup(fd), EMFILE);
        /* Those that need none still work. */
        CHECK(get(fd, I915_PARAM_CHIPSET_ID) != 0);
        OK(close_handle(fd, create(fd, PAGE)));
        SAME(bytes[0], 1);
        OK(close(fd + 1));
        fd = open("/dev/dri/renderD128", O_RDWR);
        CHECK(fd >= 0);
        _exit(0);
    }
    ends_with(child, 0);
    /* From the start. */
    child = fork();
    if (child == 0) {
        struct rlimit limit = {32, 32};
        OK(setrlimit(RLIMIT_NOFILE, &limit));
        execl("/proc/self/exe", "descriptors", "few", (char *)NULL);
        _exit(9);
    }
    ends_with(child, 0);
}

/* A device has no events. */
static void polled(void) {
    int fd = open_node("/dev/dri/card0");
    struct pollfd one = {.fd = fd, .events = POLLIN};
    SAME(poll(&one, 1, 20), 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    struct timeval soon = {0, 20000};
    SAME(select(fd + 1, &set, NULL, NULL, &soon), 0);
    int wait = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    OK(epoll_ctl(wait, EPOLL_CTL_ADD, fd, &event));
    SAME(epoll_wait(wait, &event, 1, 20), 0);
    char byte;
    OK(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK));
    FAILS(read(fd, &byte, 1), EAGAIN);
    OK(close(wait));
    OK(close(fd));
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "few") == 0) {
        int fd = open_card();
        OK(close_handle(fd, create(fd, PAGE)));
        return 0;
    }
    (void)arguments;
    lowest();
    onto_each();
    few();
    polled();
    return done();
}
