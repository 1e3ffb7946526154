/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/template.h - what all lines of an event class share, made once.
 *
 * An event of numbers and texts alone is shown as pieces: text that never changes, then one field.
 * Classes with anything else (struct, array, variant), or with very long names, have no template:
 * their fields are walked over.
 */
#ifndef CMD_VIEW_TEMPLATE_H
#define CMD_VIEW_TEMPLATE_H

#include "cmd/view/output.h"
#include "trace/trace.h"

enum view_how { VIEW_SIGNED, VIEW_UNSIGNED, VIEW_TEXT, VIEW_OTHER, VIEW_END };

struct view_fragment {
	const char *before; /* OUT_PAD more bytes may be read */
	uint16_t size;	    /* of it, at most 512 */
	uint8_t how;	    /* enum view_how */
	uint8_t cell;	    /* see ctf_event_columns() */
};

struct view_template {
	uint32_t n_fragments; /* the last is VIEW_END; their text lies behind them */
	struct view_fragment fragments[];
};

struct view_templates {
	struct view_template **of_class; /* by class number */
	bool *is_made;
	uint32_t n;
	const char *before_name, *behind_name; /* colours; "" */
};

/* @before_name, @behind_name: put around names; lent.  -1: no memory. */
/* Of classes with addresses to be named there are none. */
int view_templates_open(struct view_templates *ts, uint32_t n_classes, const char *before_name,
			const char *behind_name);
/* view_templates_grow - to more classes.  -1: no memory. */
int view_templates_grow(struct view_templates *ts, uint32_t n_classes);
void view_templates_close(struct view_templates *ts);

/* view_template_make - that of @e's class; NULL: walk. */
const struct view_template *view_template_make(struct view_templates *ts,
					       const struct trace_event *e);

static inline const struct view_template *view_template(struct view_templates *ts,
							const struct trace_event *e)
{
	const struct view_template *t = ts->of_class[trace_class_number(e)];

	return __builtin_expect(!!t, 1) ? t : view_template_make(ts, e);
}

#endif
