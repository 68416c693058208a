// Flushes of lines that were flushed before, of a WC mapping, and of an object whose lines the GPU snoops.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    memset(copy.source, 7, SIZE);
    flush_lines(copy.source, SIZE);
    if (wrong) {
        for (size_t at = 0; at < SIZE; at += LINE) _mm_clflush(copy.source + at); /* useless */
        char *around = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WC);
        for (size_t at = 0; at < LINE; at += LINE) _mm_clflush(around + at); /* useless, but for a GPU that can bypass the LLC */
        uint32_t snooped = create(4096);
        struct drm_i915_gem_caching caching = {.handle = snooped, .caching = I915_CACHING_CACHED};
        // Newer platforms snoop every object.
        (void)ioctl(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching);
        char *seen = map(snooped, 4096, I915_MMAP_OFFSET_WB);
        memset(seen, 7, 4096);
        for (size_t at = 0; at < 4096; at += LINE) _mm_clflush(seen + at); /* useless, but for a GPU that can bypass the LLC */
    }
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
