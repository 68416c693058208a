// A program that draws into the framebuffer that is shown, and closes the device. The right one tells the kernel before: SET_DOMAIN and DIRTYFB
// let the kernel flush.
#include "screen.h"

int main(int count, char **words) {
    start(count, words);
    const struct screen screen = show_first();
    char *pixels = map(screen.handle, screen.size, I915_MMAP_OFFSET_WB);
    begin(screen);
    memset(pixels + 8 * LINE, 7, 6 * LINE); /* wrong */
    if (!wrong) tell(screen);
    close(fd);
    printf("old: 0\n");
    return 0;
}
