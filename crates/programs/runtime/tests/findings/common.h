// The parts that the programs share: BOs, mappings, and batches of one copy or one store. Each program has the modes `right` and `wrong`, and prints the
// number of lines for which the other agent has old bytes, e.g. "old: 3". It exits with 77 if the platform refuses a request that it needs.
// With -DNO_FLUSH the program's flushes do nothing.
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>
#include <i915_drm.h>

enum { LINE = 64, SIZE = 16384 };

// The addresses of the objects: 1 MiB apart.
static const uint64_t FIRST_ADDRESS = 0x100000;

static int fd;
static int wrong;

static inline void start(int count, char **words) {
    if (count != 2 || (strcmp(words[1], "right") && strcmp(words[1], "wrong"))) {
        fprintf(stderr, "usage: %s right|wrong\n", words[0]);
        exit(2);
    }
    wrong = !strcmp(words[1], "wrong");
    fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        perror("/dev/dri/card0");
        exit(1);
    }
}

// Makes a request; requests that newer platforms refuse end the program.
static inline void request(const char *name, unsigned long code, void *argument) {
    if (!ioctl(fd, code, argument)) return;
    if (errno == EOPNOTSUPP || errno == ENODEV || errno == EINVAL || errno == EREMOTE) {
        printf("refused: %s\n", name);
        exit(77);
    }
    perror(name);
    exit(1);
}

// Makes a system call by an instruction of the program; returns what the kernel does.
static inline long by_instruction(long number, long a, const void *b, long c, long d, long e) {
    long done;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(done) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return done;
}

#ifdef PAT
// Those of newer headers.
enum { CREATE_EXT_SET_PAT = 2 };
struct create_ext_set_pat {
    struct i915_user_extension base;
    uint32_t index, rsvd;
};

// Creates an object with this PAT index, which Meteor Lake takes.
static inline uint32_t create(uint64_t size) {
    struct create_ext_set_pat pat = {.base.name = CREATE_EXT_SET_PAT, .index = PAT};
    struct drm_i915_gem_create_ext args = {.size = size, .extensions = (uintptr_t)&pat};
    request("GEM_CREATE_EXT", DRM_IOCTL_I915_GEM_CREATE_EXT, &args);
    return args.handle;
}
#else
static inline uint32_t create(uint64_t size) {
    struct drm_i915_gem_create args = {.size = size};
    request("GEM_CREATE", DRM_IOCTL_I915_GEM_CREATE, &args);
    return args.handle;
}
#endif

// Creates an object for map_shared(). With ALWAYS_WC in the environment it is in local memory where the platform has that, because a discrete
// platform maps no other object WC.
static inline uint32_t create_shared(uint64_t size) {
    struct drm_i915_gem_memory_class_instance region = {.memory_class = I915_MEMORY_CLASS_DEVICE};
    struct drm_i915_gem_create_ext_memory_regions regions = {
        .base.name = I915_GEM_CREATE_EXT_MEMORY_REGIONS, .num_regions = 1, .regions = (uintptr_t)&region};
    struct drm_i915_gem_create_ext args = {.size = size, .extensions = (uintptr_t)&regions};
    if (getenv("ALWAYS_WC") && !ioctl(fd, DRM_IOCTL_I915_GEM_CREATE_EXT, &args)) return args.handle;
    return create(size);
}

// Maps an object WB or WC; discrete platforms map it as its placement says, system memory WB.
static inline void *map(uint32_t handle, uint64_t size, int mode) {
    struct drm_i915_gem_mmap_offset args = {.handle = handle, .flags = mode};
    if (ioctl(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &args)) {
        args = (struct drm_i915_gem_mmap_offset){.handle = handle, .flags = I915_MMAP_OFFSET_FIXED};
        request("GEM_MMAP_OFFSET", DRM_IOCTL_I915_GEM_MMAP_OFFSET, &args);
    }
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, args.offset);
    if (mapped == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return mapped;
}

static inline void flush_lines(const void *start, size_t bytes) {
#ifdef NO_FLUSH
    (void)start;
    (void)bytes;
#else
    for (size_t at = 0; at < bytes; at += LINE) _mm_clflush((const char *)start + at); /* flush */
    _mm_mfence();
#endif
}

// Writes a batch that copies `lines` lines from object 0 to object 1 (XY_FAST_COPY_BLT); returns its length in bytes.
static inline uint32_t copy_batch(uint32_t *batch, uint32_t lines) {
    const uint32_t from = FIRST_ADDRESS, to = 2 * FIRST_ADDRESS;
    const uint32_t words[] = {2u << 29 | 0x42 << 22 | 8, 3 << 24 | LINE, 0, lines << 16 | LINE / 4, to,   0, 0,
                              LINE,                      from,           0, 0x05000000,             0};
    memcpy(batch, words, sizeof words);
    return sizeof words;
}

// Writes MI_STORE_DATA_IMM of a value; returns its length in bytes.
static inline uint32_t store_command(uint32_t *batch, uint32_t address, uint32_t value) {
    const uint32_t words[] = {0x20 << 23 | 2, address, 0, value};
    memcpy(batch, words, sizeof words);
    return sizeof words;
}

// Writes MI_BATCH_BUFFER_END; returns its length in bytes, a multiple of 8 with up to `bytes` before it.
static inline uint32_t end_command(uint32_t *batch, uint32_t bytes) {
    const uint32_t words[] = {0x05000000, 0};
    memcpy(batch, words, sizeof words);
    return bytes % 8 ? 4 : 8;
}

// Runs a batch, the last of the objects, on an engine; waits for it.
static inline void run(uint64_t engine, const uint32_t *handles, int count, int written, uint32_t bytes) {
    struct drm_i915_gem_exec_object2 objects[8] = {{0}};
    for (int n = 0; n < count; n++) {
        objects[n].handle = handles[n];
        objects[n].offset = (n + 1) * FIRST_ADDRESS;
        objects[n].flags = EXEC_OBJECT_PINNED | (n == written ? EXEC_OBJECT_WRITE : 0);
    }
    struct drm_i915_gem_execbuffer2 args = {
        .buffers_ptr = (uintptr_t)objects, .buffer_count = count, .batch_len = bytes, .flags = engine | I915_EXEC_NO_RELOC};
    request("GEM_EXECBUFFER2", DRM_IOCTL_I915_GEM_EXECBUFFER2, &args);
    struct drm_i915_gem_wait wait = {.bo_handle = handles[count - 1], .timeout_ns = -1};
    request("GEM_WAIT", DRM_IOCTL_I915_GEM_WAIT, &wait);
}

// Maps an object of create_shared() so that the CPU sees what the GPU writes, and the GPU what the CPU stores: WC, but WB where the GPU uses the CPU's cache.
// With ALWAYS_WC in the environment it is WC where the platform has it, so that the program does the same on each.
static inline void *map_shared(uint32_t handle, uint64_t size) {
    if (getenv("ALWAYS_WC")) return map(handle, size, I915_MMAP_OFFSET_WC);
    struct drm_i915_gem_caching caching = {.handle = handle};
    // Newer platforms refuse the request, and snoop every object in system memory.
    int is_cached = ioctl(fd, DRM_IOCTL_I915_GEM_GET_CACHING, &caching) || caching.caching == I915_CACHING_CACHED;
    return map(handle, size, is_cached ? I915_MMAP_OFFSET_WB : I915_MMAP_OFFSET_WC);
}

// A source, a destination and a batch that copies the one to the other. The destination and the batch need no flush.
struct copy {
    uint32_t handles[3];
    char *source, *destination;
    uint32_t *batch, bytes;
};

static inline void copy_run(const struct copy *copy) { run(I915_EXEC_BLT, copy->handles, 3, 1, copy->bytes); }

// Creates them, and submits once. The zeroes that the kernel fills pages with are its own to flush.
static inline struct copy copy_create(int mode) {
    const uint32_t source = mode == I915_MMAP_OFFSET_WC ? create_shared(SIZE) : create(SIZE);
    struct copy copy = {.handles = {source, create_shared(SIZE), create_shared(4096)}};
    copy.source = map(copy.handles[0], SIZE, mode);
    copy.destination = map_shared(copy.handles[1], SIZE);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    copy_run(&copy);
    return copy;
}

// Prints how many of the first lines do not begin with a value.
static inline int count_old(const char *lines, int count, uint32_t value) {
    int old = 0;
    for (int line = 0; line < count; line++) old += *(const volatile uint32_t *)(lines + line * LINE) != value;
    printf("old: %d\n", old);
    return 0;
}

// Prints how many lines differ.
static inline int compare(const char *one, const char *other, size_t bytes) {
    int old = 0;
    for (size_t at = 0; at < bytes; at += LINE) old += memcmp(one + at, other + at, LINE) != 0;
    printf("old: %d\n", old);
    return 0;
}
