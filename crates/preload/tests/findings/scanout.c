// A screen that is drawn by the CPU through a WB mapping, and shown by a flip. The display engine reads memory on every platform with
// integrated graphics, also where CPU and GPU share a cache.
#include "common.h"

#include <drm_mode.h>

static void show(uint32_t crtc, uint32_t framebuffer) {
    struct drm_mode_crtc_page_flip args = {.crtc_id = crtc, .fb_id = framebuffer};
    request("MODE_PAGE_FLIP", DRM_IOCTL_MODE_PAGE_FLIP, &args);
}

int main(int count, char **words) {
    start(count, words);
    uint32_t crtcs[8], connectors[8];
    struct drm_mode_card_res resources = {0};
    request("MODE_GETRESOURCES", DRM_IOCTL_MODE_GETRESOURCES, &resources);
    resources.count_fbs = resources.count_encoders = 0;
    if (resources.count_crtcs > 8) resources.count_crtcs = 8;
    if (resources.count_connectors > 8) resources.count_connectors = 8;
    resources.crtc_id_ptr = (uintptr_t)crtcs;
    resources.connector_id_ptr = (uintptr_t)connectors;
    request("MODE_GETRESOURCES", DRM_IOCTL_MODE_GETRESOURCES, &resources);
    // The first connector with a mode.
    struct drm_mode_modeinfo modes[64];
    struct drm_mode_get_connector connector;
    uint32_t n = 0;
    do {
        if (n == resources.count_connectors) return 77;
        connector = (struct drm_mode_get_connector){.connector_id = connectors[n++]};
        request("MODE_GETCONNECTOR", DRM_IOCTL_MODE_GETCONNECTOR, &connector);
        if (connector.count_modes > 64) connector.count_modes = 64;
        connector.count_encoders = connector.count_props = 0;
        connector.modes_ptr = (uintptr_t)modes;
        request("MODE_GETCONNECTOR", DRM_IOCTL_MODE_GETCONNECTOR, &connector);
    } while (connector.count_modes == 0);
    const uint32_t width = modes[0].hdisplay, height = modes[0].vdisplay, pitch = (4 * width + 63) / 64 * 64;
    const size_t size = ((size_t)pitch * height + 4095) / 4096 * 4096;
    const uint32_t handle = create(size);
    struct drm_mode_fb_cmd2 framebuffer = {
        .width = width, .height = height, .pixel_format = 0x34325258, .handles = {handle}, .pitches = {pitch}};
    request("MODE_ADDFB2", DRM_IOCTL_MODE_ADDFB2, &framebuffer);
    struct drm_mode_crtc crtc = {.crtc_id = crtcs[0], .fb_id = framebuffer.fb_id, .mode_valid = 1, .mode = modes[0],
                                 .count_connectors = 1, .set_connectors_ptr = (uintptr_t)&connector.connector_id};
    request("MODE_SETCRTC", DRM_IOCTL_MODE_SETCRTC, &crtc);
    char *pixels = map(handle, size, I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < 6 * LINE; at += 16) {
        __m128i *to = (__m128i *)(pixels + 8 * LINE + at);
        if (wrong)
            _mm_store_si128(to, _mm_set1_epi8(7)); /* wrong */
        else
            _mm_stream_si128(to, _mm_set1_epi8(7));
    }
    _mm_sfence();
    show(crtcs[0], framebuffer.fb_id);
    printf("old: 0\n");
    return 0;
}
