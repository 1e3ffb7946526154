/* SPDX-License-Identifier: MIT */
/*
 * duet/probe.h - functions of your own, called when an event happens in this process.
 *
 *	static void on_order(const struct duet_probe_event *e, void *arg)
 *	{
 *		struct duet_probe_value v;
 *
 *		if (!duet_probe_field(e, "id", &v) && v.integer == 42)
 *			...
 *	}
 *	...
 *	int probe = duet_probe_attach("shop:*", on_order, NULL);
 *	...
 *	duet_probe_detach(probe);
 *
 * Probes are the process's own: no collector is needed, none knows of them, and whatever is
 *recorded meanwhile is recorded as without them.  A child of fork has its parent's.  An event that
 *a probe is attached to takes the longer way through libduet, some tens of nanoseconds, and what
 *the probe takes.
 *
 * Nothing has to be linked.  In C (C99 and later) and C++ (C++11 and later).  Manual:
 *duet_probe(3).
 */
#ifndef DUET_PROBE_H
#define DUET_PROBE_H

#include <errno.h>
#include <duet/site.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happened.  Valid during the call.  It may grow: size is sizeof *this in libduet. */
struct duet_probe_event {
	size_t size;
	const char *name;   /* "shop:order" */
	const char *fields; /* "i32 id str item": docs/formats/schema.md; fields_size bytes, no NUL
			       behind */
	size_t fields_size;
	const void *payload; /* the fields in this order, packed, as recordings have them; not
				aligned */
	size_t payload_size;
	const void *ip; /* where in the program */
	int level;	/* DUET_EMERG .. DUET_DEBUG */
};

enum duet_probe_kind {
	DUET_PROBE_SIGNED = 1, /* integer; number is the same, modulo 2^64 */
	DUET_PROBE_UNSIGNED,   /* number; integer is the same, modulo 2^64 */
	DUET_PROBE_REAL,       /* real */
	DUET_PROBE_TEXT,       /* count bytes at bytes, no NUL behind those of a chr[N] */
	DUET_PROBE_MANY /* count elements of element_size bytes at bytes, packed, not aligned */
};

struct duet_probe_value {
	enum duet_probe_kind kind;
	int64_t integer;
	uint64_t number;
	double real;
	const char *bytes; /* in the payload */
	size_t count, element_size;
};

#ifndef DUET_I_LAYOUT_ONLY /* libduet itself */

/* For a program without a site of its own. */
static __attribute__((constructor, unused)) void duet_i_probe_constructor(void)
{
	duet_i_enter();
}

/* Whether libduet is there, and no older than these functions. */
static inline __attribute__((unused)) int duet_i_has_probes(void)
{
	return duet_i_api && duet_i_api->size > offsetof(struct duet_i_api, probe_missed);
}

/*
 * duet_probe_attach - have @probe called for events.
 *
 * @pattern: a glob on "channel:name", a channel, or a name, as for duet(1); up to 255 bytes.  Also
 *of events that are registered later: of libraries that are yet to be loaded.
 * @arg: for the probe; must be valid until it is detached.
 *
 * The probe is called in the thread, or signal handler, in which the event happens, when sessions
 *have it already; in several at once.  So it may do what the places of those events may do: in
 *handlers, what is async-signal-safe.  It must come back: no longjmp, exception or pthread_exit
 *past it.  errno is kept.
 *
 * Events of its own, or of a handler that interrupts it, are recorded by sessions, and call no
 *probe in this thread: there is no recursion.  They are counted: duet_probe_missed().
 *
 * Returns a number above 0, for duet_probe_detach; -EINVAL: the pattern is empty or too long;
 *-ENOSPC: 32 probes are attached; -ENOSYS: no libduet; -ENODEV: libduet is dormant in this process;
 *-ENOMEM. Any thread, also in a probe; not in a signal handler.  Since 0.1.
 */
static inline __attribute__((unused)) int
duet_probe_attach(const char *pattern,
		  void (*probe)(const struct duet_probe_event *event, void *arg), void *arg)
{
	return duet_i_has_probes() ? duet_i_api->probe_attach(pattern, probe, arg) : -ENOSYS;
}

/*
 * duet_probe_detach - no call of it begins any more.
 *
 * Waits until the calls that run in other threads have come back: then what @arg points to may be
 * freed. Within a probe it does not wait, and returns -EINPROGRESS if a call still runs; its own
 * counts.
 *
 * Returns 0; -ENOENT: no such probe.  Any thread, also in a probe; not in a signal handler.  Since
 * 0.1.
 */
static inline __attribute__((unused)) int duet_probe_detach(int probe)
{
	return duet_i_has_probes() ? duet_i_api->probe_detach(probe) : -ENOENT;
}

/*
 * duet_probe_field - a field of the event, by name.
 *
 * @name: "id"; of an array or a sequence "v", all of it, or "v[3]", an element, counted from 0.
 *
 * Returns 0; -ENOENT: the event has no such field, or element.  Async-signal-safe.  Since 0.1.
 */
static inline __attribute__((unused)) int duet_probe_field(const struct duet_probe_event *event,
							   const char *name,
							   struct duet_probe_value *value)
{
	return duet_i_api->probe_field(event, name, value);
}

/* duet_probe_missed - how many events of this process called no probe though they should have:
 * those that happened in probes, and such as found no memory.  Any thread or signal handler.  Since
 * 0.1. */
static inline __attribute__((unused)) uint64_t duet_probe_missed(void)
{
	return duet_i_has_probes() ? duet_i_api->probe_missed() : 0;
}

#endif /* DUET_I_LAYOUT_ONLY */

#ifdef __cplusplus
}
#endif

#endif
