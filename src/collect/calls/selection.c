/* SPDX-License-Identifier: MIT */
/* collect/calls/selection.c - keep the selection of functions, and change it. */
#include "collect/calls/selection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "collect/calls/patterns.h"

#define DEFAULT_ELIDE_NS 1000u

static const char *keep(struct selection *s, const char *text)
{
	size_t n = strlen(text) + 1;
	char *kept = s->text + s->used;

	if (n > sizeof s->text - s->used)
		return NULL;
	memcpy(kept, text, n);
	s->used += (uint32_t)n;
	return kept;
}

static int add(struct selection *s, const char **list, uint32_t *n, uint32_t most,
	       const char *pattern, struct diag *d)
{
	const char *kept = *n < most && !strpbrk(pattern, "\n\r") ? keep(s, pattern) : NULL;

	if (!kept)
		return diag_fail(d, -E2BIG, "%.100s: the session has no room for more patterns",
				 pattern);
	list[(*n)++] = kept;
	return 0;
}

static int add_pattern(struct selection *s, const char *pattern, struct diag *d)
{
	return add(s, s->patterns, &s->n_patterns, CALLS_PATTERNS, pattern, d);
}

static int add_within(struct selection *s, const char *pattern, struct diag *d)
{
	return add(s, s->within, &s->n_within, SELECTION_WITHIN, pattern, d);
}

static int add_mark(struct selection *s, const char *pattern, const char *names, struct diag *d)
{
	const char *kept = NULL, *kept_names = NULL;

	if (s->n_marks < SELECTION_MARKS && !strpbrk(pattern, " \n\r") && !strpbrk(names, "\n\r")) {
		kept = keep(s, pattern);
		kept_names = kept ? keep(s, names) : NULL;
	}
	if (!kept_names)
		return diag_fail(d, -E2BIG, "--usdt %.100s: the session has no room for more marks",
				 pattern);
	s->marks[s->n_marks++] = (struct patch_wanted_mark){ kept, kept_names };
	return 0;
}

/* "FILE:PROVIDER:NAME NAMES" */
static int read_mark(struct selection *s, const char *line)
{
	size_t n = strcspn(line, " ");
	char pattern[1024];

	if (n >= sizeof pattern)
		return -EPROTO;
	memcpy(pattern, line, n);
	pattern[n] = 0;
	return add_mark(s, pattern, line + n, NULL);
}

int selection_begin(struct selection *s, const struct calls_options *o, struct diag *d)
{
	int err = 0;

	*s = (struct selection){ .mode = (enum abi_calls_mode)o->mode,
				 .depth = o->depth,
				 .threshold_ns = o->threshold_ns,
				 .elide_under_ns =
					 o->elide_under_ns ? o->elide_under_ns : DEFAULT_ELIDE_NS,
				 .has_arguments = o->has_arguments,
				 .generation = 1 };
	for (int i = 0; i < o->n_patterns && !err; i++)
		err = add_pattern(s, o->patterns[i], d);
	if (!err && o->within)
		err = add_within(s, o->within, d);
	for (int i = 0; i < o->n_marks && !err; i++)
		err = add_mark(s, o->marks[i].pattern, o->marks[i].names, d);
	return err;
}

/* ---------------------------------------------------------------- the file */

int selection_write(const struct selection *s, int dir)
{
	struct text t = { 0 };
	int fd, err;

	text_addf(&t, "generation %llu\nmode %d\ndepth %u\nover %llu\nelide %llu\n",
		  (unsigned long long)s->generation, (int)s->mode, s->depth,
		  (unsigned long long)s->threshold_ns, (unsigned long long)s->elide_under_ns);
	text_addf(&t, "arguments %d\n", s->has_arguments);
	for (uint32_t i = 0; i < s->n_within; i++)
		text_addf(&t, "within %s\n", s->within[i]);
	for (uint32_t i = 0; i < s->n_patterns; i++)
		text_addf(&t, "+%s\n", s->patterns[i]);
	for (uint32_t i = 0; i < s->n_marks; i++)
		text_addf(&t, "mark %s %s\n", s->marks[i].pattern, s->marks[i].names);
	fd = openat(dir, ".selection", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : t.failed ? -ENOMEM : io_write(fd, t.bytes, t.size);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(dir, ".selection", dir, "selection"))
		err = -errno;
	text_fini(&t);
	return err;
}

static int read_line(struct selection *s, const char *line)
{
	unsigned long long number = 0;
	char word[16] = "";

	if (*line == '+')
		return add_pattern(s, line + 1, NULL);
	if (!strncmp(line, "within ", 7))
		return add_within(s, line + 7, NULL);
	if (!strncmp(line, "mark ", 5))
		return read_mark(s, line + 5);
	if (sscanf(line, "%15s %llu", word, &number) != 2)
		return *line ? -EPROTO : 0;
	if (!strcmp(word, "generation"))
		s->generation = number;
	else if (!strcmp(word, "mode") && number <= ABI_CALLS_PROFILE)
		s->mode = (enum abi_calls_mode)number;
	else if (!strcmp(word, "depth"))
		s->depth = (uint32_t)number;
	else if (!strcmp(word, "over"))
		s->threshold_ns = number;
	else if (!strcmp(word, "elide"))
		s->elide_under_ns = number;
	else if (!strcmp(word, "arguments"))
		s->has_arguments = number;
	else
		return -EPROTO;
	return 0;
}

int selection_read(struct selection *s, int dir)
{
	int fd = openat(dir, "selection", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;
	char *bytes = malloc(SELECTION_BYTES + 1), *rest = bytes, *line;
	ssize_t n = fd < 0 ? -errno : bytes ? io_read(fd, bytes, SELECTION_BYTES) : -ENOMEM;

	*s = (struct selection){ .generation = 1 };
	if (fd >= 0)
		close(fd);
	if (n >= 0)
		bytes[n] = 0;
	while (n >= 0 && !err && (line = strsep(&rest, "\n")))
		err = read_line(s, line);
	free(bytes);
	return n < 0 ? (int)n : err;
}

/* ---------------------------------------------------------------- changes */

/* Without the patterns that say the same as @pattern or its contrary, so that they do not add up. */
static void drop(struct selection *s, const char *pattern)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_patterns; i++) {
		const char *p = s->patterns[i];

		if (strcmp(p + (*p == '!'), pattern) != 0)
			s->patterns[n++] = p;
	}
	s->n_patterns = n;
}

static int change_patterns(struct selection *s, char *list, bool enable, struct diag *d)
{
	int err = 0;

	for (char *p; list && *list && !err && (p = calls_next_pattern(&list));) {
		bool excludes = *p == '!';
		char whole[SESSION_REQUEST_BYTES + 2];

		p += excludes;
		if (!calls_pattern_is_program(p) || !calls_pattern_is_whole(p))
			return diag_fail(d, -EINVAL,
					 "%.100s: FILE:FUNCTION of a program expected; functions "
					 "of the kernel cannot change while it records",
					 p);
		drop(s, p);
		snprintf(whole, sizeof whole, "%s%s", enable != excludes ? "" : "!", p);
		/* Nothing is left out that no pattern could have chosen. */
		if (*whole != '!' || s->n_patterns)
			err = add_pattern(s, whole, d);
	}
	return err;
}

static int change_mode(struct selection *s, const struct json_line *l, struct diag *d)
{
	static const char *const names[] = { [ABI_CALLS_GOVERNED] = "governed",
					     [ABI_CALLS_EXACT] = "exact",
					     [ABI_CALLS_OVER] = "over",
					     [ABI_CALLS_PROFILE] = "profile" };
	char mode[16];

	if (!json_line_has(l, "graph_mode"))
		return 0;
	for (unsigned i = 0; json_line_text(l, "graph_mode", mode, sizeof mode) && i < 4; i++)
		if (!strcmp(mode, names[i])) {
			s->mode = (enum abi_calls_mode)i;
			return 0;
		}
	return diag_fail(d, -EINVAL, "\"graph_mode\" is governed, exact, over or profile");
}

static int change_numbers(struct selection *s, const struct json_line *l, struct diag *d)
{
	uint64_t depth = s->depth;

	if ((json_line_has(l, "graph_over_ns") &&
	     !json_line_number(l, "graph_over_ns", &s->threshold_ns)) ||
	    (json_line_has(l, "graph_elide_ns") &&
	     !json_line_number(l, "graph_elide_ns", &s->elide_under_ns)) ||
	    (json_line_has(l, "graph_depth") &&
	     (!json_line_number(l, "graph_depth", &depth) || depth > UINT16_MAX)))
		return diag_fail(d, -EINVAL,
				 "\"graph_over_ns\", \"graph_elide_ns\" and \"graph_depth\" are "
				 "numbers, the last at most 65535");
	s->depth = (uint32_t)depth;
	return 0;
}

static int change_within(struct selection *s, const struct json_line *l, struct diag *d)
{
	char within[1024];

	if (!json_line_has(l, "graph_within"))
		return 0;
	if (!json_line_text(l, "graph_within", within, sizeof within))
		return diag_fail(d, -EINVAL, "\"graph_within\" is a text of at most 1023 bytes");
	s->n_within = 0;
	if (!*within)
		return 0;
	return calls_pattern_is_program(within) && calls_pattern_is_whole(within)
		       ? add_within(s, within, d)
		       : diag_fail(d, -EINVAL, "%.100s: FILE:FUNCTION expected", within);
}

int selection_change(struct selection *s, const struct json_line *l, struct diag *d)
{
	char verb[16] = "", list[SESSION_REQUEST_BYTES];
	struct selection *before = malloc(sizeof *before);
	int err = before ? 0 : diag_fail(d, -ENOMEM, "no memory");

	if (before)
		*before = *s;
	json_line_text(l, "verb", verb, sizeof verb);
	if (!err && !json_line_text(l, "graph", list, sizeof list))
		err = diag_fail(d, -EINVAL, "\"graph\" is not a text");
	if (!err)
		err = change_patterns(s, list, !strcmp(verb, "enable"), d);
	if (!err)
		err = change_mode(s, l, d);
	if (!err)
		err = change_numbers(s, l, d);
	if (!err)
		err = change_within(s, l, d);
	s->generation++;
	if (err && before)
		*s = *before;
	free(before);
	return err;
}

/* ---------------------------------------------------------------- for src/patch */

bool selection_has_file(const struct selection *s, const char *path, const char *soname)
{
	for (uint32_t i = 0; i < s->n_patterns; i++)
		if (*s->patterns[i] != '!' && patch_file_is(s->patterns[i], path, soname))
			return true;
	for (uint32_t i = 0; i < s->n_within; i++)
		if (patch_file_is(s->within[i], path, soname))
			return true;
	for (uint32_t i = 0; i < s->n_marks; i++)
		if (patch_file_is(s->marks[i].pattern, path, soname))
			return true;
	return false;
}

struct patch_request selection_request(const struct selection *s)
{
	return (struct patch_request){ .patterns = s->patterns,
				       .n_patterns = s->n_patterns,
				       .within = s->within,
				       .n_within = s->n_within,
				       .marks = s->marks,
				       .n_marks = s->n_marks,
				       .mode = s->mode,
				       .has_arguments = s->has_arguments,
				       .depth = s->depth,
				       .threshold_ns = s->threshold_ns,
				       .elide_under_ns = s->elide_under_ns > UINT32_MAX
								 ? UINT32_MAX
								 : (uint32_t)s->elide_under_ns,
				       .generation = s->generation };
}
