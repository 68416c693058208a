// The CPU rewrites a surface state for the second dispatch, and does not flush it. The binding table in the next line stays as it is.
#include "pipeline.h"

enum { STATE = 1 << 8, TABLE = 1 << 9, DESCRIPTOR = 1 << 10 };

int main(int count, char **words) {
    start(count, words);
    const uint32_t handles[] = {create(SIZE), create(SIZE), create_shared(4096)};
    char *states = map(handles[0], SIZE, I915_MMAP_OFFSET_WB);
    struct commands batch = {.words = map_shared(handles[2], 4096)};
    state_base(&batch, 2, FIRST_ADDRESS);
    // INTERFACE_DESCRIPTOR_DATA: the binding table and the number of its entries, of which a driver may declare one too many.
    const uint32_t descriptor[8] = {[4] = TABLE | 2};
    if (generation() == 125) {
        // COMPUTE_WALKER of one group, with the descriptor in it.
        uint32_t walker[39] = {0x72080025, [7] = 1, 1, 1};
        memcpy(walker + 18, descriptor, sizeof descriptor);
        emit(&batch, walker, 39);
    } else {
        // MEDIA_INTERFACE_DESCRIPTOR_LOAD, and GPGPU_WALKER of one group.
        EMIT(&batch, 0x70020002, 0, sizeof descriptor, DESCRIPTOR);
        EMIT(&batch, 0x7105000d, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0);
    }
    const uint32_t bytes = finish(&batch);
    image_state((uint32_t *)(states + STATE), 2, 2 * FIRST_ADDRESS, 16, 16, LINE);
    memcpy(states + TABLE, (uint32_t[]){STATE}, 4);
    memcpy(states + DESCRIPTOR, descriptor, sizeof descriptor);
    flush_lines(states, SIZE);
    run(I915_EXEC_RENDER, handles, 3, 1, bytes);
    image_state((uint32_t *)(states + STATE), 2, 2 * FIRST_ADDRESS, 16, 32, LINE); /* wrong */
    if (!wrong) flush_lines(states + STATE, LINE);
    run(I915_EXEC_RENDER, handles, 3, 1, bytes);
    printf("old: 0\n");
    return 0;
}
