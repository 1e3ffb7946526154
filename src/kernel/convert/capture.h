/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/capture.h - the memory that is captured where arguments of system calls point, and
 * the field for it. Texts are handled elsewhere (kernel_layout_texts).
 *
 * One table serves all its users: the BPF programs, which alone read that memory
 * (kernel/bpf/syscalls.c), the layout of the events, and the printer of values
 * (analysis/syscalls/memory.h). The fields: docs/design/kernel.md.
 */
#ifndef KERNEL_CONVERT_CAPTURE_H
#define KERNEL_CONVERT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

/* The type of the data. */
enum kernel_capture_kind {
	KERNEL_CAPTURE_ADDRESS, /* a sockaddr */
	KERNEL_CAPTURE_TIME,	/* a timespec */
	KERNEL_CAPTURE_ARGV,	/* texts, each with its NUL */
	KERNEL_CAPTURE_ENVP,	/* number of pointers, a u32 */
	KERNEL_CAPTURE_BUFFER,	/* data that is read or written */
	KERNEL_CAPTURE_TEXT,	/* a text that the kernel writes, or of a fixed length */
	KERNEL_CAPTURE_IOVECS,	/* for each: the iovec, a u16, and that many bytes of its data */
	KERNEL_CAPTURE_MESSAGE, /* the msghdr, a u16, that many bytes of the name; then as
				 * _IOVECS */
	KERNEL_CAPTURE_STAT,
	KERNEL_CAPTURE_STATX,
	KERNEL_CAPTURE_STATFS,
	KERNEL_CAPTURE_LIMIT,	/* a rlimit64 */
	KERNEL_CAPTURE_INTS,	/* 32 bits each: descriptors, numbers */
	KERNEL_CAPTURE_LENGTH,	/* one int, the size of other data */
	KERNEL_CAPTURE_OFFSET,	/* one, of 64 bits */
	KERNEL_CAPTURE_STATUS,	/* a child's status from wait() */
	KERNEL_CAPTURE_POLL,	/* pollfds */
	KERNEL_CAPTURE_EPOLL,	/* epoll_events */
	KERNEL_CAPTURE_ACTION,	/* the kernel's sigaction */
	KERNEL_CAPTURE_SIGNALS, /* a set of 64 bits */
	KERNEL_CAPTURE_SIGINFO,
	KERNEL_CAPTURE_SIGSTACK,
	KERNEL_CAPTURE_TIMEVAL,
	KERNEL_CAPTURE_ITIMER, /* two timevals */
	KERNEL_CAPTURE_TIMER,  /* two timespecs: an interval and a time */
	KERNEL_CAPTURE_STAMPS, /* two timespecs: access and modification */
	KERNEL_CAPTURE_FDSET,
	KERNEL_CAPTURE_CPUS, /* a mask */
	KERNEL_CAPTURE_UTSNAME,
	KERNEL_CAPTURE_SYSINFO,
	KERNEL_CAPTURE_RUSAGE,	/* only its times */
	KERNEL_CAPTURE_CLONE,	/* clone_args */
	KERNEL_CAPTURE_LOCK,	/* a flock */
	KERNEL_CAPTURE_CONTROL, /* an ioctl's data; the command decides its type */
	KERNEL_CAPTURE_OPTION,	/* a socket option; its name decides its type */
	KERNEL_CAPTURE_KINDS,
};

/* The amount of data. */
enum kernel_capture_how {
	KERNEL_CAPTURE_BYTES,	 /* `size` bytes; with a size_argument at most that argument's value
			       * times `unit` */
	KERNEL_CAPTURE_POINTED,	 /* the byte count is the int that size_argument points to, at
				  * most `size` */
	KERNEL_CAPTURE_TEXTS,	 /* pointers to texts up to a NULL */
	KERNEL_CAPTURE_POINTERS, /* only the number of pointers */
	KERNEL_CAPTURE_VECTOR,	 /* size_argument is the number of iovecs */
	KERNEL_CAPTURE_HEADER,	 /* a msghdr */
};

enum {
	KERNEL_CAPTURES_MAX = 4,	  /* at a call's entry, and as many at its exit */
	KERNEL_CAPTURE_ADDRESS_MAX = 128, /* sockaddr_storage */
	KERNEL_CAPTURE_TIME_SIZE = 16,
	KERNEL_CAPTURE_ARGS = 32,
	KERNEL_CAPTURE_ARG_MAX = 64, /* with its NUL */
	KERNEL_CAPTURE_ENVP_MAX = 512,
	KERNEL_CAPTURE_VECTOR_MAX = 16,
	KERNEL_CAPTURE_RESULT = 7,	  /* as size_argument: the call's result */
	KERNEL_CAPTURE_BUFFER_MAX = 4096, /* the most a user may request */
	KERNEL_CAPTURE_MAX = 8192,	  /* bytes of one capture */
};

/* The field at a call's exit for texts that were not in memory at its entry. */
#define KERNEL_CAPTURE_LATE "late_bytes"

struct kernel_capture {
	const char *call; /* the system call */
	bool is_at_exit;
	bool is_extra;	  /* only if buffers and structures are requested */
	uint8_t argument; /* counted from 1 */
	uint8_t kind, how;
	uint8_t size_argument; /* 0: none */
	uint8_t unit;
	uint16_t size;		 /* at most; 0: the requested size of buffers */
	bool is_int;		 /* size_argument is an int */
	bool is_after;		 /* captured again at the exit: behind the result */
	bool is_of_failures;	 /* captured even if the call failed */
	const char *other_field; /* NULL: the kind's */
};

struct kernel_captures {
	int n;
	const struct kernel_capture *at[KERNEL_CAPTURES_MAX];
};

/* kernel_captures_of - the captures of a call. @call may be NULL: none. @extra: include those that
 * are is_extra. */
struct kernel_captures kernel_captures_of(const char *call, bool is_at_exit, bool extra);

/* The name of the field, and the bytes of one of its elements. */
const char *kernel_capture_field(const struct kernel_capture *c);
unsigned kernel_capture_element(const struct kernel_capture *c);

#endif
