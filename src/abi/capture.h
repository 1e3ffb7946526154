/* SPDX-License-Identifier: MIT */
/*
 * abi/capture.h - memory that arguments of system calls point to: types and sizes in recordings.
 *
 * The BPF programs of a recorder capture it and readers print it, so both agree on these. Which
 * argument of which call is captured is in capture/table.h. The fields: docs/design/kernel/README.md.
 */
#ifndef ABI_CAPTURE_H
#define ABI_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

/* The type of the data. */
enum abi_capture_kind {
	ABI_CAPTURE_ADDRESS, /* a sockaddr */
	ABI_CAPTURE_TIME,    /* a timespec */
	ABI_CAPTURE_ARGV,    /* texts: ABI_CAPTURE_LIST_*; without --capture, and in older
			      * recordings, each with its NUL, perhaps three dots behind them */
	ABI_CAPTURE_ENVP,    /* number of pointers, a u32; then a byte, ABI_CAPTURE_COUNT_*,
			      * which older recordings lack */
	ABI_CAPTURE_BUFFER,  /* data that is read or written */
	ABI_CAPTURE_TEXT,    /* a text that the kernel writes, or of a fixed length */
	ABI_CAPTURE_IOVECS,  /* for each: the iovec, a u16, and that many bytes of its data */
	ABI_CAPTURE_MESSAGE, /* the msghdr, a u16, that many bytes of the name; then as
				 * _IOVECS */
	ABI_CAPTURE_STAT,
	ABI_CAPTURE_STATX,
	ABI_CAPTURE_STATFS,
	ABI_CAPTURE_LIMIT,   /* a rlimit64 */
	ABI_CAPTURE_INTS,    /* 32 bits each: descriptors, numbers */
	ABI_CAPTURE_LENGTH,  /* one int, the size of other data */
	ABI_CAPTURE_OFFSET,  /* one, of 64 bits */
	ABI_CAPTURE_STATUS,  /* a child's status from wait() */
	ABI_CAPTURE_POLL,    /* pollfds */
	ABI_CAPTURE_EPOLL,   /* epoll_events */
	ABI_CAPTURE_ACTION,  /* the kernel's sigaction */
	ABI_CAPTURE_SIGNALS, /* a set of 64 bits */
	ABI_CAPTURE_SIGINFO,
	ABI_CAPTURE_SIGSTACK,
	ABI_CAPTURE_TIMEVAL,
	ABI_CAPTURE_ITIMER, /* two timevals */
	ABI_CAPTURE_TIMER,  /* two timespecs: an interval and a time */
	ABI_CAPTURE_STAMPS, /* two timespecs: access and modification */
	ABI_CAPTURE_FDSET,  /* a set of bits, then a byte, ABI_CAPTURE_SET_*; older recordings have
			    * 128 bytes without it */
	ABI_CAPTURE_CPUS,   /* a mask */
	ABI_CAPTURE_UTSNAME,
	ABI_CAPTURE_SYSINFO,
	ABI_CAPTURE_RUSAGE,   /* only its times */
	ABI_CAPTURE_CLONE,    /* clone_args */
	ABI_CAPTURE_LOCK,     /* a flock */
	ABI_CAPTURE_CONTROL,  /* an ioctl's data; the command decides its type */
	ABI_CAPTURE_OPTION,   /* a socket option; its name decides its type */
	ABI_CAPTURE_TYPED,    /* `type` names it */
	ABI_CAPTURE_MESSAGES, /* for each: the mmsghdr, and as in _MESSAGE */
	ABI_CAPTURE_BLOCKS, /* for each: its address, a u16, that many bytes of the iocb, a u16, and
			      * that many bytes of the data or iovecs that it writes */
	ABI_CAPTURE_FILE,   /* an abi_file */
	ABI_CAPTURE_KINDS,
};

/* The amount of data. */
enum abi_capture_how {
	ABI_CAPTURE_BYTES,	 /* `size` bytes; with a size_argument at most that argument's value
			       * times `unit` */
	ABI_CAPTURE_POINTED,	 /* the byte count is the int that size_argument points to, at
				  * most `size` */
	ABI_CAPTURE_TEXTS,	 /* pointers to texts up to a NULL */
	ABI_CAPTURE_POINTERS,	 /* only the number of pointers */
	ABI_CAPTURE_VECTOR,	 /* size_argument is the number of iovecs */
	ABI_CAPTURE_HEADER,	 /* a msghdr */
	ABI_CAPTURE_HEADERS,	 /* size_argument is the number of mmsghdrs */
	ABI_CAPTURE_EACH,	 /* pointers to iocbs; size_argument is their number */
	ABI_CAPTURE_STRING,	 /* up to a NUL, at most `size` bytes with it */
	ABI_CAPTURE_ENVIRONMENT, /* as _TEXTS, up to ABI_CAPTURE_VARIABLES */
	ABI_CAPTURE_OPENED,	 /* no memory of the program: the kernel's file of a descriptor */
	ABI_CAPTURE_SET, /* size_argument is a number of descriptors, an int: a bit for each in
				  * whole longs, for no more than the table of the process has */
	ABI_CAPTURE_HOWS,
};

/* Which data of iovecs and messages. */
enum abi_capture_moved {
	ABI_CAPTURE_MOVED_ALL,
	ABI_CAPTURE_MOVED_RESULT, /* as many bytes as the result */
	ABI_CAPTURE_MOVED_EACH, /* of as many messages as the result; each has the number of its bytes */
	ABI_CAPTURE_MOVED_NONE, /* nor the names of messages */
};

enum {
	ABI_CAPTURES_MAX = 6,	       /* at a call's entry: pselect6; .. */
	ABI_CAPTURES_EXIT_MAX = 4,     /* .. and at its exit: select; .. */
	ABI_CAPTURE_FIELDS = 6,	       /* .. which share so many fields; .. */
	ABI_CAPTURES_PLAIN = 4,	       /* .. without those that are is_extra */
	ABI_CAPTURE_ADDRESS_MAX = 128, /* sockaddr_storage */
	ABI_CAPTURE_TIME_SIZE = 16,
	ABI_CAPTURE_ARGS = 32,
	ABI_CAPTURE_ARGS_MANY = 48, /* if environments are requested */
	ABI_CAPTURE_VARIABLES = 128,
	ABI_CAPTURE_ARG_MAX = 64, /* with its NUL */
	ABI_CAPTURE_ENVP_MAX = 512,
	ABI_CAPTURE_VECTOR_MAX = 16,
	ABI_CAPTURE_MESSAGES_MAX = 36,
	ABI_CAPTURE_RESULT = 7,	       /* as size_argument: the call's result */
	ABI_CAPTURE_BUFFER_MAX = 4096, /* the most a user may request */
	ABI_CAPTURE_TEXT_CUT = 4096,   /* a text of so many bytes goes on: PATH_MAX, with its NUL */
	ABI_CAPTURE_TEXT_CUT_OLD = 255, /* older recordings: such a text ends in three dots */
	ABI_CAPTURE_MAX = 16384,	/* bytes of one capture */
};

/* The field at a call's exit for texts that were not in memory at its entry: a byte with a bit for
 * each text that could be read now, then all texts, each with its NUL. Older recordings have the
 * texts alone, in the other field. */
#define ABI_CAPTURE_LATE "late_texts"
#define ABI_CAPTURE_LATE_OLD "late_bytes"

/* Why a number of pointers is not all. */
enum { ABI_CAPTURE_COUNT_MORE = 1, ABI_CAPTURE_COUNT_UNREADABLE = 2 };
/* A list of texts: for each a byte and then the text with its NUL, or the address of one that could not be
 * read, 8 bytes. One byte stands at the end; sequences without it end in a NUL or a dot. */
enum {
	ABI_CAPTURE_LIST_END = 1,
	ABI_CAPTURE_LIST_MORE,
	ABI_CAPTURE_LIST_UNREADABLE, /* the next pointer */
	ABI_CAPTURE_LIST_TEXT,
	ABI_CAPTURE_LIST_ADDRESS,
};
/* Whether the kernel reads more of a set than is recorded. */
enum { ABI_CAPTURE_SET_WHOLE, ABI_CAPTURE_SET_MORE };

struct abi_capture {
	const char *call; /* the system call */
	bool is_at_exit;
	bool is_extra;		/* only if buffers and structures are requested */
	bool is_of_file;	/* only if files of descriptors are requested */
	bool is_of_environment; /* only if the texts of environments are requested */
	uint8_t argument;	/* counted from 1 */
	uint8_t kind, how;
	uint8_t size_argument; /* 0: none */
	uint8_t unit;
	/* The room of the program, in elements: the result may be larger than what was written.
	 * 0: it never is. */
	uint8_t room_argument;
	uint8_t moved;	 /* ABI_CAPTURE_MOVED_* */
	uint16_t size;	 /* at most; 0: the requested size of buffers */
	bool is_int;	 /* size_argument is an int */
	bool is_command; /* size_argument is a command of ioctl(), which has the size */
	/* Memory behind memory: the pointer stands in that of `argument`, at this byte. With a
	 * size_width the number of elements stands there too, in so many bytes at size_at. */
	bool is_behind;
	uint8_t at, size_at, size_width;
	/* Only if this argument has this value, in its low 32 bits; 0: always. */
	uint8_t when_argument;
	uint32_t when;
	/* Only if the second argument, a command, is in this set: bit N is command N; 0: always. */
	uint64_t commands;
	bool is_after;		 /* captured again at the exit: behind the result */
	bool is_of_failures;	 /* captured even if the call failed */
	const char *other_field; /* NULL: the kind's */
	const char *type;	 /* of _TYPED: analysis/syscalls/described.c */
};

/* The kernel's file of a descriptor. Behind `links` all is 0 unless it is a socket. */
enum { ABI_FILE_PROTOCOL_MAX = 16, ABI_FILE_PATH_MAX = 112 };
struct abi_file {
	uint64_t inode;
	uint64_t peer;	 /* of UNIX: the inode of the other socket */
	uint32_t mode;	 /* as st_mode */
	uint32_t device; /* as the kernel has it: the minor number in the low 20 bits */
	uint32_t links;
	uint16_t family, protocol;
	uint16_t local_port;  /* of IP; of this machine's byte order */
	uint16_t remote_port; /* of the network's */
	uint32_t netlink_port;
	uint8_t local[16], remote[16];	  /* four bytes, or 16 of IPv6 */
	char type[ABI_FILE_PROTOCOL_MAX]; /* the kernel's name: "TCP", "UNIX-STREAM" */
	uint32_t path_size; /* of UNIX: with the family, 2 bytes, which `path` lacks */
	char path[ABI_FILE_PATH_MAX - 4];
};
_Static_assert(sizeof(struct abi_file) == 200, "written by BPF programs, read from recordings");

struct abi_captures {
	int n;
	const struct abi_capture *at[ABI_CAPTURES_MAX];
};

/* BPF programs get `how` in four bits, an argument's number in three (kernel/bpf/shared_ring.h). */
_Static_assert(ABI_CAPTURE_HOWS <= 16 && ABI_CAPTURE_RESULT < 8, "few bits");
_Static_assert(ABI_CAPTURE_BUFFER_MAX <= ABI_CAPTURE_MAX, "a buffer is one capture");

#endif
