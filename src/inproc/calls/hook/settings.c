/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/settings.c - recording of calls prepared, configured and started again.
 */
#include "inproc/calls/hook/hooks.h"
#include "inproc/calls/hook/record.h"
#include "inproc/calls/hook/thread.h"

struct calls_settings calls_settings = { .depth = UINT32_MAX };

/* A quantum lasts about so long: shorter durations are noise of the clock. */
enum { QUANTUM_NS = 8 };

enum calls_kind calls_kind_of(uint32_t flags)
{
	bool hidden = flags & ABI_SITE_HIDDEN;

	if (flags & ABI_SITE_LONGJMP)
		return hidden ? CALLS_LONGJMP_HIDDEN : CALLS_LONGJMP;
	if (flags & ABI_SITE_SWITCH)
		return hidden ? CALLS_SWITCH_HIDDEN : CALLS_SWITCH;
	if (flags & ABI_SITE_DLOPEN)
		return hidden ? CALLS_RESCAN_HIDDEN : CALLS_RESCAN;
	return flags & ABI_SITE_ALWAYS ? CALLS_ALWAYS : CALLS_CALL;
}

#define PAIR(enter_name, leave_name)                                                               \
	(struct calls_hooks)                                                                       \
	{                                                                                          \
		(calls_hook *)calls_##enter_name, (calls_hook *)calls_##leave_name                 \
	}

static struct calls_hooks plain_hooks(uint32_t mode)
{
	switch (mode) {
	case ABI_CALLS_OVER:
		return PAIR(enter, leave_over);
	case ABI_CALLS_PROFILE:
		return PAIR(enter_path, leave_path);
	case ABI_CALLS_GOVERNED:
		return PAIR(enter, leave_governed);
	default:
		return PAIR(enter, leave_exact);
	}
}

struct calls_hooks calls_hooks_for(enum calls_kind kind, uint32_t mode)
{
	switch (kind) {
	case CALLS_SWITCH:
		return PAIR(enter_switch, leave_switch);
	case CALLS_SWITCH_HIDDEN:
		return PAIR(enter_switch_hidden, leave_switch);
	case CALLS_RESCAN:
		return PAIR(enter_rescan, leave_rescan);
	case CALLS_RESCAN_HIDDEN:
		return PAIR(enter_rescan_hidden, leave_rescan);
	case CALLS_LONGJMP:
		return PAIR(enter_jump, leave_exact);
	case CALLS_LONGJMP_HIDDEN:
		return PAIR(enter_jump_hidden, leave_exact);
	case CALLS_ALWAYS:
		return plain_hooks(mode == ABI_CALLS_GOVERNED ? ABI_CALLS_EXACT : mode);
	default:
		return plain_hooks(mode);
	}
}

/* ---------------------------------------------------------------- the clock */

static uint64_t ns_to_ticks(uint64_t ns)
{
	if (!calls_settings.has_ticks || !calls.shared->clock.mult)
		return ns;
	return (uint64_t)(((unsigned __int128)ns << 32) / calls.shared->clock.mult);
}

static void set_clock(void)
{
	uint64_t ticks;
	uint32_t shift = 1;

	calls_settings.has_ticks = calls.shared->clock.kind == ABI_CLOCK_TSC;
	ticks = ns_to_ticks(QUANTUM_NS);
	while (shift < 16 && (3ull << shift) / 2 <= ticks)
		shift++;
	calls_settings.shift = calls.shared->shift = shift;
}

bool calls_start(void)
{
	static bool is_started, result;

	if (is_started)
		return result;
	is_started = true;
	keep_start();
	set_clock();
	batch_start();
	slow_event_start();
	result = calls_threads_start();
	calls.shared->hook_ticks = calls_calibrate();
	return result;
}

void calls_restart(void)
{
	set_clock();
	store(&calls_settings.epoch, calls_settings.epoch + 1);
	store(&calls_settings.generation, calls_settings.generation + 1);
}

void calls_configure(const struct abi_plan *plan)
{
	struct calls_settings *c = &calls_settings;

	c->threshold_ticks = ns_to_ticks(plan->threshold_ns);
	c->elide_after_calls = plan->elide_after_calls ? plan->elide_after_calls : 1;
	c->elide_under_quanta = (uint32_t)(ns_to_ticks(plan->elide_under_ns) >> c->shift);
	c->depth = plan->depth ? plan->depth : UINT32_MAX;
	c->flags = plan->flags;
	store(&c->mode, plan->mode);
	calls.shared->mode = plan->mode;
	calls.shared->threshold_ns = plan->threshold_ns;
	store_release(&c->generation, c->generation + 1);
	calls_look_again();
}
