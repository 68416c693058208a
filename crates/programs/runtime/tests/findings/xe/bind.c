// A write-back object, bound by a PAT index by which the GPU does not snoop the CPU's caches. The kernel refuses it. One without that rule lets
// the GPU read old bytes.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    struct buffer from = {.address = 0x800000, .handle = create(SIZE, WB, 0)};
    const struct buffer to = buffer(vm, WB);
    from.mapped = map(from.handle, SIZE);
    memset(from.mapped, 7, SIZE);
    if (bind(vm, from.handle, SIZE, from.address, wrong ? NOT_SNOOPED : SNOOPED)) { /* wrong */
        printf("old: 0\n");
        return !wrong;
    }
    copy(vm, from, to);
    return compare(from.mapped, to.mapped, SIZE);
}
