// The calls of minigbm's locks (i915.c: i915_bo_invalidate, i915_bo_flush) around GPU writes that the kernel is not told of: batches without
// EXEC_OBJECT_WRITE. Prints the number of lines for which the CPU read old bytes. `wrong` is as minigbm does it; `right` invalidates
// at the lock, too.
//
//     cc -g -O1 -I/usr/include/libdrm -o locked crates/programs/runtime/tests/locked.c
//     gemtool sim glk,adversary=on,seed=1 -- ./locked wrong
#include "findings/common.h"

enum { LINES = SIZE / LINE, ROUNDS = 64 };

static void lock(uint32_t handle, const char *bytes) {
    struct drm_i915_gem_set_domain domain = {.handle = handle, .read_domains = I915_GEM_DOMAIN_CPU};
    request("GEM_SET_DOMAIN", DRM_IOCTL_I915_GEM_SET_DOMAIN, &domain);
    if (!wrong) flush_lines(bytes, SIZE);
}

// Counts the lines of which the first word is not `value`.
static int count(const char *bytes, uint32_t value) {
    int old = 0;
    for (int line = 0; line < LINES; line++) old += *(const volatile uint32_t *)(bytes + line * LINE) != value;
    return old;
}

int main(int words, char **arguments) {
    start(words, arguments);
    uint32_t handles[2] = {create(SIZE), create_shared(SIZE)};
    const char *bytes = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    uint32_t *batch = map_shared(handles[1], SIZE);
    int old = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        // A lock for reading, and the unlock.
        lock(handles[0], bytes);
        old += count(bytes, round);
        flush_lines(bytes, SIZE);
        uint32_t length = 0;
        for (int line = 0; line < LINES; line++)
            length += store_command(batch + length / 4, FIRST_ADDRESS + line * LINE, round + 1);
        length += end_command(batch + length / 4, length);
        run(I915_EXEC_RENDER, handles, 2, -1, length);
    }
    printf("old: %d of %d\n", old, ROUNDS * LINES);
    return 0;
}
