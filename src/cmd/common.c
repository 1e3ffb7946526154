/* SPDX-License-Identifier: MIT */
/* cmd/common.c - messages, option values, sizes and counts, which several verbs use. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "collect/public.h"
#include "ctf/write/public.h"

int cmd_error(const char *verb, const char *format, ...)
{
	char *text;
	va_list ap;
	int n;

	print_flush();
	progress_hide();
	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	print_message(verb, n < 0 ? "no memory" : text);
	if (n >= 0)
		free(text);
	return CMD_FAILED;
}

int cmd_usage(const char *verb, const char *what)
{
	return cmd_error(verb, "%s: `duet %s --help` shows how it is used", what, verb);
}

int cmd_written(const char *verb, int status)
{
	int err = print_flush();

	if (status == CMD_FAILED || !err || err == -EPIPE)
		return status;
	return cmd_error(verb, "cannot write: %s", strerror(-err));
}

void *cmd_grow(void *at, int n, size_t size)
{
	at = realloc(at, (size_t)(n + 1) * size);
	if (!at) {
		print_err("duet: no memory\n");
		exit(CMD_FAILED);
	}
	return at;
}

void cmd_add_string(struct cmd_strings *s, const char *text)
{
	assert(s->n >= 0);
	s->at = cmd_grow(s->at, s->n, sizeof *s->at);
	s->at[s->n++] = text;
}

/* A name given for a number: the message can show a command with it. */
static bool is_plain_name(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return isalpha((unsigned char)*text);
}

bool cmd_add_pid(const char *verb, struct cmd_pids *p, const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (end == text || *end || errno || pid <= 0 || pid > INT_MAX) {
		cmd_error(verb,
			  is_plain_name(text) ? "-p %s: not a process number: `pidof %s` prints it"
					      : "-p %s: not a process number",
			  text, text);
		return false;
	}
	if (kill((pid_t)pid, 0) && errno == ESRCH) {
		cmd_error(verb, "-p %s: no such process (duet list shows the traced ones)", text);
		return false;
	}
	p->at = cmd_grow(p->at, p->n, sizeof *p->at);
	p->at[p->n++] = (pid_t)pid;
	return true;
}

bool cmd_parse_size(const char *verb, const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit && *unit && *bytes <= UINT64_MAX >> (10 * (unit - units + 1))) {
		*bytes <<= 10 * (unit - units + 1);
		end++;
		if (!strcmp(end, "B") || !strcmp(end, "iB"))
			end += strlen(end);
	}
	if (end != text && !*end && !errno && *text != '-' && *bytes)
		return true;
	cmd_error(verb, "%s: not a size: use bytes, or 512K, 64M, 1G", text);
	return false;
}

bool cmd_parse_time(const char *verb, const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 },
		      { "us", 1000 },
		      { "ms", 1000000 },
		      { "s", 1000000000 },
		      { "m", 60000000000 },
		      { "min", 60000000000 },
		      { "h", 3600000000000 },
		      { "d", 86400000000000 } };
	char *end;

	errno = 0;
	*ns = strtoull(text, &end, 10);
	for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
		if (end != text && *text != '-' && !errno && *ns && !strcmp(end, units[i].name) &&
		    *ns <= UINT64_MAX / units[i].ns) {
			*ns *= units[i].ns;
			return true;
		}
	cmd_error(verb, "%s: not a time: use 500ms, 5s, 2m", text);
	return false;
}

bool cmd_add_contexts(const char *verb, const char *names, uint64_t *mask)
{
	struct diag d = { "" };

	uint64_t with = *mask;

	if (!*names) {
		cmd_error(verb, "an empty name of a context: `duet %s --help` lists them", verb);
		return false;
	}
	if (context_parse(names, &with, &d) || counters_check(with, &d)) {
		cmd_error(verb, "%s", d.text);
		return false;
	}
	*mask = with;
	return true;
}

static bool can_execute(const char *file)
{
	struct stat st;

	return !access(file, X_OK) && !stat(file, &st) && S_ISREG(st.st_mode);
}

static bool command_exists(const char *file)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];

	if (strchr(file, '/'))
		return can_execute(file);
	for (const char *p = path ? path : "/bin:/usr/bin"; p;) {
		const char *end = strchrnul(p, ':');

		if (snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)(end - p), p,
			     end > p ? "/" : "", file) < (int)sizeof candidate &&
		    can_execute(candidate))
			return true;
		p = *end ? end + 1 : NULL;
	}
	return false;
}

int cmd_check_command(const char *verb, const char *file)
{
	if (command_exists(file))
		return 0;
	if (!*file)
		return cmd_error(verb, "the command is an empty word: name a program");
	if (!strchr(file, '/') && !access(file, F_OK))
		return cmd_error(verb,
				 "%s: not a program that may be executed; if the shell put it in "
				 "place of a *, quote the pattern: -e '*'",
				 file);
	return cmd_error(verb,
			 access(file, F_OK) ? "%s: no such command (give a path, or check PATH)"
					    : "%s: not a program that may be executed",
			 file);
}

void cmd_report_hosts(const char *verb, const char *text)
{
	if (*text)
		print_message(verb, text);
}

const char *cmd_size_text(uint64_t bytes, char buffer[32])
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
	double v = (double)bytes;
	int u = 0;

	for (; v >= 1000 && u < 4; u++)
		v /= 1000;
	snprintf(buffer, 32, u && v < 100 ? "%.1f %s" : "%.0f %s", v,
		 bytes == 1 ? "byte" : units[u]);
	return buffer;
}

const char *cmd_count_text(uint64_t n, const char *noun, char buffer[64])
{
	snprintf(buffer, 64, "%" PRIu64 " %.32s%s", n, noun, n == 1 ? "" : "s");
	return buffer;
}

const char *cmd_lost_text(uint64_t events, uint64_t packets, char buffer[160])
{
	int n = 0;

	if (events || !packets)
		n = snprintf(buffer, 160, "%" PRIu64 " event%s", events, events == 1 ? "" : "s");
	if (packets)
		snprintf(buffer + n, 160 - (size_t)n, "%s%" PRIu64 " packet%s", n ? " and " : "",
			 packets, packets == 1 ? "" : "s");
	return buffer;
}

const char *cmd_find_library(const char *file, char *path, size_t size)
{
	/*
	 * The library's directory in a build tree, and in an installation, which may have been
	 * moved.
	 */
	static const char *const places[] = { "../inproc", "../" DUET_LIBDIR_IN_PREFIX };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	for (unsigned i = 0; slash && i < sizeof places / sizeof *places; i++) {
		*slash = 0;
		if (snprintf(path, size, "%s/%s/%s", self, places[i], file) < (int)size &&
		    !access(path, R_OK))
			return path;
	}
	return snprintf(path, size, "%s/%s", DUET_LIBDIR, file) < (int)size && !access(path, R_OK)
		       ? path
		       : NULL;
}
