// Two functions store to pages of one object, and neither flushes: two findings.
#include "common.h"

static __attribute__((noinline)) void head(char *at) {
    memset(at, 1, 2 * LINE); /* wrong: 0-1 */
}

static __attribute__((noinline)) void tail(char *at) {
    memset(at, 2, LINE); /* wrong: 129 */
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    head(copy.source);
    tail(copy.source + 129 * LINE);
    if (!wrong) flush_lines(copy.source, SIZE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
