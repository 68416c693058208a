// A program that draws into the framebuffer that is shown, and closes the device. The right one creates the object for the display, which makes it
// write-combining, and needs no flush.
#include "screen.h"

int main(int count, char **words) {
    start(count, words);
    const struct screen drawn = screen(wrong ? WB : WC, wrong ? 0 : SCANOUT);
    memset(drawn.pixels, 0, drawn.size);
    if (wrong) flush_lines(drawn.pixels, drawn.size); /* needed, in the mode wrong */
    show(drawn);
    memset(drawn.pixels + 8 * LINE, 7, 6 * LINE); /* wrong */
    _mm_sfence();
    close(fd);
    printf("old: 0\n");
    return 0;
}
