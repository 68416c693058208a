// A batch copies an object, and reads a dword of the copy by its command streamer: without MI_FLUSH_DW in between it may read what was there before.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    const struct buffer from = buffer(vm, WB), to = buffer(vm, WB), batch = buffer(vm, WB);
    memset(from.mapped, 7, SIZE);
    // XY_FAST_COPY_BLT; MI_FLUSH_DW, or as many MI_NOOP; MI_COPY_MEM_MEM from the third line of the copy to the batch.
    const uint32_t flush = wrong ? 0 : 0x26u << 23 | 3, out = batch.address + 4096, third = to.address + 2 * LINE;
    const uint32_t commands[] = {2u << 29 | 0x42u << 22 | 8, 3u << 24 | PITCH, 0, SIZE / PITCH << 16 | PITCH / 4, to.address, to.address >> 32,
                                 0, PITCH, from.address, from.address >> 32, flush, 0, 0, 0, 0,
                                 0x2eu << 23 | 3, out, 0, third, 0, 0x05000000, 0};
    memcpy(batch.mapped, commands, sizeof commands);
    submit(vm, batch); /* wrong */
    printf("old: %d\n", memcmp(from.mapped, batch.mapped + 4096, 4) != 0);
    return 0;
}
