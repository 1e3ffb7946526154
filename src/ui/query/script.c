/* SPDX-License-Identifier: MIT */
/*
 * ui/query/script.c - `/api/script`: a script over the recording, run as `duet script`.
 *
 * The text is its standard input, so no other user sees it among the arguments.  The world
 * is the recording alone: probes of the running system are errors of the script, and so is system().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_line.h"
#include "base/monotonic.h"
#include "ui/child/child.h"
#include "ui/query/internal.h"

enum {
	TEXT_MOST = 256 << 10,
	OUTPUT_MOST = 1 << 20,
	SECONDS = 30,
	SECONDS_MOST = 600,
	ARGUMENTS = 16,
	GRACE_NS = 2000000000
};
#define TEXT_FILE "<standard input>"

struct script {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct ui_answer *a;
	char *text;
	uint64_t from, to, seconds;
	bool has_from, has_to;
	struct ui_child_result result;
	uint64_t ms;
};

/* ---------------------------------------------------------------- the request */

static bool take_number(struct script *r, const struct json_line *l, const char *key, bool *has,
			uint64_t least, uint64_t most, uint64_t *value)
{
	*has = json_line_has(l, key);
	if (!*has || (json_line_number(l, key, value) && *value >= least && *value <= most))
		return true;
	ui_refuse(r->a, 400, "%s: %s is no whole number from %" PRIu64 " to %" PRIu64, r->q->path,
		  key, least, most);
	return false;
}

static bool read_body(struct script *r)
{
	struct json_line l;
	bool has_seconds;

	if (json_line_parse(&l, r->q->body, r->q->body_size)) {
		ui_refuse(r->a, 400, "%s: the body is no JSON object with text", r->q->path);
		return false;
	}
	r->text = malloc(TEXT_MOST + 1);
	if (!r->text) {
		ui_refuse(r->a, 500, "no memory for the script");
		return false;
	}
	if (!json_line_text(&l, "text", r->text, TEXT_MOST + 1)) {
		ui_refuse(r->a, 400, "%s: text is missing, has a NUL, or more than %d bytes",
			  r->q->path, TEXT_MOST);
		return false;
	}
	r->seconds = SECONDS;
	return take_number(r, &l, "from", &r->has_from, 0, 1ull << 60, &r->from) &&
	       take_number(r, &l, "to", &r->has_to, 0, 1ull << 60, &r->to) &&
	       take_number(r, &l, "timeout", &has_seconds, 1, SECONDS_MOST, &r->seconds);
}

/* ---------------------------------------------------------------- running it */

static void run(struct script *r, const char *const *argv)
{
	const struct ui_child_options o = { .argv = argv,
					    .input = r->text,
					    .timeout_ns = r->seconds * 1000000000,
					    .most_bytes = OUTPUT_MOST,
					    .is_cancelled = r->q->is_cancelled,
					    .has_extra = true,
					    .grace_ns = GRACE_NS };
	uint64_t begun_ns = monotonic_ns();
	struct diag d = { "" };

	if (ui_child_run(&o, &r->result, &d))
		ui_refuse(r->a, 500, "%s", d.text);
	r->ms = (monotonic_ns() - begun_ns) / 1000000;
}

static void run_over(struct script *r)
{
	const char **argv = calloc(ARGUMENTS + 2 * (size_t)r->s->n_paths, sizeof *argv);
	struct ui_index_status status;
	char from[UI_MOMENT_TEXT], to[UI_MOMENT_TEXT];
	int n = 0;

	if (!argv)
		return ui_refuse(r->a, 500, "no memory for the script");
	ui_index_status(r->s->index, &status);
	ui_moment_text(from, status.begin_ns + (int64_t)r->from);
	ui_moment_text(to, status.begin_ns + (int64_t)r->to);
	argv[n++] = r->s->self;
	argv[n++] = "script";
	argv[n++] = "--no-system";
	argv[n++] = "--tables";
	argv[n++] = "/dev/fd/3";
	if (r->has_from) {
		argv[n++] = "--from";
		argv[n++] = from;
	}
	if (r->has_to) {
		argv[n++] = "--to";
		argv[n++] = to;
	}
	for (int i = 0; i < r->s->n_paths; i++) {
		argv[n++] = "-r";
		argv[n++] = r->s->paths[i];
	}
	argv[n++] = "-";
	run(r, argv);
	free(argv);
}

/* ---------------------------------------------------------------- the answer */

/* The file of the text is "text" for who wrote it. */
static void rename_file(struct text *to, const char *line, size_t size)
{
	static const char file[] = TEXT_FILE;
	const char *end = line + size, *found;

	while ((found = memmem(line, (size_t)(end - line), file, sizeof file - 1))) {
		text_add(to, line, (size_t)(found - line));
		add(to, "text");
		line = found + sizeof file - 1;
	}
	text_add(to, line, (size_t)(end - line));
}

static bool begins_with(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

/* Whether a message that begins with @line is why the script failed.  Lines that begin with a blank
 * belong to the message before. */
static bool is_error(const char *line, bool is_now)
{
	if (*line == ' ' || *line == '\t')
		return is_now;
	return (begins_with(line, "duet script: ") &&
		!begins_with(line, "duet script: warning:")) ||
	       begins_with(line, "parse error: ") || begins_with(line, "semantic error: ");
}

static void sort_messages(const struct script *r, struct text *errors, struct text *others)
{
	const struct text *t = &r->result.errors;
	bool is_now = false;

	for (size_t at = 0, n; at < t->size; at += n) {
		const char *line = t->bytes + at, *end = memchr(line, '\n', t->size - at);

		n = end ? (size_t)(end - line) + 1 : t->size - at;
		is_now = r->result.status && is_error(line, is_now);
		rename_file(is_now ? errors : others, line, n);
	}
}

/* The place in the first message: "text:2:20". */
static void find_place(const char *message, unsigned *line, unsigned *column)
{
	const char *p = message;

	while (p && (p = strstr(p, "text:")) && sscanf(p, "text:%9u:%9u", line, column) != 2) {
		*line = *column = 0;
		p++;
	}
}

static void add_tables(struct text *to, const struct text *t)
{
	const char *separator = "";

	ui_add_key(to, "tables");
	add(to, "[");
	for (size_t at = 0, n; at < t->size; at += n) {
		const char *line = t->bytes + at, *end = memchr(line, '\n', t->size - at);

		if (!end)
			break; /* cut where it was ended */
		n = (size_t)(end - line) + 1;
		add(to, separator);
		text_add(to, line, n - 1);
		separator = ",";
	}
	add(to, "]");
}

static void answer(struct script *r)
{
	static const char *const cut[] = { [UI_CHILD_EXITED] = "",
					   [UI_CHILD_KILLED] = "",
					   [UI_CHILD_TOO_LONG] = "time",
					   [UI_CHILD_TOO_MUCH] = "output",
					   [UI_CHILD_CANCELLED] = "" };
	struct text errors = { 0 }, others = { 0 }, *t = &r->a->body;
	const struct text *output = &r->result.out;
	unsigned line = 0, column = 0;

	sort_messages(r, &errors, &others);
	if (!errors.size && r->result.status && !*cut[r->result.end])
		text_addf(&errors, "the script ended with status %d", r->result.status);
	find_place(errors.bytes, &line, &column);
	add(t, "{");
	ui_add_key(t, "output");
	ui_json_string(t, output->size ? output->bytes : "", output->size);
	add_tables(t, &r->result.extra);
	ui_add_string(t, "error", errors.size ? errors.bytes : "");
	ui_add_member(t, "line", line);
	ui_add_member(t, "column", column);
	ui_add_string(t, "messages", others.size ? others.bytes : "");
	ui_add_member(t, "status", r->result.status);
	ui_add_member(t, "ms", (int64_t)r->ms);
	ui_add_string(t, "cut", cut[r->result.end]);
	add(t, "}");
	if (errors.failed || others.failed)
		ui_refuse(r->a, 500, "no memory for the script's output");
	text_fini(&errors);
	text_fini(&others);
}

void ui_query_script(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct script r = { .s = s, .q = q, .a = a };

	if (!ui_has_recording(s, a))
		return;
	if (read_body(&r))
		run_over(&r);
	if (a->status == 200)
		answer(&r);
	ui_child_result_fini(&r.result);
	free(r.text);
}
