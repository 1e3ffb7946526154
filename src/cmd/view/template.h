/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/template.h - the constant parts of the lines of an event class, built once.
 *
 * An event of numbers and texts alone is printed as fragments: constant text, then one field.  One that
 * has arrays too is walked, with a fragment for each operation of its program: its fields come in one
 * order always.  Classes with anything else (struct, variant), with very long names, or with addresses
 * to resolve have no template.
 */
#ifndef CMD_VIEW_TEMPLATE_H
#define CMD_VIEW_TEMPLATE_H

#include "trace/text/public.h"
#include "trace/public.h"

enum view_format { VIEW_SIGNED, VIEW_UNSIGNED, VIEW_TEXT, VIEW_OTHER, VIEW_SKIPPED, VIEW_END };

struct view_fragment {
	const char *before; /* OUT_PAD more bytes may be read */
	uint16_t size;	    /* of `before`, at most 512 */
	uint8_t format;	    /* enum view_format */
	uint8_t cell;	    /* index in the result of ctf_event_columns(); walked: not used */
};

struct view_template {
	bool is_walked;	      /* fragment i belongs to operation i */
	uint32_t n_fragments; /* the last is VIEW_END; their text is stored behind them */
	struct view_fragment fragments[];
};

struct view_templates {
	struct view_template **of_class; /* by class number */
	bool *is_made;
	uint32_t n;
	const char *before_name, *behind_name; /* colours, or "" */
};

/* view_templates_open - @before_name, @behind_name: printed around names; borrowed.  -1: no
 * memory. */
int view_templates_open(struct view_templates *ts, uint32_t n_classes, const char *before_name,
			const char *behind_name);
/* view_templates_grow - extend to @n_classes.  -1: no memory; all templates are closed then. */
int view_templates_grow(struct view_templates *ts, uint32_t n_classes);
void view_templates_close(struct view_templates *ts);

/* view_template_make - return the template of @e's class; NULL: walk its fields. */
const struct view_template *view_template_make(struct view_templates *ts,
					       const struct trace_event *e);

static inline const struct view_template *view_template(struct view_templates *ts,
							const struct trace_event *e)
{
	const struct view_template *t = ts->of_class[trace_class_number(e)];

	return __builtin_expect(!!t, 1) ? t : view_template_make(ts, e);
}

#endif
