// A screen that is drawn by the CPU through a WB mapping, and shown by a flip. The display engine reads memory on every platform with
// integrated graphics, also where CPU and GPU share a cache.
#include "screen.h"

static void show(uint32_t crtc, uint32_t framebuffer) {
    struct drm_mode_crtc_page_flip args = {.crtc_id = crtc, .fb_id = framebuffer};
    request("MODE_PAGE_FLIP", DRM_IOCTL_MODE_PAGE_FLIP, &args);
}

int main(int count, char **words) {
    start(count, words);
    const struct screen screen = show_first();
    char *pixels = map(screen.handle, screen.size, I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < 6 * LINE; at += 16) {
        __m128i *to = (__m128i *)(pixels + 8 * LINE + at);
        if (wrong)
            _mm_store_si128(to, _mm_set1_epi8(7)); /* wrong */
        else
            _mm_stream_si128(to, _mm_set1_epi8(7));
    }
    _mm_sfence();
    show(screen.crtc, screen.framebuffer);
    printf("old: 0\n");
    return 0;
}
