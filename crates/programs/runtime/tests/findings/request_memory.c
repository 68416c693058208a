// Requests load from and store to a mapping of an object that the GPU wrote, where other lines of the page have old bytes: they succeed.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WC);
    char *seen = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
    uint32_t other = create(SIZE);
    memset(copy.source, 9, SIZE);
    memset(copy.source + 4 * LINE, 5, 4 * LINE);
    copy_run(&copy);
    // From lines 4 to 7 to the other object, and from there to a page that has not been stored to.
    flush_lines(seen + 4 * LINE, 4 * LINE);
    struct drm_i915_gem_pwrite from = {.handle = other, .size = 4 * LINE, .data_ptr = (uintptr_t)(seen + 4 * LINE)};
    request("GEM_PWRITE", DRM_IOCTL_I915_GEM_PWRITE, &from);
    struct drm_i915_gem_pread to = {.handle = other, .size = 4 * LINE, .data_ptr = (uintptr_t)(seen + 64 * LINE)};
    request("GEM_PREAD", DRM_IOCTL_I915_GEM_PREAD, &to);
    if (memcmp(seen + 4 * LINE, seen + 64 * LINE, 4 * LINE)) return 1;
    flush_lines(seen + 64 * LINE, 4 * LINE);
    copy_run(&copy);
    memset(copy.source, 8, SIZE);
    copy_run(&copy);
    flush_lines(seen + 128 * LINE, (wrong ? 2 : 3) * LINE);
    return count_old(seen + 128 * LINE, 3, 0x08080808); /* wrong */
}
