// Flushes of an object that the GPU snoops: others may have its dma-buf until the last descriptor of that is closed.
#include "common.h"

// Creates a snooped object with a dma-buf, which stays open with `keep`; returns its mapping.
static char *create_exported(int keep) {
    struct drm_prime_handle shared = {.handle = create(4096), .flags = DRM_CLOEXEC | DRM_RDWR};
    struct drm_i915_gem_caching caching = {.handle = shared.handle, .caching = I915_CACHING_CACHED};
    // Newer platforms snoop every object.
    (void)ioctl(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching);
    request("PRIME_HANDLE_TO_FD", DRM_IOCTL_PRIME_HANDLE_TO_FD, &shared);
    if (!keep) close(shared.fd);
    return map(shared.handle, 4096, I915_MMAP_OFFSET_WB);
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    memset(copy.source, 7, SIZE);
    flush_lines(copy.source, SIZE);
    if (wrong) {
        char *open = create_exported(1), *closed = create_exported(0);
        memset(open, 7, 4096);
        memset(closed, 7, 4096);
        for (int line = 0; line < 64; line++) _mm_clflush(open + line * LINE); /* precautionary: another process may have the dma-buf */
        for (int line = 0; line < 64; line++) _mm_clflush(closed + line * LINE); /* useless, but for a GPU that can bypass the LLC */
    }
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
