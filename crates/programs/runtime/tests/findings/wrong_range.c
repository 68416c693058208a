// A flush of the lines beside those that were stored to; in the second page of an object that is mapped twice.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    char *again = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < 8 * LINE; at += 4)
        *(volatile uint32_t *)(again + 64 * LINE + at) = at + 1; /* wrong */
    flush_lines(copy.source + (wrong ? 72 : 64) * LINE, 8 * LINE); /* precautionary: a store to these lines of the page would not be seen */
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
