// A program that draws into the framebuffer that is shown, waits, and then tells the kernel. The right one waits for one vertical blank after each
// of its stores: it draws while a frame is shown.
#include "screen.h"

static void wait_for(unsigned blanks) {
    union drm_wait_vblank args = {.request = {.type = _DRM_VBLANK_RELATIVE, .sequence = blanks}};
    request("WAIT_VBLANK", DRM_IOCTL_WAIT_VBLANK, &args);
}

int main(int count, char **words) {
    start(count, words);
    const struct screen screen = show_first();
    char *pixels = map(screen.handle, screen.size, I915_MMAP_OFFSET_WB);
    begin(screen);
    memset(pixels + 8 * LINE, 7, 6 * LINE); /* wrong */
    wait_for(1);
    if (!wrong) memset(pixels + 8 * LINE, 8, 6 * LINE);
    wait_for(1);
    tell(screen);
    printf("old: 0\n");
    return 0;
}
