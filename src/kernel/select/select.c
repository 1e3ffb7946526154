/* SPDX-License-Identifier: MIT */
/* kernel/select/select.c - resolves patterns against the list of available events.
 *
 * All events pass each pattern in turn, so a later pattern can take back an earlier one's choice.
 * System calls are candidates by number, although tracefs lists them as events. */
#include "kernel/select/select.h"
#include "rules/nearest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* State while one pattern is compared with all candidates. */
struct search {
	struct kernel_selection *selection;
	const char *pattern, *filter;
	bool is_exclusion;
	int n_found;
	int n_exits;	    /* exits of system calls among them */
	bool is_of_entries; /* the filter is about arguments */
};

int kernel_selection_add(struct kernel_selection *s, const struct kernel_candidate *c,
			 const char *filter)
{
	struct kernel_pattern *events;

	assert(c->nr < 0);
	for (int i = 0; i < s->n_events; i++) {
		if (strcmp(s->events[i].event, c->event) || strcmp(s->events[i].system, c->system))
			continue;
		s->events[i].filter = filter;
		s->events[i].extras |= s->extras;
		return 0;
	}
	events = realloc(s->events, (size_t)(s->n_events + 1) * sizeof *events);
	if (!events)
		return -ENOMEM;
	s->events = events;
	events += s->n_events++;
	snprintf(events->system, sizeof events->system, "%s", c->system);
	snprintf(events->event, sizeof events->event, "%s", c->event);
	snprintf(events->name, sizeof events->name, "%s", c->name);
	events->filter = filter;
	events->extras = s->extras;
	events->is_waited_for = false;
	return 0;
}

static int exclude_event(struct kernel_selection *s, const struct kernel_candidate *c)
{
	for (int i = 0; i < s->n_events; i++) {
		if (strcmp(s->events[i].event, c->event) || strcmp(s->events[i].system, c->system))
			continue;
		memmove(s->events + i, s->events + i + 1,
			(size_t)(s->n_events - i - 1) * sizeof *s->events);
		s->n_events--;
		return 1;
	}
	return 0;
}

static int exclude_syscall(struct kernel_selection *s, const struct kernel_candidate *c)
{
	bool *chosen = c->is_entry ? &s->entry[c->nr] : &s->exit[c->nr];

	assert(c->nr >= 0 && c->nr < KERNEL_SYSCALLS_MAX);
	if (!*chosen)
		return 0;
	*chosen = false;
	*(c->is_entry ? &s->n_entry : &s->n_exit) -= 1;
	return 1;
}

static void select_syscall(struct kernel_selection *s, const struct kernel_candidate *c,
			   const char *filter, bool is_of_entries)
{
	bool *chosen = c->is_entry ? &s->entry[c->nr] : &s->exit[c->nr];
	uint32_t *extras = c->is_entry ? &s->entry_extras[c->nr] : &s->exit_extras[c->nr];

	assert(c->nr >= 0 && c->nr < KERNEL_SYSCALLS_MAX);
	if (!*chosen)
		*(c->is_entry ? &s->n_entry : &s->n_exit) += 1;
	*extras = s->extras | (*chosen ? *extras : 0);
	*chosen = true;
	if (c->is_entry)
		s->entry_filter[c->nr] = is_of_entries ? filter : NULL;
	else
		s->exit_filter[c->nr] = filter;
}

static int try_candidate(void *arg, const struct kernel_candidate *c)
{
	struct search *s = arg;

	if (!kernel_pattern_matches(s->pattern, c->system, c->event, c->name))
		return 0;
	if (s->is_exclusion) {
		s->n_found += c->nr < 0 ? exclude_event(s->selection, c)
					: exclude_syscall(s->selection, c);
		return 0;
	}
	s->n_found++;
	if (c->nr < 0)
		return kernel_selection_add(s->selection, c, s->filter);
	s->n_exits += !c->is_entry;
	select_syscall(s->selection, c, s->filter, s->is_of_entries);
	return 0;
}

static int search(struct kernel_selection *s, const char *available, const char *pattern,
		  const char *filter, bool is_exclusion)
{
	struct search one = { s, pattern, filter, is_exclusion, 0 };
	int err = kernel_each_candidate(available, try_candidate, &one), n = one.n_found;

	if (!err && filter && !is_exclusion &&
	    !one.n_exits) { /* without exits of system calls: the filter is about entries */
		one.is_of_entries = true;
		err = kernel_each_candidate(available, try_candidate, &one);
	}
	return err ? err : n;
}

/* Returns how many candidates matched (for an exclusion: how many were chosen before), or
 * -ENOMEM. */
static int select_pattern(struct kernel_selection *s, const char *available, const char *pattern,
			  const char *filter)
{
	bool is_set = false, is_exclusion = *pattern == '!';
	char call[KERNEL_CALL_PATTERN_BYTES];
	int n_found = 0, n;

	pattern += is_exclusion;

	for (size_t i = 0; kernel_event_set(i); i++) {
		if (strcmp(pattern, kernel_event_set(i)->set) != 0)
			continue;
		is_set = true;
		n = search(s, available, kernel_event_set(i)->pattern, filter, is_exclusion);
		if (n < 0)
			return n;
		n_found += n;
	}
	if (is_set)
		return n_found;
	n = search(s, available, pattern, filter, is_exclusion);
	return n || !kernel_call_pattern(pattern, call)
		       ? n
		       : search(s, available, call, filter, is_exclusion);
}

struct search_nearest {
	struct nearest near;
	bool is_system; /* what stands before the colon is a system of the kernel */
};

static int note_nearest(void *arg, const struct kernel_candidate *c)
{
	struct search_nearest *s = arg;
	size_t n = strlen(c->system);
	char both[128];

	nearest_try(&s->near, c->name);
	if (strchr(s->near.wanted, ':') &&
	    snprintf(both, sizeof both, "%s:%s", c->system, c->event) < (int)sizeof both)
		nearest_try(&s->near, both);
	if (c->nr >= 0 && c->is_entry)
		nearest_try(&s->near, c->name + strlen("syscall_entry_"));
	s->is_system |= !strncmp(c->system, s->near.wanted, n) && s->near.wanted[n] == ':';
	return 0;
}

/* @n: -ENOMEM, or 0 if nothing matched. */
static int report_no_match(const char *available, const char *pattern, int n, struct diag *d)
{
	struct search_nearest s = { .near = { .wanted = pattern } };
	char text[NEAREST_MAX + 32];

	if (n < 0)
		return diag_fail(d, n, "no memory for the kernel events of %s", pattern);
	if (*pattern == '!')
		return diag_fail(d, -ENOENT, "%s leaves out nothing that was chosen before it",
				 pattern);
	kernel_each_candidate(available, note_nearest, &s);
	for (size_t i = 0; kernel_event_set(i); i++)
		nearest_try(&s.near, kernel_event_set(i)->set);
	if (strchr(pattern, ':') && !s.is_system && !*s.near.best)
		return diag_fail(d, -ENOENT,
				 "no kernel event matches %s: events of applications are asked for "
				 "by -e %s",
				 pattern, pattern);
	return diag_fail(d, -ENOENT, "no kernel event matches %s%s", pattern,
			 *s.near.best ? nearest_text(&s.near, text)
				      : "\n  `duet list -k` shows all there are");
}

/* Clocks and counters. Returns 1 if @pattern is one of them. */
static int select_sampled(struct kernel_selection *s, const char *pattern, const char *filter,
			  struct diag *d)
{
	struct kernel_sampled one;
	int n = kernel_sampled_parse(&one, pattern, d);

	if (n <= 0)
		return n;
	if (filter)
		return diag_fail(d, -EINVAL,
				 "%s takes no filter: duet view -f and duet export -f do", pattern);
	for (int i = 0; i < s->n_sampled; i++)
		if (!strcmp(s->sampled[i].event, one.event)) {
			s->sampled[i] = one; /* the last one wins */
			return 1;
		}
	if (s->n_sampled == KERNEL_SAMPLED_MAX)
		return diag_fail(d, -EINVAL, "%s: more than %d counters", pattern,
				 KERNEL_SAMPLED_MAX);
	s->sampled[s->n_sampled++] = one;
	return 1;
}

static bool is_by_perf(const struct kernel_selection *s, const struct kernel_candidate *c)
{
	if (c->nr >= 0)
		return (c->is_entry ? s->entry : s->exit)[c->nr];
	for (int i = 0; i < s->n_events; i++)
		if (!strcmp(s->events[i].event, c->event) &&
		    !strcmp(s->events[i].system, c->system))
			return true;
	return false;
}

/* Removes an event that perf records, so that nothing is recorded twice. */
static int resolve_one(void *arg, const struct kernel_candidate *c)
{
	struct kernel_selection *s = arg;

	if (!is_by_perf(s->by_perf, c))
		return 0;
	if (c->nr < 0)
		exclude_event(s, c);
	else
		exclude_syscall(s, c);
	return 0;
}

/* Parses stack:PATTERN and with:NAMES:PATTERN. 1: done; 0: @pattern is something else; or
 * -errno. */
static int select_by_perf(struct kernel_selection *s, const char *available, const char *pattern,
			  const char *filter, struct diag *d)
{
	const char *rest;
	uint32_t extras;
	int n = kernel_sampled_extras(pattern, s->counters, &s->n_counters, &extras, &rest, d);

	if (n <= 0)
		return n;
	if (!s->by_perf)
		s->by_perf = calloc(1, sizeof *s->by_perf);
	if (s->by_perf)
		s->by_perf->extras = extras;
	n = s->by_perf ? select_pattern(s->by_perf, available, rest, filter) : -ENOMEM;
	return n > 0 ? 1 : report_no_match(available, pattern, n, d);
}

static int exclude(struct kernel_selection *s, const char *available, const char *pattern)
{
	int n = select_pattern(s, available, pattern, NULL), more = 0;

	if (n >= 0 && s->by_perf)
		more = select_pattern(s->by_perf, available, pattern, NULL);
	return n < 0 || more < 0 ? -ENOMEM : n + more;
}

/* Parses function:PATTERN. 1: done; 0: @pattern is something else; or -errno. */
static int add_functions(struct kernel_selection *s, const char *pattern, const char *filter,
			 struct diag *d)
{
	static const char prefix[] = "function:";
	const char **functions;

	if (strncmp(pattern, prefix, sizeof prefix - 1) != 0)
		return 0;
	if (filter)
		return diag_fail(d, -EINVAL,
				 "%s takes no filter: duet view -f and duet export -f do", pattern);
	functions = realloc(s->functions, (size_t)(s->n_functions + 1) * sizeof *functions);
	if (!functions)
		return diag_fail(d, -ENOMEM, "no memory for %s", pattern);
	s->functions = functions;
	functions[s->n_functions++] = pattern + sizeof prefix - 1;
	return 1;
}

/* Whether it records addresses, which need births and names of processes for their symbols. */
static bool needs_names(const char *pattern)
{
	static const char *const words[] = { "profile", "counter", "stack", "with", "function" };
	size_t size = strcspn(pattern, ":");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == size && !memcmp(pattern, words[i], size))
			return true;
	return false;
}

/* Goes first, so that ! and filters in later patterns apply to these events too. */
static int select_names(struct kernel_selection *s, const char *available,
			const char *const *patterns, int n_patterns, struct diag *d)
{
	for (int i = 0; i < n_patterns; i++)
		if (needs_names(patterns[i]))
			return select_pattern(s, available, "profile", NULL) < 0
				       ? diag_fail(d, -ENOMEM, "no memory for the kernel events")
				       : 0;
	return 0;
}

static int select_all(struct kernel_selection *s, const char *available,
		      const char *const *patterns, const char *const *filters, int n_patterns,
		      struct diag *d)
{
	for (int i = 0; i < n_patterns; i++) {
		const char *filter = filters ? filters[i] : NULL;
		int n = select_sampled(s, patterns[i], filter, d);

		if (!n)
			n = add_functions(s, patterns[i], filter, d);
		if (!n)
			n = select_by_perf(s, available, patterns[i], filter, d);
		if (n < 0)
			return n;
		if (n)
			continue;
		n = *patterns[i] == '!' ? exclude(s, available, patterns[i])
					: select_pattern(s, available, patterns[i], filter);
		if (n <= 0)
			return report_no_match(available, patterns[i], n, d);
	}
	return s->by_perf ? kernel_each_candidate(available, resolve_one, s) : 0;
}

int kernel_select(struct kernel_selection *s, const char *available, const char *const *patterns,
		  const char *const *filters, int n_patterns, struct diag *d)
{
	static const char *const defaults[] = { "sched", "syscalls" };
	int err;

	*s = (struct kernel_selection){ 0 };
	err = select_names(s, available, patterns, n_patterns, d);
	if (!err && (!n_patterns || *patterns[0] == '!'))
		err = select_all(s, available, defaults, NULL, 2, d);
	if (!err)
		err = select_all(s, available, patterns, filters, n_patterns, d);
	if (!err && !s->n_events && !s->n_entry && !s->n_exit && !s->n_sampled && !s->by_perf &&
	    !s->n_functions)
		err = diag_fail(d, -ENOENT,
				"the patterns with ! leave no kernel event: "
				"-k '!*' alone records none");
	if (err)
		kernel_selection_fini(s);
	return err;
}

void kernel_selection_fini(struct kernel_selection *s)
{
	if (s->by_perf)
		kernel_selection_fini(s->by_perf);
	free(s->by_perf);
	free(s->events);
	free(s->functions);
	*s = (struct kernel_selection){ 0 };
}

bool kernel_selection_is_all(const struct kernel_selection *s, bool is_entry)
{
	const bool *chosen = is_entry ? s->entry : s->exit;

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++)
		if (kernel_syscall_name(nr) &&
		    (!chosen[nr] || (!is_entry && s->exit_filter[nr] != s->exit_filter[0])))
			return false;
	return true;
}

/* Writes "id==1||id==2", the numbers with this filter. */
static void add_numbers(const struct kernel_selection *s, bool is_entry, const char *filter,
			struct text *t)
{
	const bool *chosen = is_entry ? s->entry : s->exit;
	const char *before = "";

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++) {
		if (!chosen[nr] || (!is_entry && s->exit_filter[nr] != filter))
			continue;
		text_addf(t, "%sid==%d", before, nr);
		before = "||";
	}
}

int kernel_selection_filter(const struct kernel_selection *s, bool is_entry,
			    kernel_translate *translate, void *arg, struct text *t)
{
	const char *added[16] = { NULL }; /* filters; calls without one come first */
	int n_added = 1, err = 0;
	size_t begin = t->size;

	if (kernel_selection_is_all(s, is_entry)) {
		if (!is_entry && s->exit_filter[0])
			return translate(arg, s->exit_filter[0], t);
		text_addf(t, "0");
		return 0;
	}
	add_numbers(s, is_entry, NULL, t);
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX && !is_entry && !err; nr++) {
		const char *filter = s->exit[nr] ? s->exit_filter[nr] : NULL;
		int i = 0;

		while (i < n_added && added[i] != filter)
			i++;
		if (i < n_added)
			continue;
		if (n_added == sizeof added / sizeof *added)
			return -E2BIG;
		added[n_added++] = filter;
		text_addf(t, "%s((", t->size > begin ? "||" : "");
		err = translate(arg, filter, t);
		text_addf(t, ")&&(");
		add_numbers(s, false, filter, t);
		text_addf(t, "))");
	}
	return err;
}
