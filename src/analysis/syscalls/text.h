/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/text.h - what the numbers of a system call mean: flags, commands, descriptors,
 * errors.
 *
 * Everything here makes text and prints nothing; a number that has no name stays a number.  What an
 * argument is goes by the names of the call and of the argument, as the kernel's metadata have them
 * (rules.c).
 */
#ifndef ANALYSIS_SYSCALLS_TEXT_H
#define ANALYSIS_SYSCALLS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/syscalls/names.h"
#include "analysis/syscalls/calls.h"
#include "base/text.h"

struct call_memory;
struct call_moment;
struct fds;

enum call_kind {
	CALL_NUMBER, /* as its field says: decimal, or an address */
	CALL_HEX,
	CALL_OCTAL,
	CALL_ADDRESS,
	CALL_FD,
	CALL_AT_FD, /* or AT_FDCWD */
	CALL_PID,
	CALL_SIGNAL,
	CALL_ONE,	 /* of names */
	CALL_FLAGS,	 /* some of names */
	CALL_OPEN,	 /* how, and flags */
	CALL_CLONE,	 /* flags, and a signal in the low byte */
	CALL_WITH_FLAGS, /* one of names, and some of flags */
	CALL_STATX,	 /* flags, and how to synchronize, of which one is 0 */
	CALL_PATH,	 /* a text, where the recording has it */
};

struct call_rule {
	const char *call; /* NULL: any */
	const char *argument;
	enum call_kind kind;
	const struct call_name *names, *flags;
};

/* call_rule_of - what is known of an argument, or NULL. */
const struct call_rule *call_rule_of(const char *call, const char *argument);

struct call_value {
	int64_t n;
	uint8_t size_bits; /* of the field; 0: 64 */
	bool is_signed;
	bool is_address;  /* its field is hexadecimal */
	const char *text; /* else, if not NULL: a text */
	size_t text_size;
	const struct call_memory *memory; /* what it points to; NULL: not known */
};

/* What else is known, for names beside numbers. */
struct call_about {
	const struct fds *fds;		 /* NULL: descriptors stay numbers */
	uint32_t process;		 /* whose they are */
	struct threads *threads;	 /* NULL: process numbers stay numbers */
	const struct trace_event *event; /* of its host */
};

/* What of a call decides how the rest of it is read. */
enum call_shape {
	SHAPE_PLAIN,
	SHAPE_OPEN,
	SHAPE_FUTEX,
	SHAPE_FCNTL,
	SHAPE_MREMAP,
	SHAPE_SOCKET,
	SHAPE_SOCKOPT,
	SHAPE_CLONE,
	SHAPE_PRCTL,
	SHAPE_IOCTL,
};

struct call_plan { /* of an event class, made once */
	enum call_shape shape;
	enum call_kind result; /* CALL_FD, CALL_HEX, CALL_OCTAL, or CALL_NUMBER */
	bool has_result;
	const struct call_rule *rules[CALL_ARGS];
};

/* call_plan_make - @c: of the entry; NULL: not known, then only results can be told. */
void call_plan_make(struct call_plan *p, const char *call, const struct call_class *c);

/* Arguments in words, each for itself: some are known later than others. */
struct call_parts {
	struct text part[CALL_ARGS];
	uint32_t uses; /* which of them the call has, as bits */
};

/* call_arguments - the words of those that @which has bits of. */
void call_arguments(struct call_parts *parts, const struct call_plan *p,
		    const struct call_value *values, uint32_t n, uint32_t which,
		    const struct call_moment *x);
/* call_join - "3</etc/passwd>, 0x55e0, 4096": without parentheses.  @from, @n: of them, in the
 * order in which they are shown; a comma is behind the last if it is not the last of all. */
void call_join(struct text *t, const struct call_plan *p, const struct call_parts *parts,
	       uint32_t from, uint32_t n);
/* call_operand - which in that order argument @i is. */
uint32_t call_operand(const struct call_plan *p, uint32_t i);
void call_parts_fini(struct call_parts *parts);
/* call_result - "832", "-1 ENOENT (No such file or directory)", "?" if the call does not return.
 * @m: what is known of its beginning. */
void call_result(struct text *t, const struct call_plan *p, const struct call_made *m,
		 int64_t result, const struct call_about *about);

/* The parts, for others. */
void call_one(struct text *t, const struct call_name *names, int64_t value, uint8_t size_bits);
void call_flags(struct text *t, const struct call_name *names, uint64_t value);
const char *call_name_of(const struct call_name *names, uint64_t value); /* NULL: none */
void call_signal(struct text *t, int64_t number);			 /* SIGCHLD, SIGRT_3 */
const char *call_errno(int number); /* ENOENT, also the kernel's own; NULL: none */
bool call_is_error(int64_t result);
/* In double quotes, as C writes it. */
void call_quoted(struct text *t, const char *bytes, size_t size);
void call_fd(struct text *t, int64_t fd, const struct call_about *about);

#endif
