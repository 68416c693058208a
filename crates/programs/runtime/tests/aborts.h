/* Prints the call stack of SIGABRT on standard error, as lines of `program(+0xADDRESS)`; ci/lib/sanitize-suite puts it before programs. */
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

static void print_stack(int signal)
{
	void *frames[64];

	(void)signal;
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

__attribute__((constructor)) static void print_stack_of_aborts(void)
{
	void *frame;

	backtrace(&frame, 1);
	signal(SIGABRT, print_stack);
}
