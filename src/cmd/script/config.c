/* SPDX-License-Identifier: MIT */
/*
 * script/config.c - how the running kernel was configured, for CONFIG_x in conditions.
 *
 * It is read once, if a script asks: from the file that distributions install, or from what the
 * kernel itself has, which gzip unpacks.
 */
#include "cmd/script/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { CONFIG_BYTES_MAX = 4 << 20 };

static bool read_stream(FILE *from, struct text *to)
{
	char bytes[16384];
	size_t n;

	while (to->size < CONFIG_BYTES_MAX && (n = fread(bytes, 1, sizeof bytes, from)) > 0)
		text_add(to, bytes, n);
	return to->size > 0 && !to->failed;
}

static bool read_installed(struct text *to)
{
	static const char *const places[] = { "/boot/config-%s", "/lib/modules/%s/config",
					      "/lib/modules/%s/build/.config" };
	struct utsname u;
	bool is_there = false;

	for (size_t i = 0; i < sizeof places / sizeof *places && !is_there && !uname(&u); i++) {
		char path[256];
		FILE *file;

		snprintf(path, sizeof path, places[i], u.release);
		file = fopen(path, "re");
		is_there = file && read_stream(file, to);
		if (file)
			fclose(file);
	}
	return is_there;
}

static void read_own(struct text *to)
{
	FILE *file = popen("gzip -dc /proc/config.gz 2>/dev/null", "re");

	if (!file)
		return;
	read_stream(file, to);
	pclose(file);
}

/* The text as lines that end in NUL, in the arena. */
static const char *read_config(struct script_config *c)
{
	struct text t = { 0 };
	char *copy = NULL;

	if (!read_installed(&t))
		read_own(&t);
	if (t.size && !t.failed) {
		copy = script_copy(c->arena, t.bytes, t.size);
		c->size = copy ? t.size : 0;
	}
	for (size_t i = 0; i < c->size; i++)
		if (copy[i] == '\n')
			copy[i] = 0;
	text_fini(&t);
	return copy;
}

const char *script_config(void *context, const char *name)
{
	struct script_config *c = context;
	size_t n = strlen(name);

	if (!c->was_read)
		c->text = read_config(c);
	c->was_read = true;
	for (size_t at = 0; at < c->size; at += strlen(c->text + at) + 1) {
		const char *line = c->text + at;

		if (strncmp(line, name, n) || line[n] != '=')
			continue;
		line += n + 1;
		if (*line != '"')
			return line;
		n = strlen(line) - 1;
		return script_copy(c->arena, line + 1, n && line[n] == '"' ? n - 1 : n);
	}
	return NULL;
}
