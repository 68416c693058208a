// The GPU writes an object, and system calls send parts of it without an invalidate. They must succeed also where other lines of the page have
// old bytes, through a mapping that the program may only read.
#define _GNU_SOURCE
#include "common.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { BYTES = 10 * LINE };

static int ends[2], file;

static ssize_t by_stream(const void *from, size_t bytes) {
    FILE *stream = fdopen(dup(file), "r+");
    setvbuf(stream, NULL, _IONBF, 0);
    fseek(stream, 0, SEEK_SET);
    size_t written = fwrite(from, 1, bytes, stream);
    fclose(stream);
    return written;
}

// Sends bytes by one of the functions; returns its result.
static ssize_t out(int by, const void *from, size_t bytes) {
    struct iovec parts[2] = {{.iov_base = (void *)from, .iov_len = 1}, {.iov_base = (char *)from + 1, .iov_len = bytes - 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    switch (by) {
    case 0: return write(ends[0], from, bytes);
    case 1: return pwrite(file, from, bytes, 0);
    case 2: return writev(ends[0], parts, 2);
    case 3: return pwritev(file, parts, 2, 0);
    case 4: return pwritev2(file, parts, 2, 0, 0);
    case 5: return send(ends[0], from, bytes, 0);
    case 6: return sendto(ends[0], from, bytes, 0, NULL, 0);
    case 7: return sendmsg(ends[0], &message, 0);
    case 8: return by_stream(from, bytes);
    case 9: return syscall(SYS_write, (long)ends[0], from, bytes);
    case 10: return by_instruction(SYS_write, ends[0], from, bytes, 0, 0);
    case 11: return sendmmsg(ends[0], &(struct mmsghdr){.msg_hdr = message}, 1, 0) == 1 ? (ssize_t)bytes : -1;
    default: return 0;
    }
}

static int old_lines(int by, const void *from, size_t bytes, int value) {
    char into[BYTES], wanted[LINE];
    if (out(by, from, bytes) != (ssize_t)bytes) {
        perror("the mapping cannot be read");
        exit(1);
    }
    int is_file = by == 1 || by == 3 || by == 4 || by == 8, old = 0;
    ssize_t got = is_file ? pread(file, into, bytes, 0) : recv(ends[1], into, bytes, MSG_WAITALL);
    if (got != (ssize_t)bytes) exit(1);
    memset(wanted, value, LINE);
    for (size_t at = 0; at < bytes; at += LINE) old += memcmp(into + at, wanted, LINE) != 0;
    return old;
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WC);
    struct drm_i915_gem_mmap_offset args = {.handle = copy.handles[1], .flags = I915_MMAP_OFFSET_WB};
    if (ioctl(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, &args)) {
        args.flags = I915_MMAP_OFFSET_FIXED;
        request("GEM_MMAP_OFFSET", DRM_IOCTL_I915_GEM_MMAP_OFFSET, &args);
    }
    const char *seen = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, args.offset);
    file = memfd_create("out", 0);
    if (seen == MAP_FAILED || file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    int old = 0;
    for (int by = 0; by < 12; by++) {
        const char *from = seen + by % 4 * 4096;
        memset(copy.source, by + 1, SIZE);
        copy_run(&copy);
        flush_lines(from, BYTES);
        old += old_lines(by, from, BYTES, by + 1);
    }
    memset(copy.source, 77, SIZE);
    copy_run(&copy);
    if (!wrong) flush_lines(seen + 192 * LINE, 3 * LINE);
    old += old_lines(0, seen + 192 * LINE, 3 * LINE, 77); /* wrong */
    printf("old: %d\n", old);
    return 0;
}
