/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/perf.c - points that the kernel's perf events trigger.
 *
 *	timer.profile			100 times a second on each CPU
 *	timer.profile.freq.hz(997)	the same at another rate; timer.profile.freq(997) too
 *	perf.sw.page_faults		software events; .sample(N): each Nth
 *	perf.hw.cache_misses		hardware events, where the processor has counters
 *	kernel.data(0xffff...).write	.rw; .length(N): 1, 2, 4 or 8 bytes; also by symbol
 *	process.data(0x7fff...).write	in the target, or process(PID)
 */
#include <errno.h>
#include <fnmatch.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "script/kernel/points/points.h"

enum { PROFILE_HZ = 100, HZ_MAX = 100000, SAMPLE_HW = 1000000 };

static const struct {
	const char *name;
	uint64_t config;
	uint32_t type;
} events[] = {
	{ "cpu_clock", PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_SOFTWARE },
	{ "task_clock", PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE },
	{ "page_faults", PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE },
	{ "page_faults_min", PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_TYPE_SOFTWARE },
	{ "page_faults_maj", PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_TYPE_SOFTWARE },
	{ "context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_TYPE_SOFTWARE },
	{ "cpu_migrations", PERF_COUNT_SW_CPU_MIGRATIONS, PERF_TYPE_SOFTWARE },
	{ "alignment_faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_TYPE_SOFTWARE },
	{ "emulation_faults", PERF_COUNT_SW_EMULATION_FAULTS, PERF_TYPE_SOFTWARE },
	{ "cpu_cycles", PERF_COUNT_HW_CPU_CYCLES, PERF_TYPE_HARDWARE },
	{ "instructions", PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE },
	{ "cache_references", PERF_COUNT_HW_CACHE_REFERENCES, PERF_TYPE_HARDWARE },
	{ "cache_misses", PERF_COUNT_HW_CACHE_MISSES, PERF_TYPE_HARDWARE },
	{ "branch_instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_TYPE_HARDWARE },
	{ "branch_misses", PERF_COUNT_HW_BRANCH_MISSES, PERF_TYPE_HARDWARE },
	{ "bus_cycles", PERF_COUNT_HW_BUS_CYCLES, PERF_TYPE_HARDWARE },
};

static bool is(const struct script_point *p, uint32_t i, const char *name)
{
	return i < p->n && !strcmp(p->at[i].name, name);
}

static int add(struct script_kernel *k, struct script_found *f, struct kernel_point point,
	       const char *text, const char *name)
{
	struct kernel_point *p = script_allocate(k->arena, sizeof *p);

	if (!p || !text)
		return -ENOMEM;
	point.owner = k;
	point.kind = KIND_PERF;
	*p = point;
	kernel_found(f, p, text, name, false);
	return 0;
}

/* ---------------------------------------------------------------- the clock */

static int profile_points(struct script_kernel *k, const struct script_point *p,
			  struct script_found *f, struct diag *d)
{
	int64_t hz = PROFILE_HZ;
	const char *text = "timer.profile";

	if (is(p, 2, "freq")) {
		const struct script_component *c = is(p, 3, "hz") ? &p->at[3] : &p->at[2];

		hz = c->kind == COMPONENT_NUMBER ? c->number : 0;
		if (hz < 1 || hz > HZ_MAX || p->n > 4)
			return diag_fail(d, -ENOENT, "timer.profile.freq.hz(N) has N from 1 to %d",
					 HZ_MAX);
		text = kernel_textf(k, "timer.profile.freq.hz(%lld)", (long long)hz);
	} else if (p->n != 2) {
		return diag_fail(d, -ENOENT, "it is timer.profile or timer.profile.freq.hz(N)");
	}
	return add(k, f,
		   (struct kernel_point){ .perf_type = PERF_TYPE_SOFTWARE,
					  .config = PERF_COUNT_SW_CPU_CLOCK,
					  .period = (uint64_t)hz,
					  .is_frequency = true },
		   text, "profile");
}

/* ---------------------------------------------------------------- counters */

static int event_points(struct script_kernel *k, const struct script_point *p,
			struct script_found *f, struct diag *d)
{
	bool is_hw = is(p, 1, "hw");
	int64_t period = is(p, 3, "sample") ? p->at[3].number : is_hw ? SAMPLE_HW : 1;
	struct script_nearest nearest;
	uint32_t n = 0;
	char text[160];
	int err = 0;

	if (p->n < 3 || p->n > 4 || (!is_hw && !is(p, 1, "sw")) || period < 1 ||
	    (p->n == 4 && !is(p, 3, "sample")))
		return diag_fail(d, -ENOENT, "it is perf.sw.NAME or perf.hw.NAME, and .sample(N)");
	nearest = (struct script_nearest){ .wanted = p->at[2].name,
					   .wanted_size = strlen(p->at[2].name) };
	for (size_t i = 0; !err && i < sizeof events / sizeof *events; i++) {
		if ((events[i].type == PERF_TYPE_HARDWARE) != is_hw)
			continue;
		script_nearest_try(&nearest, events[i].name);
		if (fnmatch(p->at[2].name, events[i].name, 0))
			continue;
		n++;
		err = add(k, f,
			  (struct kernel_point){ .perf_type = events[i].type,
						 .config = events[i].config,
						 .period = (uint64_t)period },
			  kernel_textf(k, "perf.%s.%s.sample(%lld)", is_hw ? "hw" : "sw",
				       events[i].name, (long long)period),
			  events[i].name);
	}
	if (err || n)
		return err;
	return diag_fail(d, -ENOENT, "there is no perf event `%s`%s", p->at[2].name,
			 script_nearest_text(&nearest, text));
}

/* ---------------------------------------------------------------- watched addresses */

/* Variables among the kinds of symbols (nm(1)). */
static bool is_variable(char kind)
{
	return strchr("aAbBdDgGrRsSvV", kind) != NULL;
}

/* Finds the address of a symbol of the kernel; 0, or -ENOENT with the reason. */
static int find_address(const char *symbol, uint64_t *found, struct diag *d)
{
	struct script_nearest nearest = { .wanted = symbol, .wanted_size = strlen(symbol) };
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], kind, text[160];
	unsigned long long address;
	bool has_variables = false, is_named = false;

	*found = 0;
	while (f && !*found && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%llx %c %255s", &address, &kind, name) != 3)
			continue;
		has_variables |= is_variable(kind);
		if (strcmp(name, symbol) != 0) {
			if (is_variable(kind))
				script_nearest_try(&nearest, name);
			continue;
		}
		is_named = true;
		*found = address;
	}
	if (f)
		fclose(f);
	if (*found)
		return 0;
	if (is_named)
		return diag_fail(
			d, -ENOENT,
			"kernel.data(\"%s\"): addresses of the kernel are only shown to root "
			"(/proc/kallsyms)",
			symbol);
	return diag_fail(d, -ENOENT, "kernel.data(\"%s\"): the kernel names no such variable%s%s",
			 symbol, script_nearest_text(&nearest, text),
			 has_variables ? "" : "; it names functions alone (CONFIG_KALLSYMS_ALL)");
}

static int data_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d)
{
	const struct script_component *c = &p->at[1];
	bool is_process = is(p, 0, "process");
	struct kernel_point point = {
		.perf_type = PERF_TYPE_BREAKPOINT, .length = 8, .period = 1, .is_target = is_process
	};
	uint32_t i = 2;
	const char *text;

	if (is_process && p->at[0].kind == COMPONENT_NUMBER) {
		point.pid = (pid_t)p->at[0].number;
		point.is_target = false;
	}
	point.address = c->kind == COMPONENT_NUMBER ? (uint64_t)c->number : 0;
	if (c->kind == COMPONENT_TEXT && !is_process) {
		int err = find_address(c->text, &point.address, d);

		if (err)
			return err;
	}
	if (!point.address)
		return diag_fail(d, -ENOENT, "it is %s.data(ADDRESS).write or .rw: a number%s",
				 p->at[0].name, is_process ? "" : ", or the name of a variable");
	if (is(p, i, "length"))
		point.length = (uint64_t)p->at[i++].number;
	point.breakpoint = is(p, i, "rw") ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	if ((!is(p, i, "rw") && !is(p, i, "write")) || p->n != i + 1 ||
	    (point.length != 1 && point.length != 2 && point.length != 4 && point.length != 8))
		return diag_fail(
			d, -ENOENT,
			"it is %s.data(ADDRESS).write or .rw, before it .length(1, 2, 4 or "
			"8)",
			p->at[0].name);
	if (point.is_target && !k->options.target && !k->options.command)
		return diag_fail(d, -ENOENT, "process.data needs -c, -x or process(PID)");
	text = c->kind == COMPONENT_TEXT
		       ? kernel_textf(k, "kernel.data(\"%s\").%s", c->text, p->at[i].name)
		       : kernel_textf(k, "%s.data(%#llx).%s", p->at[0].name,
				      (unsigned long long)point.address, p->at[i].name);
	return add(k, f, point, text, "data");
}

int kernel_perf_points(struct script_kernel *k, const struct script_point *p,
		       struct script_found *f, struct diag *d)
{
	if (is(p, 0, "timer") && is(p, 1, "profile"))
		return profile_points(k, p, f, d);
	if (is(p, 0, "perf"))
		return event_points(k, p, f, d);
	if ((is(p, 0, "kernel") || is(p, 0, "process")) && is(p, 1, "data"))
		return data_points(k, p, f, d);
	return -ENOTSUP;
}
