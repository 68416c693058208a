// A write-back object that is bound, and then becomes a framebuffer: xe refuses it, because the display would need the object's mappings to change.
#include "common.h"

#include <drm_mode.h>

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create(), handle = create(SIZE, WB, 0);
    struct drm_mode_fb_cmd2 framebuffer = {.width = 64, .height = 64, .pixel_format = 0x34325258, .handles = {handle}, .pitches = {256}};
    if (!wrong) request("MODE_ADDFB2", DRM_IOCTL_MODE_ADDFB2, &framebuffer);
    printf("bind: %d\n", bind(vm, handle, SIZE, 0x1000000, SNOOPED));
    if (wrong) {
        const int refused = ioctl(fd, DRM_IOCTL_MODE_ADDFB2, &framebuffer); /* wrong */
        if (refused && errno == EREMOTE) return 77;
    }
    return 0;
}
