// A loop that flushes the same line each time, as Mesa's 44e93b4c6fd mended it.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    memset(copy.source + 16 * LINE, 5, 8 * LINE); /* wrong */
    for (const char *at = copy.source + 16 * LINE, *line = at; line < at + 8 * LINE; line += LINE)
        flush_lines(wrong ? at : line, LINE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
