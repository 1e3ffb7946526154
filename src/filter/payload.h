/* SPDX-License-Identifier: MIT */
/*
 * filter/payload.h - filters over payloads as libduet packs them.
 *
 * In libduet: link at the event's first time, run before anything is written.
 *
 *	static bool context(const struct filter_source *s, uint32_t which, struct filter_value *v);
 *	static const struct filter_source contexts = { context };
 *
 *	if (filter && !filter_run(filter, payload, size, &contexts))
 *		return;
 */
#ifndef FILTER_PAYLOAD_H
#define FILTER_PAYLOAD_H

#include "filter/filter.h"

/* Numbers by which filter_source.get() is asked for contexts: `$vpid`, or `$ctx.vpid`. */
enum filter_context {
	FILTER_VPID, /* integers, but for procname */
	FILTER_VTID,
	FILTER_PROCNAME,
	FILTER_CPU_ID,
	FILTER_PPID,
	FILTER_UID,
	FILTER_GID,
	FILTER_IP,
	FILTER_CONTEXTS
};

/*
 * filter_payload_link - filter_link() for an event class that a schema describes.
 *
 * @schema: @schema_size bytes, all of docs/formats/schema.md, LEVEL and NAME first.  Not needed
 * afterwards.  Anybody may have written it.
 * @contexts: those that the runner's source can give, as bits 1 << enum filter_context.
 */
bool filter_payload_link(struct filter *f, size_t capacity, const void *code, size_t size,
			 const char *schema, size_t schema_size, uint32_t contexts,
			 struct filter_problem *problem);

/* The name of a context, as in `$vpid`; NULL behind the last. */
const char *filter_context_name(enum filter_context which);

#endif
