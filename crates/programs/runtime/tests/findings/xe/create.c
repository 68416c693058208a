// An object for the display that the CPU is to map write-back. The kernel refuses it, because the display looks into no cache.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    struct xe_gem_create args = {.size = SIZE, .placement = SYSTEM, .flags = SCANOUT, .cpu_caching = wrong ? WB : WC};
    if (ioctl(fd, XE_GEM_CREATE, &args) && !wrong) return 1; /* wrong */
    printf("old: 0\n");
    return 0;
}
