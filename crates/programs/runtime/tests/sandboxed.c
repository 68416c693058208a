/* Programs with a seccomp filter: `sandboxed FILTER CALL [WAY]` uses a device below a filter.
 *
 * FILTER is the action for CALL, all else is allowed: errno, nosys, trap, kill. Or it is a list of what is allowed, as sandboxes have it:
 * list has what a program with a device needs for itself, whole what the preloaded library needs, too. operand and other-operand refuse
 * a sendmsg(2) by its third operand, which is or is not the library's.
 *
 * WAY: opened opens the device before it loads the filter, mapped maps an object, too; child uses it in a child; thread has a thread that
 * loads the filter, and another one that uses the device; elsewhere uses other files only; exec executes this program below the filter;
 * function and instruction make seccomp(2) by syscall(2) and by an instruction in place of prctl(2). */

#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define MOST 64

static struct sock_filter code[MOST];
static unsigned short length;
static const char *way = "";

static int is(const char *text) { return strcmp(way, text) == 0; }

static void add(struct sock_filter instruction) {
    CHECK(length < MOST);
    code[length++] = instruction;
}

static void load_word(size_t at) { add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at)); }

/* Returns `action` for a call with this number. */
static void answer(long number, unsigned action) {
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static long number_of(const char *name) {
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"getpid", SYS_getpid},         {"rt_sigprocmask", SYS_rt_sigprocmask}, {"sendmsg", SYS_sendmsg},
                 {"recvmsg", SYS_recvmsg},       {"getsockopt", SYS_getsockopt},         {"socket", SYS_socket},
                 {"connect", SYS_connect},       {"newfstatat", SYS_newfstatat},         {"mmap", SYS_mmap},
                 {"memfd_create", SYS_memfd_create}, {"ftruncate", SYS_ftruncate}};
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++)
        if (strcmp(calls[n].name, name) == 0) return calls[n].number;
    return -1;
}

/* Refuses sendmsg(2) if its flags are `flags`, by way of memory and both registers. */
static void operand(unsigned flags) {
    load_word(offsetof(struct seccomp_data, args[2]));
    add((struct sock_filter)BPF_STMT(BPF_ST, 3));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, flags));
    add((struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, 3));
    add((struct sock_filter)BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0, 3, 0));
    load_word(offsetof(struct seccomp_data, nr));
    answer(SYS_sendmsg, SECCOMP_RET_KILL_PROCESS);
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void build(const char *filter, long number) {
    static const long own[] = {SYS_read,      SYS_write, SYS_open,       SYS_openat,       SYS_close,          SYS_fstat,
                               SYS_ioctl,     SYS_mmap,  SYS_munmap,     SYS_mprotect,     SYS_brk,            SYS_futex,
                               SYS_exit_group, SYS_fcntl, SYS_newfstatat, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_getpid};
    static const long librarys[] = {SYS_sendmsg, SYS_recvmsg, SYS_getsockopt, SYS_socket, SYS_connect};
    load_word(offsetof(struct seccomp_data, arch));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    if (strcmp(filter, "operand") == 0) {
        operand(MSG_NOSIGNAL);
        return;
    }
    if (strcmp(filter, "other-operand") == 0) {
        operand(MSG_OOB);
        return;
    }
    load_word(offsetof(struct seccomp_data, nr));
    int is_whole = strcmp(filter, "whole") == 0;
    if (is_whole || strcmp(filter, "list") == 0) {
        for (size_t n = 0; n < sizeof own / sizeof *own; n++) answer(own[n], SECCOMP_RET_ALLOW);
        for (size_t n = 0; is_whole && n < sizeof librarys / sizeof *librarys; n++)
            answer(librarys[n], SECCOMP_RET_ALLOW);
        add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
        return;
    }
    unsigned action = strcmp(filter, "errno") == 0   ? SECCOMP_RET_ERRNO | EACCES
                      : strcmp(filter, "nosys") == 0 ? SECCOMP_RET_ERRNO | ENOSYS
                      : strcmp(filter, "trap") == 0  ? SECCOMP_RET_TRAP
                                                     : SECCOMP_RET_KILL_PROCESS;
    answer(number, action);
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void load(void) {
    struct sock_fprog program = {length, code};
    OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (is("function")) {
        OK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    } else if (is("instruction")) {
        long done;
        __asm__ volatile("syscall"
                         : "=a"(done)
                         : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program)
                         : "rcx", "r11", "memory");
        OK(done);
    } else {
        OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
    }
}

static void *load_alone(void *argument) {
    load();
    return argument;
}

static int use(int fd) {
    if (fd < 0) fd = open_card();
    char *bytes = map(fd, create(fd, PAGE), PAGE);
    bytes[5] = 1;
    return 0;
}

/* Maps a file, and calls what a program calls that has no device. */
static int use_elsewhere(const char *path) {
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    struct stat about;
    OK(fstat(fd, &about));
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    SAME(ioctl(fd, 0x6400, NULL), -1);
    pid_t child = fork();
    if (child == 0) _exit(0);
    ends_with(child, 0);
    return 0;
}

int main(int count, char **arguments) {
    if (count < 3) return 3;
    const char *filter = arguments[1];
    if (count > 3) way = arguments[3];
    if (strcmp(filter, "none") == 0) return use(-1);
    long number = number_of(arguments[2]);
    build(filter, number);
    int fd = -1;
    if (is("opened") || is("mapped")) fd = open_card();
    if (is("mapped")) use(fd);
    if (is("thread")) {
        pthread_t thread;
        OK(pthread_create(&thread, NULL, load_alone, NULL));
        OK(pthread_join(thread, NULL));
    } else {
        load();
    }
    if (is("elsewhere")) return use_elsewhere(arguments[0]);
    if (is("exec")) {
        execl(arguments[0], arguments[0], "none", "none", (char *)NULL);
        return 3;
    }
    if (is("child")) {
        pid_t child = fork();
        if (child == 0) _exit(use(fd));
        int status = 0;
        SAME(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        return WEXITSTATUS(status);
    }
    return use(fd);
}
