/* SPDX-License-Identifier: MIT */
/* The memory that arguments of system calls point to, as text: from bytes made by hand, also too
 * few and too many of them. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "capture/table.h"
#include "analysis/syscalls/memory.h"
#include "kernel/tracefs/syscalls.h"

static char made[4 * ABI_CAPTURE_MAX];

/* Describes the call: its captured memory, its arguments, and the flags of its state. */
static int which;
static int64_t args[6] = { 1, 1, 1, 1, 1, 1 };
static struct call_moment moment = { .args = args };

static const char *said(const char *call, bool is_at_exit, const void *bytes, size_t size)
{
	static struct call_memory m;
	struct text t = { 0 };

	m.what = capture_of_call(call, is_at_exit, true).at[which];
	m.size = (uint32_t)size;

	memset(m.bytes, 'Z', sizeof m.bytes); /* nothing of it may be shown */
	memcpy(m.bytes, bytes, size);
	if (call_memory_add(&t, &m, &moment))
		snprintf(made, sizeof made, "%s", t.bytes);
	else
		snprintf(made, sizeof made, "%s",
			 t.size ? "refused, but something was added" : "too short");
	text_fini(&t);
	return made;
}

/* The captured bytes in quotes. */
#define ADDRESS(bytes) said("connect", false, bytes, sizeof bytes - 1)
#define ARGV(bytes) said("execve", false, bytes, sizeof bytes - 1)

static void addresses_of_the_internet_have_port_and_address(void)
{
	is_text(ADDRESS("\2\0\0\120\177\0\0\1\0\0\0\0\0\0\0\0"),
		"{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}");
	is_text(ADDRESS("\2\0\377\377\377\376\375\374\0\0\0\0\0\0\0\0more"),
		"{sa_family=AF_INET, sin_port=htons(65535), "
		"sin_addr=inet_addr(\"255.254.253.252\")}");
	is_text(ADDRESS("\12\0\0\121\0\1\43\105\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\7\0\0\0"),
		"{sa_family=AF_INET6, sin6_port=htons(81), sin6_flowinfo=htonl(74565), "
		"inet_pton(AF_INET6, \"::1\", &sin6_addr), "
		"sin6_scope_id=7}");
	is_text(ADDRESS("\12\0\0\121\0\0\0\0\376\200\0\0\0\0\0\0\0\0\0\0\0\0\0\2"),
		"{sa_family=AF_INET6, sin6_port=htons(81), sin6_flowinfo=htonl(0), "
		"inet_pton(AF_INET6, \"fe80::2\", &sin6_addr)}");
}

static void addresses_of_this_machine_have_a_path_or_a_name(void)
{
	char longest[ABI_CAPTURE_MAX] = "\1";

	is_text(ADDRESS("\1\0/run/a \"b\"\n\0\0left"),
		"{sa_family=AF_UNIX, sun_path=\"/run/a \\\"b\\\"\\n\"}");
	is_text(ADDRESS("\1\0p"), "{sa_family=AF_UNIX, sun_path=\"p\"}");
	is_text(ADDRESS("\1\0\0duet\0\001"), "{sa_family=AF_UNIX, sun_path=@\"duet\\0\\1\"}");
	is_text(ADDRESS("\1\0\0"), "{sa_family=AF_UNIX, sun_path=@\"\"}");
	is_text(ADDRESS("\1\0"), "{sa_family=AF_UNIX}");
	memset(longest + 2, 'x', sizeof longest - 2);
	is(strlen(said("bind", false, longest, sizeof longest)),
	   strlen("{sa_family=AF_UNIX, sun_path=\"\"}") + 108);
	is_text(ADDRESS("\20\0\0\0\5\0\0\0\21\0\0\0"),
		"{sa_family=AF_NETLINK, nl_pid=5, nl_groups=0x000011}");
	is_text(ADDRESS("\20\0\0\0\0\0\0\0\0\0\0\0"),
		"{sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}");
}

static void other_addresses_are_shown_as_bytes(void)
{
	is_text(ADDRESS("\0\0abc\0"), "{sa_family=AF_UNSPEC, sa_data=\"abc\\0\"}");
	is_text(ADDRESS("\0\0"), "{sa_family=AF_UNSPEC}");
	is_text(ADDRESS("\143\0\1\377"), "{sa_family=0x63 /* AF_??? */, sa_data=\"\\1\\377\"}");
	is_text(ADDRESS("\377\377\1"), "{sa_family=0xffff /* AF_??? */, sa_data=\"\\1\"}");
}

static void an_address_too_short_for_its_family_is_shown_as_bytes(void)
{
	is_text(ADDRESS("\2\0\0\120\177\0\0\1\0\0\0\0\0\0\0"),
		"{sa_family=AF_INET, sa_data=\"\\0P\\177\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\"}");
	is_text(ADDRESS("\12\0\0\121\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"),
		"{sa_family=AF_INET6, "
		"sa_data=\"\\0Q\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\1\"}");
	is_text(ADDRESS("\20\0\0\0\5\0\0\0\21\0\0"),
		"{sa_family=AF_NETLINK, sa_data=\"\\0\\0\\5\\0\\0\\0\\21\\0\\0\"}");
	is_text(ADDRESS("\2\0"), "{sa_family=AF_INET}");
	is_text(ADDRESS("\2"), "too short");
	is_text(ADDRESS(""), "too short");
	is_text(said("accept", true, "", 0), "too short");
}

static void times_are_seconds_and_nanoseconds(void)
{
	const int64_t time[] = { 0, 1000, 7 }, negative[] = { -1, INT64_MIN };

	is_text(said("nanosleep", false, time, 16), "{tv_sec=0, tv_nsec=1000}");
	is_text(said("clock_gettime", true, time, 24), "{tv_sec=0, tv_nsec=1000}");
	is_text(said("futex", false, negative, 16), "{tv_sec=-1, tv_nsec=9223372036854775808}");
	is_text(said("nanosleep", false, time, 8), "too short");
	is_text(said("nanosleep", false, time, 0), "too short");
}

static void exec_arguments_are_quoted_and_cut_ones_end_in_dots(void)
{
	char longest[ABI_CAPTURE_ARG_MAX + 2];

	is_text(ARGV("ls\0-l\0"), "[\"ls\", \"-l\"]");
	is_text(ARGV("a\0\0b\"\n\0"), "[\"a\", \"\", \"b\\\"\\n\"]");
	is_text(ARGV("1\0002\0..."), "[\"1\", \"2\", ...]");
	is_text(ARGV("..."), "[...]");
	is_text(ARGV("...\0"), "[\"...\"]");
	is_text(ARGV("a...\0"), "[\"a...\"]");
	is_text(ARGV("\0"), "[\"\"]");
	is_text(ARGV(""), "too short");
	is_text(ARGV("a\0with no end"), "[\"a\", \"with no end\"...]");
	is_text(ARGV("a..."), "[\"a\"...]");
	is_text(ARGV(".."), "[\"..\"...]");

	memset(longest, 'o', sizeof longest);
	longest[ABI_CAPTURE_ARG_MAX - 1] = 0;
	is_text(said("execveat", false, longest, ABI_CAPTURE_ARG_MAX),
		"[\"ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo\"]");
	memcpy(longest + ABI_CAPTURE_ARG_MAX - 4, "...", 4);
	memcpy(longest + ABI_CAPTURE_ARG_MAX, "b", 2);
	is_text(said("execveat", false, longest, sizeof longest),
		"[\"oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo\"..., \"b\"]");
	memset(made, 'o', ABI_CAPTURE_MAX);
	is(strlen(said("execve", false, made, ABI_CAPTURE_MAX)),
	   ABI_CAPTURE_MAX + strlen("[\"\"...]"));
}

static void lists_have_addresses_of_what_could_not_be_read(void)
{
	static char longest[] = "\004oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo"
				"...\0\1";

	is(sizeof longest, 1 + ABI_CAPTURE_ARG_MAX + 2);
	args[1] = 0x5000;
	is_text(ARGV("\1"), "[]");
	is_text(ARGV("\2"), "too short");
	is_text(ARGV("\3"), "too short");
	is_text(ARGV("\4ls\0\4\0\1"), "[\"ls\", \"\"]");
	is_text(ARGV("\4\1\0\4...\0\2"), "[\"\\1\", \"...\", ...]");
	is_text(ARGV("\5\377\377\377\377\0\0\0\0\4a\0\3"), "[0xffffffff, \"a\", ... /* 0x5010 */]");
	is_text(said("execve", false, longest, sizeof longest - 1),
		"[\"oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo\"...]");
	moment.string_bytes = 2;
	is_text(ARGV("\4abc\0\4de\0\1"), "[\"ab\"..., \"de\"]");
	is_text(ARGV("\4a\0\4b\0\4c\0\1"), "[\"a\", \"b\", ...]");
	is_text(ARGV("\4a\0\4b\0\4c\0\3"), "[\"a\", \"b\", ...]");
	moment.string_bytes = 0;
	is_text(ARGV("\4a\0\5\1\2\3\4\5\1"), "[\"a\", ...]"); /* damaged */
	is_text(ARGV("\4a\1"), "[...]");
	is_text(ARGV("\7\4\1"), "[...]");
	args[1] = 1;
}

/* Of a call that has returned @result. */
static const char *written(const char *call, int64_t result, const void *bytes, size_t size)
{
	moment.is_end = true;
	moment.result = result;
	said(call, true, bytes, size);
	moment = (struct call_moment){ .args = args };
	return made;
}

static void read_and_written_bytes_are_quoted_and_cut(void)
{
	is_text(written("read", 3, "a\n\0", 3), "\"a\\n\\0\"");
	is_text(written("read", 5, "abc", 3), "\"abc\"...");
	is_text(written("read", 0, "", 0), "\"\"");
	is_text(written("read", 4, "", 0), "too short"); /* it could not be read */
	is_text(written("read", -14, "", 0), "too short");
	is_text(written("getrandom", 2, "\0a", 2), "\"\\x00\\x61\"");
	is_text(written("getrandom", 9, "\0a", 2),
		"\"\\x00\\x61\"..."); /* all recorded bytes, but not all of the call */
	moment.string_bytes = 2;
	args[2] = 3;
	is_text(said("write", false, "abc", 3), "\"ab\"...");
	args[2] = 2;
	is_text(said("write", false, "ab", 2), "\"ab\"");
	args[2] = 1;
	moment.string_bytes = 0;
}

/* The lines of bytes of a call that has returned @result. */
static const char *dumped(const char *call, int64_t result, const void *bytes, size_t size)
{
	static struct call_memory m;
	struct text t = { 0 };

	m.what = capture_of_call(call, true, true).at[which];
	m.size = (uint32_t)size;
	memcpy(m.bytes, bytes, size);
	moment.is_end = true;
	moment.result = result;
	call_memory_dump(&t, &m, &moment);
	moment = (struct call_moment){ .args = args };
	snprintf(made, sizeof made, "%s", t.size ? t.bytes : "");
	text_fini(&t);
	return made;
}

/* What lies behind the buffer is the program's own: a result may be larger than the buffer. */
static void bytes_behind_a_buffer_are_not_shown(void)
{
	const int32_t ids[] = { 1, 2 };

	which = 1;
	args[2] = 4;
	is_text(written("recvfrom", 28, "0123-SECRET", 11), "\"0123\"");
	is_text(written("recvfrom", 28, "01", 2), "\"01\"...");
	is_text(dumped("recvfrom", 28, "0123-SECRET", 11),
		" | 00000  30 31 32 33                                       0123             |\n");
	args[2] = 0;
	is_text(written("recvfrom", 28, "SECRET", 6), "\"\"");
	is_text(dumped("recvfrom", 28, "SECRET", 6), "");
	args[2] = -1;
	is_text(written("recvfrom", 4, "0123", 4), "\"0123\"");
	which = 0;
	is_text(written("llistxattr", 3, "a\0b\0", 4), "\"a\\0b\"");
	args[2] = 0;
	is_text(written("listxattr", 6, "SECRET", 6), "too short");
	args[2] = 1;
	args[3] = 0;
	is_text(written("getxattr", 6, "SECRET", 6), "too short");
	args[3] = 1;
	args[0] = 0;
	is_text(written("getgroups", 2, ids, 8), "too short");
	is_text(written("getgroups", 0, ids, 0), "[]");
	args[0] = 1l << 32; /* its type is int */
	is_text(written("getgroups", 2, ids, 8), "too short");
	args[0] = 2;
	is_text(written("getgroups", 2, ids, 8), "[1, 2]");
	args[0] = 1;
	args[2] = 1;
	args[1] = (1l << 32) + 4; /* its type is unsigned int */
	is_text(said("sched_setaffinity", false, ids, 8), "[0]");
	args[1] = 1;
}

static void vectors_have_what_each_points_to(void)
{
	static const char two[] =
		"\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0ab\7\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0";

	args[2] = 2;
	is_text(said("writev", false, two, sizeof two - 1),
		"[{iov_base=\"ab\", iov_len=2}, {iov_base=0x7, iov_len=3}]");
	is_text(written("readv", 1, two, 20), "[{iov_base=\"a\", iov_len=2}, ... /* 0x11 */]");
	args[2] = 1;
	is_text(said("writev", false, "", 0), "too short");
}

static void structures_are_shown_as_strace_shows_them(void)
{
	uint32_t stat[16] = { [6] = 0100644, [12] = 7 },
		 device[16] = { [6] = 020620, [10] = 0x8801 }, signal[8] = { [0] = 0x4001 };
	const uint64_t limit[] = { 8192 << 10, UINT64_MAX }, set[] = { ~0x40100ull };
	const int32_t pipe[] = { 3, 4 }, status[] = { 0x100 }, killed[] = { 9 | 128 };
	const uint16_t poll[] = { 3, 0, 5, 1, 4, 0, 1, 0 };

	is_text(written("fstat", 0, stat, 64), "{st_mode=S_IFREG|0644, st_size=7, ...}");
	is_text(written("fstat", 0, device, 64),
		"{st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0x1), ...}");
	is_text(written("fstat", 0, stat, 55), "too short");
	is_text(written("getrlimit", 0, limit, 16),
		"{rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}");
	is_text(written("pipe2", 0, pipe, 8), "[3, 4]");
	is_text(written("wait4", 5, status, 4), "[{WIFEXITED(s) && WEXITSTATUS(s) == 1}]");
	is_text(written("wait4", 5, killed, 4),
		"[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL && WCOREDUMP(s)}]");
	is_text(written("wait4", 0, status, 4), "too short"); /* there was no child */
	is_text(said("poll", false, poll, 16),
		"[{fd=3, events=POLLIN|POLLOUT}, {fd=4, events=POLLIN}]");
	is_text(written("poll", 1, poll, 16), "[{fd=3, revents=POLLIN}]");
	args[3] = 16; /* the kernel has no sets of that size */
	is_text(said("rt_sigprocmask", false, set, 8), "too short");
	args[3] = 8;
	is_text(said("rt_sigprocmask", false, set, 8), "~[KILL STOP]");
	args[3] = 1;
	args[1] = 8;
	is_text(said("rt_sigsuspend", false, signal, 8), "[HUP TERM]");
	args[1] = 0x5413;
	is_text(written("ioctl", 0, poll, 16), "{ws_row=3, ws_col=0, ws_xpixel=5, ws_ypixel=1}");
	is_text(said("ioctl", false, poll, 16), "too short"); /* not yet written */
	args[1] = 1;
}

static void variables_are_counted_as_far_as_they_were_found(void)
{
	which = 1;
	is_text(said("execve", false, "\2\0\0\0", 3), "too short");
	is_text(said("execve", false, "\2\0\0\0", 4),
		"0x1 /* 2 vars */"); /* of an older recorder */
	is_text(said("execve", false, "\1\0\0\0\0", 5), "0x1 /* 1 var */");
	is_text(said("execve", false, "\0\2\0\0\1", 5), "0x1 /* more than 512 vars */");
	is_text(said("execve", false, "\1\0\0\0\2", 5), "0x1 /* 1 var, unterminated */");
	which = 0;
}

static void lists_that_were_cut_end_in_dots(void)
{
	const uint16_t polls[64 * 4] = { 3, 0, 5, 1, 4, 0, 1, 0 };
	const uint32_t events[3 * 32] = { 1, 7, 0, 4, 8, 0 };
	const char *end = "", *list;

	args[1] = 33;
	list = said("poll", false, polls, 256);
	end = list + strlen(list) - strlen(", {fd=0, events=0}, ...]");
	is_text(end, ", {fd=0, events=0}, ...]");
	args[1] = 2;
	is_text(said("poll", false, polls, 8), "[{fd=3, events=POLLIN|POLLOUT}, ... /* 0x9 */]");
	moment.string_bytes = 1;
	is_text(said("poll", false, polls, 16), "[{fd=3, events=POLLIN|POLLOUT}, ...]");
	is_text(said("poll", false, polls, 8), "[{fd=3, events=POLLIN|POLLOUT}, ...]");
	moment.string_bytes = 0;
	is_text(written("poll", 2, polls, 256), "[{fd=3, revents=POLLIN}, ...]");
	is_text(written("epoll_wait", 2, events, 24),
		"[{events=EPOLLIN, data={u32=7, u64=7}}, {events=EPOLLOUT, data={u32=8, u64=8}}]");
	is_text(written("epoll_wait", 3, events, 24),
		"[{events=EPOLLIN, data={u32=7, u64=7}}, {events=EPOLLOUT, data={u32=8, u64=8}}, "
		"...]");
	moment.string_bytes = 1;
	is_text(written("epoll_wait", 2, events, 24),
		"[{events=EPOLLIN, data={u32=7, u64=7}}, ...]");
	args[1] = 1;
}

static void described_structures_are_shown_field_by_field(void)
{
	const int32_t id[] = { -1 }, ids[] = { 1, -1, 3 }, options[] = { 1, 5 };
	const int64_t attributes[] = { 0x800, 10, 20, 0, 0, 0, 0, 0 },
		      times[] = { 1, 2, 3, 2000000 }, how[] = { 0x41, 0777, 1, 0x80 };
	const uint16_t sems[] = { 0, 0xffff, 0x1800, 1, 2, 0 };

	is_text(written("getresuid", 0, id, 4), "[-1]");
	is_text(written("getresuid", 0, id, 3), "too short");
	is_text(written("getgroups", 3, ids, 12), "[1, -1, 3]");
	is_text(written("getgroups", 4, ids, 12), "[1, -1, 3, ... /* 0xd */]");
	moment.string_bytes = 2;
	args[0] = 3;
	is_text(said("setgroups", false, ids, 12), "[1, -1, ...]");
	args[0] = 1;
	moment.string_bytes = 0;
	is_text(said("mq_getsetattr", false, attributes, 64),
		"{mq_flags=O_NONBLOCK, mq_maxmsg=10, mq_msgsize=20, mq_curmsgs=0}");
	is_text(said("mq_open", false, attributes, 64),
		"{mq_flags=0x800, mq_maxmsg=10, mq_msgsize=20, mq_curmsgs=0}");
	args[2] = 2;
	is_text(said("semop", false, sems, 12),
		"[{sem_num=0, sem_op=-1, sem_flg=SEM_UNDO|IPC_NOWAIT}, "
		"{sem_num=1, sem_op=2, sem_flg=0}]");
	args[2] = 1;
	is_text(said("utimes", false, times, 32),
		"[{tv_sec=1, tv_usec=2} /* 1970-01-01T00:00:01.000002+0000 */, "
		"{tv_sec=3, tv_usec=2000000}]");
	args[3] = 32;
	is_text(said("openat2", false, how, 32),
		"{flags=O_WRONLY|O_CREAT, mode=0777, resolve=RESOLVE_NO_XDEV, "
		"/* bytes 24..31 */ \"\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"}");
	is_text(said("openat2", false, how, 24),
		"{flags=O_WRONLY|O_CREAT, mode=0777, resolve=RESOLVE_NO_XDEV, ???}");
	args[3] = 1;
	args[1] = SOL_SOCKET;
	args[2] = SO_LINGER;
	which = 1;
	is_text(written("getsockopt", 0, options, 7), "{l_onoff=1, l_linger=\"\\x05\\x00\\x00\"}");
	which = 0;
	args[1] = args[2] = 1;
}

/* Any captured bytes are safe: nothing is read beyond them, and no text is cut in the middle. */
static void bytes_of_any_number_are_shown_or_refused(void)
{
	static uint8_t bytes[ABI_CAPTURE_MAX];
	uint32_t n = 0, n_half = 0, r = 1;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)((r = r * 1664525 + 1013904223) >> 24);
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++)
		for (int end = 0; end < 2; end++)
			for (which = 0;
			     which < capture_of_call(kernel_syscall_name(nr), end, true).n; which++)
				for (size_t size = 0; size < 300; size++, n++) {
					moment.is_end = end;
					moment.result = (int64_t)size;
					said(kernel_syscall_name(nr), end, bytes + size, size);
					n_half += !strcmp(made, "refused, but something was added");
				}
	which = 0;
	moment = (struct call_moment){ .args = args };
	is(n_half, 0);
	ok(n > 30000);
}

/* Found by tests/live/strace/random_calls_are_shown_as_strace_shows_them.py. */
static void memory_of_random_calls_is_shown_as_strace_shows_it(void)
{
	static const int32_t info[32] = { 10, 0, -1, 0, -1, -1 };
	static const int32_t ready[32] = { 29, 0, 6, 0, 5, 0, 7 },
			     other[32] = { 29, 0, 7, 0, 5, 0, 7 };
	static const uint32_t header[2] = { 0x20080522, 0 };
	static const uint8_t few[8] = { 1 };

	moment = (struct call_moment){ .args = args };
	args[0] = 4096;
	args[1] = 2;
	which = 0;
	is_text(said("poll", false, few, 7), "too short");
	is_text(said("capget", false, header, sizeof header),
		"{version=_LINUX_CAPABILITY_VERSION_3, pid=0}");
	is_text(said("rt_sigqueueinfo", false, info, sizeof info),
		"{si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=-1, si_uid=-1}");
	is_text(said("rt_sigqueueinfo", false, info, 54), "too short");
	is_text(said("rt_sigqueueinfo", false, ready, sizeof ready),
		"{si_signo=SIGIO, si_code=POLL_HUP, si_band=5, si_fd=7}");
	is_text(said("rt_sigqueueinfo", false, other, sizeof other),
		"{si_signo=SIGIO, si_code=0x7}");
	args[0] = 0;
	is_text(said("select", false, few, sizeof few), "too short"); /* of no descriptors */
	args[0] = 2000;
	args[1] = 1;
	is_text(said("select", false, (char[128]){ 2 }, 128), "[1 ...]");
	args[1] = 0; /* accept(3, NULL, &length): the length is not read */
	is_text(said("accept", false, few, 4), "too short");
	args[1] = 1;
	args[2] = 3; /* a message that was cut: its length is returned */
	which = 1;
	moment.is_end = true;
	moment.result = 8;
	is_text(said("recvfrom", true, "abcdefgh", 8), "\"abc\"");
	moment = (struct call_moment){ .args = args };
	which = 0;
}

/* Sets as recorded now: whole longs, then whether there is more. */
static const char *set_of(int descriptors, bool is_at_exit, uint64_t first, size_t size, int more)
{
	static uint8_t bytes[ABI_CAPTURE_MAX];

	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, &first, sizeof first);
	bytes[size] = (uint8_t)more;
	args[0] = descriptors;
	return said("pselect6", is_at_exit, bytes, size + 1);
}

static void sets_have_the_descriptors_that_the_kernel_looks_at(void)
{
	struct call_length lengths[6] = { [1] = { 64, true } };

	moment = (struct call_moment){ .args = args };
	which = 1; /* a time is first */
	is_text(set_of(5, false, 0xff, 8, ABI_CAPTURE_SET_WHOLE), "[0 1 2 3 4]");
	is_text(set_of(64, false, 1ull << 63 | 1, 8, ABI_CAPTURE_SET_WHOLE), "[0 63]");
	is_text(set_of(2000, false, 6, 8, ABI_CAPTURE_SET_WHOLE), "[1 2]");
	is_text(set_of(INT32_MAX, false, 0, 128, ABI_CAPTURE_SET_WHOLE), "[]");
	is_text(set_of(INT32_MAX, false, 6, 2048, ABI_CAPTURE_SET_MORE), "[1 2 ...]");
	is_text(set_of(INT32_MAX, false, 0, 8, 255), "[...]");
	is_text(set_of(INT32_MAX, false, 0, 0, ABI_CAPTURE_SET_WHOLE), "too short");
	is_text(set_of(-1, false, 6, 8, ABI_CAPTURE_SET_WHOLE), "too short");
	is_text(set_of(INT32_MIN, false, 6, 8, ABI_CAPTURE_SET_MORE), "too short");
	which = 0;
	moment.is_end = true;
	moment.lengths = lengths;
	is_text(set_of(65, true, 6, 8, ABI_CAPTURE_SET_WHOLE), "[1 2]");
	lengths[1].bytes = 2; /* of a table that has grown meanwhile */
	is_text(set_of(65, true, 6, 16, ABI_CAPTURE_SET_WHOLE), "[1]");
	moment = (struct call_moment){ .args = args };
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	run(read_and_written_bytes_are_quoted_and_cut);
	run(bytes_behind_a_buffer_are_not_shown);
	run(vectors_have_what_each_points_to);
	run(structures_are_shown_as_strace_shows_them);
	run(variables_are_counted_as_far_as_they_were_found);
	run(lists_that_were_cut_end_in_dots);
	run(described_structures_are_shown_field_by_field);
	run(bytes_of_any_number_are_shown_or_refused);
	run(addresses_of_the_internet_have_port_and_address);
	run(addresses_of_this_machine_have_a_path_or_a_name);
	run(other_addresses_are_shown_as_bytes);
	run(an_address_too_short_for_its_family_is_shown_as_bytes);
	run(times_are_seconds_and_nanoseconds);
	run(exec_arguments_are_quoted_and_cut_ones_end_in_dots);
	run(lists_have_addresses_of_what_could_not_be_read);
	run(sets_have_the_descriptors_that_the_kernel_looks_at);
	run(memory_of_random_calls_is_shown_as_strace_shows_it);
	return test_status();
}
