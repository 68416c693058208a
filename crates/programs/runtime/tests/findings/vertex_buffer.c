// A draw of vertices, some of which the CPU stored without a flush. The fetcher reads 12 bytes of the 64 of each.
#include "pipeline.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create(SIZE), create_shared(4096)};
    char *vertices = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[1], 4096)};
    vertex_state(&batch, 2, FIRST_ADDRESS, SIZE, LINE);
    // 30 triangles from vertex 20 on; a vertex is left.
    draw(&batch, 0, 91, 20);
    const uint32_t bytes = finish(&batch);
    for (int vertex = 0; vertex < SIZE / LINE; vertex++) {
        float place[] = {vertex, 1, 2};
        memcpy(vertices + vertex * LINE, place, sizeof place);
    }
    flush_lines(vertices, SIZE);
    run(I915_EXEC_RENDER, handles, 2, -1, bytes);
    for (int vertex = 18; vertex < 22; vertex++) memset(vertices + vertex * LINE + 8, 7, 8); /* wrong */
    // Behind the first 12 bytes, and before the first vertex, nothing is read.
    flush_lines(vertices + 18 * LINE, 2 * LINE);
    if (!wrong) flush_lines(vertices + 20 * LINE, 2 * LINE);
    run(I915_EXEC_RENDER, handles, 2, -1, bytes);
    printf("old: 0\n");
    return 0;
}
