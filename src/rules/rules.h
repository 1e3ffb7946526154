/* SPDX-License-Identifier: MIT */
/*
 * rules/rules.h - the rules that decide whether a session records an event, and its routing.
 *
 * Rules are texts, each ended by a NUL; the last one that matches an event decides:
 *
 *   +PATTERN      record it                   !PATTERN     do not record it
 *   ?N PATTERN    record it if filter N accepts it
 *   @N PATTERN    send it to channel N; decides nothing else
 *   ^N PATTERN    a trigger uses it, wherever the rule stands: the event is also copied to the
 *                 trigger channel.  If no other rule records it, only that copy is made, and only
 *                 if filter N accepts it (0: always)
 *
 * Conditions on programs precede each rule: rules/selector.h.  Patterns: rules/pattern.h.  The
 * rules come from a file that others may write: any bytes are safe.
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi/session.h"
#include "rules/pattern.h"
#include "rules/selector.h"

struct rules_verdict {
	bool wanted;
	uint16_t routing; /* ABI_ROUTING */
};

/* The number after the kind; moves *p past the space that ends it. */
static inline uint32_t rules_number(const char **p, const char *end)
{
	uint32_t n = 0;

	for (; *p < end && **p >= '0' && **p <= '9' && n < 100000; (*p)++)
		n = n * 10 + (uint32_t)(**p - '0');
	*p += *p < end;
	return n;
}

/* @name: "channel:name".  Without a colon it matches no pattern. */
static inline bool rules_pattern_matches(const char *pattern, const char *end, const char *name)
{
	const char *colon = strchr(name, ':');
	char channel[256];

	if (!colon || (size_t)(colon - name) >= sizeof channel)
		return false;
	memcpy(channel, name, (size_t)(colon - name));
	channel[colon - name] = 0;
	return pattern_matches_event(pattern, end, channel, colon + 1);
}

/* rules_judge - decide on the event @name with @level in the program that @selector describes. */
static inline struct rules_verdict rules_judge(const char *rules, uint32_t size, const char *name,
					       uint32_t level, const struct selector *selector)
{
	struct rules_verdict v = { false, 0 };
	uint32_t channel = 0, filter = 0, number, trigger_filter = 0;
	bool is_for_trigger = false;

	for (uint32_t i = 0; i < size;) {
		const char *p = rules + i, *end = (const char *)memchr(p, 0, size - i);
		char kind;

		if (!end)
			break;
		i += (uint32_t)(end - p) + 1;
		if (!selector_holds(&p, end, selector, level))
			continue;
		kind = *p;
		p += p < end;
		number = kind == '?' || kind == '@' || kind == '^' ? rules_number(&p, end) : 0;
		if (!rules_pattern_matches(p, end, name))
			continue;
		if (kind == '@') {
			channel = number;
		} else if (kind == '^') {
			/* If two triggers have different filters, each must see the event. */
			trigger_filter = is_for_trigger && trigger_filter != number ? 0 : number;
			is_for_trigger = true;
		} else {
			v.wanted = kind == '+' || kind == '?';
			filter = number;
		}
	}
	filter = v.wanted || !is_for_trigger ? filter : trigger_filter;
	v.routing = ABI_ROUTING(channel < ABI_CHANNELS ? channel : 0,
				filter <= ABI_FILTERS ? filter : 0);
	if (is_for_trigger)
		v.routing |= v.wanted ? ABI_ROUTING_TRIGGER
				      : ABI_ROUTING_TRIGGER | ABI_ROUTING_TRIGGER_ONLY;
	v.wanted |= is_for_trigger;
	return v;
}

#endif
