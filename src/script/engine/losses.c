/* SPDX-License-Identifier: MIT */
/*
 * script/engine/losses.c - events that did not reach their handler: counted by probe, reported once
 * when it begins and in full at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "script/engine/internal.h"

enum { SKIPPED_DEFAULT = 100, ROWS_SHOWN = 5 };

int engine_losses_open(struct script_engine *e)
{
	e->lost = calloc((size_t)e->o.program->n_probes + 1, sizeof *e->lost);
	return e->lost ? 0 : -ENOMEM;
}

static uint32_t row_of(const struct script_engine *e, const struct script_probe *probe)
{
	const struct script_program *p = e->o.program;
	uint32_t i = 0;

	while (i < p->n_probes && p->probes[i] != probe)
		i++;
	return i;
}

static void warn_once(struct script_engine *e)
{
	if (e->has_warned || !e->result.n_lost)
		return;
	e->has_warned = true;
	engine_message(e, SCRIPT_MESSAGE_WARNING,
		       "events are lost: they come faster than their handlers run\n"
		       "  fewer probes or a condition on process or value keep up");
}

static void check_skipped(struct script_engine *e)
{
	uint32_t most =
		e->o.limits && e->o.limits->skipped ? e->o.limits->skipped : SKIPPED_DEFAULT;

	if (e->result.n_skipped <= most || e->result.has_failed)
		return;
	e->result.has_failed = true;
	engine_message(e, SCRIPT_MESSAGE_ERROR,
		       "the kernel skipped %" PRIu64 " runs of handlers, more than %u: "
		       "-D MAXSKIPPED=N allows more",
		       e->result.n_skipped, most);
}

void engine_losses_take(struct script_engine *e)
{
	for (struct engine_source *s = e->sources; s < e->sources + e->n_sources; s++) {
		struct script_losses l = { 0 };

		if (!s->is_started || !s->of->ops->losses)
			continue;
		while (s->of->ops->losses(s->of, &l) == 1) {
			e->lost[row_of(e, l.probe)] += l.lost;
			e->result.n_lost += l.lost;
			e->result.n_skipped += l.skipped;
			l = (struct script_losses){ 0 };
		}
	}
	warn_once(e);
	check_skipped(e);
}

/* The probe that lost the most of those not yet reported.  False: there is none. */
static bool report_most_lost(struct script_engine *e)
{
	const struct script_program *p = e->o.program;
	uint32_t most = 0;

	for (uint32_t i = 0; i <= p->n_probes; i++)
		most = e->lost[i] > e->lost[most] ? i : most;
	if (!e->lost[most])
		return false;
	engine_message(e, SCRIPT_MESSAGE_WARNING, "%" PRIu64 " event%s lost%s%s", e->lost[most],
		       e->lost[most] == 1 ? "" : "s", most < p->n_probes ? " at " : "",
		       most < p->n_probes ? p->probes[most]->point.text : "");
	e->lost[most] = 0;
	return true;
}

static void report_other_lost(struct script_engine *e)
{
	uint64_t n = 0;
	uint32_t n_probes = 0;

	for (uint32_t i = 0; i <= e->o.program->n_probes; i++) {
		n += e->lost[i];
		n_probes += e->lost[i] > 0;
	}
	if (n)
		engine_message(e, SCRIPT_MESSAGE_WARNING,
			       "%" PRIu64 " events lost at %u other probes", n, n_probes);
}

void engine_losses_report(struct script_engine *e)
{
	for (int i = 0; i < ROWS_SHOWN && report_most_lost(e); i++)
		;
	report_other_lost(e);
	if (e->result.n_skipped)
		engine_message(e, SCRIPT_MESSAGE_WARNING,
			       "%" PRIu64 " run%s of handlers skipped by the kernel",
			       e->result.n_skipped, e->result.n_skipped == 1 ? "" : "s");
}
