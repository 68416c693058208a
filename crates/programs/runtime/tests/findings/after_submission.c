// A store before a submission is flushed; another, to the same page, between two submissions is not.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    memset(copy.source, 7, LINE);
    flush_lines(copy.source, LINE);
    copy_run(&copy);
    memset(copy.source + 9 * LINE, 8, LINE); /* wrong */
    if (!wrong) flush_lines(copy.source + 9 * LINE, LINE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
