// Lets the render engine store the address of its status page, a register that only a real GPU has, and copy it to another line; prints what the
// program then reads there. The software i915 has no such register and stores 0. The GPU of crates/vm has it, and does not copy.
#include "findings/common.h"

enum { HWS_PGA = 0x2080 };

int main(void) {
    char *words[] = {"register", "right"};
    start(2, words);
    const uint32_t handles[] = {create(4096), create(4096)};
    volatile uint32_t *target = map_shared(handles[0], 4096);
    target[0] = target[LINE / 4] = 1;
    uint32_t *batch = map_shared(handles[1], 4096);
    const uint32_t from = FIRST_ADDRESS, to = FIRST_ADDRESS + LINE;
    // MI_STORE_REGISTER_MEM, PIPE_CONTROL with a stall, MI_COPY_MEM_MEM.
    const uint32_t commands[] = {0x24 << 23 | 2, HWS_PGA, from, 0, 0x7a000004, 1 << 20, 0, 0, 0, 0, 0x2e << 23 | 3, to, 0, from, 0};
    memcpy(batch, commands, sizeof commands);
    uint32_t bytes = sizeof commands;
    bytes += end_command(batch + bytes / 4, bytes);
    run(I915_EXEC_RENDER, handles, 2, 0, bytes);
    printf("registers: %x %x\n", target[0], target[LINE / 4]);
    return 0;
}
