/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/notes.c - the cost of recording a call, functions that the governor left out, and calls
 * that were lost: without these, times and counts would be misread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/graph/graph.h"
#include "cmd/print/print.h"

enum { ELIDED_SHOWN = 5 };

uint64_t graph_hook_ns_x256(const struct fcalls *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < fcalls_n_processes(c); i++)
		if (fcalls_process(c, i)->hook_ns_x256 > most)
			most = fcalls_process(c, i)->hook_ns_x256;
	return most;
}

static uint32_t count_elided(const struct fcalls *c)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= fcalls_n_functions(c); i++)
		n += fcalls_function(c, i)->is_elided;
	return n;
}

static void sum_threads(const struct fcalls *c, uint64_t *calls, uint64_t *batches,
			uint64_t *before)
{
	*calls = *batches = *before = 0;
	for (uint32_t i = 0; i < fcalls_n_processes(c); i++)
		*calls += fcalls_process(c, i)->lost;
	for (uint32_t i = 0; i < fcalls_n_threads(c); i++) {
		const struct fcalls_thread *t = fcalls_thread(c, i);

		*calls += t->lost;
		*batches += t->n_lost_batches;
		*before += t->n_before;
	}
}

static void elided_text(const struct fcalls *c, uint32_t n)
{
	uint32_t shown = 0;

	print_err("duet graph: %u functions were too short and are left out after some hundred "
		  "calls:",
		  n);
	for (uint32_t i = 1; i <= fcalls_n_functions(c) && shown < ELIDED_SHOWN; i++) {
		const struct fcalls_function *f = fcalls_function(c, i);

		if (f->is_elided)
			print_err("%s %s (%" PRIu64 " calls seen)", shown++ ? "," : "", f->shown,
				  f->n_governed);
	}
	print_own_err(n > shown ? ", ...; --tree lists them\n" : "\n");
}

void graph_notes_text(const struct graph *g)
{
	uint64_t hook = graph_hook_ns_x256(g->calls), calls, batches, before;
	struct fcalls_losses l;
	uint32_t n_elided;

	if (hook)
		print_err("duet graph: recording costs %.1f ns for each call\n",
			  (double)hook / 256);
	n_elided = fcalls_add_elided(g->calls) ? 0 : count_elided(g->calls);
	if (n_elided)
		elided_text(g->calls, n_elided);
	sum_threads(g->calls, &calls, &batches, &before);
	fcalls_losses(g->calls, &l);
	if (calls || batches)
		print_err("duet graph: %" PRIu64 " calls and %" PRIu64
			  " batches of calls were lost while recording; larger or more buffers "
			  "keep more\n",
			  calls, batches);
	if (before)
		print_err("duet graph: %" PRIu64
			  " earlier batches of calls are not in this recording\n",
			  before);
	if (l.n_torn || l.n_damaged || l.n_misnested)
		print_err("duet graph: %" PRIu64 " batches end where a thread was killed, %" PRIu64
			  " in damaged bytes; %" PRIu64 " calls reach beyond their caller\n",
			  l.n_torn, l.n_damaged, l.n_misnested);
	if (l.n_without_file || l.n_without_plan)
		print_err("duet graph: functions without names: %u processes have no calls file, "
			  "%u files no plan\n",
			  l.n_without_file, l.n_without_plan);
}

static void elided_table(struct page *p, struct fcalls *c)
{
	static const struct column columns[] = {
		{ "function", "left out after some hundred calls, as too short", CELL_TEXT },
		{ "object", NULL, CELL_TEXT },
		{ "calls", "calls seen", CELL_COUNT },
		{ "mean_ns", "mean", CELL_NS },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 1; i <= fcalls_n_functions(c); i++) {
		const struct fcalls_function *f = fcalls_function(c, i);

		if (!f->is_elided)
			continue;
		table_text(&t, f->shown);
		table_text(&t, f->object);
		table_number(&t, (int64_t)f->n_governed);
		table_number_or_nothing(&t, f->n_governed,
					f->n_governed ? (int64_t)(f->governed_ns / f->n_governed)
						      : 0);
	}
	page_table(p, "elided", NULL, &t, 20);
}

void graph_notes_page(struct page *p, const struct graph *g)
{
	uint64_t hook = graph_hook_ns_x256(g->calls), calls, batches, before;
	struct fcalls_losses l;

	page_number(p, "hook_ns_x256", (int64_t)hook);
	if (hook)
		page_line(p, "recording costs %.1f ns for each call", (double)hook / 256);
	if (!fcalls_add_elided(g->calls) && (p->is_json || count_elided(g->calls)))
		elided_table(p, g->calls);
	sum_threads(g->calls, &calls, &batches, &before);
	fcalls_losses(g->calls, &l);
	page_number(p, "lost_calls", (int64_t)calls);
	page_number(p, "lost_batches", (int64_t)batches);
	page_number(p, "n_batches_before", (int64_t)before);
	page_number(p, "n_torn", (int64_t)l.n_torn);
	page_number(p, "n_damaged", (int64_t)l.n_damaged);
	page_number(p, "n_misnested", (int64_t)l.n_misnested);
	page_number(p, "n_crossings", (int64_t)l.n_crossings);
	if (calls || batches)
		page_line(p,
			  "lost while recording: %" PRIu64 " calls and %" PRIu64
			  " batches of calls",
			  calls, batches);
	if (before)
		page_line(p, "%" PRIu64 " earlier batches of calls are not in this recording",
			  before);
	if (l.n_torn || l.n_damaged || l.n_misnested)
		page_line(p,
			  "%" PRIu64 " batches end where a thread was killed, %" PRIu64
			  " in damaged bytes; %" PRIu64 " calls reach beyond their caller",
			  l.n_torn, l.n_damaged, l.n_misnested);
	if (l.n_without_file || l.n_without_plan)
		page_line(p,
			  "functions without names: %u processes have no calls file, %u files no "
			  "plan",
			  l.n_without_file, l.n_without_plan);
}
