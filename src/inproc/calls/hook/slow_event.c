/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/slow_event.c - the event duet_calls:slow: one call that lasted longer than the
 * threshold, for triggers.
 *
 * Only in ABI_CALLS_OVER, and only while a session wants the event: then calls above the threshold
 * end in the slow path, which they do not otherwise.
 */
#include <string.h>

#include "inproc/calls/hook/thread.h"
#include "inproc/emit.h"

enum { NAME_BYTES = 256 };

static const uint64_t disabled;
static const struct duet_i_api *api;
struct duet_i_site calls_slow_site = {
	.enabled = &disabled,
	.name = "duet_calls:slow",
	.schema = " str function u64 duration_ns u32 depth",
	.kind = DUET_I_TYPED,
	.level = 6 /* DUET_INFO */,
};

void slow_event_start(void)
{
	duet_i_register(&calls_slow_site, &calls_slow_site + 1, &api);
}

static uint64_t nanoseconds(uint64_t ticks)
{
	return calls_settings.has_ticks
		       ? (uint64_t)((unsigned __int128)ticks * calls.shared->clock.mult >> 32)
		       : ticks;
}

void slow_event(const struct calls_frame *f, uint64_t now)
{
	char payload[NAME_BYTES + 12];
	uint64_t duration_ns = nanoseconds(now - f->ticks);
	uint32_t depth = f->depth;
	size_t n;

	if (!calls_slow_is_wanted() || !api)
		return;
	n = calls_name(f->function, payload, NAME_BYTES) + 1;
	memcpy(payload + n, &duration_ns, sizeof duration_ns);
	memcpy(payload + n + 8, &depth, sizeof depth);
	api->emit(&calls_slow_site, payload, n + 12, __builtin_return_address(0));
}
