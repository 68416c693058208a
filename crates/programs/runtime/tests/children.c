/* Children: PROGRAM, started by each function with an empty environment, ends with STATUS. A program that uses the device shows that it
 * is intercepted all the same; one that cannot be intercepted ends with 2.
 *
 *   children PROGRAM STATUS */

#include "check.h"

#include <spawn.h>

extern char **environ;

static char *program, *base, *folder;
static int status;
static char *arguments[3], *nothing[] = {NULL};

/* Runs `start` in a child, which must end with the status. */
#define IN_CHILD(start)                                                                                                \
    do {                                                                                                               \
        pid_t child_ = fork();                                                                                         \
        if (child_ == 0) {                                                                                             \
            clearenv();                                                                                                \
            setenv("PATH", folder, 1);                                                                                 \
            start;                                                                                                     \
            dprintf(2, "%s:%d: %s: %s\n", __FILE__, __LINE__, #start, strerror(errno));                                \
            _exit(9);                                                                                                  \
        }                                                                                                              \
        ends_with(child_, status);                                                                                     \
    } while (0)

static void by_exec(void) {
    IN_CHILD(execve(program, arguments, nothing));
    IN_CHILD(execv(program, arguments));
    IN_CHILD(execvp(base, arguments));
    IN_CHILD(execvpe(base, arguments, nothing));
    IN_CHILD(execl(program, program, "used", (char *)NULL));
    IN_CHILD(execlp(base, base, "used", (char *)NULL));
    IN_CHILD(execle(program, program, "used", (char *)NULL, nothing));
    IN_CHILD(execl(program, program, "used", "3", "4", "5", "6", "7", "8", "9", (char *)NULL));
    IN_CHILD(execle(program, program, "used", "3", "4", "5", "6", "7", "8", "9", (char *)NULL, nothing));
    IN_CHILD(fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, nothing));
    IN_CHILD(execveat(AT_FDCWD, program, arguments, nothing, 0));
    IN_CHILD(execveat(open(folder, O_RDONLY | O_CLOEXEC), base, arguments, nothing, 0));
    pid_t child = vfork();
    if (child == 0) {
        execve(program, arguments, nothing);
        _exit(9);
    }
    ends_with(child, status);
}

static void by_spawn(void) {
    pid_t child;
    OK(posix_spawn(&child, program, NULL, NULL, arguments, nothing));
    ends_with(child, status);
    setenv("PATH", folder, 1);
    OK(posix_spawnp(&child, base, NULL, NULL, arguments, nothing));
    ends_with(child, status);
    SAME(posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, nothing), ENOENT);
    SAME(posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, nothing), ENOENT);
}

static void by_shell(void) {
    char line[4096];
    snprintf(line, sizeof line, "'%s' used", program);
    clearenv();
    int ended = system(line);
    CHECK(WIFEXITED(ended));
    SAME(WEXITSTATUS(ended), status);
    clearenv();
    FILE *stream = popen(line, "r");
    CHECK(stream != NULL);
    while (fgets(line, sizeof line, stream)) {}
    ended = pclose(stream);
    CHECK(WIFEXITED(ended));
    SAME(WEXITSTATUS(ended), status);
}

/* The errors of exec for programs that do not exist, and of too much. */
static void failures(void) {
    char *volatile none = NULL;
    setenv("PATH", folder, 1);
    FAILS(execv("/no/such/program", arguments), ENOENT);
    FAILS(execvp("no-such-program", arguments), ENOENT);
    FAILS(execl("/dev/null", "null", (char *)NULL), EACCES);
    FAILS(execvp("/", arguments), EACCES);
    FAILS(execve(none, arguments, nothing), EFAULT);
    FAILS(fexecve(-1, arguments, nothing), EBADF);
}

int main(int count, char **given) {
    if (count > 1 && strcmp(given[1], "used") == 0) return close(open_card());
    if (count != 3) return 3;
    program = given[1], status = atoi(given[2]);
    arguments[0] = program, arguments[1] = "used";
    folder = strdup(program);
    base = strrchr(folder, '/');
    if (base == NULL) return 3;
    *base++ = 0;
    failures();
    by_exec();
    by_spawn();
    by_shell();
    return done();
}
