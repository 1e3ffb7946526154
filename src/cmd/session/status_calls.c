/* SPDX-License-Identifier: MIT */
/* cmd/session/status_calls.c - read the calls files of a session's programs, and show them. */
#include "cmd/session/status_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_line.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "collect/calls/public.h"

static void add(void *arg, const struct calls_state *s)
{
	struct status_calls *c = arg;

	c->at = cmd_grow(c->at, c->n, sizeof *c->at);
	c->at[c->n++] = *s;
	if (s->lost > c->most)
		c->at[c->n - 1].lost = 0;
}

void status_calls_read(struct status_calls *c, int dir, uint64_t epoch, uint64_t most)
{
	c->most = most;
	calls_states_each(dir, epoch, add, c);
}

void status_calls_fini(struct status_calls *c)
{
	free(c->at);
	*c = (struct status_calls){ 0 };
}

static const char *mode_name(uint32_t mode)
{
	static const char *const names[] = { "governed", "exact", "over", "profile" };

	return mode < sizeof names / sizeof *names ? names[mode] : "?";
}

/* It has not applied the last change yet: its threads call no recorded function. */
static bool is_waiting(const struct calls_state *s)
{
	return s->wanted > s->generation;
}

void status_calls_print(const struct status_calls *c, bool *has_headline)
{
	for (int i = 0; i < c->n; i++) {
		const struct calls_state *s = &c->at[i];

		if (!*has_headline)
			print_out("  %-16s  %7s  %-8s  %9s  %7s  %7s  %10s  %8s\n", "GRAPH OF",
				  "PID", "MODE", "FUNCTIONS", "ELIDED", "REFUSED", "CALLS", "LOST");
		*has_headline = true;
		print_out("  %-16s  %7d  %-8s  %9u  %7u  %7u  ", s->program, (int)s->pid,
			  mode_name(s->mode), s->patched, s->elided, s->refused);
		if (s->mode == ABI_CALLS_GOVERNED)
			print_out("%10" PRIu64, s->calls);
		else
			print_out("%10s", "-");
		print_out("  %8" PRIu64, s->lost);
		if (s->waiting)
			print_out("  %u wait%s for a stop", s->waiting, s->waiting == 1 ? "s" : "");
		print_out("%s\n", is_waiting(s) ? "  waits for a call to apply a change" : "");
	}
}

void status_calls_json(struct text *t, const struct status_calls *c)
{
	for (int i = 0; i < c->n; i++) {
		const struct calls_state *s = &c->at[i];

		text_addf(t, "%s{\"pid\":%d", i ? "," : "", (int)s->pid);
		json_line_add_text(t, "name", s->program);
		json_line_add_text(t, "mode", mode_name(s->mode));
		json_line_add_number(t, "functions", s->patched);
		json_line_add_number(t, "elided", s->elided);
		json_line_add_number(t, "refused", s->refused);
		json_line_add_number(t, "waiting", s->waiting);
		json_line_add_number(t, "calls", s->calls);
		json_line_add_number(t, "lost", s->lost);
		json_line_add_number(t, "generation", s->generation);
		text_addf(t, ",\"waits\":%s}", is_waiting(s) ? "true" : "false");
	}
}
