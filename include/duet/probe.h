/* SPDX-License-Identifier: MIT */
/*
 * duet/probe.h - call functions of this program when events happen in it.
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
 * Probes work inside the process.  They need no collector, no collector sees them, and recordings
 * made at the same time do not change.  The child of fork has its parent's probes.  An event with a
 * probe takes the longer path through libduet, some tens of nanoseconds, plus the time of the
 * probe.
 *
 * The program links with nothing.  C99 and later, C++11 and later.  Manual: duet_probe(3).
 */
#ifndef DUET_PROBE_H
#define DUET_PROBE_H

#include <errno.h>
#include <duet/site.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The event.  It is valid during the call.  Later versions may add members: size is sizeof *this in
 * libduet. */
struct duet_probe_event {
	size_t size;
	const char *name;   /* "shop:order" */
	const char *fields; /* "i32 id str item", as docs/formats/schema.md; fields_size bytes
			       without a NUL */
	size_t fields_size;
	const void *payload; /* the fields in this order, packed and unaligned, as in a recording */
	size_t payload_size;
	const void *ip; /* the address of the site in the program */
	int level;	/* DUET_EMERG .. DUET_DEBUG */
};

enum duet_probe_kind {
	DUET_PROBE_SIGNED = 1, /* integer; number has the same value modulo 2^64 */
	DUET_PROBE_UNSIGNED,   /* number; integer has the same value modulo 2^64 */
	DUET_PROBE_REAL,       /* real */
	DUET_PROBE_TEXT,       /* count bytes at bytes; a chr[N] has no NUL at the end */
	DUET_PROBE_MANY /* count elements of element_size bytes at bytes, packed and unaligned */
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

/* Registers a program that has no site of its own. */
static __attribute__((constructor, unused)) void duet_i_probe_constructor(void)
{
	duet_i_enter();
}

/* Whether libduet is present and new enough to have these functions. */
static inline __attribute__((unused)) int duet_i_has_probes(void)
{
	return duet_i_api && duet_i_api->size > offsetof(struct duet_i_api, probe_missed);
}

/*
 * duet_probe_attach - call @probe for each event that matches @pattern.
 *
 * @pattern: a glob on "channel:name", a channel or a name, as in duet(1); at most 255 bytes.  It
 * also applies to events that register later, such as those of libraries loaded later.
 * @arg: passed to the probe; must stay valid until the probe is detached.
 *
 * The probe runs in the thread or signal handler of the event, after sessions have the event.
 * Several threads may run it at once.  It may do what the code around the event may do: in a
 * handler, only what is async-signal-safe.  It must return: longjmp, exceptions and pthread_exit
 * must not leave it.  libduet restores errno.
 *
 * Events that the probe itself causes, or a handler that interrupts it, are recorded by sessions
 * but call no probe in this thread.  So there is no recursion.  duet_probe_missed() counts these
 * events.
 *
 * Returns a number above 0, for duet_probe_detach(); -EINVAL: the pattern is empty or too long;
 * -ENOSPC: 32 probes are attached; -ENOSYS: there is no libduet; -ENODEV: libduet is dormant in
 * this process; -ENOMEM.  Any thread, also inside a probe; not from a signal handler.  Since 0.1.
 */
static inline __attribute__((unused)) int
duet_probe_attach(const char *pattern,
		  void (*probe)(const struct duet_probe_event *event, void *arg), void *arg)
{
	return duet_i_has_probes() ? duet_i_api->probe_attach(pattern, probe, arg) : -ENOSYS;
}

/*
 * duet_probe_detach - begin no more calls of a probe.
 *
 * @probe: the number from duet_probe_attach().
 *
 * Waits until the calls in other threads have returned; then the memory at @arg may be freed.
 * Inside a probe it does not wait: it returns -EINPROGRESS if any call still runs, its own
 * included.
 *
 * Returns 0; -ENOENT: no such probe.  Any thread, also inside a probe; not from a signal handler.
 * Since 0.1.
 */
static inline __attribute__((unused)) int duet_probe_detach(int probe)
{
	return duet_i_has_probes() ? duet_i_api->probe_detach(probe) : -ENOENT;
}

/*
 * duet_probe_field - read a field of the event by its name.
 *
 * @name: "id"; for an array or a sequence, "v" is all of it and "v[3]" one element, counted from 0.
 * @value: receives the value; its bytes lie in the payload and are valid during the probe's call.
 *
 * Returns 0; -ENOENT: the event has no such field or element.  Async-signal-safe.  Since 0.1.
 */
static inline __attribute__((unused)) int duet_probe_field(const struct duet_probe_event *event,
							   const char *name,
							   struct duet_probe_value *value)
{
	return duet_i_api->probe_field(event, name, value);
}

/*
 * duet_probe_missed - the number of events in this process that should have called a probe but did
 * not.
 *
 * They happened inside a probe, or libduet had no memory for the call.  Any thread or signal
 * handler.  Since 0.1.
 */
static inline __attribute__((unused)) uint64_t duet_probe_missed(void)
{
	return duet_i_has_probes() ? duet_i_api->probe_missed() : 0;
}

#endif /* DUET_I_LAYOUT_ONLY */

#ifdef __cplusplus
}
#endif

#endif
