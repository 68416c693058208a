// The kernel writes the address of an object into the batch, and flushes that; the object's bytes are the program's to flush.
#include "common.h"

static void submit(const struct copy *copy) {
    struct drm_i915_gem_relocation_entry entries[] = {
        {.target_handle = copy->handles[1], .offset = 16, .read_domains = I915_GEM_DOMAIN_RENDER,
         .write_domain = I915_GEM_DOMAIN_RENDER, .presumed_offset = -1},
        {.target_handle = copy->handles[0], .offset = 32, .read_domains = I915_GEM_DOMAIN_RENDER, .presumed_offset = -1},
    };
    struct drm_i915_gem_exec_object2 objects[] = {
        {.handle = copy->handles[0]}, {.handle = copy->handles[1]},
        {.handle = copy->handles[2], .relocs_ptr = (uintptr_t)entries, .relocation_count = 2}};
    struct drm_i915_gem_execbuffer2 args = {
        .buffers_ptr = (uintptr_t)objects, .buffer_count = 3, .batch_len = copy->bytes, .flags = I915_EXEC_BLT};
    request("GEM_EXECBUFFER2", DRM_IOCTL_I915_GEM_EXECBUFFER2, &args);
    struct drm_i915_gem_wait wait = {.bo_handle = copy->handles[2], .timeout_ns = -1};
    request("GEM_WAIT", DRM_IOCTL_I915_GEM_WAIT, &wait);
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = {.handles = {create(SIZE), create_shared(SIZE), create_shared(4096)}};
    copy.source = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    copy.destination = map_shared(copy.handles[1], SIZE);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    submit(&copy);
    memset(copy.source + 5 * LINE, 7, LINE); /* wrong */
    if (!wrong) flush_lines(copy.source + 5 * LINE, LINE);
    submit(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
