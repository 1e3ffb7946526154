/* SPDX-License-Identifier: MIT */
/*
 * collect/findings/seen.c - rules become watched patterns, pages are compared with them, and at the
 * end each pattern that found nothing becomes a line.
 *
 * Most recordings ask for everything: then there is no pattern, and a page costs no read.
 */
#include "collect/findings/seen.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "ctf/write/public.h"
#include "rules/membership.h"
#include "rules/rules.h"

enum { NAMES_MAX = 512 /* events of a program that are proposed as names */ };

/* ---------------------------------------------------------------- lines */

/* A finding is one line, though patterns and filters may have more. */
static void make_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
}

/* Filters are distinguished by the whole line: their subject may be cut. */
static bool is_same(const struct finding *a, const struct finding *b)
{
	return a->kind == b->kind && !strcmp(a->kind == FINDING_FILTER ? a->text : a->subject,
					     b->kind == FINDING_FILTER ? b->text : b->subject);
}

void findings_add(struct findings *to, enum finding_kind kind, const char *subject,
		  const char *format, ...)
{
	struct finding f = { .kind = (uint32_t)kind };
	va_list ap;

	assert(to->n <= FINDINGS_MAX);
	snprintf(f.subject, sizeof f.subject, "%s", subject);
	va_start(ap, format);
	vsnprintf(f.text, sizeof f.text, format, ap);
	va_end(ap);
	make_one_line(f.subject);
	make_one_line(f.text);
	for (uint32_t i = 0; i < to->n; i++)
		if (is_same(&to->at[i], &f))
			return;
	if (to->n == FINDINGS_MAX)
		to->more++;
	else
		to->at[to->n++] = f;
}

/* Programs choose their names: no control character reaches a terminal. */
static void copy_name(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || (unsigned char)*to > '~')
			*to = '?';
}

/* ---------------------------------------------------------------- the patterns of rules */

static void watch(struct seen *k, enum finding_kind kind, uint32_t number, const char *p,
		  const char *end)
{
	size_t size = (size_t)(end - p);
	struct seen_pattern *w;

	if (!size || size >= SEEN_PATTERN_BYTES || (size == 1 && *p == '*') ||
	    (size == 2 && !memcmp(p, "**", 2)) ||
	    (kind == FINDING_CHANNEL && !strncmp(p, "duet_", 5)))
		return; /* all, or what duet itself asks for */
	for (uint32_t i = 0; i < k->n; i++)
		if (k->at[i].kind == (uint32_t)kind && !strncmp(k->at[i].pattern, p, size) &&
		    !k->at[i].pattern[size])
			return;
	if (k->n == SEEN_MAX)
		return;
	w = &k->at[k->n++];
	*w = (struct seen_pattern){ .kind = (uint32_t)kind, .number = number };
	memcpy(w->pattern, p, size);
}

/* Programs that a rule names; moves *@p behind all conditions. */
static void watch_conditions(struct seen *k, const char **p, const char *end)
{
	const char *tab;

	while (*p < end && selector_is_letter(**p) &&
	       (tab = memchr(*p, '\t', (size_t)(end - *p)))) {
		if (**p == 'n')
			watch(k, FINDING_PROGRAM, 0, *p + 1, tab);
		*p = tab + 1;
	}
}

static void watch_rules(struct seen *k, const struct abi_session *s)
{
	for (uint32_t i = 0; i < s->rules_size;) {
		const char *p = s->rules + i, *end = memchr(p, 0, s->rules_size - i);
		uint32_t number;
		char kind;

		if (!end)
			return;
		i += (uint32_t)(end - p) + 1;
		watch_conditions(k, &p, end);
		kind = *p;
		p += p < end;
		number = kind == '?' || kind == '@' ? rules_number(&p, end) : 0;
		if (kind == '+' || kind == '?')
			watch(k, FINDING_EVENT, 0, p, end);
		else if (kind == '!')
			watch(k, FINDING_EXCLUSION, 0, p, end);
		else if (kind == '@')
			watch(k, FINDING_CHANNEL, number, p, end);
	}
}

/* ---------------------------------------------------------------- pages */

static void propose(struct seen_pattern *w, const char *name)
{
	struct nearest near = { .wanted = w->pattern, .distance = w->distance };
	const char *colon = strchr(name, ':');

	memcpy(near.best, w->near, sizeof near.best);
	nearest_try(&near, colon && !strchr(w->pattern, ':') ? colon + 1 : name);
	if (strcmp(near.best, w->near) != 0)
		copy_name(w->near, sizeof w->near, near.best);
	w->distance = near.distance;
}

static bool is_like(const struct seen_pattern *w, const char *name)
{
	return rules_pattern_matches(w->pattern, w->pattern + strlen(w->pattern), name);
}

static void compare_event(struct seen *k, const struct abi_session *s, const struct program *a,
			  const struct program_event *e)
{
	bool is_enabled = program_event_is_of(a, e, s);
	char name[512];

	if (!schema_name(e->schema, strlen(e->schema), name, sizeof name))
		return;
	for (uint32_t i = 0; i < k->n; i++) {
		struct seen_pattern *w = &k->at[i];

		if (w->kind == FINDING_PROGRAM || (w->exists && w->is_enabled))
			continue;
		if (!is_like(w, name)) {
			if (!w->exists && e->index < NAMES_MAX)
				propose(w, name);
			continue;
		}
		if (!w->exists)
			copy_name(w->program, sizeof w->program, a->page.program);
		w->exists = true;
		w->is_enabled |= is_enabled;
	}
}

static void compare_program(struct seen *k, const char *program)
{
	for (uint32_t i = 0; i < k->n; i++) {
		struct seen_pattern *w = &k->at[i];

		if (w->kind != FINDING_PROGRAM || w->exists)
			continue;
		w->exists = pattern_glob(w->pattern, w->pattern + strlen(w->pattern), program,
					 program + strlen(program));
		propose(w, program);
	}
}

static bool has_open_question(const struct seen *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (k->at[i].kind != FINDING_PROGRAM && !(k->at[i].exists && k->at[i].is_enabled))
			return true;
	return false;
}

static void note_full(struct seen *k, const struct program *a)
{
	char program[ABI_NAME_BYTES];

	copy_name(program, sizeof program, a->page.program);
	k->has_more_full |= *k->full && strcmp(k->full, program) != 0;
	if (a->page.n_refused <= k->n_refused)
		return;
	memcpy(k->full, program, sizeof k->full);
	k->n_refused = a->page.n_refused;
}

void seen_page(struct seen *k, const struct abi_session *s, const struct program *a)
{
	struct program_event e;

	if (!member_of(a->page.sessions, s->name, s->is_private))
		return;
	k->n_programs++;
	if (a->page.n_refused)
		note_full(k, a);
	watch_rules(k, s);
	compare_program(k, a->page.program);
	if (!has_open_question(k))
		return;
	for (uint32_t i = 0; program_event(a, i, &e); i++)
		compare_event(k, s, a, &e);
}

/* ---------------------------------------------------------------- the end */

/* Whether a program emitted an event like @pattern to one of the pools: it is registered there. */
static bool was_emitted(const struct session *s, const struct seen_pattern *w)
{
	char name[512], schema[512];

	for (uint32_t i = 0; i < s->n_channels; i++) {
		const struct pool *p = &s->pools[i];
		uint32_t n = load(&p->shared->n_schemas);

		for (uint32_t k = 0; k < n && k < ABI_SCHEMAS; k++) {
			uint32_t size = load_acquire(&p->schemas[k].size);
			uint32_t at = load(&p->schemas[k].offset);

			if (!size || at > ABI_SCHEMA_TEXT_BYTES ||
			    size > ABI_SCHEMA_TEXT_BYTES - at)
				continue;
			size = size < sizeof schema ? size : sizeof schema;
			memcpy(schema, p->text + at, size);
			if (schema_name(schema, size, name, sizeof name) && is_like(w, name))
				return true;
		}
	}
	return false;
}

/* ": did you mean shop:order?", or where to look. */
static const char *hint(const struct seen *k, const struct seen_pattern *w, char text[128])
{
	if (*w->near)
		snprintf(text, 128, ": did you mean %s?", w->near);
	else
		snprintf(text, 128, "%s",
			 k->n_programs ? ": duet list shows the events of programs that run"
				       : ": no program with trace sites ran");
	return text;
}

static void conclude_event(const struct seen *k, const struct seen_pattern *w, struct findings *to)
{
	char text[128];

	if (!w->exists)
		findings_add(to, FINDING_EVENT, w->pattern, "-e %s: no such event was recorded%s",
			     w->pattern, hint(k, w, text));
	else if (w->is_enabled)
		findings_add(to, FINDING_EVENT, w->pattern,
			     "-e %s: no such event was recorded: %s has it, and did not come there",
			     w->pattern, w->program);
	else
		findings_add(to, FINDING_EVENT, w->pattern,
			     "-e %s: no such event was recorded: %s has it, but another option "
			     "(--level, --program, a later -e) leaves it out",
			     w->pattern, w->program);
}

static void conclude(const struct seen *k, const struct session *s, const struct seen_pattern *w,
		     struct findings *to)
{
	char text[128];

	if (w->kind == FINDING_PROGRAM && !w->exists)
		findings_add(to, FINDING_PROGRAM, w->pattern,
			     "--program %s: no such program has trace sites%s", w->pattern,
			     *w->near ? hint(k, w, text) : ": duet list shows those that run");
	if (w->kind == FINDING_EXCLUSION && !w->exists)
		findings_add(to, FINDING_EXCLUSION, w->pattern, "-e '!%s': it left out nothing%s",
			     w->pattern, *w->near ? hint(k, w, text) : "");
	if (w->kind == FINDING_CHANNEL && !was_emitted(s, w))
		findings_add(to, FINDING_CHANNEL, w->pattern,
			     "--channel %s:events=%s: no such event was recorded%s",
			     w->number < s->n_channels ? s->channels[w->number].name : "?",
			     w->pattern, w->exists ? "" : hint(k, w, text));
	if (w->kind == FINDING_EVENT && !was_emitted(s, w))
		conclude_event(k, w, to);
}

void seen_conclude(const struct seen *k, const struct session *s, struct findings *to)
{
	static struct seen all;

	/* Without any program the rules were not read yet. */
	all = *k;
	watch_rules(&all, &s->file);
	for (uint32_t i = 0; i < k->noted.n; i++)
		findings_add(to, k->noted.at[i].kind, k->noted.at[i].subject, "%s",
			     k->noted.at[i].text);
	for (uint32_t i = 0; i < all.n; i++)
		conclude(&all, s, &all.at[i], to);
	if (all.n_refused)
		findings_add(
			to, FINDING_ROOM, all.full,
			"%s%s: %u of its events have no room and are not recorded: a program has "
			"at most %d",
			all.full, all.has_more_full ? " and others" : "", all.n_refused,
			ABI_EVENTS);
}
