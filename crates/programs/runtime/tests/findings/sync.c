// DMA_BUF_IOCTL_SYNC around loads of what the GPU wrote: a second START waits for nothing. Each call has its own place, although no request on a device
// follows it.
#include <linux/dma-buf.h>

#include "common.h"

static void sync_buffer(int buffer, uint64_t flags) {
    struct dma_buf_sync args = {.flags = DMA_BUF_SYNC_READ | flags};
    if (ioctl(buffer, DMA_BUF_IOCTL_SYNC, &args)) exit(1);
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    struct drm_prime_handle export = {.handle = copy.handles[1], .flags = DRM_CLOEXEC};
    request("PRIME_HANDLE_TO_FD", DRM_IOCTL_PRIME_HANDLE_TO_FD, &export);
    memset(copy.source, 7, SIZE);
    flush_lines(copy.source, SIZE);
    copy_run(&copy);
    sync_buffer(export.fd, DMA_BUF_SYNC_START);
    if (wrong) sync_buffer(export.fd, DMA_BUF_SYNC_START); /* domain useless: the first one has waited */
    int old = compare(copy.source, copy.destination, SIZE);
    sync_buffer(export.fd, DMA_BUF_SYNC_END);
    return old;
}
