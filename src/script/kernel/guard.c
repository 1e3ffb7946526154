/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/guard.c - a script whose programs take too much of the machine is ended.
 *
 * The kernel's statistics of BPF programs cost some 80 ns for each event while they are on, so they
 * are on for 10 milliseconds of each second.  Two such looks in a row beyond the limit detach all
 * programs: one alone may be a burst.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "script/kernel/live.h"

enum { DEFAULT_PERCENT = 50, OVERLOADS = 2 };
#define LOOK_NS 10000000u
#define EVERY_NS 1000000000u

static uint64_t run_ns(const struct kernel_site *site)
{
	struct bpf_usage u;

	return site->program < 0 || bpf_program_usage(site->program, &u) ? 0 : u.run_ns;
}

static void begin_look(struct kernel_source *s, uint64_t now)
{
	s->statistics = bpf_statistics_on();
	for (uint32_t i = 0; i < s->n_sites; i++)
		s->sites[i]->run_ns = run_ns(s->sites[i]);
	s->look_ns = now;
	s->next_guard_ns = now + (s->statistics < 0 ? EVERY_NS : LOOK_NS);
}

void kernel_guard_end(struct kernel_source *s)
{
	if (s->statistics >= 0)
		close(s->statistics);
	s->statistics = -1;
}

static int end_look(struct kernel_source *s, uint64_t now, struct diag *d)
{
	uint32_t limit = s->k->options.overload_percent, worst = 0;
	uint64_t all = 0, most = 0, of;

	for (uint32_t i = 0; i < s->n_sites; i++) {
		uint64_t ns = run_ns(s->sites[i]) - s->sites[i]->run_ns;

		all += ns;
		worst = ns > most ? i : worst;
		most = ns > most ? ns : most;
	}
	kernel_guard_end(s);
	s->next_guard_ns = now + EVERY_NS - LOOK_NS;
	of = (now - s->look_ns) * (uint32_t)s->n_cpus;
	limit = limit ? limit : DEFAULT_PERCENT;
	s->n_overloads = of && all * 100 / of >= limit ? s->n_overloads + 1 : 0;
	if (s->n_overloads < OVERLOADS)
		return 0;
	return diag_fail(
		d, -EDQUOT,
		"the probes take %llu %% of the processors' time, most of it %s: all are "
		"detached\n"
		"  probe fewer events, or filter first; -D STP_NO_OVERLOAD takes the limit "
		"away",
		(unsigned long long)(all * 100 / of),
		s->probes[s->sites[worst]->sections[0]->probes[0]]->point.text);
}

int kernel_guard(struct kernel_source *s, struct diag *d)
{
	uint64_t now;

	if (s->k->options.overload_percent >= 100 || s->is_stopped)
		return 0;
	now = monotonic_ns();
	if (now < s->next_guard_ns)
		return 0;
	if (s->statistics >= 0)
		return end_look(s, now, d);
	begin_look(s, now);
	return 0;
}
