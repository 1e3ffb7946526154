/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/names/tables.c - names of flags that names.sh cannot make: in an order that is not
 * that of their values, or only in the kernel.
 */
#include "analysis/syscalls/names/names.h"

#include <linux/fcntl.h>
#include <stddef.h>

#define OPEN_SYNC (O_SYNC & ~O_DSYNC)
#define OPEN_TEMPORARY (O_TMPFILE & ~O_DIRECTORY)

const struct call_name call_names_open[] = {
	{ "O_CREAT", O_CREAT, NULL },
	{ "O_EXCL", O_EXCL, NULL },
	{ "O_NOCTTY", O_NOCTTY, NULL },
	{ "O_TRUNC", O_TRUNC, NULL },
	{ "O_APPEND", O_APPEND, NULL },
	{ "O_NONBLOCK", O_NONBLOCK, NULL },
	{ "O_SYNC", O_SYNC, NULL },
	{ "__O_SYNC", OPEN_SYNC, NULL },
	{ "O_DSYNC", O_DSYNC, NULL },
	{ "O_DIRECT", O_DIRECT, NULL },
	{ "O_LARGEFILE", O_LARGEFILE, NULL },
	{ "O_NOFOLLOW", O_NOFOLLOW, NULL },
	{ "O_NOATIME", O_NOATIME, NULL },
	{ "O_CLOEXEC", O_CLOEXEC, NULL },
	{ "O_PATH", O_PATH, NULL },
	{ "O_TMPFILE", O_TMPFILE, NULL },
	{ "__O_TMPFILE", OPEN_TEMPORARY, NULL },
	{ "O_DIRECTORY", O_DIRECTORY, NULL },
	{ "FASYNC", FASYNC, NULL },
	{ NULL, CALL_AS_LISTED, "O_???" },
};

/* flock(2); newer headers lack those of mandatory locks. */
const struct call_name call_names_flock[] = {
	{ "LOCK_SH", 1, NULL },
	{ "LOCK_EX", 2, NULL },
	{ "LOCK_NB", 4, NULL },
	{ "LOCK_UN", 8, NULL },
	{ "LOCK_MAND", 32, NULL },
	{ "LOCK_RW", 192, NULL },
	{ "LOCK_READ", 64, NULL },
	{ "LOCK_WRITE", 128, NULL },
	{ NULL, CALL_AS_LISTED, "LOCK_???" },
};

/* x86 and the architectures that share asm-generic/signal.h. */
const struct call_name call_names_sa[] = {
	{ "SA_ONSTACK", 0x08000000, NULL },   { "SA_RESTART", 0x10000000, NULL },
	{ "SA_INTERRUPT", 0x20000000, NULL }, { "SA_NODEFER", 0x40000000, NULL },
	{ "SA_RESETHAND", 0x80000000, NULL }, { "SA_SIGINFO", 4, NULL },
	{ "SA_NOCLDSTOP", 1, NULL },	      { "SA_NOCLDWAIT", 2, NULL },
	{ NULL, CALL_AS_LISTED, "SA_???" },
};

#define EVENTS(what)                                                                               \
	{ what "IN", 0x1, NULL }, { what "PRI", 0x2, NULL }, { what "OUT", 0x4, NULL },            \
		{ what "ERR", 0x8, NULL }, { what "HUP", 0x10, NULL },                             \
		{ what "NVAL", 0x20, NULL }, { what "RDNORM", 0x40, NULL },                        \
		{ what "RDBAND", 0x80, NULL }, { what "WRNORM", 0x100, NULL },                     \
		{ what "WRBAND", 0x200, NULL }, { what "MSG", 0x400, NULL },                       \
	{                                                                                          \
		what "RDHUP", 0x2000, NULL                                                         \
	}
const struct call_name call_names_poll[] = {
	EVENTS("POLL"),
	{ "POLLREMOVE", 0x1000, NULL },
	{ "POLL_BUSY_LOOP", 0x8000, NULL },
	{ NULL, CALL_RISING, "POLL???" },
};
const struct call_name call_names_epoll_events[] = {
	EVENTS("EPOLL"),
	{ "EPOLLEXCLUSIVE", 1u << 28, NULL },
	{ "EPOLLWAKEUP", 1u << 29, NULL },
	{ "EPOLLONESHOT", 1u << 30, NULL },
	{ "EPOLLET", 1u << 31, NULL },
	{ NULL, CALL_RISING, "EPOLL???" },
};

/* The libraries' header lacks those that only the kernel uses. */
const struct call_name call_names_message[] = {
	{ "MSG_OOB", 0x1, NULL },
	{ "MSG_PEEK", 0x2, NULL },
	{ "MSG_DONTROUTE", 0x4, NULL },
	{ "MSG_CTRUNC", 0x8, NULL },
	{ "MSG_PROBE", 0x10, NULL },
	{ "MSG_TRUNC", 0x20, NULL },
	{ "MSG_DONTWAIT", 0x40, NULL },
	{ "MSG_EOR", 0x80, NULL },
	{ "MSG_WAITALL", 0x100, NULL },
	{ "MSG_FIN", 0x200, NULL },
	{ "MSG_SYN", 0x400, NULL },
	{ "MSG_CONFIRM", 0x800, NULL },
	{ "MSG_RST", 0x1000, NULL },
	{ "MSG_ERRQUEUE", 0x2000, NULL },
	{ "MSG_NOSIGNAL", 0x4000, NULL },
	{ "MSG_MORE", 0x8000, NULL },
	{ "MSG_WAITFORONE", 0x10000, NULL },
	{ "MSG_SENDPAGE_NOTLAST", 0x20000, NULL },
	{ "MSG_BATCH", 0x40000, NULL },
	{ "MSG_NO_SHARED_FRAGS", 0x80000, NULL },
	{ "MSG_ZEROCOPY", 0x4000000, NULL },
	{ "MSG_FASTOPEN", 0x20000000, NULL },
	{ "MSG_CMSG_CLOEXEC", 0x40000000, NULL },
	{ "MSG_CMSG_COMPAT", 0x80000000, NULL },
	{ NULL, CALL_RISING, "MSG_???" },
};

const struct call_name call_names_msync[] = {
	{ "MS_SYNC", 4, NULL },
	{ "MS_ASYNC", 1, NULL },
	{ "MS_INVALIDATE", 2, NULL },
	{ NULL, CALL_AS_LISTED, "MS_???" },
};

const struct call_name call_names_socket_flags[] = {
	{ "SOCK_CLOEXEC", O_CLOEXEC, NULL },
	{ "SOCK_NONBLOCK", O_NONBLOCK, NULL },
	{ NULL, CALL_AS_LISTED, "SOCK_???" },
};

const struct call_name call_names_eventfd[] = {
	{ "EFD_SEMAPHORE", 1, NULL },
	{ "EFD_CLOEXEC", O_CLOEXEC, NULL },
	{ "EFD_NONBLOCK", O_NONBLOCK, NULL },
	{ NULL, CALL_AS_LISTED, "EFD_???" },
};

/* timerfd_create(2) and timerfd_settime(2). */
const struct call_name call_names_timerfd[] = {
	{ "TFD_TIMER_ABSTIME", 1, NULL },    { "TFD_TIMER_CANCEL_ON_SET", 2, NULL },
	{ "TFD_CLOEXEC", O_CLOEXEC, NULL },  { "TFD_NONBLOCK", O_NONBLOCK, NULL },
	{ NULL, CALL_AS_LISTED, "TFD_???" },
};

/* waitid(2) and wait4(2). */
const struct call_name call_names_wait_options[] = {
	{ "WNOHANG", 1, NULL },		  { "WEXITED", 4, NULL },
	{ "WSTOPPED", 2, NULL },	  { "WCONTINUED", 8, NULL },
	{ "WNOWAIT", 0x1000000, NULL },	  { "__WCLONE", 0x80000000, NULL },
	{ "__WALL", 0x40000000, NULL },	  { "__WNOTHREAD", 0x20000000, NULL },
	{ NULL, CALL_AS_LISTED, "W???" },
};
