/* Mappings of tiled objects through the aperture: loads and stores see the linear picture, the object has the tiled bytes. */

#include "check.h"

/* Two rows of tiles, and one page after them, which is no whole row. */
enum { X_STRIDE = 1024, Y_STRIDE = 256, ROWS = 2, SIZE = 5 * PAGE };

static int fd;

/* The tiling of an object. */
struct tiling {
    uint32_t mode, stride, swizzle;
};

/* Sets the tiling of an object, whose bit 6 is swizzled as the driver says. */
static struct tiling set_tiling(uint32_t handle, uint32_t mode) {
    uint32_t stride = mode == I915_TILING_X ? X_STRIDE : mode == I915_TILING_Y ? Y_STRIDE : 0;
    struct drm_i915_gem_set_tiling set = {.handle = handle, .tiling_mode = mode, .stride = stride};
    OK(request(fd, DRM_IOCTL_I915_GEM_SET_TILING, &set));
    SAME(set.tiling_mode, mode);
    return (struct tiling){mode, stride, set.swizzle_mode};
}

/* Returns where a byte of the linear picture is in the object. */
static uint32_t place(struct tiling tiling, uint32_t at) {
    if (tiling.mode == I915_TILING_NONE) return at;
    uint32_t y = at / tiling.stride, x = at % tiling.stride, in_object;
    if (tiling.mode == I915_TILING_X) {
        in_object = (y / 8 * (tiling.stride / 512) + x / 512) * PAGE + y % 8 * 512 + x % 512;
    } else {
        in_object = (y / 32 * (tiling.stride / 128) + x / 128) * PAGE + x % 128 / 16 * 512 + y % 32 * 16 + x % 16;
    }
    uint32_t flips = 0;
    if (tiling.swizzle == I915_BIT_6_SWIZZLE_9) flips = in_object >> 9;
    if (tiling.swizzle == I915_BIT_6_SWIZZLE_9_10) flips = in_object >> 9 ^ in_object >> 10;
    return in_object ^ (flips & 1) << 6;
}

/* A value for each 32-bit word; each test has its own. */
static uint32_t value(uint32_t at, uint32_t test) { return at * 2654435761u + test; }

/* Returns the number of words of `linear` that are not those of the test, as far as the object has them. */
static uint32_t wrong_in_picture(const volatile uint32_t *linear, struct tiling tiling, uint32_t test) {
    uint32_t wrong = 0;
    for (uint32_t at = 0; at < SIZE; at += 4) wrong += place(tiling, at) < SIZE && linear[at / 4] != value(at, test);
    return wrong;
}

/* The same for the bytes of an object. */
static uint32_t wrong_in_object(const volatile uint32_t *bytes, struct tiling tiling, uint32_t test) {
    uint32_t wrong = 0;
    for (uint32_t at = 0; at < SIZE; at += 4) {
        uint32_t in_object = place(tiling, at);
        wrong += in_object < SIZE && bytes[in_object / 4] != value(at, test);
    }
    return wrong;
}

static uint32_t *map_as(uint32_t handle, uint64_t flags) {
    struct drm_i915_gem_mmap_offset map = {.handle = handle, .flags = flags};
    OK(request(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &map));
    void *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map.offset);
    CHECK(mapped != MAP_FAILED);
    return mapped;
}

static void set_domain(uint32_t handle, uint32_t domain) {
    struct drm_i915_gem_set_domain set = {.handle = handle, .read_domains = domain, .write_domain = domain};
    OK(request(fd, DRM_IOCTL_I915_GEM_SET_DOMAIN, &set));
}

static void fill_picture(volatile uint32_t *linear, uint32_t test) {
    for (uint32_t at = 0; at < SIZE; at += 4) linear[at / 4] = value(at, test);
}

/* Stores through the aperture, as PREAD and a mapping through the cache show them, and back. */
static void both_ways(uint32_t mode, int mapped_both) {
    uint32_t handle = create(fd, SIZE), bytes[SIZE / 4];
    struct tiling tiling = set_tiling(handle, mode);
    uint32_t *linear = map_as(handle, I915_MMAP_OFFSET_GTT);
    uint32_t *cached = mapped_both ? map_as(handle, I915_MMAP_OFFSET_WB) : NULL;
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    fill_picture(linear, 1);
    OK(pread_object(fd, handle, 0, bytes, SIZE));
    SAME(wrong_in_object(bytes, tiling, 1), 0);
    CHECK(mode == I915_TILING_NONE || wrong_in_picture(bytes, tiling, 1) > SIZE / 8);
    if (!cached) cached = map_as(handle, I915_MMAP_OFFSET_WB);
    set_domain(handle, I915_GEM_DOMAIN_CPU);
    SAME(wrong_in_object(cached, tiling, 1), 0);
    for (uint32_t at = 0; at < SIZE; at += 4) {
        if (place(tiling, at) < SIZE) cached[place(tiling, at) / 4] = value(at, 2);
    }
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    SAME(wrong_in_picture(linear, tiling, 2), 0);
    for (uint32_t at = 0; at < SIZE; at += 4) {
        if (place(tiling, at) < SIZE) bytes[place(tiling, at) / 4] = value(at, 3);
    }
    OK(pwrite_object(fd, handle, 0, bytes, SIZE));
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    SAME(wrong_in_picture(linear, tiling, 3), 0);
    /* One word, which leaves its neighbours. */
    linear[777] = 7;
    set_domain(handle, I915_GEM_DOMAIN_CPU);
    SAME(cached[place(tiling, 777 * 4) / 4], 7);
    SAME(wrong_in_object(cached, tiling, 3), 1);
    /* Transfers with the mapping itself. */
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    uint32_t other = create(fd, SIZE);
    OK(pwrite_object(fd, other, 0, linear, SIZE));
    OK(pread_object(fd, other, 0, bytes, SIZE));
    linear[777] = bytes[777] = value(777 * 4, 3);
    SAME(wrong_in_picture(bytes, tiling, 3), 0);
    OK(close_handle(fd, other));
    OK(munmap(linear, SIZE));
    OK(munmap(cached, SIZE));
    OK(close_handle(fd, handle));
}

/* What is stored before the mapping is gone reaches the object, also if nothing else names the object. */
static void unmapped(uint32_t mode) {
    uint32_t handle = create(fd, SIZE);
    struct tiling tiling = set_tiling(handle, mode);
    uint32_t *linear = map_as(handle, I915_MMAP_OFFSET_GTT);
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    fill_picture(linear, 4);
    OK(munmap(linear, SIZE));
    uint32_t *cached = map_as(handle, I915_MMAP_OFFSET_WB);
    set_domain(handle, I915_GEM_DOMAIN_CPU);
    SAME(wrong_in_object(cached, tiling, 4), 0);
    linear = map_as(handle, I915_MMAP_OFFSET_GTT);
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    SAME(wrong_in_picture(linear, tiling, 4), 0);
    OK(close_handle(fd, handle));
    SAME(wrong_in_picture(linear, tiling, 4), 0);
    OK(munmap(linear, SIZE));
    OK(munmap(cached, SIZE));
}

/* Mappings follow a change of the tiling. */
static void changed(void) {
    uint32_t handle = create(fd, SIZE), bytes[SIZE / 4];
    uint32_t *picture = map_as(handle, I915_MMAP_OFFSET_GTT);
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    struct tiling none = {0}, x, y;
    fill_picture(picture, 5);
    x = set_tiling(handle, I915_TILING_X);
    for (uint32_t at = 0; at < SIZE; at += 4 * 131) {
        if (place(x, at) < SIZE) SAME(picture[at / 4], value(place(x, at), 5));
    }
    fill_picture(picture, 6);
    y = set_tiling(handle, I915_TILING_Y);
    OK(pread_object(fd, handle, 0, bytes, SIZE));
    SAME(wrong_in_object(bytes, x, 6), 0);
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    for (uint32_t at = 0; at < SIZE; at += 4 * 131) {
        if (place(y, at) < SIZE) SAME(picture[at / 4], bytes[place(y, at) / 4]);
    }
    fill_picture(picture, 7);
    set_tiling(handle, I915_TILING_NONE);
    SAME(wrong_in_object(picture, y, 7), 0);
    fill_picture(picture, 8);
    OK(pread_object(fd, handle, 0, bytes, SIZE));
    SAME(wrong_in_object(bytes, none, 8), 0);
    OK(munmap(picture, SIZE));
    OK(close_handle(fd, handle));
}

/* What programs do with mappings. */
static void parts(void) {
    uint32_t handle = create(fd, SIZE), bytes[SIZE / 4];
    struct tiling tiling = set_tiling(handle, I915_TILING_X);
    uint32_t *linear = map_as(handle, I915_MMAP_OFFSET_GTT), *second = map_as(handle, I915_MMAP_OFFSET_GTT);
    set_domain(handle, I915_GEM_DOMAIN_GTT);
    fill_picture(linear, 9);
    SAME(wrong_in_picture(second, tiling, 9), 0);
    OK(munmap(linear, PAGE));
    OK(mprotect(linear + PAGE / 4, PAGE, PROT_NONE));
    OK(mprotect(linear + PAGE / 4, PAGE, PROT_READ | PROT_WRITE));
    linear[PAGE / 4] = 9;
    SAME(second[PAGE / 4], 9);
    char *room = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(second, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
    second = (uint32_t *)room;
    pid_t child = fork();
    if (child == 0) {
        second[3] = 33;
        linear[PAGE / 4 + 1] = 34;
        _exit(0);
    }
    ends_with(child, 0);
    OK(pread_object(fd, handle, 0, bytes, SIZE));
    SAME(bytes[place(tiling, 3 * 4) / 4], 33);
    SAME(bytes[place(tiling, PAGE) / 4], 9);
    SAME(bytes[place(tiling, PAGE + 4) / 4], 34);
    SAME(wrong_in_object(bytes, tiling, 9), 3);
    OK(munmap(linear + PAGE / 4, SIZE - PAGE));
    OK(munmap(second, SIZE));
    OK(close_handle(fd, handle));
}

/* An object whose mapping nobody touched has no pages. */
static void untouched(void) {
    for (int touch = 0; touch < 2; touch++) {
        uint32_t handle = create(fd, SIZE);
        set_tiling(handle, I915_TILING_X);
        volatile uint32_t *linear = map_as(handle, I915_MMAP_OFFSET_GTT);
        if (touch) SAME(linear[1], 0);
        struct drm_i915_gem_madvise madvise = {.handle = handle, .madv = I915_MADV_DONTNEED};
        OK(request(fd, DRM_IOCTL_I915_GEM_MADVISE, &madvise));
        SAME(madvise.retained, touch);
        OK(munmap((void *)linear, SIZE));
        OK(close_handle(fd, handle));
    }
}

/* The GPU copies the bytes of one tiled object to another as they are, and stores a word. */
static void gpu(void) {
    uint32_t from = create(fd, SIZE), to = create(fd, SIZE), batch = create(fd, PAGE);
    struct tiling x = set_tiling(from, I915_TILING_X), y = set_tiling(to, I915_TILING_Y);
    uint32_t *source = map_as(from, I915_MMAP_OFFSET_GTT), *destination = map_as(to, I915_MMAP_OFFSET_GTT);
    set_domain(from, I915_GEM_DOMAIN_GTT);
    set_domain(to, I915_GEM_DOMAIN_GTT);
    fill_picture(source, 10);
    fill_picture(destination, 11);
    const uint32_t first = 0x100000;
    /* XY_FAST_COPY_BLT of rows of a page, and MI_STORE_DATA_IMM. */
    const uint32_t words[] = {2u << 29 | 0x42 << 22 | 8, 3 << 24 | PAGE, 0, SIZE / PAGE << 16 | PAGE / 4, 2 * first, 0, 0,
                              PAGE, first, 0, 0x20 << 23 | 2, 2 * first + place(y, 0x1234), 0, 12, 0x05000000, 0};
    OK(pwrite_object(fd, batch, 0, words, sizeof words));
    struct drm_i915_gem_exec_object2 objects[3] = {
        {.handle = from, .offset = first, .flags = EXEC_OBJECT_PINNED},
        {.handle = to, .offset = 2 * first, .flags = EXEC_OBJECT_PINNED | EXEC_OBJECT_WRITE},
        {.handle = batch, .offset = 3 * first, .flags = EXEC_OBJECT_PINNED},
    };
    struct drm_i915_gem_execbuffer2 run = {.buffers_ptr = (uintptr_t)objects,
                                           .buffer_count = 3,
                                           .batch_len = sizeof words,
                                           .flags = I915_EXEC_BLT | I915_EXEC_NO_RELOC};
    OK(request(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &run));
    set_domain(to, I915_GEM_DOMAIN_GTT);
    uint32_t wrong = 0;
    for (uint32_t at = 0; at < SIZE; at += 4) {
        uint32_t in_object = place(y, at);
        /* The words of the source in its own order. */
        if (in_object >= SIZE || at == 0x1234) continue;
        uint32_t before = 0;
        while (place(x, before) != in_object) before += 4;
        wrong += before < SIZE && destination[at / 4] != value(before, 10);
    }
    SAME(wrong, 0);
    SAME(destination[0x1234 / 4], 12);
    OK(munmap(source, SIZE));
    OK(munmap(destination, SIZE));
    OK(close_handle(fd, from));
    OK(close_handle(fd, to));
    OK(close_handle(fd, batch));
}

int main(int count, char **words) {
    fd = open_card();
    if (get(fd, I915_PARAM_NUM_FENCES_AVAIL) == 0) {
        struct drm_i915_gem_set_tiling set = {
            .handle = create(fd, SIZE), .tiling_mode = I915_TILING_X, .stride = X_STRIDE};
        SAME(request(fd, DRM_IOCTL_I915_GEM_SET_TILING, &set), -EOPNOTSUPP);
        return done();
    }
    for (uint32_t mode = I915_TILING_NONE; mode <= I915_TILING_Y; mode++) {
        both_ways(mode, 0);
        both_ways(mode, 1);
        unmapped(mode);
    }
    changed();
    parts();
    untouched();
    /* Older blitters have other commands. */
    if (count > 1 && strcmp(words[1], "blit") == 0) gpu();
    return done();
}
