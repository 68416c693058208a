// A screen of a device of xe.
#include "common.h"

#include <drm_mode.h>

struct screen {
    uint32_t crtc, connector, framebuffer, handle;
    struct drm_mode_modeinfo mode;
    size_t size;
    char *pixels;
};

// Makes a framebuffer of an object, for the first connector with a mode. Nothing is shown yet.
static inline struct screen unmapped_screen(uint16_t caching, uint32_t flags) {
    uint32_t crtcs[8], connectors[8];
    struct drm_mode_card_res resources = {
        .count_crtcs = 8, .count_connectors = 8, .crtc_id_ptr = (uintptr_t)crtcs, .connector_id_ptr = (uintptr_t)connectors};
    request("MODE_GETRESOURCES", DRM_IOCTL_MODE_GETRESOURCES, &resources);
    struct drm_mode_modeinfo modes[64];
    struct drm_mode_get_connector connector;
    uint32_t n = 0;
    do {
        if (n == resources.count_connectors) {
            printf("no screen\n");
            exit(1);
        }
        connector = (struct drm_mode_get_connector){.connector_id = connectors[n++], .count_modes = 64, .modes_ptr = (uintptr_t)modes};
        request("MODE_GETCONNECTOR", DRM_IOCTL_MODE_GETCONNECTOR, &connector);
    } while (connector.count_modes == 0);
    const uint32_t width = modes[0].hdisplay, height = modes[0].vdisplay, pitch = (4 * width + 63) / 64 * 64;
    const size_t size = ((size_t)pitch * height + 4095) / 4096 * 4096;
    struct screen new = {.crtc = crtcs[0], .connector = connector.connector_id, .mode = modes[0], .size = size};
    new.handle = create(size, caching, flags);
    struct drm_mode_fb_cmd2 framebuffer = {
        .width = width, .height = height, .pixel_format = 0x34325258, .handles = {new.handle}, .pitches = {pitch}};
    request("MODE_ADDFB2", DRM_IOCTL_MODE_ADDFB2, &framebuffer);
    new.framebuffer = framebuffer.fb_id;
    return new;
}

// The same, and maps the object.
static inline struct screen screen(uint16_t caching, uint32_t flags) {
    struct screen new = unmapped_screen(caching, flags);
    new.pixels = map(new.handle, new.size);
    return new;
}

// Shows a framebuffer.
static inline void show(struct screen screen) {
    struct drm_mode_crtc crtc = {.crtc_id = screen.crtc, .fb_id = screen.framebuffer, .mode_valid = 1, .mode = screen.mode,
                                 .count_connectors = 1, .set_connectors_ptr = (uintptr_t)&screen.connector};
    request("MODE_SETCRTC", DRM_IOCTL_MODE_SETCRTC, &crtc);
}
