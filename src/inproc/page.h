/* SPDX-License-Identifier: MIT */
/*
 * inproc/page.h - this program's control page: abi/control.h.
 *
 * Others may write to it at any time: no number in it leads outside.
 */
#ifndef INPROC_PAGE_H
#define INPROC_PAGE_H

#include "base/atomic.h"
#include "inproc/process.h"

/*
 * page_create - make a page for this process, mapped, without events; nobody takes it for one yet.
 *
 * @dir: the runtime directory.  @name: what its file is called there, for page_drop and
 * page_remove. Returns NULL if that fails; then no file is left either.  Async-signal-safe.
 */
struct abi_control *page_create(int dir, char name[ABI_PAGE_NAME_BYTES]) HIDDEN;
/* page_publish - the page is complete, and is process.pid's. */
void page_publish(struct abi_control *c) HIDDEN;
/* page_drop - take back what page_create made. */
void page_drop(struct abi_control *c, const char *name) HIDDEN;
/* page_replace - @c takes the place of @old, at its address: whoever was about to touch a word
 * there finds the same one of @c.  False: nothing has changed. */
bool page_replace(struct abi_control *old, struct abi_control *c) HIDDEN;
/* page_remove - remove the file alone. */
void page_remove(const char *name) HIDDEN;

/* page_copy - the events of @from, in the same lines, and whom they are recorded for.  False if
 * there is no room.  Async-signal-safe. */
bool page_copy(struct abi_control *to, const struct abi_control *from) HIDDEN;

/* page_add_event - the line of the event of that schema, which is added if it is new.  -1 if there
 * is no room.  Under process_lock. */
int page_add_event(struct abi_control *c, const char *schema, size_t size) HIDDEN;

/* The line of event @i < ABI_EVENTS. */
static inline struct abi_control_event *page_event(struct abi_control *c, uint32_t i)
{
	return (struct abi_control_event *)((char *)c + abi_control_event_offset(i));
}

/* The schema of a line, and its size; NULL if what it says makes no sense. */
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
