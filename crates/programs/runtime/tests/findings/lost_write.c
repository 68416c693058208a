// The GPU writes memory under dirty lines of the CPU.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = {.handles = {create(SIZE), create(SIZE), create_shared(4096)}};
    copy.source = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    char *under = copy.destination = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    copy_run(&copy);
    memset(copy.source, 9, SIZE);
    flush_lines(copy.source, SIZE);
    memset(under + 12 * LINE, 1, 4 * LINE); /* wrong */
    if (!wrong) flush_lines(under + 12 * LINE, 4 * LINE);
    copy_run(&copy);
    // The CPU's write-back, or an invalidate.
    flush_lines(under, SIZE);
    return compare(copy.source, copy.destination, SIZE);
}
