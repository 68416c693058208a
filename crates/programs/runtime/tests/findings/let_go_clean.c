// The program stores, flushes, and unmaps; then a system call stores to the same page. The place of the first store is not that of the second.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    memset(copy.source + 5 * LINE, 1, LINE);
    flush_lines(copy.source + 5 * LINE, LINE);
    if (munmap(copy.source, SIZE)) return 1;
    copy.source = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    int ends[2];
    char bytes[2 * LINE];
    memset(bytes, 2, sizeof bytes);
    if (pipe(ends) || write(ends[1], bytes, sizeof bytes) != sizeof bytes) return 1;
    if (read(ends[0], copy.source + 9 * LINE, sizeof bytes) != sizeof bytes) return 1;
    if (!wrong) flush_lines(copy.source + 9 * LINE, sizeof bytes);
    copy_run(&copy); /* wrong */
    return compare(copy.source, copy.destination, SIZE);
}
