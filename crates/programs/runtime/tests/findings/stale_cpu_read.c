// The GPU writes an object of which the kernel is not told; then PREAD copies what the CPU's cache has. Objects in the CPU's read domain
// are not invalidated.
#include "common.h"

static void to_cpu(uint32_t handle) {
    struct drm_i915_gem_set_domain args = {.handle = handle, .read_domains = I915_GEM_DOMAIN_CPU};
    request("GEM_SET_DOMAIN", DRM_IOCTL_I915_GEM_SET_DOMAIN, &args);
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    volatile char *seen = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
    memset(copy.source, 9, 2 * LINE);
    flush_lines(copy.source, 2 * LINE);
    to_cpu(copy.handles[1]);
    char first = seen[0];
    (void)first;
    // Without EXEC_OBJECT_WRITE, but for `right`.
    run(I915_EXEC_BLT, copy.handles, 3, wrong ? -1 : 1, copy.bytes);
    if (!wrong) to_cpu(copy.handles[1]);
    static char into[SIZE];
    struct drm_i915_gem_pread args = {.handle = copy.handles[1], .size = SIZE, .data_ptr = (uintptr_t)into};
    request("GEM_PREAD", DRM_IOCTL_I915_GEM_PREAD, &args); /* wrong */
    return compare(copy.source, into, SIZE);
}
