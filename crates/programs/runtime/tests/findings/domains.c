// SET_DOMAIN for the kernel to flush: a call before stores is needed, and so is one that waits; a second one is not.
#include "common.h"

static void set_domain(uint32_t handle, uint32_t write) {
    struct drm_i915_gem_set_domain args = {.handle = handle, .read_domains = I915_GEM_DOMAIN_CPU, .write_domain = write};
    request("SET_DOMAIN", DRM_IOCTL_I915_GEM_SET_DOMAIN, &args);
}

// The calls that the kernel's flush follows from.
static void begin_write(uint32_t handle) {
#ifdef NO_FLUSH
    (void)handle;
#else
    set_domain(handle, I915_GEM_DOMAIN_CPU);
#endif
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    uint32_t source = copy.handles[0];

    // It waits for the GPU, and makes the next submission flush.
    begin_write(source);
    memset(copy.source, 7, SIZE / 2);
    if (wrong) set_domain(source, I915_GEM_DOMAIN_CPU); /* domain useless: the domain is the same */
    copy_run(&copy);

    // Nothing is to be waited for. Where the GPU looks into the CPU's cache, nothing is to be flushed.
    struct drm_i915_gem_wait wait = {.bo_handle = source, .timeout_ns = -1};
    request("GEM_WAIT", DRM_IOCTL_I915_GEM_WAIT, &wait);
    if (wrong) set_domain(source, 0); /* domain useless: the CPU only reads what it stored */
    begin_write(source); /* domain useless on tgl,jsl,mtl: right and wrong */
    memset(copy.source + SIZE / 2, 9, SIZE / 2);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
