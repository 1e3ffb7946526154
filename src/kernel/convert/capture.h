/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/capture.h - what else than texts is read where arguments of system calls point to,
 * and as which field.
 *
 * One table says it for all who need to know: the BPF programs, which alone read there
 * (kernel/bpf/syscalls.c), the layout of the events, and who puts it into words
 * (analysis/syscalls/memory.h).  The fields: docs/design/kernel.md.
 */
#ifndef KERNEL_CONVERT_CAPTURE_H
#define KERNEL_CONVERT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

/* What it is. */
enum kernel_capture_kind {
	KERNEL_CAPTURE_ADDRESS, /* a sockaddr */
	KERNEL_CAPTURE_TIME,	/* a timespec */
	KERNEL_CAPTURE_ARGV,	/* texts, each with its NUL */
	KERNEL_CAPTURE_ENVP,	/* how many pointers: a u32 */
	KERNEL_CAPTURE_BUFFER,	/* bytes that are read or written */
	KERNEL_CAPTURE_TEXT,	/* a text that the kernel writes, or of a fixed length */
	KERNEL_CAPTURE_IOVECS,	/* of each: the iovec, a u16, so many bytes of what it points to */
	KERNEL_CAPTURE_MESSAGE, /* the msghdr, a u16, so many bytes of the name; then as _IOVECS */
	KERNEL_CAPTURE_STAT,
	KERNEL_CAPTURE_STATX,
	KERNEL_CAPTURE_STATFS,
	KERNEL_CAPTURE_LIMIT,	/* a rlimit64 */
	KERNEL_CAPTURE_INTS,	/* of 32 bits: descriptors, numbers */
	KERNEL_CAPTURE_LENGTH,	/* one int, a size of something else */
	KERNEL_CAPTURE_OFFSET,	/* one of 64 bits */
	KERNEL_CAPTURE_STATUS,	/* what wait() has of a child */
	KERNEL_CAPTURE_POLL,	/* pollfds */
	KERNEL_CAPTURE_EPOLL,	/* epoll_events */
	KERNEL_CAPTURE_ACTION,	/* the kernel's sigaction */
	KERNEL_CAPTURE_SIGNALS, /* a set of 64 */
	KERNEL_CAPTURE_SIGINFO,
	KERNEL_CAPTURE_SIGSTACK,
	KERNEL_CAPTURE_TIMEVAL,
	KERNEL_CAPTURE_ITIMER, /* two timevals */
	KERNEL_CAPTURE_TIMER,  /* two timespecs: an interval and a time */
	KERNEL_CAPTURE_STAMPS, /* two timespecs: of access and change */
	KERNEL_CAPTURE_FDSET,
	KERNEL_CAPTURE_CPUS, /* a mask */
	KERNEL_CAPTURE_UTSNAME,
	KERNEL_CAPTURE_SYSINFO,
	KERNEL_CAPTURE_RUSAGE,	/* its times */
	KERNEL_CAPTURE_CLONE,	/* clone_args */
	KERNEL_CAPTURE_LOCK,	/* a flock */
	KERNEL_CAPTURE_CONTROL, /* what an ioctl has: its command says what */
	KERNEL_CAPTURE_OPTION,	/* of a socket: its name says what */
	KERNEL_CAPTURE_KINDS,
};

/* How much of it there is. */
enum kernel_capture_how {
	KERNEL_CAPTURE_BYTES, /* `size` bytes; with a size_argument at most: `unit` times what that
				 says */
	KERNEL_CAPTURE_POINTED,	 /* as many bytes as the int says that size_argument points to, at
				    most `size` */
	KERNEL_CAPTURE_TEXTS,	 /* pointers to texts, the last of them NULL */
	KERNEL_CAPTURE_POINTERS, /* only their number */
	KERNEL_CAPTURE_VECTOR,	 /* as many iovecs as size_argument says */
	KERNEL_CAPTURE_HEADER,	 /* a msghdr */
};

enum {
	KERNEL_CAPTURES_MAX = 4,	  /* of a call's entry, and of its end */
	KERNEL_CAPTURE_ADDRESS_MAX = 128, /* sockaddr_storage */
	KERNEL_CAPTURE_TIME_SIZE = 16,
	KERNEL_CAPTURE_ARGS = 32,
	KERNEL_CAPTURE_ARG_MAX = 64, /* with its end */
	KERNEL_CAPTURE_ENVP_MAX = 512,
	KERNEL_CAPTURE_VECTOR_MAX = 16,
	KERNEL_CAPTURE_RESULT = 7,	  /* as size_argument: the call's result */
	KERNEL_CAPTURE_BUFFER_MAX = 4096, /* that may be asked for */
	KERNEL_CAPTURE_MAX = 8192,	  /* bytes, of one */
};

/* The field of an end with the texts that were not in memory at the beginning. */
#define KERNEL_CAPTURE_LATE "late_bytes"

struct kernel_capture {
	const char *call; /* its name */
	bool is_at_exit;
	bool is_extra;	  /* only recorded if buffers and structures are asked for */
	uint8_t argument; /* counted from 1 */
	uint8_t kind, how;
	uint8_t size_argument; /* 0: none */
	uint8_t unit;
	uint16_t size;		 /* at most; 0: as many bytes of buffers as were asked for */
	bool is_int;		 /* what size_argument says is an int */
	bool is_after;		 /* it is known at the end anew: told behind the result */
	bool is_of_failures;	 /* read although the call failed */
	const char *other_field; /* NULL: the kind's */
};

struct kernel_captures {
	int n;
	const struct kernel_capture *at[KERNEL_CAPTURES_MAX];
};

/* kernel_captures_of - what is captured of a call.  @call may be NULL: nothing.  @extra: whether
 * that which is_extra is among it. */
struct kernel_captures kernel_captures_of(const char *call, bool is_at_exit, bool extra);

/* The field, and the bytes of an element of it. */
const char *kernel_capture_field(const struct kernel_capture *c);
unsigned kernel_capture_element(const struct kernel_capture *c);

#endif
