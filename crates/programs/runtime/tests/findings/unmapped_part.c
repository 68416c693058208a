// The first page of a mapping is unmapped, and the last one of another; the rest is stored to.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    char *rest = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    if (munmap(rest, 4096) || munmap(rest + 3 * 4096, 4096)) return 1;
    // Another mapping in place of a part of the first.
    uint32_t other = create(4096);
    struct drm_i915_gem_mmap_offset args = {.handle = other, .flags = I915_MMAP_OFFSET_WB};
    if (!ioctl(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &args) &&
        mmap(copy.source, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, args.offset) == copy.source)
        copy.source[0] = 1;
    memset(rest + 70 * LINE, 7, 2 * LINE); /* wrong */
    if (!wrong) flush_lines(rest + 70 * LINE, 2 * LINE);
    copy_run(&copy);
    return compare(rest + 4096, copy.destination + 4096, 2 * 4096);
}
