/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/objects.h - names of what system calls work on: futexes and descriptors.  Reports, `duet
 * top`, function graphs and the timeline take their words from here.
 *
 *   descriptor  its file, socket or pipe (analysis/syscalls/fds.h)
 *   futex       the variable of the program or library that holds it (trace/text/places.h); else the allocation
 *               that it lies in (blocks.h); else the thread on whose stack it lies (thread_stacks.h); else
 *               its address
 *
 * A descriptor that is opened again, and an address where another file was mapped meanwhile, are
 * other objects.  A child has its parent's objects until it executes a program.
 *
 * An analysis passes every event to objects_on_event(), and asks for the object of a call before it
 * does so for the call's exit.  Names are looked up when they are printed.
 */
#ifndef ANALYSIS_NAMES_OBJECTS_H
#define ANALYSIS_NAMES_OBJECTS_H

#include "analysis/event_table.h"
#include "analysis/names/thread_stacks.h"
#include "analysis/syscalls/fds.h"
#include "trace/text/public.h"

struct heap_sites;

/* The allocation around a futex: blocks.c. */
struct object_block {
	uint64_t bytes, into; /* into: of the futex in it */
	uint32_t site;	      /* of `sites`, plus 1; 0: none is known */
	uint32_t n;	      /* allocations that held the address while it was used; 0: none */
	bool is_live;
};

struct object {
	bool is_futex;
	uint32_t process; /* the thread number of its leader */
	int64_t number;	  /* descriptor, or address */
	uint32_t file;	  /* of a descriptor: in `fds`, plus 1; 0: unknown */
	struct variable_place place;
	uint32_t thread; /* on whose stack it lies, or whose end it reports; 0: none */
	bool is_end;
	int64_t first_ns, last_ns; /* of its uses */
	uint64_t clock;		   /* of the first one, in units of the trace's clock */
	uint32_t
		same; /* after objects_settle(): the number of the object that it is, its own or less */
	struct object_block block;
};

struct objects {
	struct threads *threads; /* borrowed */
	struct fds fds;
	struct thread_stacks stacks;
	struct places *places;	  /* NULL: no variables */
	struct heap_sites *sites; /* of blocks; NULL: not read */
	struct event_table *plans;
	uint32_t n_plans;
	bool *is_followed; /* by call: its arguments are read */
	uint32_t n_followed;
	struct objects_pending *pending; /* by thread */
	uint32_t n_pending;
	struct index keys;
	struct object *at;
	uint32_t n, n_rooms;
};

/*
 * objects_init - for the events of @run.
 *
 * @paths: the @n_paths recordings, for variables and allocations; none: these stay addresses.
 *
 * Returns 0 or -ENOMEM, with the reason in @d.
 */
int objects_init(struct objects *o, const struct pass *run, const char *const *paths, int n_paths,
		 struct diag *d);
void objects_fini(struct objects *o);
/* objects_update - after trace_refresh(): learn new classes.  0 or -ENOMEM. */
int objects_update(struct objects *o, const struct pass *run);

/* objects_on_event - learn from @e of @thread.  @calls: of the same pass.  0 or -ENOMEM. */
int objects_on_event(struct objects *o, const struct pass *run, const struct calls *calls,
		     const struct trace_event *e, uint32_t thread);

/*
 * objects_of - the object of call @m of @thread at event @e.
 *
 * Returns its number, from 1 on; 0: the call has none; or -ENOMEM.
 */
int64_t objects_of(struct objects *o, const struct trace_event *e, uint32_t thread,
		   const struct call_made *m);
/* objects_of_address - the futex at @address. */
int64_t objects_of_address(struct objects *o, const struct trace_event *e, uint32_t thread,
			   uint64_t address);

/* objects_settle - after threads_finalize(): the processes of all threads are known.  Two objects may
 * turn out to be the same.  0 or -ENOMEM. */
int objects_settle(struct objects *o);

/*
 * objects_read_blocks - read @run's trace again for the allocations around those futexes that have no
 * name yet: after objects_settle().
 *
 * It reads nothing if there are none, or no events of allocations.  Returns 0 or -errno, reason in
 * @d.
 */
int objects_read_blocks(struct objects *o, const struct pass *run, const char *const *paths,
			int n_paths, struct diag *d);

static inline const struct object *objects_at(const struct objects *o, uint32_t number)
{
	return number && number <= o->n ? &o->at[number - 1] : NULL;
}

/* objects_name - append the name alone: "/var/log/audit.log", "audit_lock in server".  False, and
 * nothing, if it has none. */
bool objects_name(const struct objects *o, uint32_t number, struct text *t);

/* objects_words - append "fd 7 = /var/log/audit.log", "audit_lock in server"; "fd 7", "0x7f12" without
 * a name. */
void objects_words(const struct objects *o, uint32_t number, struct text *t);

#endif
