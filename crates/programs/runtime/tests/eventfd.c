/* SYNCOBJ_EVENTFD: an eventfd of the program is signalled along with a point of a syncobj. */

#include "check.h"

#include <poll.h>
#include <sys/eventfd.h>

/* libdrm's header is older than the request (Linux 6.6). */
struct syncobj_eventfd { uint32_t handle, flags; uint64_t point; int32_t fd; uint32_t pad; };
#define SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct syncobj_eventfd)
#define AVAILABLE DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE

static int fd;

static uint32_t syncobj(void) {
    struct drm_syncobj_create create = {0};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
    return create.handle;
}

static void signal_point(uint32_t handle, uint64_t point) {
    struct drm_syncobj_timeline_array array = {
        .handles = (uint64_t)(uintptr_t)&handle, .points = (uint64_t)(uintptr_t)&point, .count_handles = 1};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &array));
}

static int notify(uint32_t handle, uint32_t flags, uint64_t point, int event) {
    struct syncobj_eventfd notify = {.handle = handle, .flags = flags, .point = point, .fd = event};
    return request(fd, SYNCOBJ_EVENTFD, &notify);
}

static int is_readable(int event, int wait_ms) {
    struct pollfd file = {.fd = event, .events = POLLIN};
    return poll(&file, 1, wait_ms) == 1 && file.revents == POLLIN;
}

/* Reads the counter, which must be so many signals. */
static void signals(int event, uint64_t count) {
    uint64_t counter = 0;
    CHECK(is_readable(event, 5000));
    SAME(read(event, &counter, sizeof counter), sizeof counter);
    SAME(counter, count);
    CHECK(!is_readable(event, 20));
}

static void points(void) {
    uint32_t timeline = syncobj();
    int event = eventfd(0, EFD_CLOEXEC), other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    OK(notify(timeline, 0, 3, event));
    OK(notify(timeline, 0, 5, event));
    OK(notify(timeline, AVAILABLE, 4, other));
    CHECK(!is_readable(event, 20));
    signal_point(timeline, 2);
    CHECK(!is_readable(event, 20));
    signal_point(timeline, 3);
    signals(event, 1);
    CHECK(!is_readable(other, 20));
    signal_point(timeline, 9);
    signals(event, 1);
    signals(other, 1);
    /* A point that has passed. */
    OK(notify(timeline, 0, 1, event));
    OK(notify(timeline, AVAILABLE, 9, event));
    signals(event, 2);
    /* The program's descriptor may be closed: the event is kept. */
    OK(notify(timeline, 0, 20, event));
    int copy = dup(event);
    OK(close(event));
    signal_point(timeline, 20);
    signals(copy, 1);
    /* A full counter is left as it is. */
    uint64_t full = UINT64_MAX - 1, counter = 0;
    SAME(write(other, &full, sizeof full), sizeof full);
    OK(notify(timeline, 0, 1, other));
    SAME(read(other, &counter, sizeof counter), sizeof counter);
    CHECK(counter == full);
    close(copy), close(other);
}

/* A binary syncobj, a reset, and one that is destroyed before its fence. */
static void binary(void) {
    uint32_t one = syncobj();
    int event = eventfd(0, EFD_CLOEXEC);
    OK(notify(one, 0, 0, event));
    struct drm_syncobj_array array = {.handles = (uint64_t)(uintptr_t)&one, .count_handles = 1};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_RESET, &array));
    CHECK(!is_readable(event, 20));
    OK(request(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array));
    signals(event, 1);
    OK(request(fd, DRM_IOCTL_SYNCOBJ_RESET, &array));
    OK(notify(one, 0, 0, event));
    struct drm_syncobj_destroy destroy = {.handle = one};
    OK(request(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy));
    CHECK(!is_readable(event, 20));
    close(event);
}

/* A batch that runs until memory changes: its fence is available at once, and signalled when the batch ends. */
static void busy(void) {
    uint32_t timeline = syncobj(), handle = create(fd, PAGE);
    int event = eventfd(0, EFD_CLOEXEC), available = eventfd(0, EFD_CLOEXEC);
    OK(notify(timeline, 0, 1, event));
    OK(notify(timeline, AVAILABLE, 1, available));
    /* MI_BATCH_BUFFER_START to itself; address 1 MiB. */
    uint32_t loop[] = {0x31 << 23 | 1 << 8 | 1, 1 << 20, 0, 0};
    struct drm_i915_gem_pwrite write = {.handle = handle, .size = sizeof loop, .data_ptr = (uint64_t)(uintptr_t)loop};
    OK(request(fd, DRM_IOCTL_I915_GEM_PWRITE, &write));
    struct drm_i915_gem_exec_object2 object = {.handle = handle, .offset = 1 << 20, .flags = EXEC_OBJECT_PINNED};
    struct drm_i915_gem_exec_fence fence = {.handle = timeline, .flags = I915_EXEC_FENCE_SIGNAL};
    uint64_t point = 1;
    struct drm_i915_gem_execbuffer_ext_timeline_fences fences = {
        .base.name = DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES, .fence_count = 1,
        .handles_ptr = (uint64_t)(uintptr_t)&fence, .values_ptr = (uint64_t)(uintptr_t)&point};
    struct drm_i915_gem_execbuffer2 exec = {.buffers_ptr = (uint64_t)(uintptr_t)&object, .buffer_count = 1,
        .flags = I915_EXEC_RENDER | I915_EXEC_USE_EXTENSIONS, .cliprects_ptr = (uint64_t)(uintptr_t)&fences};
    OK(request(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &exec));
    signals(available, 1);
    CHECK(!is_readable(event, 50));
    uint32_t end[] = {0x0a << 23, 0, 0, 0};
    char *bytes = map(fd, handle, PAGE);
    memcpy(bytes, end, sizeof end);
    __builtin_ia32_clflush(bytes);
    /* No request of the program lets the GPU continue. */
    signals(event, 1);
    OK(munmap(bytes, PAGE));
    close(event), close(available);
}

static void errors(void) {
    uint32_t one = syncobj();
    int event = eventfd(0, EFD_CLOEXEC), pipes[2];
    OK(pipe(pipes));
    SAME(notify(one, 0, 0, -1), -EBADF);
    SAME(notify(one, 0, 0, 999), -EBADF);
    SAME(notify(one, 0, 0, pipes[0]), -EINVAL);
    SAME(notify(one, 0, 0, fd), -EINVAL);
    SAME(notify(99, 0, 0, event), -ENOENT);
    SAME(notify(one, 1, 0, event), -EINVAL);
    struct syncobj_eventfd padded = {.handle = one, .fd = event, .pad = 1};
    SAME(request(fd, SYNCOBJ_EVENTFD, &padded), -EINVAL);
    close(event), close(pipes[0]), close(pipes[1]);
}

int main(int count, char **arguments) {
    fd = open_card();
    if (count > 1 && strcmp(arguments[1], "old") == 0) {
        int event = eventfd(0, EFD_CLOEXEC);
        SAME(notify(syncobj(), 0, 0, event), -EINVAL);
        return done();
    }
    points();
    binary();
    errors();
    if (count > 1 && strcmp(arguments[1], "busy") == 0) busy();
    return done();
}
