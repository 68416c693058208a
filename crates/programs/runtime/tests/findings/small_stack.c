// A program with system calls of its own instructions, as runtimes of Rust and Go have, and a small alternate stack, whose flushes leave a line out.
#include "common.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

// SIGSTKSZ of the kernel's headers.
enum { USUAL = 8192, PAGE = 4096 };

int main(int count, char **words) {
    start(count, words);
    // The compiler does not see the number, so the instruction may be a request.
    volatile long number = SYS_getpid;
    if (by_instruction(number, 0, NULL, 0, 0, 0) != getpid()) return 1;
    // As Rust's runtime does for each thread.
    size_t least = getauxval(AT_MINSIGSTKSZ);
    size_t size = least > USUAL ? least : USUAL;
    size_t length = (size + PAGE - 1) / PAGE * PAGE;
    // Below the stack is a page that nothing may touch.
    char *memory = mmap(NULL, PAGE + length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE)) return 1;
    stack_t stack = {.ss_sp = memory + PAGE, .ss_size = size};
    if (sigaltstack(&stack, NULL)) return 1;

    struct copy copy = copy_create(I915_MMAP_OFFSET_WB);
    for (size_t at = 0; at < SIZE; at++) copy.source[at] = 7; /* wrong */
    flush_lines(copy.source, 37 * LINE);
    if (!wrong) flush_lines(copy.source + 37 * LINE, LINE);
    flush_lines(copy.source + 38 * LINE, SIZE - 38 * LINE);
    copy_run(&copy);
    return compare(copy.source, copy.destination, SIZE);
}
