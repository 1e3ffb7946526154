/* SPDX-License-Identifier: MIT */
/*
 * filter/payload.h - filters on payloads as libduet packs them.
 *
 * libduet links a filter at the event's first use, and runs it before anything is written.
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

/* The numbers of contexts for filter_source.get(): `$vpid`, or `$ctx.vpid`. */
enum filter_context {
	FILTER_VPID, /* integers, except procname */
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
 * @schema: @schema_size untrusted bytes in the format of docs/formats/schema.md, LEVEL and NAME
 * first.  Not used after the call.
 * @contexts: the contexts that the source can give, as bits 1 << enum filter_context.
 */
bool filter_payload_link(struct filter *f, size_t capacity, const void *code, size_t size,
			 const char *schema, size_t schema_size, uint32_t contexts,
			 struct filter_problem *problem);

/* filter_context_name - the name of a context, as in `$vpid`; NULL after the last. */
const char *filter_context_name(enum filter_context which);

#endif
