/* SPDX-License-Identifier: MIT */
/*
 * inproc/page.h - this program's control page: abi/control.h.
 *
 * Other processes may write to it at any time: no number in it is used unchecked.
 */
#ifndef INPROC_PAGE_H
#define INPROC_PAGE_H

#include "base/atomic.h"
#include "inproc/process.h"

/*
 * page_create - make and map a page without events for this process; it is not published yet.
 *
 * @dir: the runtime directory.
 * @name: receives the name of its file there, for page_drop and page_remove.
 *
 * Returns NULL if that fails; then no file is left either.  Async-signal-safe.
 */
struct abi_control *page_create(int dir, char name[ABI_PAGE_NAME_BYTES]) HIDDEN;
/* page_program - the name of this program. */
void page_program(char program[ABI_NAME_BYTES]) HIDDEN;
/* page_publish - mark the page as complete, and as that of process.pid. */
void page_publish(struct abi_control *c) HIDDEN;
/* page_drop - undo page_create. */
void page_drop(struct abi_control *c, const char *name) HIDDEN;
/* page_replace - put @c at the address of @old: a thread about to touch a word there finds the same
 * word of @c.  False: nothing has changed. */
bool page_replace(struct abi_control *old, struct abi_control *c) HIDDEN;
/* page_remove - remove the file only. */
void page_remove(const char *name) HIDDEN;

/* page_copy - copy the events of @from, in the same lines, and the sessions that record them.
 * False if there is no room.  Async-signal-safe. */
bool page_copy(struct abi_control *to, const struct abi_control *from) HIDDEN;

/* page_add_event - the line of the event with that schema, which is added if it is new.  -1 if
 * there is no room.  Under process_lock. */
int page_add_event(struct abi_control *c, const char *schema, size_t size) HIDDEN;

/* The line of event @i < ABI_EVENTS. */
static inline struct abi_control_event *page_event(struct abi_control *c, uint32_t i)
{
	return (struct abi_control_event *)((char *)c + abi_control_event_offset(i));
}

/* The schema of a line, and its size; NULL if the line is not valid. */
static inline const char *page_schema(const struct abi_control *c,
				      const struct abi_control_event *e, uint32_t *size)
{
	uint32_t at = load(&e->schema);

	*size = load(&e->schema_size);
	return *size <= ABI_SCHEMA_MAX_BYTES && at <= ABI_CONTROL_BYTES - *size
		       ? (const char *)c + at
		       : NULL;
}

#endif
