// The parts that the programs of xe share: objects, their mappings by the CPU and the GPU, and a batch of one copy. Each program has the modes
// `right` and `wrong`, and prints the number of lines for which the other agent has old bytes, e.g. "old: 3".
// With -DNO_FLUSH the program's flushes do nothing. SNOOPED is a PAT index by which the GPU snoops, NOT_SNOOPED one by which it does not.
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

#include "../../xe.h"

#ifndef SNOOPED
enum { SNOOPED = 2 };
#endif
enum { NOT_SNOOPED = 3 };

enum { LINE = 64, SIZE = 65536, PITCH = 4096 };

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

// Makes a request; one that fails ends the program, with 77 if a discrete device does not show system memory.
static inline void request(const char *name, unsigned long code, void *argument) {
    if (!ioctl(fd, code, argument)) return;
    if (errno == EREMOTE) {
        printf("refused: %s\n", name);
        exit(77);
    }
    perror(name);
    exit(1);
}

// Creates an object in one of these kinds of memory.
static inline uint32_t create_in(uint32_t placement, uint64_t size, uint16_t caching, uint32_t flags) {
    struct xe_gem_create args = {.size = size, .placement = placement, .flags = flags, .cpu_caching = caching};
    request("GEM_CREATE", XE_GEM_CREATE, &args);
    return args.handle;
}

// Creates an object in system memory.
static inline uint32_t create(uint64_t size, uint16_t caching, uint32_t flags) {
    return create_in(SYSTEM, size, caching, flags);
}

// Creates an object in local memory, or in system memory if the device has no other.
static inline uint32_t create_local(uint64_t size, uint16_t caching) {
    struct xe_gem_create args = {.size = size, .placement = LOCAL, .cpu_caching = caching};
    return ioctl(fd, XE_GEM_CREATE, &args) ? create(size, caching, 0) : args.handle;
}

// Returns the size of local memory; 0 if there is none.
static inline uint64_t local_bytes(void) {
    struct xe_regions regions = {0};
    struct xe_query query = {.query = REGIONS};
    request("DEVICE_QUERY", XE_DEVICE_QUERY, &query);
    query.data = (uintptr_t)&regions;
    request("DEVICE_QUERY", XE_DEVICE_QUERY, &query);
    return regions.region[1].total_size;
}

// Maps an object, as GEM_CREATE said.
static inline void *map(uint32_t handle, uint64_t size) {
    struct xe_gem_mmap_offset args = {.handle = handle};
    request("GEM_MMAP_OFFSET", XE_GEM_MMAP_OFFSET, &args);
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

// Creates a VM.
static inline uint32_t vm_create(void) {
    struct xe_vm_create args = {.flags = SCRATCH_PAGE};
    request("VM_CREATE", XE_VM_CREATE, &args);
    return args.vm_id;
}

// Binds all of an object; returns what ioctl(2) does.
static inline int bind(uint32_t vm, uint32_t handle, uint64_t size, uint64_t address, uint16_t pat_index) {
    struct xe_vm_bind args = {.vm_id = vm, .num_binds = 1};
    args.bind = (struct xe_vm_bind_op){.obj = handle, .pat_index = pat_index, .range = size, .addr = address};
    return ioctl(fd, XE_VM_BIND, &args);
}

// An object of the GPU's, with its mappings.
struct buffer {
    char *mapped;
    uint64_t address;
    uint32_t handle;
};

// Maps an object, and binds it.
static inline struct buffer buffer_of(uint32_t vm, uint32_t handle) {
    static uint64_t last = 0x1000000;
    struct buffer new = {.address = last += 0x200000, .handle = handle};
    new.mapped = map(new.handle, SIZE);
    if (bind(vm, new.handle, SIZE, new.address, SNOOPED)) {
        perror("VM_BIND");
        exit(1);
    }
    return new;
}

static inline struct buffer buffer(uint32_t vm, uint16_t caching) { return buffer_of(vm, create(SIZE, caching, 0)); }

// Runs a batch on the copy engine; returns the syncobj of its end.
static inline uint32_t begin(uint32_t vm, struct buffer batch) {
    struct xe_engine engine = {.engine_class = COPY_ENGINE};
    struct xe_exec_queue_create queue = {.width = 1, .num_placements = 1, .vm_id = vm, .instances = (uintptr_t)&engine};
    request("EXEC_QUEUE_CREATE", XE_EXEC_QUEUE_CREATE, &queue);
    struct drm_syncobj_create done = {0};
    request("SYNCOBJ_CREATE", DRM_IOCTL_SYNCOBJ_CREATE, &done);
    struct xe_sync sync = {.flags = SIGNAL, .handle = done.handle};
    struct xe_exec exec = {
        .exec_queue_id = queue.exec_queue_id, .num_syncs = 1, .syncs = (uintptr_t)&sync, .address = batch.address, .num_batch_buffer = 1};
    request("EXEC", XE_EXEC, &exec);
    return done.handle;
}

static inline void finish(uint32_t syncobj) {
    struct drm_syncobj_wait wait = {.handles = (uintptr_t)&syncobj, .count_handles = 1, .timeout_nsec = INT64_MAX};
    request("SYNCOBJ_WAIT", DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

// Runs a batch on the copy engine, and waits.
static inline void submit(uint32_t vm, struct buffer batch) { finish(begin(vm, batch)); }

// Copies one buffer to another by a batch (XY_FAST_COPY_BLT), and waits.
static inline void copy(uint32_t vm, struct buffer from, struct buffer to) {
    const struct buffer batch = buffer(vm, WB);
    const uint32_t words[] = {2u << 29 | 0x42u << 22 | 8, 3u << 24 | PITCH, 0, SIZE / PITCH << 16 | PITCH / 4, to.address, to.address >> 32,
                              0, PITCH, from.address, from.address >> 32, 0x05000000, 0};
    memcpy(batch.mapped, words, sizeof words);
    submit(vm, batch);
}

// Prints how many lines differ.
static inline int compare(const char *one, const char *other, size_t bytes) {
    int old = 0;
    for (size_t at = 0; at < bytes; at += LINE) old += memcmp(one + at, other + at, LINE) != 0;
    printf("old: %d\n", old);
    return 0;
}
