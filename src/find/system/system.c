/* SPDX-License-Identifier: MIT */
/* find/system/system.c - the checks in their order, and the making of one. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "find/system/internal.h"

static void report(const struct checking *c, struct find_check *f, const char *value,
		   const char *remedy)
{
	assert(c->group);
	f->group = c->group;
	text_add_printable(&f->value, value, strlen(value));
	text_add_printable(&f->remedy, remedy, strlen(remedy));
	c->report(c->arg, f);
	text_fini(&f->value);
	text_fini(&f->remedy);
}

void check_fine(const struct checking *c, const char *name, const char *format, ...)
{
	struct find_check f = { .name = name, .level = FIND_FINE };
	char value[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(value, sizeof value, format, ap);
	va_end(ap);
	report(c, &f, value, "");
}

void check_bad(const struct checking *c, const char *name, enum find_level level,
	       const char *remedy, const char *format, ...)
{
	struct find_check f = { .name = name, .level = level };
	char value[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(value, sizeof value, format, ap);
	va_end(ap);
	report(c, &f, value, remedy);
}

void check_diag(const struct checking *c, const char *name, enum find_level level,
		const struct diag *d)
{
	struct find_check f = { .name = name, .level = level };
	char text[sizeof d->text], *line, *more;

	memcpy(text, d->text, sizeof text);
	line = strchrnul(text, '\n');
	more = *line ? line + 1 + strspn(line + 1, " ") : line;
	*line = 0;
	for (char *p = strchr(more, '\n'); p; p = strchr(p, '\n')) {
		*p = ';';
		if (p[1] == ' ' && p[2] == ' ') /* a line of a remedy is indented by two */
			memmove(p + 1, p + 2, strlen(p + 2) + 1);
	}
	report(c, &f, text, more);
}

const char *check_size(uint64_t bytes, char text[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	int unit = 0;

	for (; bytes >= 10240 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, 32, "%" PRIu64 " %s", bytes, units[unit]);
	return text;
}

void find_system(const struct find_by *by, const char *directory, find_report *r, void *arg)
{
	static const struct {
		const char *group;
		void (*run)(struct checking *c);
	} groups[] = {
		{ "kernel", check_kernel }, { "rights", check_rights },
		{ "paths", check_paths },   { "versions", check_versions },
		{ "limits", check_limits }, { "libraries", check_libraries },
	};
	struct checking c = { .by = by, .directory = directory, .report = r, .arg = arg };

	for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
		c.group = groups[i].group;
		groups[i].run(&c);
	}
}
