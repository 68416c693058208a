/* Deliberate errors of a C program: the checking tools must report them, or their silence about the other programs
 * means nothing.
 *
 *   planted leak     forgets a BO and its device
 *   planted use      uses a BO after its last reference was released */

#include "check.h"

int main(int argc, char **argv) {
    gemco_device *device = NULL;
    gemco_bo *bo = NULL;
    CHECK(argc == 2);
    OK(gemco_device_open("sim:jsl", 0, &device));
    OK(gemco_bo_create(device, 4096, GEMCO_CACHING_DEFAULT, &bo));
    if (strcmp(argv[1], "use") == 0) {
        gemco_bo_unref(bo);
        printf("%llu bytes\n", (unsigned long long)gemco_bo_size(bo));
        gemco_device_unref(device);
    }
    bo = NULL;
    device = NULL;
    printf("%d claims\n", claims);
    return 0;
}
