/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/text.h - the numbers of a system call as text: flags, commands, descriptors,
 * errors.
 *
 * All functions append to a text and print nothing. A number without a name stays a number. Rules
 * use the names of the call and of its argument, as in the kernel's metadata (rules.c).
 */
#ifndef ANALYSIS_SYSCALLS_TEXT_H
#define ANALYSIS_SYSCALLS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/syscalls/names/names.h"
#include "analysis/syscalls/calls.h"
#include "base/text.h"

struct call_memory;
struct call_moment;
struct fds;

enum call_kind {
	CALL_NUMBER, /* by its field: decimal, or an address */
	CALL_HEX,
	CALL_OCTAL,
	CALL_ADDRESS,
	CALL_FD,
	CALL_AT_FD, /* or AT_FDCWD */
	CALL_PID,
	CALL_SIGNAL,
	CALL_ONE,	 /* one of `names` */
	CALL_ONE_SIGNED, /* the same; numbers are decimal */
	CALL_ID,	 /* of a user or group: -1 for none */
	CALL_UNSIGNED,	 /* decimal, whatever its field is */
	CALL_SIGNED,
	CALL_DEVICE,
	CALL_KEY,	  /* of System V IPC */
	CALL_IPC_MODE,	  /* flags of `names`, and permissions */
	CALL_MODE,	  /* type of file, and permissions */
	CALL_PERMISSIONS, /* octal */
	CALL_FANOTIFY,	  /* one of `names`, then `flags` */
	CALL_MOUNT,	  /* flags, perhaps behind a number of old kernels */
	CALL_SWAP,	  /* flags and a priority */
	CALL_ONE_COMMENT, /* a number, and one of `names` as a comment */
	CALL_FAN_FD,	  /* or AT_FDCWD, or FAN_NOFD */
	CALL_IOPRIO,	  /* a class of `names`, and a level */
	CALL_QUOTA,	  /* an operation and a type */
	CALL_MAP,	  /* flags of mmap(): a type, flags, and the size of huge pages */
	CALL_ERROR,	  /* a positive number of an error */
	CALL_MEMORY_FILE, /* flags, and the size of huge pages */
	CALL_KEXEC,	  /* an architecture, and flags */
	CALL_ONE_INT,	  /* one of `names`, of 32 bits */
	CALL_STRING,	  /* a text that is cut to the requested length */
	CALL_KCMP,	  /* an index, or a descriptor; it depends on the type */
	CALL_FLAGS,	  /* flags of `names` */
	CALL_OPEN,	  /* access mode, and flags */
	CALL_CLONE,	  /* flags, and a signal in the low byte */
	CALL_WITH_FLAGS,  /* one of `names`, and some of `flags` */
	CALL_STATX,	  /* flags, and a synchronization mode that may be 0 */
	CALL_PATH,	  /* a text, if the recording has it */
};

/* How constants and texts are shown. Zeroed: as strace shows them without options. */
struct call_style {
	enum { CALL_ABBREV, CALL_RAW, CALL_VERBOSE } constants;
	enum {
		CALL_HEX_NONE,
		CALL_HEX_CHARACTERS,  /* bytes that are not printable */
		CALL_HEX_UNPRINTABLE, /* texts with such bytes */
		CALL_HEX_ALL,
	} texts;
	bool is_whole;		/* structures and lists are not abbreviated */
	bool has_no_structures; /* their addresses are shown */
};

/* call_style_set - for all that follows in this process. */
void call_style_set(const struct call_style *s);
const struct call_style *call_style(void);

struct call_rule {
	const char *call; /* NULL: any */
	const char *argument;
	enum call_kind kind;
	const struct call_name *names, *flags;
};

/* call_rule_of - the rule for an argument, or NULL. */
const struct call_rule *call_rule_of(const char *call, const char *argument);

struct call_value {
	int64_t n;
	uint8_t size_bits; /* of the field; 0: 64 */
	bool is_signed;
	bool is_address;  /* its field is hexadecimal */
	const char *text; /* if not NULL: the value is this text */
	size_t text_size;
	const struct call_memory *memory; /* the memory that it points to; NULL: unknown */
};

enum { /* of descriptors */
       CALL_FD_PATHS = 1,
       CALL_FD_DEVICES = 2, /* paths and numbers of devices */
       CALL_FD_PIDFDS = 4,  /* their processes */
       CALL_FD_SOCKETS = 8, /* types and addresses of sockets */
};

/* Data for names beside numbers. */
struct call_about {
	const struct fds *fds;		 /* NULL: descriptors stay numbers */
	unsigned fd_kinds;		 /* shown of them; 0: as CALL_FD_PATHS */
	uint32_t process;		 /* the process of the descriptors */
	const char *cwd;		 /* its working directory; NULL: unknown */
	struct threads *threads;	 /* NULL: process numbers stay numbers */
	const struct trace_event *event; /* gives the host */
};

/* The argument of a call that decides how the others are read. */
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
	SHAPE_KCMP,
	SHAPE_MEMBARRIER,
	SHAPE_MQ_OPEN,
	SHAPE_POSITION, /* two halves of a position; one is enough */
	SHAPE_POSITION_FLAGS,
	SHAPE_REBOOT,
	SHAPE_SYSLOG,
	SHAPE_SECCOMP,
	SHAPE_TIME,
	SHAPE_MKNOD,
	SHAPE_IOPRIO,
	SHAPE_SCHEDULER,
	SHAPE_SIGNAL,
	SHAPE_QUOTA,
	SHAPE_QUOTA_FD,
	SHAPE_TIMEX,
	SHAPE_BPF,
	SHAPE_RULESET, /* a descriptor unless it has flags */
	SHAPE_INT,     /* the result has 32 bits */
};

/* A value of the argument that decides, and the rules of all arguments: a letter each, see
 * analysis/requests/requests.c. Those without a letter are not used. */
struct call_request {
	const char *call;
	uint8_t by; /* counted from 0 */
	uint64_t value;
	const char *arguments;
};
/* call_requests - the requests of @call, up to one of another call; NULL: it has none.
 * call_request_of - the one of these arguments; NULL: unknown. call_request_rule - the rule for
 * argument @i of it; NULL: as in all requests. @size_bits: of the number, if the rule decides. */
const struct call_request *call_requests(const char *call);
const struct call_request *call_request_of(const struct call_request *all,
					   const struct call_value *v, uint32_t n);
const struct call_rule *call_request_rule(const struct call_request *r, uint32_t i,
					  uint8_t *size_bits);

struct call_plan { /* for an event class, made once */
	enum call_shape shape;
	enum call_kind result; /* CALL_FD, CALL_PID, CALL_HEX, CALL_OCTAL, or CALL_NUMBER */
	bool has_result;
	const struct call_request *requests; /* NULL: there are none */
	const struct call_rule *rules[CALL_ARGS];
};

/* call_plan_make - @c: the class of the entry; NULL: not known, then only results have a
 * meaning. */
void call_plan_make(struct call_plan *p, const char *call, const struct call_class *c);

/* The texts of the arguments, one for each, because some are known later than others. */
struct call_parts {
	struct text part[CALL_ARGS];
	uint32_t uses; /* bit i: the call uses argument i */
};

/* call_arguments - write the texts of the arguments in the bit set @which. */
void call_arguments(struct call_parts *parts, const struct call_plan *p,
		    const struct call_value *values, uint32_t n, uint32_t which,
		    const struct call_moment *x);
/* call_join - "3</etc/passwd>, 0x55e0, 4096": without parentheses. @from, @n: a range in the order
 * of display. A comma follows the last one if more arguments come behind the range. */
void call_join(struct text *t, const struct call_plan *p, const struct call_parts *parts,
	       uint32_t from, uint32_t n);
/* call_operand - the position of argument @i in that order. */
uint32_t call_operand(const struct call_plan *p, uint32_t i);
void call_parts_fini(struct call_parts *parts);
/* call_result - "832", "-1 ENOENT (No such file or directory)", "?" if the call does not return.
 * @m: its entry, as far as it is known. */
void call_result(struct text *t, const struct call_plan *p, const struct call_made *m,
		 int64_t result, const struct call_about *about);

/* Single parts, for other modules. */
void call_one(struct text *t, const struct call_name *names, int64_t value, uint8_t size_bits);
/* The same; numbers without a name are decimal. */
void call_one_decimal(struct text *t, const struct call_name *names, int64_t value);
void call_one_signed(struct text *t, const struct call_name *names, int64_t value);
void call_flags(struct text *t, const struct call_name *names, uint64_t value);
const char *call_name_of(const struct call_name *names, uint64_t value); /* NULL: none */
void call_signal(struct text *t, int64_t number);			 /* SIGCHLD, SIGRT_3 */
const char *call_errno(int number); /* ENOENT, also those that only the kernel uses; NULL: none */
bool call_is_error(int64_t result);
/* In double quotes, each byte as \\x41. */
void call_hex_quoted(struct text *t, const uint8_t *bytes, size_t size);
/* In double quotes, in C syntax. */
void call_quoted(struct text *t, const char *bytes, size_t size);
/* call_text - a recorded text in quotes, at most @most bytes of it, then dots if it goes on. */
void call_text(struct text *t, const char *text, size_t size, size_t most);
void call_mode(struct text *t, uint32_t mode);	   /* "S_IFREG|0644" */
void call_device(struct text *t, uint64_t device); /* "makedev(0x8, 0x1)" */
/* call_date - "2026-11-27T20:18:49+0000", with @digits of a fraction of the second, between two
 * texts; nothing for 0 and for numbers that are no date. */
void call_date(struct text *t, const char *before, int64_t seconds, uint64_t fraction, int digits,
	       const char *behind);
/* call_is_address - whether a recorded text is "0x7f00", the address of one that could not be read.
 */
bool call_is_address(const char *text, size_t size);
/* call_io_priority - "IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)", whatever the style. */
void call_io_priority(struct text *t, uint64_t bits);
void call_fd(struct text *t, int64_t fd, const struct call_about *about);
void call_pid(struct text *t, int64_t pid, const struct call_about *about);
/* call_plain - a name between angle brackets. Names come from recordings: characters that do not print,
 * and such brackets, are shown by their numbers, so that none reaches a terminal. */
void call_plain(struct text *t, const char *bytes, size_t size);

#endif
