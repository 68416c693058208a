// An object that the driver moves from local to system memory, because another one takes all of local memory: the CPU maps it write-combining, then
// write-back, and the GPU snoops it. No flush is needed. An integrated device has system memory alone.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    const int is_discrete = local_bytes() != 0;
    const struct buffer moved = buffer_of(vm, create_in(is_discrete ? SYSTEM | LOCAL : SYSTEM, SIZE, WC, 0)), to = buffer(vm, WB);
    memset(moved.mapped, 7, SIZE / 2);
    if (is_discrete) create_in(LOCAL, local_bytes(), WC, 0);
    memset(moved.mapped + SIZE / 2, 6, SIZE / 2);
    if (wrong)
        for (size_t at = 0; at < SIZE; at += LINE) _mm_clflush(moved.mapped + at); /* useless, in the mode wrong */
    _mm_mfence();
    copy(vm, moved, to);
    const int old = compare(moved.mapped, to.mapped, SIZE);
    memset(to.mapped, 5, SIZE);
    _mm_mfence();
    copy(vm, to, moved);
    return old | compare(moved.mapped, to.mapped, SIZE);
}
