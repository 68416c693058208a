// A batch buffer, changed without a flush. The render engine reads it; the kernel's command parser does not.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create_shared(4096), create(4096)};
    char *target = map_shared(handles[0], 4096);
    uint32_t *batch = map(handles[1], 4096, I915_MMAP_OFFSET_WB);
    uint32_t bytes = store_command(batch, FIRST_ADDRESS, 1);
    bytes += end_command(batch + bytes / 4, bytes);
    flush_lines(batch, LINE);
    run(I915_EXEC_RENDER, handles, 2, 0, bytes);
    ((volatile uint32_t *)batch)[3] = 2; /* wrong */
    if (!wrong) flush_lines(batch, LINE);
    run(I915_EXEC_RENDER, handles, 2, 0, bytes);
    char expected[LINE] = {2};
    return compare(expected, target, LINE);
}
