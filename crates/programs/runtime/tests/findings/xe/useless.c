// Flushes between CPU and GPU, which xe never needs: of an object that the GPU snoops, before it reads and after it wrote, and of an object that is
// mapped write-combining.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    const struct buffer from = buffer(vm, WB), to = buffer(vm, WB), combined = buffer(vm, WC);
    memset(from.mapped, 7, SIZE);
    memset(to.mapped, 6, SIZE);
    memset(combined.mapped, 5, SIZE);
    if (wrong) {
        for (size_t at = 0; at < SIZE; at += LINE) _mm_clflush(from.mapped + at); /* useless */
        for (size_t at = 0; at < SIZE; at += LINE) _mm_clflush(combined.mapped + at); /* useless */
    }
    _mm_mfence();
    copy(vm, from, to);
    if (wrong)
        for (size_t at = 0; at < SIZE; at += LINE) _mm_clflush(to.mapped + at); /* useless */
    _mm_mfence();
    return compare(from.mapped, to.mapped, SIZE);
}
