/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/memory.h - the memory that arguments of system calls point to, as text in the
 * form of strace: socket addresses, times, arguments of programs, buffers, structures.
 *
 * capture/table.h defines which call has which memory, and whether at entry or at exit.
 * The bytes come from a trace file: their number and content are not trusted.
 */
#ifndef ANALYSIS_SYSCALLS_MEMORY_H
#define ANALYSIS_SYSCALLS_MEMORY_H

#include "base/text.h"
#include "ctf/decode/public.h"
#include "abi/capture.h"

struct call_about;
enum { CALL_BEFORES = 40 };

struct call_memory {
	const struct abi_capture *what; /* NULL: nothing */
	uint32_t size;
	uint8_t bytes[ABI_CAPTURE_MAX];
};

/* A length in memory, which the kernel may change. */
struct call_length {
	uint64_t bytes;
	bool is_known;
};

/* The context of the memory. */
struct call_moment {
	const int64_t *args; /* CALL_ARGS arguments of the call */
	int64_t result;	     /* at exit */
	bool is_end;
	uint32_t string_bytes;		/* limit for buffers and texts; 0: show everything */
	const struct call_about *about; /* may be NULL */
	/* From the entry, for the exit; NULL: unknown. The lengths of arguments, and those of the
	 * names of messages; negative: none. */
	const struct call_length *lengths;
	const int32_t *befores;
	const struct call_memory *memory; /* all of this event; see call_memory_behind() */
	int n_memory;
};

/* call_memory_is_in - whether events of class @c have a field for @what. */
bool call_memory_is_in(const struct abi_capture *what, const struct ctf_event_class *c);

/* call_memory_read - copy the bytes from @e; bytes beyond the room in @m are cut off. */
void call_memory_read(struct call_memory *m, const struct abi_capture *what,
		      const struct ctf_event *e);
/* call_memory_at_exit - texts that the exit has because they were not in memory at entry: one after
 * the other, each with its NUL, room->size bytes in all; NULL: none. @were_read: a bit for
 * each that could be read then; CALL_UNKNOWN_READ in older recordings. */
bool call_memory_at_exit_is_in(const struct ctf_event_class *c);
enum { CALL_UNKNOWN_READ = 0x100 };
const char *call_memory_at_exit(const struct ctf_event *e, struct call_memory *room,
				unsigned *were_read);

/* call_memory_behind - the memory behind the pointer at byte @at of the memory @m; NULL: it was not
 * recorded. */
const struct call_memory *call_memory_behind(const struct call_memory *m,
					     const struct call_moment *x, unsigned at);

/* call_length_of - at the exit, the length that @argument, counted from 1, pointed to at the entry;
 * NULL: unknown. */
static inline const struct call_length *call_length_of(const struct call_moment *x, int argument)
{
	return x->is_end && x->lengths && x->lengths[argument - 1].is_known
		       ? &x->lengths[argument - 1]
		       : NULL;
}

/* call_memory_add - "{tv_sec=0, tv_nsec=1000}", in the form of strace. Returns false and adds
 * nothing if there are too few bytes. */
bool call_memory_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_buffer_known - the recorded bytes of a buffer that the call moved: there may be more. */
uint64_t call_buffer_known(const struct call_memory *m, const struct call_moment *x);

/* call_memory_dump - the data of a buffer or of iovecs as lines of bytes and characters; nothing for
 * other memory. */
void call_memory_dump(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_memory_waits - whether the argument is shown only when @what, which the exit has, is
 * known. */
bool call_memory_waits(const struct abi_capture *what, const int64_t *args);

/* call_quoted_part - at most string_bytes of @size bytes in quotes, then dots if that is less than
 * @all. */
void call_quoted_part(struct text *t, const uint8_t *bytes, uint64_t size, uint64_t all,
		      const struct call_moment *x);

#endif
