// The program reads lines that the GPU then writes, and flushes them on both sides of that. The first flush does nothing, unless the program may have loaded
// from their page between the write and the second flush.
#include "common.h"

static long sum;

__attribute__((noinline)) static void load_lines(const char *lines, int count) {
    for (int line = 0; line < count; line++) sum += *(const volatile long *)(lines + line * LINE);
}

int main(int count, char **words) {
    start(count, words);
    // Nothing maps the destination but write-back. The GPU writes all lines of it but the last one.
    struct copy copy = {.handles = {create(SIZE), create(SIZE), create_shared(4096)}};
    copy.source = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    char *seen = map(copy.handles[1], SIZE, I915_MMAP_OFFSET_WB);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE - 1);
    memset(copy.source, 9, SIZE);
    flush_lines(copy.source, SIZE);
    copy_run(&copy);
    flush_lines(seen, SIZE);
    load_lines(seen, SIZE / LINE);
    memset(copy.source, 8, SIZE);
    flush_lines(copy.source, SIZE);
    if (wrong) {
        for (int line = 0; line < 64; line++) _mm_clflush(seen + line * LINE); /* useless */
        for (int line = 128; line < 192; line++) _mm_clflush(seen + line * LINE); /* precautionary: the kernel gets the page, which the tool no longer sees */
        for (int line = 192; line < 255; line++) _mm_clflush(seen + line * LINE); /* precautionary: another line of the page is loaded */
    }
    copy_run(&copy);
    load_lines(seen + 255 * LINE, 1);
    if (mlock(seen + 128 * LINE, 4096)) perror("mlock");
    flush_lines(seen, SIZE);
    return count_old(seen, SIZE / LINE - 1, 0x08080808);
}
