/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/target.h - a loaded object with a plan: its stubs, and what is patched of it.
 *
 * All functions run under the lock of calls (apply.h).
 */
#ifndef INPROC_CALLS_TARGET_H
#define INPROC_CALLS_TARGET_H

#include "inproc/calls/internal.h"
#include "inproc/calls/objects.h"
#include "inproc/calls/plan.h"
#include "inproc/calls/text.h"
#include "inproc/calls/unwind.h"
#include "inproc/usdt/usdt.h"

/*
 * A site's state.  `Off` means that calls are not recorded:
 *
 *   SITE_UNPATCHED   the program's own bytes
 *   SITE_ON          a jump to the stub, which is switched on
 *   SITE_OFF         five bytes that do nothing: the jump's with another first one
 *   SITE_BYPASSED    a jump to the stub, which is switched off
 *   SITE_WAITS       the program's own bytes; they can be replaced only while all threads are
 *                    stopped
 *   SITE_REFUSED     the program's own bytes, and they stay
 *   SITE_ELSEWHERE   a jump to the stub of an older plan
 */
enum site_state {
	SITE_UNPATCHED,
	SITE_ON,
	SITE_OFF,
	SITE_BYPASSED,
	SITE_WAITS,
	SITE_REFUSED,
	SITE_ELSEWHERE,
};

struct target {
	struct loaded loaded; /* `path` is not valid */
	char path[ABI_CALLS_OBJECT_PATH];
	struct plan plan; /* head NULL: there was none, and it is not asked for again */
	bool is_loaded;
	bool is_new;	 /* nothing of it was patched since it was loaded */
	bool has_number; /* it has an entry in the calls file, number `object` */
	uint32_t object;
	uint8_t *arena; /* a page of hooks, then stubs; NULL: nothing is wanted of it */
	size_t arena_bytes;
	uint32_t *heads; /* of each site's stub, from the arena's beginning; 0: none */
	uint8_t *states; /* enum site_state of each site */
	struct unwind unwind;
	struct usdt usdt;
	struct usdt_mark **marks;   /* of each site, of functions with arguments too; NULL: none */
	struct usdt_mark **results; /* likewise, of functions whose result is recorded */
};

/* What is being done to the program's other threads meanwhile. */
enum patch_how {
	PATCH_QUIET, /* there is none, or none can run or be inside a window */
	PATCH_LIVE,  /* they run */
};

/*
 * target_make - number the functions of the plan of @t, and write its stubs.  Nothing is patched.
 *
 * t->loaded, t->path and t->plan are set.
 *
 * False: no numbers or no memory near the object are left; the object's entry says how many
 * functions are refused, if there is room for the entry.
 */
bool target_make(struct target *t) HIDDEN;

/* target_reload - the file is loaded again, as t->loaded says: its old stubs serve again.  False:
 * they cannot. */
bool target_reload(struct target *t) HIDDEN;
/* target_unloaded - the file is not loaded any more.  Threads may still return through stubs, which
 * stay. */
void target_unloaded(struct target *t) HIDDEN;

/* target_patch - patch all sites that are not patched yet and that can be.  Returns how many are
 * patched now. */
uint32_t target_patch(struct target *t, enum patch_how how) HIDDEN;

/* target_wait - its sites that are not patched wait until all threads are stopped. */
void target_wait(struct target *t) HIDDEN;

/* target_switch - switch patched sites: those with @on[i], or all for NULL.  Returns false if some
 * stay as they are.  Threads may run. */
bool target_switch(struct target *t, const uint8_t *which, bool on) HIDDEN;
/* target_switch_one - the same for one site. */
bool target_switch_one(struct target *t, uint32_t site, bool on) HIDDEN;

/* target_give_back - the same, off for good: the program's own bytes where that is possible. */
bool target_give_back(struct target *t, uint32_t site) HIDDEN;

/* target_restore - put back the program's bytes at all sites, while no thread can run or be inside a
 * window.  False: some could not be. */
bool target_restore(struct target *t) HIDDEN;

/* target_set_hooks - from now on stubs call the hooks of @mode; with @pass they record nothing. */
void target_set_hooks(struct target *t, uint32_t mode, bool pass) HIDDEN;

static inline struct abi_calls_object *target_object(const struct target *t)
{
	return &calls_objects()[t->object];
}

/* target_island - where the island of site @s is: ABI_SITE_ISLAND. */
static inline uintptr_t target_island(const struct target *t, const struct abi_plan_site *s)
{
	return t->loaded.bias + s->address + 2 + (uintptr_t)(intptr_t)s->island;
}

/* Marks: marks.c.  marks_make - the marks of the plan, before stubs are written; false: no memory.
 * marks_moved - the file was loaded at another address. */
bool marks_make(struct target *t) HIDDEN;
void marks_moved(struct target *t) HIDDEN;
/* marks_stub - write the stub of mark @site for address @at to @to, which has USDT_STUB_MOST bytes.
 * Returns its size; 0: it cannot be made. */
uint32_t marks_stub(struct target *t, uint32_t site, uint8_t *to, uintptr_t at) HIDDEN;
/* marks_register - register the marks' events. */
void marks_register(struct target *t) HIDDEN;
/* marks_settle - count semaphores as the sites' states are now. */
void marks_settle(struct target *t) HIDDEN;

/* target_memory - zeroed memory of our own; NULL: there is none. */
void *target_memory(size_t bytes) HIDDEN;

/* The state of a site's function in the calls file. */
static inline uint32_t *target_function_state(const struct target *t, uint32_t site)
{
	return &calls_functions()[target_object(t)->first + site].state;
}

#endif
