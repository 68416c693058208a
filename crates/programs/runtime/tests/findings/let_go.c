// The program stores, leaves the flush out, and lets go of the mapping before the submission: by munmap(2), with and without a new mapping, mremap(2),
// mprotect(2), and in children that end. The place of the store stays known.
#define _GNU_SOURCE
#include <sys/wait.h>

#include "common.h"

static struct copy copy;

// Copies, and returns the number of old lines.
static int old_lines(int first, int value) {
    copy_run(&copy);
    int old = 0;
    for (int line = first; line < first + 2; line++) old += copy.destination[line * LINE] != value;
    return old;
}

static char *begin(void) {
    copy = copy_create(I915_MMAP_OFFSET_WB);
    return copy.source;
}

static void end(char *lines) {
    if (!wrong) flush_lines(lines, 2 * LINE);
}

// Waits for a child.
static void await(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status) exit(1);
}

int main(int count, char **words) {
    start(count, words);
    int old = 0;

    char *unmapped = begin();
    memset(unmapped, 1, 2 * LINE); /* wrong */
    end(unmapped);
    if (munmap(unmapped, SIZE)) return 1;
    old += old_lines(0, 1);

    char *part = begin();
    memset(part + 66 * LINE, 2, 2 * LINE); /* wrong */
    end(part + 66 * LINE);
    if (munmap(part + 4096, 4096)) return 1;
    old += old_lines(66, 2);

    char *again = begin();
    memset(again + 3 * LINE, 3, 2 * LINE); /* wrong */
    end(again + 3 * LINE);
    if (munmap(again, SIZE)) return 1;
    map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
    old += old_lines(3, 3);

    char *moved = begin();
    memset(moved + 6 * LINE, 4, 2 * LINE); /* wrong */
    end(moved + 6 * LINE);
    void *place = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mremap(moved, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place) return 1;
    old += old_lines(6, 4);

    char *protected = begin();
    memset(protected + 9 * LINE, 5, 2 * LINE); /* wrong */
    end(protected + 9 * LINE);
    if (mprotect(protected, SIZE, PROT_READ)) return 1;
    old += old_lines(9, 5);

    char *inherited = begin();
    pid_t child = fork();
    if (child == 0) {
        memset(inherited + 12 * LINE, 6, 2 * LINE); /* wrong */
        end(inherited + 12 * LINE);
        _exit(0);
    }
    await(child);
    old += old_lines(12, 6);

    begin();
    child = fork();
    if (child == 0) {
        char *own = map(copy.handles[0], SIZE, I915_MMAP_OFFSET_WB);
        memset(own + 15 * LINE, 7, 2 * LINE); /* wrong */
        end(own + 15 * LINE);
        _exit(0);
    }
    await(child);
    old += old_lines(15, 7);
    printf("old: %d\n", old);
    return 0;
}
