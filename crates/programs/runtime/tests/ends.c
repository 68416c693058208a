/* A process that opens a device and ends: `ends HOW`. HOW is an exit status, `_exit` (status 3), `segv`, `abort`, `sleep`,
 * `fork` (a child that a signal ends; status 4) or `exec COMMAND` (by the shell). ci/sanitize looks at what the report says of it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "0";
	int status;

	if (open("/dev/dri/renderD128", O_RDWR) < 0)
		return 70;
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "sleep"))
		sleep(60);
	if (!strcmp(how, "fork")) {
		if (fork() == 0)
			raise(SIGKILL);
		wait(&status);
		return 4;
	}
	if (!strcmp(how, "exec") && count > 2)
		execl("/bin/sh", "sh", "-c", words[2], (char *)NULL);
	return atoi(how);
}
