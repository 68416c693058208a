// An object of the list is dirty, and the batch does not read it.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create_shared(4096), create(SIZE), create_shared(4096)};
    char *target = map_shared(handles[0], 4096);
    char *other = map(handles[1], SIZE, I915_MMAP_OFFSET_WB);
    uint32_t *batch = map_shared(handles[2], 4096);
    const uint32_t commands[] = {0x20 << 23 | 2, FIRST_ADDRESS, 0, 2, 0x05000000, 0};
    memcpy(batch, commands, sizeof commands);
    run(I915_EXEC_RENDER, handles, 3, 0, sizeof commands);
    memset(other + 4096, 7, 2 * LINE); /* wrong */
    if (!wrong) flush_lines(other + 4096, 2 * LINE);
    run(I915_EXEC_RENDER, handles, 3, 0, sizeof commands);
    char expected[LINE] = {2};
    return compare(expected, target, LINE);
}
