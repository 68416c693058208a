// The GPU writes timestamps into a buffer that the CPU cleared and the GPU does not snoop, as before Mesa's f783f581a86 on Meteor Lake.
#include "common.h"

enum { STAMPS = 3 };

#ifndef I915_GEM_CREATE_EXT_SET_PAT
#define I915_GEM_CREATE_EXT_SET_PAT 2
struct drm_i915_gem_create_ext_set_pat {
    struct i915_user_extension base;
    uint32_t pat_index, rsvd;
};
#endif

// Creates an object that the GPU snoops, or one that it does not.
static uint32_t create_buffer(int snooped) {
    struct drm_i915_gem_create_ext_set_pat pat = {.base.name = I915_GEM_CREATE_EXT_SET_PAT, .pat_index = 0};
    struct drm_i915_gem_create_ext args = {.size = SIZE, .extensions = (uintptr_t)&pat};
    if (!snooped && !ioctl(fd, DRM_IOCTL_I915_GEM_CREATE_EXT, &args)) return args.handle;
    // Before Meteor Lake, no object has an entry of the PAT of its own, and none is snooped.
    uint32_t handle = create(SIZE);
    struct drm_i915_gem_caching caching = {.handle = handle, .caching = I915_CACHING_CACHED};
    if (snooped) ioctl(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching);
    return handle;
}

int main(int count, char **words) {
    start(count, words);
    uint32_t handles[2] = {create_buffer(!wrong), create_shared(4096)};
    char *stamps = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    uint32_t *batch = map_shared(handles[1], 4096), bytes = 0;
    for (int stamp = 0; stamp < STAMPS; stamp++) bytes += store_command(batch + bytes / 4, FIRST_ADDRESS + stamp * LINE, 77);
    bytes += end_command(batch + bytes / 4, bytes);
    // The zeroes that the kernel fills pages with are its own to flush.
    run(I915_EXEC_BLT, handles, 2, 0, bytes);
    memset(stamps, 0xff, STAMPS * LINE); /* wrong */
    run(I915_EXEC_BLT, handles, 2, 0, bytes);
    return count_old(stamps, STAMPS, 77);
}
