/* SPDX-License-Identifier: MIT */
/* analysis/wait/words.c - states, causes and calls in words: see words.h. */
#include "analysis/wait/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const wait_state_keys[WAIT_STATES] = { "unknown",	"user",	    "kernel", "irq",
						   "preempted", "runnable", "blocked" };

const char *wait_state_words(const struct wait_analysis *w, int state)
{
	static const char *const names[WAIT_STATES] = {
		[WAIT_UNKNOWN] = "unknown",	   [WAIT_USER] = "running, user",
		[WAIT_KERNEL] = "running, kernel", [WAIT_IRQ] = "interrupted",
		[WAIT_PREEMPTED] = "preempted",	   [WAIT_RUNNABLE] = "waiting for a CPU",
		[WAIT_BLOCKED] = "blocked",
	};

	assert(state >= 0 && state < WAIT_STATES); /* no time is charged to WAIT_GONE */
	return state == WAIT_USER && !w->calls.has_entries ? "running" : names[state];
}

const char *wait_cause_words(const struct wait_analysis *w, struct wait_cause cause,
			     char buffer[80])
{
	static const char *const kinds[] = { "irq", "softirq", "interrupt" };
	const char *disk;

	switch (cause.kind) {
	case CAUSE_IRQ:
		snprintf(buffer, 80, "%s %s", kinds[w->irqs.sources[cause.source].kind],
			 w->irqs.sources[cause.source].name);
		return buffer;
	case CAUSE_SOME_IRQ:
		return "an interrupt";
	case CAUSE_BLOCK_IO:
		disk = devices_disk(&w->machine, cause.source);
		if (!cause.source)
			return "block i/o";
		if (disk && *disk)
			snprintf(buffer, 80, "block i/o of %s", disk);
		else
			snprintf(buffer, 80, "block i/o of %" PRIu32 ":%" PRIu32,
				 cause.source >> 20, cause.source & 0xfffff);
		return buffer;
	case CAUSE_TIMER:
		return "its timer";
	}
	return "?";
}

const char *wait_call_words(const char *call, const struct objects *o, uint32_t object,
			    char buffer[WAIT_CALL_BYTES])
{
	struct text words = { 0 };

	if (o && object)
		objects_words(o, object, &words);
	if (words.size)
		snprintf(buffer, WAIT_CALL_BYTES, "%s(%s)", call, words.bytes);
	else
		snprintf(buffer, WAIT_CALL_BYTES, "%s", call);
	text_fini(&words);
	return buffer;
}

const char *wait_slice_words(const struct wait_analysis *w, uint8_t state, const char *call,
			     const char *cause, char buffer[WAIT_SLICE_BYTES])
{
	if (state == WAIT_KERNEL || state == WAIT_BLOCKED)
		snprintf(buffer, WAIT_SLICE_BYTES, "%s%s%s%s%s", wait_state_words(w, state),
			 call ? " in " : "", call ? call : "", cause ? ", until " : "",
			 cause ? cause : "");
	else
		snprintf(buffer, WAIT_SLICE_BYTES, "%s", wait_state_words(w, state));
	return buffer;
}

const char *wait_share_words(const uint64_t ns[WAIT_STATES], char buffer[128])
{
	double whole = 0;

	for (int i = 0; i < WAIT_STATES; i++)
		whole += (double)ns[i];
	whole = whole > 0 ? whole / 100 : 1;
	snprintf(buffer, 128,
		 "on a CPU %.1f %%, waiting for one %.1f %%, blocked %.1f %%, unknown %.1f %%",
		 (double)(ns[WAIT_USER] + ns[WAIT_KERNEL] + ns[WAIT_IRQ]) / whole,
		 (double)(ns[WAIT_RUNNABLE] + ns[WAIT_PREEMPTED]) / whole,
		 (double)ns[WAIT_BLOCKED] / whole, (double)ns[WAIT_UNKNOWN] / whole);
	return buffer;
}

const char *wait_lack_words(const struct wait_analysis *w, int i)
{
	const struct {
		bool is_lacking;
		const char *words;
	} lacks[] = {
		{ !w->has_wakeups,
		  "no wakeups were recorded, so the threads that woke others are unknown: record "
		  "with -k sched" },
		{ !w->calls.has_entries, "no system calls were recorded, so user and kernel time "
					 "are not separated: record "
					 "with -k syscalls" },
		{ w->calls.has_entries && !w->has_faults,
		  "no page faults were recorded, so the kernel's time for them is within user "
		  "time: "
		  "record with -k mm" },
		{ !w->irqs.has_hard && !w->irqs.has_vectors,
		  "no interrupts were recorded, so a thread that an interrupt met may be shown as "
		  "a "
		  "waker: record with -k irq" },
	};

	for (size_t k = 0; k < sizeof lacks / sizeof *lacks; k++)
		if (lacks[k].is_lacking && !i--)
			return lacks[k].words;
	return NULL;
}
