// Non-temporal stores need a fence, and no flush.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < 4 * LINE; at += 16) {
        __m128i *to = (__m128i *)(copy.source + 30 * LINE + at);
        if (wrong)
            _mm_store_si128(to, _mm_set1_epi8(7)); /* wrong */
        else
            _mm_stream_si128(to, _mm_set1_epi8(7));
    }
    _mm_sfence();
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
