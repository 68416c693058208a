// The program moves a mapping and changes its protection, stores through it, and leaves the flush out. The pages at the new addresses are not
// watched, so that the store has no call stack; it must succeed.
#define _GNU_SOURCE
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    void *place = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *moved = mremap(copy.source, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (place == MAP_FAILED || moved != place) return 1;
    memset(moved + 8 * LINE, 1, LINE);
    flush_lines(moved + 8 * LINE, LINE);
    if (mprotect(moved, SIZE, PROT_READ) || mprotect(moved, SIZE, PROT_READ | PROT_WRITE)) return 1;
    memset(moved + 16 * LINE, 2, 2 * LINE);
    if (!wrong) flush_lines(moved + 16 * LINE, 2 * LINE);
    copy_run(&copy); /* wrong */
    return compare(moved, copy.destination, SIZE);
}
