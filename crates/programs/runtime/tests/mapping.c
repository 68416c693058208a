/* Mappings: parts, moves, protections, what replaces them, and pointers into them. */

#include "check.h"

#include <sys/syscall.h>
#include <time.h>

enum { PAGES = 8, SIZE = PAGES * PAGE };

static int fd;

/* munmap of parts leaves the rest. */
static void parts(void) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE);
    for (int n = 0; n < PAGES; n++) bytes[n * PAGE] = (char)(n + 1);
    OK(munmap(bytes, PAGE));
    OK(munmap(bytes + 4 * PAGE, PAGE));
    OK(munmap(bytes + 7 * PAGE, PAGE));
    for (int n = 0; n < PAGES; n++)
        if (n != 0 && n != 4 && n != 7) SAME(bytes[n * PAGE], n + 1);
    FAILS(msync(bytes, PAGE, MS_ASYNC), ENOMEM);
    FAILS(msync(bytes + 4 * PAGE, PAGE, MS_ASYNC), ENOMEM);
    /* Twice is no error; nor is a range with other things in it. */
    OK(munmap(bytes, SIZE));
    OK(munmap(bytes, SIZE));
    FAILS(munmap(bytes + 1, PAGE), EINVAL);
    bytes = map(fd, handle, SIZE);
    SAME(bytes[4 * PAGE], 5);
    /* A length that is no whole number of pages. */
    OK(munmap(bytes + 6 * PAGE, PAGE + 1));
    FAILS(msync(bytes + 7 * PAGE, PAGE, MS_ASYNC), ENOMEM);
    OK(munmap(bytes, SIZE));
    OK(close_handle(fd, handle));
}

/* mremap moves and shrinks; a device's mapping does not grow. */
static void moved(void) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE);
    bytes[0] = 1, bytes[3 * PAGE] = 4, bytes[7 * PAGE] = 8;
    char *room = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    CHECK(mremap(bytes, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
    SAME(room[3 * PAGE], 4);
    CHECK(mremap(room, SIZE, 4 * PAGE, 0) == room);
    SAME(room[3 * PAGE], 4);
    FAILS(msync(room + 4 * PAGE, PAGE, MS_ASYNC), ENOMEM);
    CHECK(mremap(room, 4 * PAGE, 4 * PAGE + 1, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    CHECK(mremap(room, 4 * PAGE, SIZE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    CHECK(mremap(room, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    CHECK(mremap(room, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
    FAILS(munmap(room, ~0ul - (uintptr_t)room), EINVAL);
    FAILS(munmap(room, 0), EINVAL);
    /* The middle to another place: both are of the object. */
    char *other = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(room + 3 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
    SAME(other[0], 4);
    other[0] = 5;
    OK(munmap(room, 3 * PAGE));
    bytes = map(fd, handle, SIZE);
    SAME(bytes[0], 1);
    SAME(bytes[3 * PAGE], 5);
    OK(munmap(other, PAGE));
    OK(munmap(bytes, SIZE));
    OK(close_handle(fd, handle));
}

/* mprotect, and requests whose memory is protected. */
static void protected(void) {
    uint32_t handle = create(fd, SIZE);
    char *bytes = map(fd, handle, SIZE);
    bytes[PAGE] = 7;
    struct drm_i915_getparam *get = (void *)bytes;
    int *value = (int *)(bytes + 64);
    *get = (struct drm_i915_getparam){.param = I915_PARAM_CHIPSET_ID, .value = value};
    /* A request whose struct and result are in an object. */
    OK(request(fd, DRM_IOCTL_I915_GETPARAM, get));
    CHECK(*value != 0);
    OK(mprotect(bytes, SIZE, PROT_READ));
    SAME(request(fd, DRM_IOCTL_I915_GETPARAM, get), -EFAULT);
    OK(mprotect(bytes, SIZE, PROT_NONE));
    SAME(request(fd, DRM_IOCTL_I915_GETPARAM, get), -EFAULT);
    OK(mprotect(bytes, SIZE, PROT_READ | PROT_WRITE));
    SAME(bytes[PAGE], 7);
    OK(request(fd, DRM_IOCTL_I915_GETPARAM, get));
    /* The pages are not the program's to drop. */
    FAILS(madvise(bytes, SIZE, MADV_DONTNEED), EINVAL);
    OK(madvise(bytes, SIZE, MADV_WILLNEED));
    FAILS(madvise(bytes, SIZE, MADV_REMOVE), ENODEV);
    SAME(bytes[PAGE], 7);
    OK(munmap(bytes, SIZE));
    OK(close_handle(fd, handle));
}

/* MAP_FIXED over a part of a mapping, and a mapping over other memory. */
static void fixed(void) {
    uint32_t handle = create(fd, SIZE), other = create(fd, PAGE);
    char *bytes = map(fd, handle, SIZE);
    bytes[0] = 1, bytes[2 * PAGE] = 3;
    CHECK(map_at(fd, other, PAGE, bytes + 2 * PAGE, MAP_FIXED) == bytes + 2 * PAGE);
    SAME(bytes[2 * PAGE], 0);
    bytes[2 * PAGE] = 9;
    char *nothing = mmap(bytes + 4 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(nothing == bytes + 4 * PAGE);
    first_byte(fd, other, 9);
    /* Over a part of what malloc gave. */
    char *memory = aligned_alloc(PAGE, 16 * PAGE);
    CHECK(memory != NULL);
    memset(memory, 0x55, 16 * PAGE);
    CHECK(map_at(fd, handle, PAGE, memory + 8 * PAGE, MAP_FIXED) == memory + 8 * PAGE);
    SAME(memory[8 * PAGE], 1);
    SAME(memory[7 * PAGE], 0x55);
    SAME(memory[9 * PAGE], 0x55);
    CHECK(mmap(memory + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          memory + 8 * PAGE);
    SAME(memory[8 * PAGE], 0);
    free(memory);
    OK(munmap(bytes, SIZE));
    first_byte(fd, handle, 1);
    first_byte(fd, other, 9);
    /* Offsets that no object has, and a file that is not open. */
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0x7ffffffff000) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, 400, 0) == MAP_FAILED && errno == EBADF);
    CHECK(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, (off_t)offset_of(fd, handle)) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, SIZE + PAGE, PROT_READ, MAP_SHARED, fd, (off_t)offset_of(fd, handle)) == MAP_FAILED);
    SAME(errno, EINVAL);
    OK(close_handle(fd, handle));
    OK(close_handle(fd, other));
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A gibibyte costs only what is touched; a mapping outlives handle and descriptor. */
static void sparse_and_long(void) {
    int own = open_card();
    /* Where the CPU's caches hide what memory had before, all of it is stored. */
    uint64_t size = get(own, I915_PARAM_HAS_LLC) || !has_transfers(own) ? 1 << 26 : 1 << 30;
    double start = seconds();
    uint32_t handle = create(own, size);
    char *bytes = map(own, handle, size);
    for (uint64_t at = 0; at < size; at += size / 16) bytes[at] = 1;
    OK(close_handle(own, handle));
    OK(close(own));
    for (uint64_t at = 0; at < size; at += size / 16) SAME(bytes[at], 1);
    bytes[size - 1] = 2;
    SAME(bytes[size - 1], 2);
    OK(munmap(bytes, size));
    CHECK(seconds() - start < 5);
}

/* GEM_MMAP returns an address; discrete and later devices have it not. */
static void legacy(void) {
    uint32_t handle = create(fd, SIZE);
    struct drm_i915_gem_mmap map = {.handle = handle, .offset = PAGE, .size = 2 * PAGE};
    int result = request(fd, DRM_IOCTL_I915_GEM_MMAP, &map);
    if (result == 0) {
        char *bytes = (char *)(uintptr_t)map.addr_ptr;
        bytes[0] = 6;
        char *whole = map_at(fd, handle, SIZE, NULL, 0);
        SAME(whole[PAGE], 6);
        OK(munmap(whole, SIZE));
        OK(munmap(bytes, 2 * PAGE));
        FAILS(msync(bytes, PAGE, MS_ASYNC), ENOMEM);
        map.size = SIZE;
        SAME(request(fd, DRM_IOCTL_I915_GEM_MMAP, &map), -EINVAL);
    } else {
        CHECK(result == -EOPNOTSUPP || result == -ENODEV);
    }
    OK(close_handle(fd, handle));
}

/* Bad pointers are EFAULT, at the end of a page too. */
static void pointers(void) {
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    OK(munmap(pages + PAGE, PAGE));
    struct drm_i915_gem_create create_one = {.size = PAGE};
    /* Whole before the end; then one byte too far. */
    char *end = pages + PAGE - sizeof create_one;
    memcpy(end, &create_one, sizeof create_one);
    OK(request(fd, DRM_IOCTL_I915_GEM_CREATE, end));
    memcpy(&create_one, end, sizeof create_one);
    SAME(request(fd, DRM_IOCTL_I915_GEM_CREATE, end + 1), -EFAULT);
    SAME(request(fd, DRM_IOCTL_I915_GEM_CREATE, pages + PAGE), -EFAULT);
    SAME(request(fd, DRM_IOCTL_I915_GEM_CREATE, NULL), -EFAULT);
    SAME(request(fd, DRM_IOCTL_I915_GEM_CREATE, (void *)-16), -EFAULT);
    struct drm_i915_getparam get = {.param = I915_PARAM_CHIPSET_ID, .value = (int *)(pages + PAGE)};
    SAME(request(fd, DRM_IOCTL_I915_GETPARAM, &get), -EFAULT);
    if (has_transfers(fd)) {
        uint32_t handle = create_one.handle;
        OK(pread_object(fd, handle, 0, pages, PAGE));
        SAME(pread_object(fd, handle, 0, pages + 1, PAGE), -EFAULT);
        SAME(pwrite_object(fd, handle, 0, pages + 1, PAGE), -EFAULT);
        SAME(pread_object(fd, handle, 0, NULL, 1), -EFAULT);
    }
    OK(close_handle(fd, create_one.handle));
    OK(munmap(pages, PAGE));
    SAME(request(fd, DRM_IOWR(0x9f, int), &get), -EINVAL);
    FAILS(ioctl(399, DRM_IOCTL_I915_GETPARAM, &get), EBADF);
    int pair[2];
    OK(pipe(pair));
    FAILS(ioctl(pair[0], DRM_IOCTL_I915_GETPARAM, &get), ENOTTY);
    close(pair[0]), close(pair[1]);
}

/* Makes what the kernel wrote around the caches visible to a mapping through them. */
static void to_cpu(uint32_t handle) {
    struct drm_i915_gem_set_domain set = {
        .handle = handle, .read_domains = I915_GEM_DOMAIN_CPU, .write_domain = I915_GEM_DOMAIN_CPU};
    OK(request(fd, DRM_IOCTL_I915_GEM_SET_DOMAIN, &set));
}

/* An object in an object: PREAD and PWRITE between mappings of the device itself. */
static void into_itself(void) {
    if (!has_transfers(fd)) return;
    uint32_t from = create(fd, SIZE), to = create(fd, SIZE);
    char *source = map(fd, from, SIZE), *target = map(fd, to, SIZE);
    to_cpu(from), to_cpu(to);
    source[0] = 1, source[PAGE + 1] = 2;
    OK(pread_object(fd, from, 0, target, SIZE));
    SAME(target[0], 1);
    SAME(target[PAGE + 1], 2);
    target[0] = 4;
    OK(pwrite_object(fd, from, 0, target, SIZE));
    to_cpu(from);
    SAME(source[0], 4);
    /* Onto itself. */
    OK(pwrite_object(fd, from, PAGE, source, PAGE));
    to_cpu(from);
    SAME(source[PAGE], 4);
    OK(munmap(source, SIZE));
    OK(munmap(target, SIZE));
    OK(close_handle(fd, from));
    OK(close_handle(fd, to));
}

/* Another thread's address space, many mappings: each is found. */
static void many(void) {
    enum { MANY = 500 };
    uint32_t handle = create(fd, PAGE);
    char *all[MANY];
    for (int n = 0; n < MANY; n++) all[n] = map(fd, handle, PAGE);
    all[0][0] = 3;
    for (int n = 0; n < MANY; n++) SAME(all[n][0], 3);
    for (int n = 0; n < MANY; n += 2) OK(munmap(all[n], PAGE));
    for (int n = 1; n < MANY; n += 2) SAME(all[n][0], 3);
    for (int n = 1; n < MANY; n += 2) OK(munmap(all[n], PAGE));
    OK(close_handle(fd, handle));
}

/* Many objects, each of which has files of its own in the server. */
static void many_objects(void) {
    enum { MANY = 400 };
    uint32_t handles[MANY];
    char *all[MANY];
    for (int n = 0; n < MANY; n++) {
        handles[n] = create(fd, PAGE);
        all[n] = map(fd, handles[n], PAGE);
        all[n][0] = (char)n;
    }
    for (int n = 0; n < MANY; n++) {
        first_byte(fd, handles[n], (char)n);
        OK(munmap(all[n], PAGE));
        OK(close_handle(fd, handles[n]));
    }
}

int main(void) {
    fd = open_card();
    parts();
    moved();
    protected();
    fixed();
    sparse_and_long();
    legacy();
    pointers();
    into_itself();
    many();
    many_objects();
    OK(close(fd));
    return done();
}
