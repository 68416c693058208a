// Stores before an object's first submission. The kernel flushes an object's zeroes when it takes the pages, which a mapping's first access
// does: stores after that are the program's to flush, before the first submission too.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = {.handles = {create(SIZE), create_shared(SIZE), create_shared(4096)}};
    copy.source = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    copy.destination = map_shared(copy.handles[1], SIZE);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    memset(copy.source, 7, SIZE); /* wrong */
    if (!wrong) flush_lines(copy.source, SIZE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
