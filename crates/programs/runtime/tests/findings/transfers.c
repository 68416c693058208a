// Functions of libc that let the kernel store to a mapping, also the checked forms that _FORTIFY_SOURCE calls, syscall(2), and SYSCALL instructions of the
// program, in rounds of four: each stores to a page that was clean at the last submission.
#define _GNU_SOURCE
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "common.h"

// Those from RECV on read from a socket; GETRANDOM stores bytes of its own.
enum { PAGES = 4, GETRANDOM = 19, RECV = 20, FUNCTIONS = 24, BYTES = 3 * LINE };

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);

// Sources of the bytes: a file without a buffer, and a socket.
static FILE *file;
static int ends[2];

// Stores BYTES bytes to a page with one of the functions; returns how many it stored.
static ssize_t store(int function, char *to) {
    const struct iovec parts[] = {{to, LINE}, {to + LINE, 2 * LINE}};
    int from = fileno(file);
    switch (function) {
    case 0: return __read_chk(from, to, BYTES, BYTES);
    case 1: return __pread_chk(from, to, BYTES, 0, BYTES);
    case 2: return __pread64_chk(from, to, BYTES, 0, BYTES);
    case 3: return pread(from, to, BYTES, 0);
    case 4: return pread64(from, to, BYTES, 0);
    case 5: return readv(from, parts, 2);
    case 6: return preadv64(from, parts, 2, 0);
    case 7: return preadv2(from, parts, 2, 0, 0);
    case 8: return preadv64v2(from, parts, 2, 0, 0);
    case 9: return fread_unlocked(to, 1, BYTES, file);
    case 10: return __fread_chk(to, BYTES, 1, BYTES, file);
    case 11: return __fread_unlocked_chk(to, BYTES, 1, BYTES, file);
    case 12: return syscall(SYS_read, from, to, (size_t)BYTES);
    case 13: return syscall(SYS_pread64, from, to, (size_t)BYTES, 0L);
    case 14: return syscall(SYS_readv, from, parts, 2L);
    case 15: return by_instruction(SYS_read, from, to, BYTES, 0, 0);
    case 16: return by_instruction(SYS_pread64, from, to, BYTES, 0, 0);
    case 17: return by_instruction(SYS_readv, from, parts, 2, 0, 0);
    case 18: return by_instruction(SYS_preadv, from, parts, 2, 0, 0);
    case GETRANDOM: return getrandom(to, BYTES, 0);
    case RECV: return recv(ends[0], to, BYTES, 0);
    case 21: return syscall(SYS_recvfrom, (long)ends[0], to, (size_t)BYTES, 0L, NULL, NULL);
    case 22: return __recv_chk(ends[0], to, BYTES, BYTES, 0);
    default: return __recvfrom_chk(ends[0], to, BYTES, BYTES, 0, NULL, NULL);
    }
}

int main(int count, char **words) {
    start(count, words);
    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    file = tmpfile();
    if (!file || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)) return 1;
    setbuf(file, NULL);
    for (int function = 0; function < FUNCTIONS; function++) {
        char bytes[BYTES], *to = copy.source + function % PAGES * 4096;
        memset(bytes, function + 1, BYTES);
        rewind(file);
        if (pwrite(fileno(file), bytes, BYTES, 0) != BYTES || (function >= RECV && write(ends[1], bytes, BYTES) != BYTES)) return 1;
        if (store(function, to) != BYTES || (function != GETRANDOM && memcmp(to, bytes, BYTES))) {
            fprintf(stderr, "function %d: %s\n", function, strerror(errno));
            return 1;
        }
        int is_last = function == FUNCTIONS - 1;
        if (!wrong || !is_last) flush_lines(to, BYTES);
        if (function % PAGES == PAGES - 1) copy_run(&copy); /* wrong */
    }
    return compare(copy.source, copy.destination, SIZE);
}
