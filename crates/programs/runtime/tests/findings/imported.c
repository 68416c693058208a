// The GPU reads an imported object, and the program leaves out flushes of lines that it stored through the exporter's mapping. The exporter is another
// device if there is one.
#include "common.h"

int main(int count, char **words) {
    start(count, words);
    const int importer = fd;
    fd = open("/dev/dri/card1", O_RDWR | O_CLOEXEC);
    if (fd < 0) fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
    struct drm_prime_handle shared = {.handle = create(SIZE), .flags = DRM_CLOEXEC};
    char *source = map(shared.handle, SIZE, I915_MMAP_OFFSET_WB);
    request("PRIME_HANDLE_TO_FD", DRM_IOCTL_PRIME_HANDLE_TO_FD, &shared);
    fd = importer;
    request("PRIME_FD_TO_HANDLE", DRM_IOCTL_PRIME_FD_TO_HANDLE, &shared);

    struct copy copy = {.handles = {shared.handle, create_shared(SIZE), create_shared(4096)}};
    copy.destination = map_shared(copy.handles[1], SIZE);
    copy.batch = map_shared(copy.handles[2], 4096);
    copy.bytes = copy_batch(copy.batch, SIZE / LINE);
    copy_run(&copy);
    memset(source + 20 * LINE, 7, 5 * LINE); /* wrong */
    flush_lines(source + 20 * LINE, (wrong ? 2 : 5) * LINE);
    copy_run(&copy);
    return compare(source, copy.destination, SIZE);
}
