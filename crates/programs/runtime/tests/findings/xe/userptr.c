// The program's own pages, which the CPU caches, bound by a PAT index by which the GPU does not snoop. The kernel refuses it.
#include "common.h"

enum { MAP_USERPTR = 2 };

int main(int count, char **words) {
    start(count, words);
    struct xe_vm_bind args = {.vm_id = vm_create(), .num_binds = 1};
    args.bind = (struct xe_vm_bind_op){.op = MAP_USERPTR,
                                       .pat_index = wrong ? NOT_SNOOPED : SNOOPED,
                                       .obj_offset = (uintptr_t)aligned_alloc(4096, SIZE),
                                       .range = SIZE,
                                       .addr = 0x1000000};
    memset((void *)(uintptr_t)args.bind.obj_offset, 7, SIZE);
    if (ioctl(fd, XE_VM_BIND, &args) && !wrong) return 1; /* wrong */
    printf("old: 0\n");
    return 0;
}
