// The CPU resets the availability of queries, and does not flush before the GPU ends them, as before Mesa's 3788cd32391.
#include "common.h"

enum { QUERIES = 4 };

int main(int count, char **words) {
    start(count, words);
    uint32_t handles[2] = {create(SIZE), create_shared(4096)};
    char *queries = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    uint32_t *batch = map_shared(handles[1], 4096), bytes = 0;
    for (uint32_t query = 0; query < QUERIES; query++) bytes += store_command(batch + bytes / 4, FIRST_ADDRESS + query * LINE, 1);
    bytes += end_command(batch + bytes / 4, bytes);
    run(I915_EXEC_RENDER, handles, 2, 0, bytes);
    // The availability of the last round.
    flush_lines(queries, QUERIES * LINE);
    for (uint32_t query = 0; query < QUERIES; query++) *(volatile uint32_t *)(queries + query * LINE) = 0; /* wrong */
    if (!wrong) flush_lines(queries, QUERIES * LINE);
    // The kernel checks no batch of the render engine, and so reads none.
    for (uint32_t query = 0; query < QUERIES; query++) batch[query * 4 + 3] = 2;
    run(I915_EXEC_RENDER, handles, 2, 0, bytes);
    // The CPU's write-back, or an invalidate.
    flush_lines(queries, QUERIES * LINE);
    return count_old(queries, QUERIES, 2);
}
