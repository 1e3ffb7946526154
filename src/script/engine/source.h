/* SPDX-License-Identifier: MIT */
/*
 * script/engine/source.h - where events come from.
 *
 * A source serves some probes of a program.  It returns events in ascending time, each with the
 * frame of one probe; two probes at one event come one after the other, in the order of the script.
 * The engine merges sources: an event of one is given to its handler when the other sources are
 * complete up to its time.  Times are nanoseconds from the Epoch, on the session's clock.
 *
 * Strings of a frame come from script_vm_string().
 */
#ifndef SCRIPT_ENGINE_SOURCE_H
#define SCRIPT_ENGINE_SOURCE_H

#include "script/check/program.h"
#include "script/vm/vm.h"

struct script_event {
	const struct script_probe *probe;
	int64_t time_ns;
	const struct script_frame *frame; /* valid until the next call of the source */
};

struct script_losses {			  /* since the last report */
	uint64_t lost;			  /* events */
	uint64_t skipped;		  /* runs that the kernel skipped */
	const struct script_probe *probe; /* NULL: not known */
};

struct script_source_of;

struct script_source_ops {
	const char *name; /* "kernel", "applications", "recording" */
	/* Begins to deliver.  The target command, if any, does not run yet. */
	int (*start)(struct script_source_of *s, struct diag *d);
	/* The next event: 1; 0: none now (complete up to known_ns); -ENODATA: the end; another
	 * -errno with the reason in @d. */
	int (*next)(struct script_source_of *s, struct script_event *e, struct diag *d);
	/* A descriptor to poll, or -1: then it is asked again after @wait_ms. */
	int (*wait)(struct script_source_of *s, int *wait_ms);
	/* Brings what was counted in the kernel into the machine's globals; called before a
	 * handler of the engine's families that reads them, and at the end.  May be NULL. */
	int (*collect)(struct script_source_of *s, struct diag *d);
	/* No new events; what exists is still returned by next, which then ends. */
	void (*stop)(struct script_source_of *s);
	/* 1: one row of losses; 0: no more.  May be NULL. */
	int (*losses)(struct script_source_of *s, struct script_losses *l);
	/* One line for -v about each probe: "folded into the kernel", "stream: reads global t". */
	void (*explain)(struct script_source_of *s, struct text *to);
	/* The function at an address, as script_services.symbol describes it; nothing added: not
	 * known here.  May be NULL. */
	void (*symbol)(struct script_source_of *s, int64_t pid, uint64_t address, char what,
		       struct text *to);
	void (*close)(struct script_source_of *s);
};

struct script_source_of {
	const struct script_source_ops *ops;
	struct script_vm *vm;
	int64_t known_ns; /* every event before this time has been returned */
	bool is_live;
	/* Set by start, of recordings; 0: not known.  If a script made the recording, these are its
	 * begin and end; timers count from the begin. */
	int64_t begin_ns, end_ns;
};

#endif
