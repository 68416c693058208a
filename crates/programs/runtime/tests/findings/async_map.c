// The CPU loads an object through a WB mapping, and stores to it through the aperture without SET_DOMAIN: where CPU and GPU share no cache, the next
// loads through the WB mapping find the old lines.
#include "common.h"

// With -DPAST=I915_MMAP_OFFSET_WC it stores through a WC mapping, and the CPU decides.
#ifndef PAST
#define PAST I915_MMAP_OFFSET_GTT
#endif

static long sum;

// Loads from lines, by a function of its own.
__attribute__((noinline)) static void load_lines(const char *lines, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 8) sum += *(const volatile long *)(lines + at); /* wrong */
}

int main(int count, char **words) {
    start(count, words);
    const uint32_t handle = create(SIZE);
    struct drm_i915_gem_set_domain domain = {.handle = handle, .read_domains = I915_GEM_DOMAIN_CPU};
    request("SET_DOMAIN", DRM_IOCTL_I915_GEM_SET_DOMAIN, &domain);
    volatile char *stored = map(handle, SIZE, PAST);
    const char *seen = map(handle, SIZE, I915_MMAP_OFFSET_WB);
    load_lines(seen, 23 * LINE);
    for (size_t at = 0; at < 23 * LINE; at++) stored[at] = 9;
    // The tool looks at a request.
    struct drm_i915_gem_busy busy = {.handle = handle};
    request("GEM_BUSY", DRM_IOCTL_I915_GEM_BUSY, &busy);
    // Lines that are flushed are no mistake, nor are those that hold the same bytes, or are never loaded.
    flush_lines(seen, 20 * LINE);
    if (!wrong) flush_lines(seen + 20 * LINE, 3 * LINE);
    load_lines(seen, 23 * LINE);
    load_lines(seen + 100 * LINE, 8 * LINE);
    return count_old(seen, 23, 0x09090909);
}
