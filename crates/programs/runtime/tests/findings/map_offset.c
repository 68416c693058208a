// An object is mapped from its second page on, and the flush takes an offset in the mapping for one in the object, as before Mesa's 90ac06e5029.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    // A mapping of the second page and the third. The offset of the flush counts from the object's start.
    char *part = (char *)map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB) + 4096;
    size_t offset = 4096 + 10 * LINE;
    memset(part + offset - 4096, 3, 4 * LINE); /* wrong */
    flush_lines(part + offset - (wrong ? 0 : 4096), 4 * LINE); /* useless */
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
