/* SPDX-License-Identifier: MIT */
/*
 * check/engine_points.c - the probe points that need no world: begin, end, timers, input, procfs.
 */
#include "script/check/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *copy_text(struct script_arena *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *copy_text(struct script_arena *a, const char *format, ...)
{
	char bytes[512];
	const char *copy;
	va_list args;

	va_start(args, format);
	vsnprintf(bytes, sizeof bytes, format, args);
	va_end(args);
	copy = script_copy(a, bytes, strlen(bytes));
	return copy ? copy : "";
}

static const struct script_component *at(const struct script_point *p, uint32_t i, const char *name)
{
	return i < p->n && !strcmp(p->at[i].name, name) ? &p->at[i] : NULL;
}

/* ---- begin, end, error, never, oneshot, init ---- */

enum { FIRST_ORDER = INT32_MIN };

static const struct {
	const char *name;
	enum script_family family;
	bool has_order;
	int64_t order;
} simple[] = {
	{ "begin", FAMILY_BEGIN, true, 0 },	 { "end", FAMILY_END, true, 0 },
	{ "error", FAMILY_ERROR, true, 0 },	 { "never", FAMILY_NEVER, false, 0 },
	{ "oneshot", FAMILY_ONESHOT, false, 0 }, { "init", FAMILY_BEGIN, false, FIRST_ORDER },
};

static int simple_point(struct script_arena *a, const struct script_point *p,
			struct script_found *f, struct diag *d)
{
	const struct script_component *head = &p->at[0];

	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
		struct script_world_point w = { .family = simple[i].family,
						.number = simple[i].order,
						.name = simple[i].name };

		if (strcmp(head->name, simple[i].name))
			continue;
		if (p->n > 1)
			return diag_fail(d, -EINVAL,
					 "`%s` is a whole probe point: nothing follows it",
					 head->name);
		if (head->kind == COMPONENT_TEXT ||
		    (head->kind == COMPONENT_NUMBER && !simple[i].has_order))
			return diag_fail(d, -EINVAL,
					 simple[i].has_order ? "`%s` takes a number, its order"
							     : "`%s` takes no argument",
					 head->name);
		w.text = head->name;
		if (head->kind == COMPONENT_NUMBER) {
			w.number = head->number;
			w.text = copy_text(a, "%s(%" PRId64 ")", head->name, head->number);
		}
		f->add(f, &w);
		return 1;
	}
	return 0;
}

/* ---- timers ---- */

static const struct {
	const char *name;
	int64_t ns; /* 0: hertz; -1: ticks of the kernel */
} units[] = {
	{ "s", 1000000000 }, { "sec", 1000000000 }, { "ms", 1000000 }, { "msec", 1000000 },
	{ "us", 1000 },	     { "usec", 1000 },	    { "ns", 1 },       { "nsec", 1 },
	{ "hz", 0 },	     { "jiffies", -1 },
};

static int64_t tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return 1000000000 / (hz > 0 ? hz : 100);
}

enum { LEAST_NS = 1000 };

/* @n units in nanoseconds; 0: none, or too long. */
static int64_t period(int64_t unit, int64_t n)
{
	int64_t ns;

	if (n <= 0)
		return 0;
	if (unit == 0)
		return n <= 1000000000 ? 1000000000 / n : 0;
	if (__builtin_mul_overflow(unit > 0 ? unit : tick_ns(), n, &ns))
		return 0;
	return ns;
}

static int randomized(const struct script_point *p, int64_t unit, struct script_world_point *w,
		      struct diag *d)
{
	const struct script_component *by = at(p, 2, "randomize");

	if (p->n == 2)
		return 0;
	if (!by || p->n > 3 || by->kind != COMPONENT_NUMBER || unit == 0)
		return diag_fail(d, -EINVAL,
				 "behind a timer only .randomize(N) may follow, and not behind hz");
	w->random_ns = period(unit, by->number);
	if (by->number && (!w->random_ns || w->random_ns > w->number))
		return diag_fail(d, -EINVAL, "a timer varies by at most its period");
	return 0;
}

static int timer_point(struct script_arena *a, const struct script_point *p, struct script_found *f,
		       struct diag *d)
{
	struct script_world_point w = { .family = FAMILY_TIMER };
	const struct script_component *unit = p->n > 1 ? &p->at[1] : NULL;

	if (!at(p, 0, "timer") || !unit || !strcmp(unit->name, "profile"))
		return 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(unit->name, units[i].name))
			continue;
		if (unit->kind != COMPONENT_NUMBER)
			return diag_fail(d, -EINVAL, "a timer needs a number: timer.%s(1)",
					 unit->name);
		w.number = period(units[i].ns, unit->number);
		if (w.number < LEAST_NS)
			return diag_fail(d, -EINVAL,
					 "timer.%s(%" PRId64 ") is no period: the least is 1 us",
					 unit->name, unit->number);
		if (randomized(p, units[i].ns, &w, d))
			return -EINVAL;
		w.name = copy_text(a, "timer.%s", unit->name);
		w.text = copy_text(a, "timer.%s(%" PRId64 ")", unit->name, unit->number);
		if (p->n > 2)
			w.text = copy_text(a, "%s.randomize(%" PRId64 ")", w.text, p->at[2].number);
		f->add(f, &w);
		return 1;
	}
	return diag_fail(d, -EINVAL,
			 "there is no timer.%s: timers are s ms us ns hz jiffies and profile",
			 unit->name);
}

/* ---- input and procfs ---- */

static int input_point(const struct script_point *p, struct script_found *f, struct diag *d)
{
	struct script_world_point w = { .family = FAMILY_INPUT };

	if (!at(p, 0, "input"))
		return 0;
	if (p->n != 2 || (!at(p, 1, "char") && !at(p, 1, "line")))
		return diag_fail(d, -EINVAL, "input is input.char or input.line");
	w.text = at(p, 1, "char") ? "char" : "line";
	w.name = at(p, 1, "char") ? "input.char" : "input.line";
	f->add(f, &w);
	return 1;
}

static int procfs_point(struct script_arena *a, const struct script_point *p,
			struct script_found *f, struct diag *d)
{
	struct script_world_point w = { .family = FAMILY_PROCFS, .text = "command" };
	unsigned n_ways = 0;

	if (!at(p, 0, "procfs"))
		return 0;
	if (p->at[0].kind == COMPONENT_TEXT)
		w.text = p->at[0].text;
	for (uint32_t i = 1; i < p->n; i++) {
		if (at(p, i, "read") || at(p, i, "write")) {
			w.is_return = at(p, i, "read") != NULL;
			n_ways++;
		} else if ((!at(p, i, "umask") && !at(p, i, "maxsize")) ||
			   p->at[i].kind != COMPONENT_NUMBER) {
			return diag_fail(d, -EINVAL,
					 "procfs knows .read, .write, .umask(N) and "
					 ".maxsize(N), not .%s",
					 p->at[i].name);
		}
	}
	if (n_ways != 1)
		return diag_fail(d, -EINVAL, "procfs needs one of .read and .write");
	if (!*w.text || *w.text == '/' || strstr(w.text, ".."))
		return diag_fail(d, -EINVAL, "`%s` is no name below the script's own directory",
				 w.text);
	w.name = copy_text(a, "procfs(\"%s\").%s", w.text, w.is_return ? "read" : "write");
	f->add(f, &w);
	return 1;
}

int world_engine_point(struct script_arena *a, const struct script_point *p, struct script_found *f,
		       struct diag *d)
{
	int r = p->n ? simple_point(a, p, f, d) : 0;

	if (!r)
		r = timer_point(a, p, f, d);
	if (!r)
		r = input_point(p, f, d);
	return r ? r : procfs_point(a, p, f, d);
}

int world_engine_value(const struct script_world_point *p, const struct script_expr *e,
		       struct script_world_value *v, struct diag *d)
{
	bool is_line =
		p->family == FAMILY_INPUT && e->kind == EXPR_VARIABLE && !strcmp(e->text, p->text);
	bool is_value = p->family == FAMILY_PROCFS && !p->is_return && e->kind == EXPR_CONTEXT &&
			!e->n_path && !strcmp(e->text, "value");

	if (is_line || is_value) {
		*v = (struct script_world_value){ .type = SCRIPT_STRING,
						  .text = is_value	    ? "$value:string"
							  : *p->text == 'c' ? "char:string"
									    : "line:string" };
		return 0;
	}
	if (e->kind == EXPR_VARIABLE)
		return -ENOENT;
	return diag_fail(d, -ENOENT,
			 "`%s` has no values: it is no event of a program or the kernel",
			 p->name ? p->name : p->text);
}
