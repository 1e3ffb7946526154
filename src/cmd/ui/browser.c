/* SPDX-License-Identifier: MIT */
/* cmd/ui/browser.c - $BROWSER or xdg-open, as a process of its own session. */
#include "cmd/ui/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
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
static bool start(const char *address)
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

/* ---------------------------------------------------------------- outside of the sandbox */

static int prepared = -1; /* our end of its pipe */

/* Of the server alone: nothing else can be opened, and no option of a browser begins so. */
static bool is_address(const char *text)
{
	return (!strncmp(text, "http://127.0.0.1:", 17) || !strncmp(text, "https://", 8)) &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  ":/?=.[]_-")];
}

void browser_prepare(void)
{
	char address[512];
	ssize_t n;
	int ends[2];
	pid_t pid;

	if (!has_display() || pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		n = read(ends[0], address, sizeof address - 1);
		address[n > 0 ? n : 0] = 0;
		_exit(!is_address(address) || !start(address));
	}
	close(ends[0]);
	prepared = ends[1];
}

void browser_open(const char *address)
{
	if (prepared < 0)
		return;
	(void)!write(prepared, address, strlen(address));
	close(prepared);
	prepared = -1;
}
