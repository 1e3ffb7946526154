/* SPDX-License-Identifier: MIT */
/* script/replay/search.h - a search for the points that a pattern means: shared by points*.c. */
#ifndef SCRIPT_REPLAY_SEARCH_H
#define SCRIPT_REPLAY_SEARCH_H

#include <string.h>

#include "rules/pattern.h"
#include "script/replay/internal.h"

struct search {
	struct replay *r;
	struct script_found *found;
	struct script_nearest nearest;
	uint32_t n; /* points reported */
	int err;
};

static inline bool is_like(const char *pattern, const char *name)
{
	return pattern_glob(pattern, pattern + strlen(pattern), name, name + strlen(name));
}

/* Whether @c is a component without argument that means @name. */
static inline bool is_plain(const struct script_component *c, const char *name)
{
	return c->kind == COMPONENT_PLAIN && is_like(c->name, name);
}

/* Whether @c is @name("..."). */
static inline bool is_with_text(const struct script_component *c, const char *name)
{
	return c->kind == COMPONENT_TEXT && !strcmp(c->name, name);
}

static inline bool has_wildcard(const char *name)
{
	return strpbrk(name, "*?") != NULL;
}

/* search_matches - whether @name is meant; if not, it is a candidate for "did you mean". */
bool search_matches(struct search *s, const char *pattern, const char *name);
/* search_report - report a point of @like's kind with the text @text. */
void search_report(struct search *s, struct replay_point like, const char *name, const char *text);
/* search_finish - the end of a search: an error if nothing was found. */
int search_finish(struct search *s, struct diag *d, const char *what, const char *wanted,
		  const char *command);

/* search_process - the points of process(...); 0 or -errno as points() of a world. */
int search_process(struct search *s, const struct script_point *p, struct diag *d);

#endif
