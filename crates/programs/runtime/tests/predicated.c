// A draw that the GPU executes only if a predicate holds, which the software device does not know (`wrong`); the same draw without it (`right`).
#include "findings/pipeline.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create(SIZE), create_shared(4096)};
    char *vertices = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[1], 4096)};
    // MI_SET_PREDICATE: the commands after it depend on MI_PREDICATE's result.
    if (wrong) EMIT(&batch, 0x00800002);
    vertex_state(&batch, 2, FIRST_ADDRESS, SIZE, LINE);
    draw(&batch, 0, 3, 0);
    const uint32_t bytes = finish(&batch);
    memset(vertices, 1, SIZE);
    flush_lines(vertices, SIZE);
    run(I915_EXEC_RENDER, handles, 2, -1, bytes);
    return 0;
}
