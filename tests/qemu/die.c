/* SPDX-License-Identifier: MIT */
/*
 * tests/qemu/die.c - kills all processes but the first, from the inside of one, when it is about to
 * write to tracefs.
 *
 * Preloaded: steps are counted from when the tracer is set the second time, which is when a
 * recorder puts it back; at step DIE of the environment it dies.  Only for a guest.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void step(const char *path)
{
	static int n_tracers, n_steps;
	const char *at = getenv("DIE");

	n_tracers += !strcmp(path, "current_tracer");
	if (n_tracers < 2 || !at || n_steps++ != atoi(at))
		return;
	kill(-1, SIGKILL); /* all others */
	kill(getpid(), SIGKILL);
}

int openat64(int dir, const char *path, int flags, ...)
{
	static int (*next)(int, const char *, int, ...);
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (flags & O_WRONLY)
		step(path);
	if (!next)
		next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64");
	return next(dir, path, flags, mode);
}

int unlinkat(int dir, const char *path, int flags)
{
	static int (*next)(int, const char *, int);

	step(path);
	if (!next)
		next = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
	return next(dir, path, flags);
}
