// The GPU snoops the memory of a userptr object: a flush of it does nothing for the GPU. Other memory of the program is in no object, also memory of an
// object that is closed.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    char *memory = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    struct drm_i915_gem_userptr of_user = {.user_ptr = (uintptr_t)memory, .user_size = SIZE};
    struct drm_i915_gem_userptr closed = {.user_ptr = (uintptr_t)memory + SIZE, .user_size = SIZE};
    request("GEM_USERPTR", DRM_IOCTL_I915_GEM_USERPTR, &of_user);
    request("GEM_USERPTR", DRM_IOCTL_I915_GEM_USERPTR, &closed);
    struct drm_gem_close close = {.handle = closed.handle};
    request("GEM_CLOSE", DRM_IOCTL_GEM_CLOSE, &close);

    struct copy copy = {.handles = {of_user.handle, create_shared(SIZE), create_shared(4096)}};
    copy.destination = map_shared(copy.handles[1], SIZE);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    memset(memory, 7, SIZE);
    if (wrong) _mm_clflush(memory + 5 * LINE); /* useless, but for a GPU that can bypass the LLC */
    _mm_clflush(memory + SIZE + 5 * LINE);
    copy_run(&copy);
    return compare(memory, copy.destination, SIZE);
}
