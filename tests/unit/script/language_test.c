/* SPDX-License-Identifier: MIT */
/*
 * language_test.c [FILE ...] - the language, end to end: each case of language/ is run by the
 * interpreter and translated, and prints what the case says.
 *
 * A case:
 *
 *	=== the sentence that it proves
 *	-D MAXACTION=100		(lines with limits, if any)
 *	probe begin { println(1) }
 *	---
 *	1
 */
#include <stdint.h>

#include <sys/stat.h>

#include "base/io.h"
#include "run_script.h"
#include "test.h"

struct test_case {
	char *name, *script, *output;
	struct script_limits limits;
};

static void limit(struct script_limits *l, const char *line)
{
	static const struct {
		const char *name;
		size_t at;
	} limits[] = {
		{ "MAXSTRINGLEN", offsetof(struct script_limits, string_bytes) },
		{ "MAXACTION", offsetof(struct script_limits, actions) },
		{ "MAXNESTING", offsetof(struct script_limits, nesting) },
		{ "MAXMAPENTRIES", offsetof(struct script_limits, entries) },
	};
	uint32_t value = 0;

	if (!strncmp(line, "MAXMEMORY=", 10)) {
		l->memory = strtoull(line + 10, NULL, 10);
		return;
	}
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		size_t n = strlen(limits[i].name);

		if (!strncmp(line, limits[i].name, n) && line[n] == '=') {
			value = (uint32_t)strtoul(line + n + 1, NULL, 10);
			memcpy((char *)l + limits[i].at, &value, sizeof value);
			return;
		}
	}
	ok(!"a limit that there is");
}

/* Cuts the next case off @at; false: there is none. */
static bool next_case(char **at, struct test_case *c)
{
	char *end;

	*c = (struct test_case){ 0 };
	*at = strstr(*at, "=== ");
	if (!*at)
		return false;
	c->name = *at + 4;
	end = strchr(c->name, '\n');
	*end = 0;
	c->script = end + 1;
	while (!strncmp(c->script, "-D ", 3)) {
		limit(&c->limits, c->script + 3);
		c->script = strchr(c->script, '\n') + 1;
	}
	c->output = strstr(c->script, "\n---\n");
	if (!ok(c->output != NULL))
		return false;
	c->output[1] = 0;
	c->output += 5;
	end = strstr(c->output, "\n=== ");
	if (*c->output == '=') { /* no output */
		*at = c->output;
		c->output = NULL;
		return true;
	}
	if (end) {
		end[0] = 0;
		*at = end + 1;
	} else {
		*at = c->output + strlen(c->output);
	}
	return true;
}

static size_t trimmed(const char *text, size_t size)
{
	while (size && text[size - 1] == '\n')
		size--;
	return size;
}

static void run_case(const struct test_case *c, bool jit)
{
	const char *want = c->output ? c->output : "";
	size_t want_size = trimmed(want, strlen(want)), size;
	struct text got = { 0 };

	run_script(c->script, &c->limits, jit, &got);
	size = trimmed(got.bytes, got.size);
	if (size != want_size || (size && memcmp(got.bytes, want, size))) {
		test_n_failed++;
		printf("# %s (%s)\n%s---- got\n%.*s\n---- not\n%.*s\n----\n", c->name,
		       jit ? "translated" : "interpreted", c->script, (int)size, got.bytes,
		       (int)want_size, want);
	}
	text_fini(&got);
}

static char *whole_file(const char *path)
{
	struct stat s;
	char *bytes;

	if (!ok(!stat(path, &s)))
		return NULL;
	bytes = malloc((size_t)s.st_size + 1);
	if (ok(bytes && io_read_file(path, bytes, (size_t)s.st_size + 1) == s.st_size))
		return bytes;
	free(bytes);
	return NULL;
}

static void run_file(const char *path)
{
	char *bytes = whole_file(path), *at = bytes;
	struct test_case c;
	int before;

	if (!bytes)
		return;
	while (next_case(&at, &c)) {
		before = test_n_failed;
		run_case(&c, false);
#ifdef __x86_64__
		run_case(&c, true);
#endif
		printf("%s %s\n", before == test_n_failed ? "ok" : "not ok", c.name);
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	return test_status();
}
