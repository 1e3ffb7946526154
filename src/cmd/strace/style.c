/* SPDX-License-Identifier: MIT */
/* cmd/strace/style.c - options that choose how values are shown: see style.h. */
#include "cmd/strace/style.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"

enum { FDS = 128 };

int strace_style_constants(struct strace_style *s, const char *how)
{
	if (!strcmp(how, "raw"))
		s->values.constants = CALL_RAW;
	else if (!strcmp(how, "abbrev"))
		s->values.constants = CALL_ABBREV;
	else if (!strcmp(how, "verbose"))
		s->values.constants = CALL_VERBOSE;
	else
		return cmd_error("strace", "-X %s: it may be raw, abbrev, verbose", how);
	return -1;
}

int strace_style_texts(struct strace_style *s, const char *which)
{
	if (!which || !strcmp(which, "all"))
		s->values.texts = CALL_HEX_ALL;
	else if (!strcmp(which, "none"))
		s->values.texts = CALL_HEX_NONE;
	else if (!strcmp(which, "non-ascii"))
		s->values.texts = CALL_HEX_UNPRINTABLE;
	else if (!strcmp(which, "non-ascii-chars"))
		s->values.texts = CALL_HEX_CHARACTERS;
	else
		return cmd_error("strace",
				 "--strings-in-hex=%s: it may be all, non-ascii, non-ascii-chars, "
				 "none",
				 which);
	return -1;
}

int strace_style_fds(struct strace_style *s, const char *kinds)
{
	static const struct {
		const char *name;
		unsigned bits;
	} known[] = {
		{ "path", CALL_FD_PATHS },
		{ "all", CALL_FD_PATHS | CALL_FD_DEVICES | CALL_FD_PIDFDS | CALL_FD_SOCKETS },
		{ "dev", CALL_FD_DEVICES },
		{ "pidfd", CALL_FD_PIDFDS },
		{ "socket", CALL_FD_SOCKETS },
		{ "none", 0 },
	};
	char *copy = kinds ? strdup(kinds) : NULL, *rest = copy;
	int status = -1;

	s->fd_kinds = kinds ? 0 : CALL_FD_PATHS;
	for (char *p; status < 0 && (p = strsep(&rest, ","));) {
		size_t i = 0;

		while (i < sizeof known / sizeof *known && strcmp(known[i].name, p) != 0)
			i++;
		s->fd_kinds |= i < sizeof known / sizeof *known ? known[i].bits : 0;
		if (i == sizeof known / sizeof *known)
			status = cmd_error("strace",
					   "--decode-fds=%s: it may be path, socket, dev, pidfd, "
					   "all, none",
					   p);
	}
	free(copy);
	s->names_fds = s->fd_kinds != 0;
	return status;
}

/* Parses a list as "0,5", "all", "none", "!0,1". */
static int take_fds(uint64_t set[2], const char *option, const char *list)
{
	bool is_not = *list == '!';
	char *copy = strdup(list + is_not), *rest = copy;
	int status = -1;

	memset(set, 0, 2 * sizeof *set);
	for (char *p, *end; status < 0 && (p = strsep(&rest, ","));) {
		long fd = strtol(p, &end, 10);

		if (!strcmp(p, "all"))
			set[0] = set[1] = UINT64_MAX;
		else if (*p && !*end && fd >= 0 && fd < FDS)
			set[fd / 64] |= 1ull << fd % 64;
		else if (strcmp(p, "none") != 0)
			status = cmd_error("strace",
					   "-e %s=%s: it may be numbers of descriptors below %d, "
					   "all, none",
					   option, p, (int)FDS);
	}
	free(copy);
	for (int i = 0; is_not && i < 2; i++)
		set[i] = ~set[i];
	return status;
}

static int take_abbreviated(struct strace_style *s, const char *list)
{
	if (strcmp(list, "none") != 0 && strcmp(list, "all") != 0)
		return cmd_error("strace", "-e abbrev=%s: it may be none, or all", list);
	s->values.is_whole = !strcmp(list, "none");
	return -1;
}

static int take_read_structures(struct strace_style *s, const char *list)
{
	if (strcmp(list, "none") != 0 && strcmp(list, "all") != 0)
		return cmd_error("strace", "-e verbose=%s: it may be none, or all", list);
	s->values.has_no_structures = !strcmp(list, "none");
	return -1;
}

bool strace_style_takes(struct strace_style *s, const char *expression, int *status)
{
	const char *value = strchr(expression, '=');
	size_t n = value ? (size_t)(value++ - expression) : 0;

	if (n == 4 && !memcmp(expression, "read", n))
		*status = take_fds(s->reads, "read", value);
	else if ((n == 5 && !memcmp(expression, "write", n)))
		*status = take_fds(s->writes, "write", value);
	else if ((n == 10 && !memcmp(expression, "decode-fds", n)) ||
		 (n == 9 && !memcmp(expression, "decode-fd", n)))
		*status = strace_style_fds(s, value);
	else if (n == 6 && !memcmp(expression, "abbrev", n))
		*status = take_abbreviated(s, value);
	else if (n == 7 && !memcmp(expression, "verbose", n))
		*status = take_read_structures(s, value);
	else
		return false;
	return true;
}

bool strace_style_dumps(const struct strace_style *s, int32_t fd, bool is_write)
{
	const uint64_t *set = is_write ? s->writes : s->reads;

	return fd >= 0 && fd < FDS && set[fd / 64] >> fd % 64 & 1;
}

bool strace_style_has_dumps(const struct strace_style *s)
{
	return s->reads[0] || s->reads[1] || s->writes[0] || s->writes[1];
}
