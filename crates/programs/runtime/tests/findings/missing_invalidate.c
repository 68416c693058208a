// The GPU writes an object under lines that the CPU's cache has, and the CPU reads some of them without an invalidate.
#include "common.h"

// With -DSEEN=I915_MMAP_OFFSET_WC another mapping shows the lines; with -DLOADED=copy.destination the program loads through the first mapping, and
// has the other one beside it.
#ifndef SEEN
#define SEEN I915_MMAP_OFFSET_WB
#endif
#ifndef LOADED
#define LOADED other
#endif

static long sum;

// Loads from lines, by a function of its own.
__attribute__((noinline)) static void load_lines(const char *lines, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 8) sum += *(const volatile long *)(lines + at); /* wrong */
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    char *other = map(copy.handles[1], SIZE, SEEN), *seen = LOADED;
    (void)other;
    memset(copy.source, 9, SIZE);
    flush_lines(copy.source, SIZE);
    copy_run(&copy);
    // Bytes that the GPU did not change are no mistake, nor are lines that are flushed, or never loaded.
    flush_lines(seen, 20 * LINE);
    if (!wrong) flush_lines(seen + 20 * LINE, 3 * LINE);
    load_lines(seen, 23 * LINE);
    // Whole lines that are stored to are not read.
    memset(seen + 100 * LINE, 1, 8 * LINE);
    flush_lines(seen + 100 * LINE, 8 * LINE);
    load_lines(seen + 100 * LINE, 8 * LINE);
    return count_old(seen, 23, 0x09090909);
}
