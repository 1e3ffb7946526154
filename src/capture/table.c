/* SPDX-License-Identifier: MIT */
/* capture/table.c - the table of captured memory, one line for each argument.
 *
 * A line is independent of the others: a call may have several, up to ABI_CAPTURES_MAX at its
 * entry and as many at its exit. */
#include "capture/table.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/ptrace.h>
#include <linux/reboot.h>
#include <stddef.h>
#include <string.h>

#define IN(name, n, what) .call = name, .argument = n, .kind = ABI_CAPTURE_##what
#define OUT(name, n, what)                                                                         \
	.call = name, .is_at_exit = true, .argument = n, .kind = ABI_CAPTURE_##what
#define EXTRA .is_extra = true
#define ADDRESS .size = ABI_CAPTURE_ADDRESS_MAX
#define TIME .size = ABI_CAPTURE_TIME_SIZE
#define SIZED(n) .size_argument = n, .unit = 1
#define TIMES(n, bytes) .size_argument = n, .unit = bytes
#define RETURNED .size_argument = ABI_CAPTURE_RESULT, .unit = 1
#define MOVED(which) .moved = ABI_CAPTURE_MOVED_##which
/* The result may be the length of data that did not fit into the room, which argument N has. */
#define ROOM(n) .room_argument = n
#define POINTED(n) .how = ABI_CAPTURE_POINTED, .size_argument = n
#define VECTOR .how = ABI_CAPTURE_VECTOR, .size_argument = 3

#define EACH(n) .how = ABI_CAPTURE_EACH, .size_argument = n
/* A bit for each descriptor below argument 1. */
#define DESCRIPTORS .how = ABI_CAPTURE_SET, .size_argument = 1, .size = DESCRIPTOR_BYTES
#define HEADERS .how = ABI_CAPTURE_HEADERS, .size_argument = 3, .is_int = true
/* Memory behind the pointer at byte N of the argument's memory; its bytes stand there too. */
#define BEHIND(n) .is_behind = true, .at = n
#define COUNTED(n, width, bytes) .size_at = n, .size_width = width, .unit = bytes
#define WHEN(n, value) .when_argument = n, .when = value
#define COMMANDS(set) .commands = set
#define TYPED(of, bytes) EXTRA, .size = bytes, .type = of
#define OPENED(name, n)                                                                            \
	OUT(name, n, FILE), .is_of_file = true, .how = ABI_CAPTURE_OPENED,                         \
			    .size = sizeof(struct abi_file)
/* The descriptor stands in the memory of the argument. */
#define OPENED_TWO(n) .is_behind = true, .at = n
#define VARIABLES                                                                                  \
	.is_of_environment = true, .how = ABI_CAPTURE_ENVIRONMENT, .other_field = "envp_bytes"
#define FIELD(name) .other_field = "struct_bytes_" #name

enum {
	STAT = 120,
	STATX = 160,
	LIMIT = 16,
	SIGINFO = 48,
	SIGACTION = 32,
	TIMER = 32,
	CONTROL = 64,
	OPTION = 256,
	NODES = 264,
	DESCRIPTOR_BYTES = 2048, /* three fit into a record: kernel/bpf/shared_ring.h */
	QUOTA = 112
};

/* The commands of fcntl() whose argument is an address. */
#define COMMAND(name) (1ull << (name))
#define LOCKS                                                                                      \
	(COMMAND(F_GETLK) | COMMAND(F_SETLK) | COMMAND(F_SETLKW) | COMMAND(F_OFD_GETLK) |          \
	 COMMAND(F_OFD_SETLK) | COMMAND(F_OFD_SETLKW) | COMMAND(F_SETOWN_EX) |                     \
	 COMMAND(F_GETOWN_EX))

static const struct abi_capture captures[] = {
	/* in every recording with BPF programs */
	{ IN("connect", 2, ADDRESS), ADDRESS, SIZED(3), .is_int = true },
	{ IN("bind", 2, ADDRESS), ADDRESS, SIZED(3), .is_int = true },
	{ IN("sendto", 5, ADDRESS), ADDRESS, SIZED(6), .is_int = true },
	{ OUT("accept", 2, ADDRESS), ADDRESS, POINTED(3) },
	{ OUT("accept4", 2, ADDRESS), ADDRESS, POINTED(3) },
	{ OUT("recvfrom", 5, ADDRESS), ADDRESS, POINTED(6) },
	{ OUT("getsockname", 2, ADDRESS), ADDRESS, POINTED(3) },
	{ OUT("getpeername", 2, ADDRESS), ADDRESS, POINTED(3) },
	{ IN("nanosleep", 1, TIME), TIME },
	{ IN("clock_nanosleep", 3, TIME), TIME },
	{ IN("clock_settime", 2, TIME), TIME },
	{ IN("futex", 4, TIME), TIME },
	{ IN("ppoll", 3, TIME), TIME },
	{ IN("pselect6", 5, TIME), TIME },
	{ IN("epoll_pwait2", 4, TIME), TIME },
	{ IN("rt_sigtimedwait", 3, TIME), TIME },
	{ IN("semtimedop", 4, TIME), TIME },
	{ IN("mq_timedsend", 5, TIME), TIME },
	{ IN("mq_timedreceive", 5, TIME), TIME },
	{ IN("io_getevents", 5, TIME), TIME },
	{ OUT("clock_gettime", 2, TIME), TIME },
	{ OUT("clock_getres", 2, TIME), TIME },
	{ IN("execve", 2, ARGV), .how = ABI_CAPTURE_TEXTS },
	{ IN("execveat", 3, ARGV), .how = ABI_CAPTURE_TEXTS },

	/* data that is read or written */
	{ IN("write", 2, BUFFER), EXTRA, SIZED(3) },
	{ IN("pwrite64", 2, BUFFER), EXTRA, SIZED(3) },
	{ IN("sendto", 2, BUFFER), EXTRA, SIZED(3) },
	{ IN("setxattr", 3, BUFFER), EXTRA, SIZED(4) },
	{ IN("lsetxattr", 3, BUFFER), EXTRA, SIZED(4) },
	{ IN("fsetxattr", 3, BUFFER), EXTRA, SIZED(4) },
	{ OUT("read", 2, BUFFER), EXTRA, RETURNED },
	{ OUT("pread64", 2, BUFFER), EXTRA, RETURNED },
	{ OUT("recvfrom", 2, BUFFER), EXTRA, RETURNED, ROOM(3) },
	{ OUT("readlink", 2, BUFFER), EXTRA, RETURNED, .size = 256 },
	{ OUT("readlinkat", 3, BUFFER), EXTRA, RETURNED, .size = 256 },
	{ OUT("getrandom", 1, BUFFER), EXTRA, RETURNED },
	{ OUT("getxattr", 3, BUFFER), EXTRA, RETURNED, ROOM(4) },
	{ OUT("lgetxattr", 3, BUFFER), EXTRA, RETURNED, ROOM(4) },
	{ OUT("fgetxattr", 3, BUFFER), EXTRA, RETURNED, ROOM(4) },
	{ OUT("getcwd", 1, TEXT), EXTRA, RETURNED, .size = 256 },
	{ IN("prctl", 2, TEXT), EXTRA, .size = 16 },
	{ OUT("prctl", 2, TEXT), EXTRA, .size = 16 },
	{ IN("writev", 2, IOVECS), EXTRA, VECTOR },
	{ IN("pwritev", 2, IOVECS), EXTRA, VECTOR },
	{ IN("pwritev2", 2, IOVECS), EXTRA, VECTOR },
	{ IN("vmsplice", 2, IOVECS), EXTRA, VECTOR },
	{ OUT("readv", 2, IOVECS), EXTRA, VECTOR, MOVED(RESULT), .is_of_failures = true },
	{ OUT("preadv", 2, IOVECS), EXTRA, VECTOR, MOVED(RESULT), .is_of_failures = true },
	{ OUT("preadv2", 2, IOVECS), EXTRA, VECTOR, MOVED(RESULT), .is_of_failures = true },
	{ IN("sendmsg", 2, MESSAGE), EXTRA, .how = ABI_CAPTURE_HEADER },
	{ IN("sendmsg", 2, TYPED), TYPED("control", 2048), BEHIND(32), COUNTED(40, 8, 1) },
	{ IN("recvmsg", 2, MESSAGE), EXTRA, .size = 12 },
	{ OUT("recvmsg", 2, MESSAGE), EXTRA, .how = ABI_CAPTURE_HEADER, MOVED(RESULT) },
	{ OUT("recvmsg", 2, TYPED), TYPED("control", 2048), BEHIND(32), COUNTED(40, 8, 1) },
	{ IN("sendmmsg", 2, MESSAGES), EXTRA, HEADERS },
	{ OUT("sendmmsg", 2, MESSAGES), EXTRA, HEADERS },
	{ IN("recvmmsg", 2, MESSAGES), EXTRA, HEADERS, MOVED(NONE) }, /* a vector is first */
	{ IN("recvmmsg", 5, TIME), TIME },
	{ OUT("recvmmsg", 2, MESSAGES), EXTRA, HEADERS, MOVED(EACH) },
	{ OUT("recvmmsg", 5, TIME), EXTRA, TIME, .is_after = true },
	{ IN("io_submit", 3, BLOCKS), EXTRA, EACH(2) },
	{ IN("io_cancel", 2, TYPED), TYPED("iocb", 64) },
	{ OUT("io_getevents", 4, TYPED), TYPED("io_event", 1024), TIMES(ABI_CAPTURE_RESULT, 32) },
	{ OUT("io_pgetevents", 4, TYPED), TYPED("io_event", 1024), TIMES(ABI_CAPTURE_RESULT, 32) },
	{ IN("io_pgetevents", 5, TIME), EXTRA, TIME },

	/* files */
	{ OUT("stat", 2, STAT), EXTRA, .size = STAT },
	{ OUT("lstat", 2, STAT), EXTRA, .size = STAT },
	{ OUT("fstat", 2, STAT), EXTRA, .size = STAT },
	{ OUT("newfstatat", 3, STAT), EXTRA, .size = STAT },
	{ OUT("statx", 5, STATX), EXTRA, .size = STATX },
	{ OUT("statfs", 2, STATFS), EXTRA, .size = 88 },
	{ OUT("fstatfs", 2, STATFS), EXTRA, .size = 88 },
	{ IN("utimensat", 3, STAMPS), EXTRA, .size = TIMER },
	{ OUT("pipe", 1, INTS), EXTRA, .size = 8 },
	{ OUT("pipe2", 1, INTS), EXTRA, .size = 8 },
	{ OUT("socketpair", 4, INTS), EXTRA, .size = 8 },
	{ IN("sendfile", 3, OFFSET), EXTRA, .size = 8 },
	{ OUT("sendfile", 3, OFFSET), EXTRA, .size = 8 },
	{ IN("copy_file_range", 2, OFFSET), EXTRA, .size = 8 },
	{ IN("copy_file_range", 4, OFFSET), EXTRA, .size = 8, .other_field = "offset_bytes_2" },
	{ OUT("copy_file_range", 2, OFFSET), EXTRA, .size = 8 },
	{ OUT("copy_file_range", 4, OFFSET), EXTRA, .size = 8, .other_field = "offset_bytes_2" },
	{ IN("fcntl", 3, LOCK), EXTRA, .size = 32, COMMANDS(LOCKS) },
	{ OUT("fcntl", 3, LOCK), EXTRA, .size = 32, COMMANDS(LOCKS) },
	{ IN("ioctl", 3, CONTROL), EXTRA, .size = CONTROL },
	{ OUT("ioctl", 3, CONTROL), EXTRA, .size = CONTROL },

	/* waiting */
	{ IN("poll", 1, POLL), EXTRA, TIMES(2, 8), .size = 256, .is_int = true },
	{ OUT("poll", 1, POLL), EXTRA, TIMES(2, 8), .size = 256, .is_int = true, .is_after = true },
	{ IN("ppoll", 1, POLL), EXTRA, TIMES(2, 8), .size = 256, .is_int = true },
	{ IN("ppoll", 4, SIGNALS), EXTRA, SIZED(5), .size = 8 },
	{ OUT("ppoll", 1, POLL), EXTRA, TIMES(2, 8), .size = 256, .is_int = true,
	  .is_after = true },
	{ OUT("ppoll", 3, TIME), EXTRA, TIME, .is_after = true },
	{ IN("select", 2, FDSET), EXTRA, DESCRIPTORS },
	{ IN("select", 3, FDSET), EXTRA, DESCRIPTORS, .other_field = "fdset_bytes_2" },
	{ IN("select", 4, FDSET), EXTRA, DESCRIPTORS, .other_field = "fdset_bytes_3" },
	{ IN("select", 5, TIMEVAL), EXTRA, .size = 16 },
	{ OUT("select", 2, FDSET), EXTRA, DESCRIPTORS, .is_after = true },
	{ OUT("select", 3, FDSET), EXTRA, DESCRIPTORS, .is_after = true,
	  .other_field = "fdset_bytes_2" },
	{ OUT("select", 4, FDSET), EXTRA, DESCRIPTORS, .is_after = true,
	  .other_field = "fdset_bytes_3" },
	{ OUT("select", 5, TIMEVAL), EXTRA, .size = 16, .is_after = true },
	{ IN("pselect6", 2, FDSET), EXTRA, DESCRIPTORS },
	{ IN("pselect6", 3, FDSET), EXTRA, DESCRIPTORS, .other_field = "fdset_bytes_2" },
	{ IN("pselect6", 4, FDSET), EXTRA, DESCRIPTORS, .other_field = "fdset_bytes_3" },
	{ OUT("pselect6", 2, FDSET), EXTRA, DESCRIPTORS, .is_after = true },
	{ OUT("pselect6", 3, FDSET), EXTRA, DESCRIPTORS, .is_after = true,
	  .other_field = "fdset_bytes_2" },
	{ OUT("pselect6", 4, FDSET), EXTRA, DESCRIPTORS, .is_after = true,
	  .other_field = "fdset_bytes_3" },
	{ OUT("pselect6", 5, TIME), EXTRA, TIME, .is_after = true },
	{ IN("epoll_ctl", 4, EPOLL), EXTRA, .size = 12 },
	{ OUT("epoll_wait", 2, EPOLL), EXTRA, TIMES(ABI_CAPTURE_RESULT, 12), .size = 384 },
	{ OUT("epoll_pwait", 2, EPOLL), EXTRA, TIMES(ABI_CAPTURE_RESULT, 12), .size = 384 },
	{ OUT("epoll_pwait2", 2, EPOLL), EXTRA, TIMES(ABI_CAPTURE_RESULT, 12), .size = 384 },
	{ IN("epoll_pwait", 5, SIGNALS), EXTRA, SIZED(6), .size = 8 },
	{ IN("epoll_pwait2", 5, SIGNALS), EXTRA, SIZED(6), .size = 8 },
	{ OUT("nanosleep", 2, TIME), EXTRA, TIME, .is_of_failures = true },
	{ OUT("clock_nanosleep", 4, TIME), EXTRA, TIME, .is_of_failures = true },

	/* sockets */
	{ IN("accept", 3, LENGTH), EXTRA, .size = 4 },
	{ IN("accept4", 3, LENGTH), EXTRA, .size = 4 },
	{ IN("recvfrom", 6, LENGTH), EXTRA, .size = 4 },
	{ IN("getsockname", 3, LENGTH), EXTRA, .size = 4 },
	{ IN("getpeername", 3, LENGTH), EXTRA, .size = 4 },
	{ IN("getsockopt", 5, LENGTH), EXTRA, .size = 4 },
	{ OUT("accept", 3, LENGTH), EXTRA, .size = 4 },
	{ OUT("accept4", 3, LENGTH), EXTRA, .size = 4 },
	{ OUT("recvfrom", 6, LENGTH), EXTRA, .size = 4 },
	{ OUT("getsockname", 3, LENGTH), EXTRA, .size = 4 },
	{ OUT("getpeername", 3, LENGTH), EXTRA, .size = 4 },
	{ OUT("getsockopt", 5, LENGTH), EXTRA, .size = 4 },
	{ IN("setsockopt", 4, OPTION), EXTRA, SIZED(5), .is_int = true, .size = OPTION },
	{ IN("setsockopt", 4, TYPED), TYPED("instructions", 2048), BEHIND(8), COUNTED(0, 2, 8),
	  WHEN(3, 26) },
	{ IN("setsockopt", 4, TYPED), TYPED("instructions", 2048), BEHIND(8), COUNTED(0, 2, 8),
	  WHEN(3, 51) },
	{ OUT("getsockopt", 4, OPTION), EXTRA, POINTED(5), .size = OPTION },
	{ OUT("getsockopt", 4, TYPED), TYPED("socket_filter", 2048), WHEN(3, 26) },

	/* processes and signals */
	{ IN("execve", 3, ENVP), EXTRA, .how = ABI_CAPTURE_POINTERS },
	{ IN("execveat", 4, ENVP), EXTRA, .how = ABI_CAPTURE_POINTERS },
	{ IN("execve", 3, ARGV), VARIABLES },
	{ IN("execveat", 4, ARGV), VARIABLES },
	{ IN("clone3", 1, CLONE), EXTRA, SIZED(2), .size = 4096 },
	{ IN("clone3", 1, TYPED), TYPED("data", 128), BEHIND(64), COUNTED(72, 8, 4) },
	{ OUT("clone3", 1, CLONE), EXTRA, SIZED(2), .size = 4096 },
	{ OUT("clone3", 1, TYPED), TYPED("data", 128), BEHIND(64), COUNTED(72, 8, 4) },
	{ OUT("clone3", 1, TYPED), TYPED("data", 4), BEHIND(8), FIELD(2) },
	{ OUT("clone3", 1, TYPED), TYPED("data", 4), BEHIND(24), FIELD(3) },
	{ OUT("wait4", 2, STATUS), EXTRA, .size = 4 },
	{ OUT("wait4", 4, RUSAGE), EXTRA, .size = 144 },
	{ OUT("waitid", 3, SIGINFO), EXTRA, .size = SIGINFO },
	{ OUT("getrusage", 2, RUSAGE), EXTRA, .size = 144 },
	{ IN("prlimit64", 3, LIMIT), EXTRA, .size = LIMIT },
	{ OUT("prlimit64", 4, LIMIT), EXTRA, .size = LIMIT },
	{ OUT("getrlimit", 2, LIMIT), EXTRA, .size = LIMIT },
	{ IN("setrlimit", 2, LIMIT), EXTRA, .size = LIMIT },
	{ IN("rt_sigaction", 2, ACTION), EXTRA, .size = SIGACTION },
	{ OUT("rt_sigaction", 3, ACTION), EXTRA, .size = SIGACTION },
	{ IN("rt_sigprocmask", 2, SIGNALS), EXTRA, SIZED(4), .size = 8 },
	{ OUT("rt_sigprocmask", 3, SIGNALS), EXTRA, SIZED(4), .size = 8 },
	{ OUT("rt_sigpending", 1, SIGNALS), EXTRA, SIZED(2), .size = 8 },
	{ IN("rt_sigsuspend", 1, SIGNALS), EXTRA, SIZED(2), .size = 8 },
	/* it has no argument; BPF programs make one, the address of the mask */
	{ IN("rt_sigreturn", 1, SIGNALS), EXTRA, .size = 8 },
	{ IN("rt_sigtimedwait", 1, SIGNALS), EXTRA, SIZED(4), .size = 8 },
	{ OUT("rt_sigtimedwait", 2, SIGINFO), EXTRA, .size = SIGINFO },
	{ IN("signalfd4", 2, SIGNALS), EXTRA, SIZED(3), .size = 8 },
	{ IN("sigaltstack", 1, SIGSTACK), EXTRA, .size = 24 },
	{ OUT("sigaltstack", 2, SIGSTACK), EXTRA, .size = 24 },
	{ OUT("sched_getaffinity", 3, CPUS), EXTRA, RETURNED, .size = 128 },
	{ IN("sched_setaffinity", 3, CPUS), EXTRA, SIZED(2), .size = 128 },

	/* times and system information */
	{ OUT("gettimeofday", 1, TIMEVAL), EXTRA, .size = 16 },
	{ IN("setitimer", 2, ITIMER), EXTRA, .size = TIMER },
	{ OUT("setitimer", 3, ITIMER), EXTRA, .size = TIMER },
	{ OUT("getitimer", 2, ITIMER), EXTRA, .size = TIMER },
	{ IN("timer_settime", 3, TIMER), EXTRA, .size = TIMER },
	{ OUT("timer_settime", 4, TIMER), EXTRA, .size = TIMER },
	{ OUT("timer_gettime", 2, TIMER), EXTRA, .size = TIMER },
	{ IN("timerfd_settime", 3, TIMER), EXTRA, .size = TIMER },
	{ OUT("timerfd_settime", 4, TIMER), EXTRA, .size = TIMER },
	{ OUT("timerfd_gettime", 2, TIMER), EXTRA, .size = TIMER },
	/* by their type */
	{ IN("capget", 1, TYPED), TYPED("cap_header", 8) },
	{ IN("capset", 1, TYPED), TYPED("cap_header", 8) },
	{ OUT("getresuid", 1, TYPED), TYPED("id", 4) },
	{ OUT("getresuid", 2, TYPED), TYPED("id", 4), FIELD(2) },
	{ OUT("getresuid", 3, TYPED), TYPED("id", 4), FIELD(3) },
	{ OUT("getresgid", 1, TYPED), TYPED("id", 4) },
	{ OUT("getresgid", 2, TYPED), TYPED("id", 4), FIELD(2) },
	{ OUT("getresgid", 3, TYPED), TYPED("id", 4), FIELD(3) },
	{ OUT("getgroups", 2, TYPED), TYPED("ids", 512), TIMES(ABI_CAPTURE_RESULT, 4), ROOM(1) },
	{ IN("setgroups", 2, TYPED), TYPED("ids", 512), TIMES(1, 4), .is_int = true },
	{ OUT("getcpu", 1, TYPED), TYPED("uint", 4) },
	{ OUT("getcpu", 2, TYPED), TYPED("uint", 4), FIELD(2) },
	{ IN("sched_setparam", 2, TYPED), TYPED("sched_param", 4) },
	{ OUT("sched_getparam", 2, TYPED), TYPED("sched_param", 4) },
	{ IN("sched_setscheduler", 3, TYPED), TYPED("sched_param", 4) },
	{ OUT("sched_rr_get_interval", 2, TYPED), TYPED("timespec", 16) },
	{ OUT("adjtimex", 1, TYPED), TYPED("timex", 208) },
	{ OUT("clock_adjtime", 2, TYPED), TYPED("timex", 208) },
	{ OUT("times", 1, TYPED), TYPED("tms", 32) },
	{ IN("utime", 2, TYPED), TYPED("utimbuf", 16) },
	{ IN("utimes", 2, TYPED), TYPED("timevals", 32) },
	{ IN("futimesat", 3, TYPED), TYPED("timevals", 32) },
	{ OUT("gettimeofday", 2, TYPED), TYPED("timezone", 8) },
	{ IN("settimeofday", 1, TYPED), TYPED("timeval", 16) },
	{ IN("settimeofday", 2, TYPED), TYPED("timezone", 8), FIELD(2) },
	{ OUT("time", 1, TYPED), TYPED("date", 8) },
	{ IN("pselect6", 6, TYPED), TYPED("sigmask_argument", 16) },
	{ IN("pselect6", 6, TYPED), TYPED("set", 8), BEHIND(0), FIELD(4) },
	{ IN("io_pgetevents", 6, TYPED), TYPED("sigmask_argument", 16) },
	{ IN("io_pgetevents", 6, TYPED), TYPED("set", 8), BEHIND(0), FIELD(4) },
	{ IN("process_madvise", 2, TYPED), TYPED("iovecs", 512), TIMES(3, 16) },
	{ OUT("process_vm_readv", 2, IOVECS), EXTRA, VECTOR, MOVED(RESULT) },
	{ IN("process_vm_writev", 2, IOVECS), EXTRA, VECTOR },
	{ IN("process_vm_readv", 2, TYPED), TYPED("iovecs", 512), TIMES(3, 16) },
	{ IN("process_vm_readv", 4, TYPED), TYPED("iovecs", 512), TIMES(5, 16), FIELD(2) },
	{ IN("process_vm_writev", 4, TYPED), TYPED("iovecs", 512), TIMES(5, 16), FIELD(2) },
	{ IN("rt_sigqueueinfo", 3, SIGINFO), EXTRA, .size = 128 },
	{ IN("rt_tgsigqueueinfo", 4, SIGINFO), EXTRA, .size = 128 },
	{ IN("pidfd_send_signal", 3, SIGINFO), EXTRA, .size = 128 },
	{ IN("add_key", 3, BUFFER), EXTRA, SIZED(4) },
	{ IN("mq_timedsend", 2, BUFFER), EXTRA, SIZED(3) },
	{ OUT("mq_timedreceive", 2, BUFFER), EXTRA, RETURNED },
	{ OUT("waitid", 5, RUSAGE), EXTRA, .size = 144 },
	{ IN("timer_create", 2, TYPED), TYPED("sigevent", 64) },
	{ IN("mq_notify", 2, TYPED), TYPED("sigevent", 64) },
	{ IN("sched_setattr", 2, TYPED), TYPED("sched_attr", 56) },
	{ OUT("sched_setattr", 2, TYPED), TYPED("sched_attr", 4), .is_of_failures = true },
	{ OUT("sched_getattr", 2, TYPED), TYPED("sched_attr", 56) },
	{ IN("sethostname", 1, BUFFER), EXTRA, SIZED(2), .is_int = true },
	{ IN("setdomainname", 1, BUFFER), EXTRA, SIZED(2), .is_int = true },
	{ IN("mq_open", 4, TYPED), TYPED("new_mq_attr", 64) },
	{ IN("mq_getsetattr", 2, TYPED), TYPED("mq_attr", 64) },
	{ OUT("mq_getsetattr", 3, TYPED), TYPED("mq_attr", 64) },
	{ IN("semop", 2, TYPED), TYPED("sembuf", 192), TIMES(3, 6), .is_int = true },
	{ IN("semtimedop", 2, TYPED), TYPED("sembuf", 192), TIMES(3, 6), .is_int = true },
	{ IN("openat2", 3, TYPED), TYPED("open_how", 64), SIZED(4) },
	{ IN("landlock_create_ruleset", 1, TYPED), TYPED("ruleset", 8), SIZED(2) },
	{ IN("landlock_add_rule", 3, TYPED), TYPED("landlock_path", 12) },
	{ IN("mount_setattr", 4, TYPED), TYPED("mount_attr", 4096), SIZED(5) },
	{ IN("bpf", 2, TYPED), TYPED("bpf_attr", 4096), SIZED(3), .is_int = true },
	{ IN("bpf", 2, TYPED), TYPED("text", 0), BEHIND(16), FIELD(2), WHEN(1, BPF_PROG_LOAD) },
	{ IN("bpf", 2, TYPED), TYPED("text", 0), BEHIND(32), COUNTED(28, 4, 1), FIELD(3),
	  WHEN(1, BPF_PROG_LOAD) },
	{ IN("bpf", 2, TYPED), TYPED("data", 0), BEHIND(0), COUNTED(16, 4, 1), FIELD(2),
	  WHEN(1, BPF_BTF_LOAD) },
	/* of BPF_OBJ_PIN, BPF_OBJ_GET, and BPF_RAW_TRACEPOINT_OPEN; others have no pointer there */
	{ IN("bpf", 2, TYPED), TYPED("path", 4096), BEHIND(0), FIELD(4) },
	{ OUT("bpf", 2, TYPED), TYPED("bpf_after", 16), WHEN(1, BPF_OBJ_GET_INFO_BY_FD) },
	{ OUT("bpf", 2, TYPED), TYPED("data", 512), BEHIND(8), COUNTED(4, 4, 1), FIELD(2),
	  WHEN(1, BPF_OBJ_GET_INFO_BY_FD) },
	{ IN("perf_event_open", 1, TYPED), TYPED("perf_attr", 128) },
	{ OUT("perf_event_open", 1, TYPED), TYPED("perf_attr", 128), .is_of_failures = true },
	{ IN("io_uring_setup", 2, TYPED), TYPED("rings", 120) },
	{ OUT("io_uring_setup", 2, TYPED), TYPED("rings", 120) },
	{ IN("keyctl", 2, TYPED), TYPED("key_argument", 256) },
	{ IN("keyctl", 3, TYPED), TYPED("key_argument", 0), FIELD(2) },
	{ IN("keyctl", 4, TYPED), TYPED("key_argument", 0), FIELD(3) },
	{ IN("keyctl", 5, TYPED), TYPED("key_argument", 256), FIELD(4) },
	{ IN("keyctl", 5, TYPED), TYPED("text", 0), BEHIND(0), FIELD(5),
	  WHEN(1, KEYCTL_DH_COMPUTE) },
	{ IN("keyctl", 5, TYPED), TYPED("data", 0), BEHIND(8), COUNTED(16, 4, 1), FIELD(6),
	  WHEN(1, KEYCTL_DH_COMPUTE) },
	/* of KEYCTL_INSTANTIATE_IOV, which only reads them; there is no room at its entry */
	{ OUT("keyctl", 3, IOVECS), EXTRA, .how = ABI_CAPTURE_VECTOR, .size_argument = 4,
	  .is_int = true, .is_of_failures = true, WHEN(1, KEYCTL_INSTANTIATE_IOV) },
	{ OUT("keyctl", 2, TYPED), TYPED("key_argument", 16), WHEN(1, 31) }, /* _CAPABILITIES */
	{ OUT("keyctl", 3, TYPED), TYPED("key_argument", 0), FIELD(2) },
	{ OUT("keyctl", 5, TYPED), TYPED("key_argument", 56), FIELD(3),
	  WHEN(1, 24) }, /* _PKEY_QUERY */
	{ IN("ptrace", 4, TYPED), TYPED("ptrace_data", 512) },
	{ IN("ptrace", 3, TYPED), TYPED("signals_wanted", 16), FIELD(2),
	  WHEN(1, PTRACE_PEEKSIGINFO) },
	{ IN("ptrace", 4, TYPED), TYPED("data", 520), BEHIND(0), COUNTED(8, 8, 1), FIELD(3),
	  WHEN(1, PTRACE_SETREGSET) },
	{ OUT("ptrace", 4, TYPED), TYPED("ptrace_data", 512) },
	{ OUT("ptrace", 4, TYPED), TYPED("data", 520), BEHIND(0), COUNTED(8, 8, 1), FIELD(2),
	  WHEN(1, PTRACE_GETREGSET) },
	{ OUT("ptrace", 4, TYPED), TYPED("data", 520), BEHIND(0), COUNTED(8, 8, 1), FIELD(2),
	  WHEN(1, PTRACE_SETREGSET) },
	{ IN("mount", 5, TYPED), TYPED("text", 0) },
	{ IN("fsconfig", 4, TYPED), TYPED("text", 0), WHEN(2, FSCONFIG_SET_STRING) },
	{ IN("fsconfig", 4, TYPED), TYPED("path", 4096), WHEN(2, FSCONFIG_SET_PATH) },
	{ IN("fsconfig", 4, TYPED), TYPED("path", 4096), WHEN(2, FSCONFIG_SET_PATH_EMPTY) },
	{ IN("fsconfig", 4, TYPED), TYPED("hex_data", 0), SIZED(5), .is_int = true,
	  WHEN(2, FSCONFIG_SET_BINARY) },
	{ IN("reboot", 4, TYPED), TYPED("text", 0), WHEN(3, LINUX_REBOOT_CMD_RESTART2) },
	{ IN("kexec_file_load", 4, BUFFER), EXTRA, SIZED(3) },
	{ IN("modify_ldt", 2, TYPED), TYPED("user_desc", 16) },
	{ OUT("ustat", 2, TYPED), TYPED("ustat", 32) },
	{ IN("futex_waitv", 4, TIME), EXTRA, TIME },
	{ IN("futex_waitv", 1, TYPED), TYPED("futex_waitv", 3072), TIMES(2, 24), .is_int = true },
	{ OUT("timer_create", 3, TYPED), TYPED("int", 4) },
	{ OUT("io_setup", 2, TYPED), TYPED("address", 8) },
	{ OUT("get_robust_list", 2, TYPED), TYPED("address", 8) },
	{ OUT("get_robust_list", 3, TYPED), TYPED("size", 8), FIELD(2) },
	{ IN("splice", 2, TYPED), TYPED("long", 8) },
	{ IN("splice", 4, TYPED), TYPED("long", 8), FIELD(2) },
	{ OUT("mq_timedreceive", 4, TYPED), TYPED("uint", 4) },
	{ IN("seccomp", 3, TYPED), TYPED("filter", 16), WHEN(1, 1) },
	{ IN("seccomp", 3, TYPED), TYPED("instructions", 4096), BEHIND(8), COUNTED(0, 2, 8),
	  FIELD(2), WHEN(1, 1) },
	{ IN("seccomp", 3, TYPED), TYPED("seccomp_action", 4), WHEN(1, 2) },
	{ OUT("seccomp", 3, TYPED), TYPED("seccomp_sizes", 6), WHEN(1, 3) },
	{ IN("move_pages", 3, TYPED), TYPED("addresses", 512), TIMES(2, 8) },
	{ IN("move_pages", 4, TYPED), TYPED("ints", 256), TIMES(2, 4), FIELD(2) },
	{ OUT("move_pages", 5, TYPED), TYPED("errors", 256), TIMES(2, 4) },
	{ IN("set_mempolicy", 2, TYPED), TYPED("nodes", NODES) },
	{ OUT("get_mempolicy", 1, TYPED), TYPED("policy", 4) },
	{ OUT("get_mempolicy", 2, TYPED), TYPED("nodes", NODES), FIELD(2) },
	{ OUT("mincore", 3, TYPED), TYPED("residence", 256) },
	{ IN("quotactl", 4, TYPED), TYPED("quota", QUOTA) },
	{ OUT("quotactl", 4, TYPED), TYPED("quota", QUOTA) },
	{ IN("quotactl_fd", 4, TYPED), TYPED("quota", QUOTA) },
	{ OUT("quotactl_fd", 4, TYPED), TYPED("quota", QUOTA) },
	{ IN("kcmp", 5, TYPED), TYPED("kcmp_slot", 12), WHEN(3, 7) },
	{ IN("_sysctl", 1, TYPED), TYPED("sysctl", 48) },
	{ IN("kexec_load", 3, TYPED), TYPED("kexec_segments", 512), TIMES(2, 32) },
	{ IN("io_uring_enter", 5, SIGNALS), EXTRA, SIZED(6), .size = 8 },
	{ OUT("listxattr", 2, BUFFER), EXTRA, RETURNED, ROOM(3) },
	{ OUT("llistxattr", 2, BUFFER), EXTRA, RETURNED, ROOM(3) },
	{ OUT("flistxattr", 2, BUFFER), EXTRA, RETURNED, ROOM(3) },
	{ OUT("getdents", 2, TYPED), TYPED("entries", 4096), RETURNED },
	{ OUT("getdents64", 2, TYPED), TYPED("entries64", 4096), RETURNED },
	{ OUT("uname", 1, UTSNAME), EXTRA, .size = 130 },
	{ OUT("sysinfo", 1, SYSINFO), EXTRA, .size = 112 },

	/* what descriptors are open on; last, since the kernel's types may not be known */
	{ OPENED("open", ABI_CAPTURE_RESULT) },
	{ OPENED("openat", ABI_CAPTURE_RESULT) },
	{ OPENED("openat2", ABI_CAPTURE_RESULT) },
	{ OPENED("creat", ABI_CAPTURE_RESULT) },
	{ OPENED("socket", ABI_CAPTURE_RESULT) },
	{ OPENED("accept", ABI_CAPTURE_RESULT) },
	{ OPENED("accept4", ABI_CAPTURE_RESULT) },
	{ OPENED("bind", 1) },
	{ OPENED("listen", 1) },
	{ OPENED("connect", 1), .is_of_failures = true }, /* it may go on in the background */
	{ OPENED("sendto", 1) },			  /* it may give the socket an address */
	{ OPENED("pidfd_getfd", ABI_CAPTURE_RESULT) },
	{ OPENED("pipe", 1), OPENED_TWO(0) },
	{ OPENED("pipe", 1), OPENED_TWO(4), .other_field = "file_bytes_2" },
	{ OPENED("pipe2", 1), OPENED_TWO(0) },
	{ OPENED("pipe2", 1), OPENED_TWO(4), .other_field = "file_bytes_2" },
	{ OPENED("socketpair", 4), OPENED_TWO(0) },
	{ OPENED("socketpair", 4), OPENED_TWO(4), .other_field = "file_bytes_2" },
};

static bool is_among(const struct abi_capture *c, unsigned which)
{
	return (which & CAPTURE_EXTRA || !c->is_extra) &&
	       (which & CAPTURE_FILES || !c->is_of_file) &&
	       (which & CAPTURE_ENVIRONMENT || !c->is_of_environment);
}

struct abi_captures capture_of_call(const char *call, bool is_at_exit, unsigned which)
{
	uint32_t most = is_at_exit ? ABI_CAPTURES_EXIT_MAX : ABI_CAPTURES_MAX;
	struct abi_captures found = { 0 };

	for (size_t i = 0; call && i < sizeof captures / sizeof *captures; i++)
		if (*captures[i].call == *call && /* asked for each call of the kernel */
		    captures[i].is_at_exit == is_at_exit && is_among(&captures[i], which) &&
		    !strcmp(captures[i].call, call)) {
			assert((uint32_t)found.n <
			       most); /* of the table: the program has no more */
			found.at[found.n++] = &captures[i];
		}
	(void)most;
	return found;
}

const char *capture_field(const struct abi_capture *c)
{
	static const char *const names[ABI_CAPTURE_KINDS] = {
		"addr_bytes",	    "timespec",	      "argv_bytes",	 "envp_count",
		"buf_bytes",	    "text_bytes",     "iov_bytes",	 "msg_bytes",
		"stat_bytes",	    "statx_bytes",    "statfs_bytes",	 "rlimit_bytes",
		"ints_bytes",	    "length_bytes",   "offset_bytes",	 "status_bytes",
		"pollfd_bytes",	    "epoll_bytes",    "sigaction_bytes", "sigset_bytes",
		"siginfo_bytes",    "sigstack_bytes", "timeval_bytes",	 "itimerval_bytes",
		"itimerspec_bytes", "timespec_bytes", "fdset_bytes",	 "cpus_bytes",
		"utsname_bytes",    "sysinfo_bytes",  "rusage_bytes",	 "clone_bytes",
		"flock_bytes",	    "ioctl_bytes",    "option_bytes",	 "struct_bytes",
		"mmsg_bytes",	    "iocb_bytes",     "file_bytes",
	};

	assert(c->kind < ABI_CAPTURE_KINDS);
	return c->other_field ? c->other_field : names[c->kind];
}

bool capture_is_made(const struct abi_capture *c, const int64_t *args)
{
	uint32_t command = (uint32_t)args[1];

	if (c->commands && (command >= 64 || !(c->commands >> command & 1)))
		return false;
	return !c->when_argument || (uint32_t)args[c->when_argument - 1] == c->when;
}

/* Texts that a call ignores if argument `by` has one of some bits, or is above a number. */
static const struct {
	const char *call;
	uint8_t argument, by;
	uint32_t bits, most;
} unused_texts[] = {
	{ "mount", 3, 4,
	  MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE,
	  UINT32_MAX },
	{ "fsconfig", 3, 2, 0, FSCONFIG_SET_FD },
};

uint8_t capture_text_condition(const char *call, unsigned argument)
{
	for (uint8_t i = 0; i < sizeof unused_texts / sizeof *unused_texts; i++)
		if (unused_texts[i].argument == argument && !strcmp(unused_texts[i].call, call))
			return (uint8_t)(i + 1);
	return 0;
}

bool capture_text_is_used(uint8_t condition, const int64_t *args)
{
	uint32_t value;

	if (!condition)
		return true;
	assert(condition <= sizeof unused_texts / sizeof *unused_texts);
	value = (uint32_t)args[unused_texts[condition - 1].by - 1];
	if ((value & MS_MGC_MSK) == MS_MGC_VAL) /* of mount(), in old programs */
		value &= ~(uint32_t)MS_MGC_MSK;
	return !(value & unused_texts[condition - 1].bits) &&
	       value <= unused_texts[condition - 1].most;
}

/* The first capture with the field of capture @i. */
static int first_of(const struct abi_captures *all, int i)
{
	int first = 0;

	while (strcmp(capture_field(all->at[first]), capture_field(all->at[i])) != 0)
		first++;
	return first;
}

int capture_place(const struct abi_captures *all, int i)
{
	int first = first_of(all, i), n = 0;

	for (int k = 0; k < first; k++)
		n += first_of(all, k) == k;
	assert(n < ABI_CAPTURE_FIELDS);
	return n;
}

unsigned capture_element(const struct abi_capture *c)
{
	return c->kind == ABI_CAPTURE_TIME ? 8 : 1;
}
