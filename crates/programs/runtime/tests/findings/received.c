// fread(3), preadv(2), recvfrom(2) and recvmsg(2) to pages of a mapping: the kernel stores, and no instruction of the program does.
#include <sys/socket.h>
#include <sys/uio.h>

#include "common.h"

enum { PAGES = 4, BYTES = 3 * LINE };

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    char bytes[BYTES], *to[PAGES];
    memset(bytes, 7, sizeof bytes);
    for (int page = 0; page < PAGES; page++) to[page] = copy.source + page * 4096;
    int ends[2];
    FILE *file = tmpfile();
    if (!file || fwrite(bytes, 1, BYTES, file) != BYTES || fflush(file) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)) return 1;
    rewind(file);
    setbuf(file, NULL);
    struct iovec parts[] = {{to[1], LINE}, {to[1] + LINE, 2 * LINE}}, whole = {to[3], BYTES};
    struct msghdr message = {.msg_iov = &whole, .msg_iovlen = 1};
    int done = fread(to[0], LINE, 3, file) == 3 && preadv(fileno(file), parts, 2, 0) == BYTES;
    for (int page = 2; page < PAGES; page++) done = done && write(ends[1], bytes, BYTES) == BYTES;
    done = done && recvfrom(ends[0], to[2], BYTES, 0, NULL, NULL) == BYTES && recvmsg(ends[0], &message, 0) == BYTES;
    if (!done) {
        perror("a transfer to a mapping");
        return 1;
    }
    for (int page = 0; page < PAGES - wrong; page++) flush_lines(to[page], BYTES);
    copy_run(&copy); /* wrong */
    return compare(copy.source, copy.destination, SIZE);
}
