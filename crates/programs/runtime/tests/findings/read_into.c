// read(2) to a mapping: the kernel stores through the CPU's caches. There is no store by an instruction of the program.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    int ends[2];
    char bytes[2 * LINE];
    memset(bytes, 7, sizeof bytes);
    if (pipe(ends) || write(ends[1], bytes, sizeof bytes) != sizeof bytes) return 1;
    // The end of a page and the beginning of the next one.
    if (read(ends[0], copy.source + 63 * LINE, sizeof bytes) != sizeof bytes) {
        perror("read");
        return 1;
    }
    if (!wrong) flush_lines(copy.source + 63 * LINE, sizeof bytes);
    copy_run(&copy); /* wrong */
    return compare(copy.source, copy.destination, SIZE);
}
