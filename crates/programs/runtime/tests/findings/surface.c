// A draw has an image of 16 lines whose rows 4 to 6 the CPU stored without a flush. Its pixel shader may read them.
#include "pipeline.h"

enum { STATE = 1 << 8, TABLE = 1 << 9, ROWS = 16 };

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create_shared(SIZE), create(SIZE), create_shared(4096)};
    char *states = map_shared(handles[0], SIZE);
    char *image = map(handles[1], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[2], 4096)};
    state_base(&batch, 2, FIRST_ADDRESS);
    pixel_shader(&batch, 1, TABLE);
    draw(&batch, 0, 3, 0);
    const uint32_t bytes = finish(&batch);
    image_state((uint32_t *)(states + STATE), 2, 2 * FIRST_ADDRESS, 16, ROWS, LINE);
    memcpy(states + TABLE, (uint32_t[]){STATE}, 4);
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    memset(image + 4 * LINE, 7, 3 * LINE); /* wrong */
    if (!wrong) flush_lines(image + 4 * LINE, 3 * LINE);
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    printf("old: 0\n");
    return 0;
}
