// A write-back object that the CPU draws and the display shows. The display reads memory, and no request of xe flushes: the program must.
#include "screen.h"

int main(int count, char **words) {
    start(count, words);
    const struct screen drawn = screen(WB, 0);
    memset(drawn.pixels, 7, drawn.size); /* wrong */
    flush_lines(drawn.pixels, 8 * LINE); /* needed */
    if (!wrong) flush_lines(drawn.pixels + 8 * LINE, 6 * LINE); /* needed, in the mode right */
    flush_lines(drawn.pixels + 14 * LINE, drawn.size - 14 * LINE); /* needed */
    show(drawn);
    printf("old: 0\n");
    return 0;
}
