// Advice for a write-back object: a PAT index by which the GPU does not snoop. The kernel refuses it, but on a discrete device, whose GPU
// snoops by each index.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const uint32_t vm = vm_create();
    const struct buffer bound = buffer(vm, WB);
    memset(bound.mapped, 7, SIZE);
    struct xe_madvise args = {
        .start = bound.address, .range = SIZE, .vm_id = vm, .type = PAT, .pat_index = wrong ? NOT_SNOOPED : SNOOPED};
    if (ioctl(fd, XE_MADVISE, &args) && !wrong) return 1; /* wrong */
    printf("old: 0\n");
    return 0;
}
