/* A call that the library cannot carry out ends the program with status 2: `refused WAY`. The kernel gets the same call on other files or
 * pages: `refused WAY elsewhere` ends with 0. */

#include "check.h"

#include <linux/openat2.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int is_elsewhere;

/* Makes a call by an instruction. */
static long call(long number, long a, long b, long c, long d, long e) {
    long done;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(done) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return done;
}

static const char *path(void) { return is_elsewhere ? "/dev/null" : "/dev/dri/renderD128"; }

static void resolve(int by_function) {
    struct open_how how = {.flags = O_RDWR, .resolve = RESOLVE_NO_SYMLINKS};
    long fd = by_function ? syscall(SYS_openat2, AT_FDCWD, path(), &how, sizeof how)
                          : call(SYS_openat2, AT_FDCWD, (long)path(), (long)&how, sizeof how, 0);
    CHECK(fd >= 0);
}

static int nothing(void *argument) {
    (void)argument;
    return 0;
}

static char stack[1 << 16] __attribute__((aligned(64)));

/* A child with a copy of the memory, or elsewhere with the same memory, and another thread pointer. */
static void settls(int by_function) {
    int flags = CLONE_SETTLS | SIGCHLD | (is_elsewhere ? CLONE_VM | CLONE_VFORK : 0);
    static char storage[4096] __attribute__((aligned(64)));
    void *pointer = storage + 2048;
    *(void **)pointer = pointer;
    if (by_function) {
        ends_with(clone(nothing, stack + sizeof stack, flags, NULL, NULL, pointer, NULL), 0);
        return;
    }
    long child;
    register long r8 __asm__("r8") = (long)pointer, r10 __asm__("r10") = 0;
    __asm__ volatile("syscall\n"
                     "test %%eax,%%eax\n"
                     "jnz 1f\n"
                     "mov $60,%%eax\n"
                     "xor %%edi,%%edi\n"
                     "syscall\n"
                     "1:"
                     : "=a"(child) : "a"(SYS_clone), "D"(flags), "S"(stack + sizeof stack), "d"(0), "r"(r8), "r"(r10)
                     : "rcx", "r11", "memory");
    ends_with((pid_t)child, 0);
}

/* Pages of an object, or others. */
static char *pages(void) {
    if (is_elsewhere) return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = open_card();
    return map(fd, create(fd, PAGE), PAGE);
}

/* A child that is made by code that nobody can find, and uses a device. */
static void copy(void) {
    int fd = open_card();
    create(fd, PAGE);
    unsigned char code[] = {0xb8, SYS_fork, 0, 0, 0, 0x0f, 0x05, 0xc3};
    unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, code, sizeof code);
    long (*generated)(void);
    memcpy(&generated, &page, sizeof generated);
    pid_t child = (pid_t)generated();
    if (child == 0) {
        if (!is_elsewhere) create(fd, PAGE);
        _exit(0);
    }
    int status = 0;
    SAME(waitpid(child, &status, 0), child);
    _exit(WEXITSTATUS(status));
}

static void spawned(void) {
    posix_spawn_file_actions_t actions;
    OK(posix_spawn_file_actions_init(&actions));
    OK(posix_spawn_file_actions_addopen(&actions, 5, is_elsewhere ? "/dev/null" : "/dev/dri/card0", O_RDWR, 0));
}

/* The first path of a device, when no descriptor is left. */
static void full(void) {
    struct rlimit none = {0, 0};
    struct stat node;
    OK(setrlimit(RLIMIT_NOFILE, &none));
    OK(stat(path(), &node));
}

int main(int count, char **arguments) {
    if (count < 2) return 3;
    is_elsewhere = count > 2;
    const char *way = arguments[1];
    if (strcmp(way, "resolve") == 0) resolve(0);
    else if (strcmp(way, "function") == 0) resolve(1);
    else if (strcmp(way, "settls") == 0) settls(0);
    else if (strcmp(way, "clone") == 0) settls(1);
    else if (strcmp(way, "pkey") == 0) SAME(call(SYS_pkey_mprotect, (long)pages(), PAGE, PROT_READ, -1, 0), 0);
    else if (strcmp(way, "remap") == 0) SAME(call(SYS_remap_file_pages, (long)pages(), PAGE, 0, 0, 0), 0);
    else if (strcmp(way, "copy") == 0) copy();
    else if (strcmp(way, "spawn") == 0) spawned();
    else if (strcmp(way, "full") == 0) full();
    else return 3;
    return 0;
}
