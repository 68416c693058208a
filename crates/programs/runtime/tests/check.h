/* Shared by the programs that run on software devices under `gemtool sim`: claims that end the program when they fail, and requests. */

#ifndef CHECK_H
#define CHECK_H

#include <libdrm/i915_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Number of claims that held; threads count, too. */
static _Atomic int claims;

/* Checks a condition; a failure ends the process at once, so that it can be used in children and threads. */
#define CHECK(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            dprintf(2, "%s:%d: not so: %s (errno: %s)\n", __FILE__, __LINE__, #claim, strerror(errno));                \
            _exit(1);                                                                                                  \
        }                                                                                                              \
        claims++;                                                                                                      \
    } while (0)

/* Checks that two numbers are equal, and prints both if they are not. */
#define SAME_AS(text, left, right)                                                                                     \
    do {                                                                                                               \
        long long left_ = (long long)(left), right_ = (long long)(right);                                              \
        if (left_ != right_) {                                                                                         \
            dprintf(2, "%s:%d: %s is %lld (%#llx), not %lld (errno: %s)\n", __FILE__, __LINE__, text, left_, left_,   \
                    right_, strerror(errno));                                                                          \
            _exit(1);                                                                                                  \
        }                                                                                                              \
        claims++;                                                                                                      \
    } while (0)
#define SAME(left, right) SAME_AS(#left, left, right)

/* Checks that a call succeeds, and that one fails with an errno. */
#define OK(call) SAME_AS(#call, call, 0)
#define FAILS(call, number)                                                                                            \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        SAME_AS(#call, call, -1);                                                                                      \
        SAME_AS("errno of " #call, errno, number);                                                                     \
    } while (0)

/* Opens a node; the first card's, by default. */
static inline int open_node(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}
static inline int open_card(void) { return open_node("/dev/dri/renderD128"); }

/* Makes a request, again if it is interrupted, as libdrm does; returns 0 or a negative errno. */
static inline int request(int fd, unsigned long code, void *argument) {
    int done;
    do {
        done = ioctl(fd, code, argument);
    } while (done == -1 && (errno == EINTR || errno == EAGAIN));
    return done == -1 ? -errno : 0;
}

static inline uint32_t create(int fd, uint64_t size) {
    struct drm_i915_gem_create create = {.size = size};
    OK(request(fd, DRM_IOCTL_I915_GEM_CREATE, &create));
    return create.handle;
}

static inline int close_handle(int fd, uint32_t handle) {
    struct drm_gem_close close = {.handle = handle};
    return request(fd, DRM_IOCTL_GEM_CLOSE, &close);
}

static inline int get(int fd, int param) {
    int value = 0;
    struct drm_i915_getparam get = {.param = param, .value = &value};
    OK(request(fd, DRM_IOCTL_I915_GETPARAM, &get));
    return value;
}

/* Returns the offset by which a device's file maps an object through the CPU's caches; on discrete devices, as the object is. */
static inline uint64_t offset_of(int fd, uint32_t handle) {
    struct drm_i915_gem_mmap_offset map = {.handle = handle, .flags = I915_MMAP_OFFSET_WB};
    if (request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map) != 0) {
        map.flags = I915_MMAP_OFFSET_FIXED;
        OK(request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map));
    }
    return map.offset;
}

/* Maps an object at `at` with extra flags. */
static inline void *map_at(int fd, uint32_t handle, uint64_t size, void *at, int flags) {
    void *mapped = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, (off_t)offset_of(fd, handle));
    CHECK(mapped != MAP_FAILED);
    return mapped;
}
static inline char *map(int fd, uint32_t handle, uint64_t size) { return map_at(fd, handle, size, NULL, 0); }

/* PREAD and PWRITE: 0 or a negative errno; EOPNOTSUPP or ENODEV where the platform has none. */
static inline int pread_object(int fd, uint32_t handle, uint64_t offset, void *data, uint64_t size) {
    struct drm_i915_gem_pread read = {
        .handle = handle, .offset = offset, .size = size, .data_ptr = (uint64_t)(uintptr_t)data};
    return request(fd, DRM_IOCTL_I915_GEM_PREAD, &read);
}
static inline int pwrite_object(int fd, uint32_t handle, uint64_t offset, const void *data, uint64_t size) {
    struct drm_i915_gem_pwrite write = {
        .handle = handle, .offset = offset, .size = size, .data_ptr = (uint64_t)(uintptr_t)data};
    return request(fd, DRM_IOCTL_I915_GEM_PWRITE, &write);
}

/* True where PREAD and PWRITE exist. */
static inline int has_transfers(int fd) {
    uint32_t handle = create(fd, PAGE);
    char byte = 0;
    int has = pread_object(fd, handle, 0, &byte, 1) == 0;
    OK(close_handle(fd, handle));
    return has;
}

/* Checks that an object's first byte is `byte`, by PREAD where that exists, otherwise by a mapping. */
static inline void first_byte(int fd, uint32_t handle, char byte) {
    char seen = 0;
    if (has_transfers(fd)) {
        OK(pread_object(fd, handle, 0, &seen, 1));
    } else {
        char *bytes = map(fd, handle, PAGE);
        seen = *bytes;
        OK(munmap(bytes, PAGE));
    }
    SAME(seen, byte);
}

static inline uint32_t flink(int fd, uint32_t handle) {
    struct drm_gem_flink name = {.handle = handle};
    OK(request(fd, DRM_IOCTL_GEM_FLINK, &name));
    return name.name;
}

/* Opens a global name: 0 or a negative errno. */
static inline int open_name(int fd, uint32_t name) {
    struct drm_gem_open open = {.name = name};
    return request(fd, DRM_IOCTL_GEM_OPEN, &open);
}

/* Waits for a child; it must end with `status`. */
static inline void ends_with(pid_t child, int status) {
    int ended = 0;
    CHECK(child > 0);
    SAME(waitpid(child, &ended, 0), child);
    CHECK(WIFEXITED(ended));
    SAME(WEXITSTATUS(ended), status);
}

/* Sends a descriptor with one byte; receives one. */
static inline void send_fd(int socket, int fd) {
    char byte = 1;
    struct iovec part = {&byte, 1};
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    SAME(sendmsg(socket, &message, 0), 1);
}
static inline int receive_fd(int socket) {
    char byte = 0;
    int fd = -1;
    struct iovec part = {&byte, 1};
    union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    SAME(recvmsg(socket, &message, 0), 1);
    CHECK(control.head.cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

/* Says how many claims held; the status of the program. */
static inline int done(void) {
    printf("%d claims\n", claims);
    return claims > 0 ? 0 : 1;
}

#endif
