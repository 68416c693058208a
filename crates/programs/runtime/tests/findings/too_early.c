// A flush before the store.
#include "common.h"

static void store(char *at) {
    memset(at, 7, 3 * LINE); /* wrong */
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    if (!wrong) store(copy.source + 20 * LINE);
    flush_lines(copy.source + 20 * LINE, 3 * LINE); /* useless */
    if (wrong) store(copy.source + 20 * LINE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
