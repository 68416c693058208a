// A loop that flushes all lines but one before the GPU reads them.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < SIZE; at++) copy.source[at] = 7; /* wrong */
    flush_lines(copy.source, 37 * LINE);
    if (!wrong) flush_lines(copy.source + 37 * LINE, LINE);
    flush_lines(copy.source + 38 * LINE, SIZE - 38 * LINE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
