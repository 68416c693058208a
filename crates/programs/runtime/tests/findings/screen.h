// A framebuffer that a screen shows.
#include "common.h"

#include <drm_mode.h>

struct screen {
    uint32_t crtc, framebuffer, handle;
    size_t size;
};

// Shows a new object on the first connector with a mode.
static inline struct screen show_first(void) {
    uint32_t crtcs[8], connectors[8];
    struct drm_mode_card_res resources = {0};
    request("MODE_GETRESOURCES", DRM_IOCTL_MODE_GETRESOURCES, &resources);
    resources.count_fbs = resources.count_encoders = 0;
    if (resources.count_crtcs > 8) resources.count_crtcs = 8;
    if (resources.count_connectors > 8) resources.count_connectors = 8;
    resources.crtc_id_ptr = (uintptr_t)crtcs;
    resources.connector_id_ptr = (uintptr_t)connectors;
    request("MODE_GETRESOURCES", DRM_IOCTL_MODE_GETRESOURCES, &resources);
    struct drm_mode_modeinfo modes[64];
    struct drm_mode_get_connector connector;
    uint32_t n = 0;
    do {
        if (n == resources.count_connectors) {
            printf("refused: no screen\n");
            exit(77);
        }
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
    return (struct screen){.crtc = crtcs[0], .framebuffer = framebuffer.fb_id, .handle = handle, .size = size};
}

// Begins to draw with the CPU.
static inline void begin(struct screen screen) {
    struct drm_i915_gem_set_domain args = {
        .handle = screen.handle, .read_domains = I915_GEM_DOMAIN_CPU, .write_domain = I915_GEM_DOMAIN_CPU};
    request("SET_DOMAIN", DRM_IOCTL_I915_GEM_SET_DOMAIN, &args);
}

// Tells the kernel that the program has stored to a framebuffer.
static inline void tell(struct screen screen) {
    struct drm_mode_fb_dirty_cmd args = {.fb_id = screen.framebuffer};
    request("MODE_DIRTYFB", DRM_IOCTL_MODE_DIRTYFB, &args);
}
