/* Mappings whose touch raises SIGBUS: those of purged objects, and those that an object's level refuses. */

#include "check.h"

#include <setjmp.h>
#include <signal.h>

enum { SIZE = 4 * PAGE };

static int fd;
static sigjmp_buf out;
static void *volatile faulted;

static void on_bus_error(int signal, siginfo_t *about, void *context) {
    (void)signal, (void)context;
    faulted = about->si_addr;
    siglongjmp(out, about->si_code);
}

static void load_raises(volatile char *at) {
    faulted = NULL;
    int code = sigsetjmp(out, 1);
    if (code == 0) (void)*at;
    CHECK(faulted == at);
    SAME(code, BUS_ADRERR);
}

static void store_raises(volatile char *at) {
    faulted = NULL;
    int code = sigsetjmp(out, 1);
    if (code == 0) *at = 1;
    CHECK(faulted == at);
    SAME(code, BUS_ADRERR);
}

/* Checks that every touch of the address raises SIGBUS. */
static void raises(char *at) {
    load_raises(at);
    store_raises(at);
    /* The kernel's accesses fail. */
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    FAILS(read(zero, at, 1), EFAULT);
    OK(close(zero));
    struct drm_i915_getparam get = {.param = I915_PARAM_CHIPSET_ID, .value = (int *)at};
    SAME(request(fd, DRM_IOCTL_I915_GETPARAM, &get), -EFAULT);
}

/* Returns whether the contents are retained. */
static int advise(uint32_t handle, uint32_t advice) {
    struct drm_i915_gem_madvise madvise = {.handle = handle, .madv = advice};
    OK(request(fd, DRM_IOCTL_I915_GEM_MADVISE, &madvise));
    return (int)madvise.retained;
}

/* An object that nobody touched has no pages, also if it is mapped: it is purged at once, for good. */
static void untouched(void) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE), *second = map(fd, handle, SIZE);
    SAME(advise(handle, I915_MADV_DONTNEED), 0);
    raises(bytes);
    raises(bytes + 3 * PAGE);
    raises(second);
    SAME(advise(handle, I915_MADV_WILLNEED), 0);
    raises(bytes);
    /* A mapping that is made later. */
    char *third = map(fd, handle, SIZE);
    raises(third);
    /* What programs do with mappings. */
    OK(munmap(bytes, PAGE));
    OK(mprotect(bytes + PAGE, PAGE, PROT_READ));
    char *room = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(second, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
    raises(room + PAGE);
    FAILS(msync(bytes, PAGE, MS_ASYNC), ENOMEM);
    OK(munmap(bytes + PAGE, 3 * PAGE));
    OK(munmap(room, SIZE));
    OK(close_handle(fd, handle));
    raises(third);
    OK(munmap(third, SIZE));
}

/* One that was touched, by a load alone, has pages. Local memory is no such page. */
static void touched(void) {
    uint32_t handle = create(fd, SIZE);
    struct drm_i915_gem_mmap_offset own = {.handle = handle, .flags = I915_MMAP_OFFSET_FIXED};
    int local = request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &own) == 0;
    char *bytes = map(fd, handle, SIZE), *second = map(fd, handle, SIZE);
    SAME(((volatile char *)bytes)[2 * PAGE], 0);
    SAME(advise(handle, I915_MADV_DONTNEED), !local);
    if (local) {
        raises(bytes + 2 * PAGE);
        raises(second);
    } else {
        SAME(((volatile char *)second)[PAGE], 0);
        bytes[PAGE] = 7;
        SAME(advise(handle, I915_MADV_WILLNEED), 1);
        SAME(second[PAGE], 7);
    }
    OK(munmap(bytes, SIZE));
    OK(munmap(second, SIZE));
    OK(close_handle(fd, handle));
}

/* An untouched mapping is no reason to store past the CPU's cache: PWRITE fills the file behind the pages. */
static void filled(void) {
    if (!has_transfers(fd)) return;
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE), byte = 3;
    OK(pwrite_object(fd, handle, 0, &byte, 1));
    SAME(bytes[0], 3);
    SAME(advise(handle, I915_MADV_DONTNEED), 1);
    SAME(bytes[0], 3);
    OK(munmap(bytes, SIZE));
    OK(close_handle(fd, handle));
}

/* GEM_MMAP maps the file behind the pages, which a purge empties. */
static void file(void) {
    struct drm_i915_gem_mmap map = {.handle = create(fd, SIZE), .size = SIZE};
    if (request(fd, DRM_IOCTL_I915_GEM_MMAP, &map) == 0) {
        char *bytes = (char *)(uintptr_t)map.addr_ptr;
        bytes[5] = 5;
        SAME(advise(map.handle, I915_MADV_DONTNEED), 0);
        SAME(bytes[5], 0);
        bytes[5] = 6;
        SAME(bytes[5], 6);
        OK(munmap(bytes, SIZE));
    }
    OK(close_handle(fd, map.handle));
}

/* A child's mapping follows at the child's next request. */
static void child(void) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE), byte = 0;
    int ends[2];
    OK(pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        SAME(read(ends[0], &byte, 1), 1);
        get(fd, I915_PARAM_CHIPSET_ID);
        raises(bytes);
        _exit(0);
    }
    SAME(advise(handle, I915_MADV_DONTNEED), 0);
    SAME(write(ends[1], &byte, 1), 1);
    ends_with(child, 0);
    raises(bytes);
    OK(close(ends[0]));
    OK(close(ends[1]));
    OK(munmap(bytes, SIZE));
    OK(close_handle(fd, handle));
}

/* Without an LLC, the aperture shows no object that the GPU snoops, and shows it again when it no longer does. */
static void refused(void) {
    uint32_t handle = create(fd, SIZE);
    struct drm_i915_gem_mmap_offset map = {.handle = handle, .flags = I915_MMAP_OFFSET_GTT};
    struct drm_i915_gem_caching caching = {.handle = handle, .caching = I915_CACHING_CACHED};
    if (get(fd, I915_PARAM_HAS_LLC) == 0 && request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map) == 0 &&
        request(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching) == 0) {
        caching.caching = I915_CACHING_NONE;
        char *early = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map.offset);
        CHECK(early != MAP_FAILED);
        raises(early);
        OK(request(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching));
        early[PAGE] = 8;
        caching.caching = I915_CACHING_CACHED;
        OK(request(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching));
        raises(early + PAGE);
        caching.caching = I915_CACHING_NONE;
        OK(request(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching));
        SAME(early[PAGE], 8);
        OK(munmap(early, SIZE));
    }
    OK(close_handle(fd, handle));
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    OK(sigaction(SIGBUS, &action, NULL));
    fd = open_card();
    untouched();
    touched();
    filled();
    file();
    child();
    refused();
    return done();
}
