// A draw by indices. One line of the indices was not flushed; neither was a vertex that the last ones name.
#include "pipeline.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create(SIZE), create(SIZE), create_shared(4096)};
    uint16_t *indices = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    char *vertices = map(handles[1], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[2], 4096)};
    vertex_state(&batch, 2, 2 * FIRST_ADDRESS, SIZE, LINE);
    // 3DSTATE_INDEX_BUFFER of 16-bit indices: lines 0 to 8, of which the draw reads 3 to 5.
    EMIT(&batch, 0x780a0003, 1 << 8 | 2 << 1, FIRST_ADDRESS, 0, 9 * LINE);
    draw(&batch, 1, 96, 3 * LINE / 2);
    const uint32_t bytes = finish(&batch);
    for (int index = 0; index < SIZE / 2; index++) indices[index] = 100 + index % 6;
    flush_lines(indices, SIZE);
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    indices[4 * LINE / 2 + 7] = 30; /* wrong */
    if (!wrong) flush_lines((char *)indices + 4 * LINE, LINE);
    memset(vertices + 103 * LINE, 7, LINE); /* wrong */
    if (!wrong) flush_lines(vertices + 103 * LINE, LINE);
    run(I915_EXEC_RENDER, handles, 3, -1, bytes);
    printf("old: 0\n");
    return 0;
}
