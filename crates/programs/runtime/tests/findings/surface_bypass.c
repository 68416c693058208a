// An image that the GPU shares with the CPU's cache, by its level or by an LLC. The surface state names entry 16 of the MOCS table, which on Jasper Lake
// bypasses the LLC, instead of entry 2.
#include "pipeline.h"

enum { STATE = 1 << 8, TABLE = 1 << 9, ROWS = 16 };

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create_shared(SIZE), create(SIZE), create_shared(4096)};
    // Where no LLC is shared; newer platforms refuse it, and snoop every object in system memory.
    struct drm_i915_gem_caching caching = {.handle = handles[1], .caching = I915_CACHING_CACHED};
    ioctl(fd, DRM_IOCTL_I915_GEM_SET_CACHING, &caching);
    char *states = map_shared(handles[0], SIZE);
    char *image = map(handles[1], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[2], 4096)};
    state_base(&batch, 2, FIRST_ADDRESS);
    pixel_shader(&batch, 1, TABLE);
    draw(&batch, 0, 3, 0);
    const uint32_t bytes = finish(&batch);
    image_state((uint32_t *)(states + STATE), wrong ? 16 : 2, 2 * FIRST_ADDRESS, 16, ROWS, LINE);
    memcpy(states + TABLE, (uint32_t[]){STATE}, 4);
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    memset(image + 9 * LINE, 7, 2 * LINE); /* wrong */
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    printf("old: 0\n");
    return 0;
}
