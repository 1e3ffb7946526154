/* SPDX-License-Identifier: MIT */
/*
 * ui/why/why.c - /api/why: why a thread was not running, in sentences and as a path.
 *
 * The sums are the index's.  Words are those of `duet report why` (analysis/wait/words.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ui/why/internal.h"

enum { LIST_MOST = 1000, OBJECTS_MOST = 8 };

/* ---------------------------------------------------------------- words */

static void add_thread(struct why *w, struct text *t, uint32_t thread)
{
	struct ui_row row;

	if (ui_index_row(w->x, thread - 1, &row))
		text_addf(t, "%.64s:%" PRId64, *row.name ? row.name : "?", row.tid);
}

static const char *state_words(struct why *w, uint8_t state, const char *call, uint8_t cause,
			       char buffer[WAIT_SLICE_BYTES])
{
	const char *until = cause ? w->causes[cause] : NULL;

	if (!w->follow)
		snprintf(buffer, WAIT_SLICE_BYTES, "%s%s%s%s%s", ui_state_names[state],
			 call ? " in " : "", call ? call : "", until ? ", until " : "",
			 until ? until : "");
	else
		wait_slice_words(wait_follow_known(w->follow), state, call, until, buffer);
	return buffer;
}

static void add_cpu_words(struct why *w, struct text *t, const struct why_node *n)
{
	struct ui_row row = { .name = "the CPU" };

	(void)ui_index_row(w->x, n->cpu - 1, &row);
	if (n->thread) {
		add_thread(w, t, n->thread);
		text_addf(t, " ran on %.40s", row.name);
	} else {
		text_addf(t, "%.40s was idle, on the way to this thread", row.name);
	}
}

/* "ls:812 was blocked in read of /etc/hosts"; "..in read, 12 times (longest: of /etc/hosts)". */
static void node_words(struct why *w, struct text *t, const struct why_node *n, int *n_objects)
{
	char object[192] = "", call[288] = "", words[WAIT_SLICE_BYTES];

	if (n->cpu) {
		add_cpu_words(w, t, n);
	} else {
		if (n->call && *n_objects > 0 && (*n_objects)--)
			lookup_object(w, n->thread, n->from, object);
		if (n->call)
			snprintf(call, sizeof call, "%.90s%s", why_call_name(w, n->call),
				 n->n > 1 ? "" : object);
		if (n->thread != w->row + 1) {
			add_thread(w, t, n->thread);
			text_addf(t, " was ");
		}
		text_addf(t, "%s", state_words(w, n->state, *call ? call : NULL, n->cause, words));
	}
	if (n->n > 1)
		text_addf(t, ", %" PRIu64 " times", n->n);
	if (n->n > 1 && *object)
		text_addf(t, " (longest:%s)", object);
}

/* ---------------------------------------------------------------- reasons */

static void add_list(struct why *w, struct text *t, uint32_t list, int *n_objects);

static void add_node(struct why *w, struct text *t, uint32_t i, int *n_objects)
{
	const struct why_node *n = &w->nodes[i];
	struct text words = { 0 };

	node_words(w, &words, n, n_objects);
	add(t, "{");
	ui_add_member(t, "ns", (int64_t)n->ns);
	ui_add_member(t, "n", (int64_t)n->n);
	ui_add_member(t, "state", n->state);
	ui_add_member(t, "row", (int64_t)n->thread - 1);
	ui_add_member(t, "from", n->from);
	ui_add_member(t, "to", n->to);
	ui_add_key(t, "text");
	ui_json_string(t, words.bytes ? words.bytes : "", words.size);
	ui_add_key(t, "causes");
	add_list(w, t, n->child, n_objects);
	add(t, "}");
	w->has_failed |= words.failed;
	text_fini(&words);
}

/* Calls near the top get their objects first: they have most time. */
static void add_list(struct why *w, struct text *t, uint32_t list, int *n_objects)
{
	int64_t n = 0;

	add(t, "[");
	for (uint32_t i = list; i && n < w->limit; i = w->nodes[i].next) {
		add(t, n++ ? "," : "");
		add_node(w, t, i, n_objects);
	}
	add(t, "]");
}

static void add_states(struct why *w, struct text *t)
{
	uint64_t ns[WAIT_STATES];
	char words[128];

	ui_add_key(t, "states");
	for (int i = 0; i < UI_STATES; i++) {
		ns[i] = w->sums.ns[i];
		text_addf(t, "%s%" PRIu64, i ? "," : "[", ns[i]);
	}
	add(t, "]");
	ui_add_string(t, "summary", wait_share_words(ns, words));
}

/* ---------------------------------------------------------------- the path */

struct step {
	int64_t begin_ns, end_ns;
	const struct why_slice *s;
};

static int longest_first(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	int64_t m = x->end_ns - x->begin_ns, n = y->end_ns - y->begin_ns;

	return m < n ? 1 : m > n ? -1 : 0;
}

static int in_order(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static bool is_one_step(const struct step *a, const struct step *b)
{
	return a->end_ns == b->begin_ns && a->s->thread == b->s->thread &&
	       a->s->state == b->s->state && a->s->call == b->s->call && a->s->cause == b->s->cause;
}

static uint32_t list_steps(struct why *w, struct step *steps)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < w->n_own; i++)
		steps[n++] = (struct step){ w->own[i].begin_ns, w->own[i].end_ns, &w->own[i] };
	for (uint32_t i = 0; i < w->n_slices; i++)
		if (!w->slices[i].is_turn)
			steps[n++] = (struct step){ w->slices[i].begin_ns, w->slices[i].end_ns,
						    &w->slices[i] };
	qsort(steps, n, sizeof *steps, in_order);
	for (uint32_t i = 0; i < n; i++)
		if (kept && is_one_step(&steps[kept - 1], &steps[i]))
			steps[kept - 1].end_ns = steps[i].end_ns;
		else
			steps[kept++] = steps[i];
	if (kept <= PATH_MOST)
		return kept;
	qsort(steps, kept, sizeof *steps, longest_first);
	qsort(steps, PATH_MOST, sizeof *steps, in_order);
	return PATH_MOST;
}

static void add_step(struct why *w, struct text *t, const struct step *step)
{
	const struct why_slice *s = step->s;
	char words[WAIT_SLICE_BYTES];

	text_addf(t, "[%" PRId64 ",%" PRId64 ",%" PRId64 ",%u,", (int64_t)s->thread - 1,
		  step->begin_ns, step->end_ns, s->state);
	state_words(w, s->state, why_call_name(w, s->call), s->cause, words);
	ui_json_string(t, words, strlen(words));
	text_addf(t, ",%u]", s->depth);
}

static void add_path(struct why *w, struct text *t)
{
	struct step *steps = malloc((w->n_own + w->n_slices + (size_t)1) * sizeof *steps);
	uint32_t n = steps ? list_steps(w, steps) : 0;

	w->has_failed |= !steps;
	ui_add_key(t, "path");
	add(t, "[");
	for (uint32_t i = 0; i < n; i++) {
		add(t, i ? "," : "");
		add_step(w, t, &steps[i]);
	}
	add(t, "]");
	free(steps);
}

/* ---------------------------------------------------------------- the request */

static void add_missing(struct why *w, struct text *t)
{
	const char *words;

	ui_add_key(t, "missing");
	add(t, "[");
	if (*w->note)
		ui_json_string(t, w->note, strlen(w->note));
	for (int i = 0; w->follow && (words = wait_lack_words(wait_follow_known(w->follow), i));
	     i++) {
		add(t, i || *w->note ? "," : "");
		ui_json_string(t, words, strlen(words));
	}
	add(t, "]");
}

static void answer_why(struct why *w, struct text *t)
{
	int n_objects = OBJECTS_MOST;

	lookup_open(w);
	path_read(w);
	path_follow(w);
	lookup_causes(w);
	reasons_make(w);
	add(t, "{");
	ui_add_member(t, "row", w->row);
	ui_add_member(t, "from", w->from);
	ui_add_member(t, "to", w->to);
	add_states(w, t);
	ui_add_key(t, "reasons");
	add_list(w, t, w->n_nodes ? w->nodes[0].child : 0, &n_objects);
	add_path(w, t);
	ui_add_member(t, "n_waits", w->n_waits);
	ui_add_member(t, "n_followed", w->n_followed);
	ui_add_key(t, "is_whole");
	add(t, w->is_cut ? "false" : "true");
	add_missing(w, t);
	add(t, "}");
}

static bool read_params(struct why *w, struct ui_answer *a)
{
	struct ui_row row;

	if (!ui_has_recording(w->s, a) || !ui_param_row(w->s, w->q, a, "row", &w->row) ||
	    !ui_param_range(w->s, w->q, a, &w->from, &w->to) ||
	    !ui_param_int(w->q, a, "limit", 1, LIST_MOST, 12, &w->limit))
		return false;
	if (!ui_index_row(w->s->index, w->row, &row) || row.kind != UI_ROW_THREAD) {
		ui_refuse(a, 400, "%s: row %" PRIu32 " is no thread", w->q->path, w->row);
		return false;
	}
	if (w->from < w->to)
		return true;
	ui_refuse(a, 400, "%s: a span of at least 1 ns is needed", w->q->path);
	return false;
}

void ui_query_why(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct why w = { .s = s, .q = q, .x = s->index };

	if (!read_params(&w, a))
		return;
	w.least_ns = (w.to - w.from) / (4 * PATH_MOST);
	w.n_rows = ui_index_n_rows(w.x);
	w.tracks = calloc(w.n_rows + (size_t)1, sizeof *w.tracks);
	if (w.tracks)
		answer_why(&w, &a->body);
	if (!w.tracks || w.has_failed)
		ui_refuse(a, 500, "%s: no memory for this span: choose a shorter one", q->path);
	lookup_close(&w);
	free(w.tracks);
	free(w.waits);
	free(w.slices);
	free(w.own);
	free(w.nodes);
	free(w.table);
}
