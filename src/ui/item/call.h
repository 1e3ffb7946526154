/* SPDX-License-Identifier: MIT */
/* ui/item/call.h - a system call of the index in words, read from the recording. */
#ifndef UI_ITEM_CALL_H
#define UI_ITEM_CALL_H

#include "ui/query/query.h"
#include "ui/reader/reader.h"

struct item;

struct item_call {
	struct text words;  /* "fsync(3</tmp/audit.log>)"; empty: it is not in the recording */
	struct text result; /* empty if it has no end */
	struct text object; /* the file or variable that it works on, if it has a name */
	const char *field;  /* of the object's number, as calls_object() says; NULL: none */
	int64_t number;
};

/* item_call_of - interval @index of @track, of system calls.  0 or -errno; call item_call_fini() in any
 * case. */
int item_call_of(struct item_call *c, struct ui_reader *reader, const struct ui_request *q,
		 uint32_t track, uint32_t index, struct diag *d);
int item_call_read(struct item_call *c, struct item *i, struct diag *d);
/* item_call_object - append the object: "/var/audit.log", "audit_lock in server", "0x7f12", "fd 7"; or
 * nothing. */
void item_call_object(const struct item_call *c, struct text *t);
void item_call_fini(struct item_call *c);

#endif
