/* SPDX-License-Identifier: MIT */
/* cmd/ui/browser.c - $BROWSER or xdg-open, as a process of its own session. */
#include "cmd/ui/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool has_display(void)
{
	return isatty(STDOUT_FILENO) && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/* The grandchild belongs to init, which waits for it. */
bool browser_open(const char *address)
{
	/* "$1" is no part of the program's text, so nothing in the address is run. */
	static const char script[] =
		"setsid sh -c 'exec ${BROWSER:-xdg-open} \"$1\"' sh \"$1\" >/dev/null 2>&1 "
		"</dev/null &";
	char *const argv[] = { (char *)"sh",   (char *)"-c",	(char *)script,
			       (char *)"duet", (char *)address, NULL };
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int status, err;
	pid_t pid;

	if (!has_display())
		return false;
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn(&pid, "/bin/sh", NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	return !err && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}
