// A batch buffer, changed without a flush. The render engine reads it; the kernel's command parser does not.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create(4096), create(4096)};
    char *target = map_shared(handles[0], 4096);
    uint32_t *batch = map(handles[1], 4096, I915_MMAP_OFFSET_WB);
    // MI_STORE_DATA_IMM to object 0, MI_BATCH_BUFFER_END.
    const uint32_t commands[] = {0x20 << 23 | 2, FIRST_ADDRESS, 0, 1, 0x05000000, 0};
    memcpy(batch, commands, sizeof commands);
    flush_lines(batch, LINE);
    run(I915_EXEC_RENDER, handles, 2, 0, sizeof commands);
    ((volatile uint32_t *)batch)[3] = 2; /* wrong */
    if (!wrong) flush_lines(batch, LINE);
    run(I915_EXEC_RENDER, handles, 2, 0, sizeof commands);
    char expected[LINE] = {2};
    return compare(expected, target, LINE);
}
