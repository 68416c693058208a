// An object that the CPU never maps, that the GPU writes, and that the display shows. By PAT index 0 the writes may stay in the cache that CPU and
// GPU of Tiger Lake share, which the display does not look up; by index 1 they are in memory. Elsewhere both are.
#include "screen.h"

int main(int count, char **words) {
    start(count, words);
    const struct screen drawn = unmapped_screen(WC, SCANOUT);
    const uint32_t vm = vm_create();
    const struct buffer from = buffer(vm, WB), to = {.address = 0x40000000, .handle = drawn.handle};
    memset(from.mapped, 7, SIZE);
    if (bind(vm, to.handle, drawn.size, to.address, wrong ? 0 : 1)) return 1;
    copy(vm, from, to);
    show(drawn); /* wrong */
    printf("old: 0\n");
    return 0;
}
