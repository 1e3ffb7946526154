/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/structs.c - formats structures of the kernel, and arrays of them.
 * call_struct_add() checks the least size once for all.
 */
#include "analysis/syscalls/structs.h"

#include <inttypes.h>
#include <linux/stat.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "analysis/syscalls/words.h"

/* ---------------------------------------------------------------- parts */

static void add_two(struct text *t, const struct call_memory *m, size_t at, const char *fraction)
{
	text_addf(t, "{tv_sec=%" PRId64 ", %s=%" PRIu64 "}", (int64_t)u64(m, at), fraction,
		  u64(m, at + 8));
}

static void add_pair(struct text *t, const struct call_memory *m, const char *fraction)
{
	add(t, "{it_interval=");
	add_two(t, m, 0, fraction);
	add(t, ", it_value=");
	add_two(t, m, 16, fraction);
	add(t, "}");
}

void call_stamp(struct text *t, int64_t seconds, uint64_t fraction, int digits)
{
	text_addf(t, "{tv_sec=%" PRId64 ", tv_%csec=%" PRIu64 "}", seconds, digits == 9 ? 'n' : 'u',
		  fraction);
	if (fraction < (digits == 9 ? 1000000000 : 1000000))
		call_date(t, " /* ", seconds, fraction, digits, " */");
}

static void add_stamp(struct text *t, const struct call_memory *m, size_t at)
{
	uint64_t ns = u64(m, at + 8);

	const char *name = ns == 0x3fffffff ? "UTIME_NOW" : ns == 0x3ffffffe ? "UTIME_OMIT" : NULL;

	if (name && call_style()->constants == CALL_ABBREV)
		return add(t, name);
	call_stamp(t, (int64_t)u64(m, at), ns, 9);
	if (name && call_style()->constants == CALL_VERBOSE)
		text_addf(t, " /* %s */", name);
}

/* "8192*1024" is easier to read than the product. */
static void add_limit(struct text *t, uint64_t v, const char *none)
{
	if (call_style()->constants == CALL_RAW)
		text_addf(t, "%" PRIu64, v);
	else if (v == UINT64_MAX && call_style()->constants == CALL_VERBOSE)
		text_addf(t, "%" PRIu64 " /* %s */", v, none);
	else if (v == UINT64_MAX)
		add(t, none);
	else if (v > 1024 && v % 1024 == 0 && call_style()->constants == CALL_VERBOSE)
		text_addf(t, "%" PRIu64 " /* %" PRIu64 "*1024 */", v, v / 1024);
	else if (v > 1024 && v % 1024 == 0)
		text_addf(t, "%" PRIu64 "*1024", v / 1024);
	else
		text_addf(t, "%" PRIu64, v);
}

static void add_signal_name(struct text *t, int number)
{
	const char *name = number == SIGIO ? "IO" : number < 32 ? sigabbrev_np(number) : NULL;

	if (name)
		add(t, name);
	else if (number == 32)
		add(t, "RTMIN");
	else
		text_addf(t, "RT_%d", number - 32);
}

void call_set_add(struct text *t, uint64_t set)
{
	bool is_not = __builtin_popcountll(set) >= 64 * 2 / 3;
	const char *before = "";

	set = is_not ? ~set : set;
	add(t, is_not ? "~[" : "[");
	for (int i = 0; i < 64; i++)
		if (set >> i & 1) {
			add(t, before);
			if (call_words_begin(t, (uint64_t)i + 1, CALL_DECIMAL)) {
				add_signal_name(t, i + 1);
				call_words_end(t);
			}
			before = " ";
		}
	add(t, "]");
}

/* ---------------------------------------------------------------- each kind */

static void add_statfs(struct text *t, const struct call_memory *m)
{
	static const char *const names[] = { "f_bsize",	 "f_blocks", "f_bfree",
					     "f_bavail", "f_files",  "f_ffree" };

	add(t, "{f_type=");
	call_one(t, call_names_magic, (int64_t)u64(m, 0), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		text_addf(t, ", %s=%" PRIu64, names[i], u64(m, 8 + 8 * i));
	text_addf(t,
		  ", f_fsid={val=[%#" PRIx32 ", %#" PRIx32 "]}, f_namelen=%" PRIu64
		  ", f_frsize=%" PRIu64 ", f_flags=",
		  u32(m, 56), u32(m, 60), u64(m, 64), u64(m, 72));
	if (u64(m, 80) & 0x20)
		add(t, u64(m, 80) & ~0x20ull ? "ST_VALID|" : "ST_VALID");
	if (u64(m, 80) != 0x20)
		call_flags(t, call_names_statvfs, u64(m, 80) & ~0x20ull);
	add(t, "}");
}

static bool add_status(struct text *t, uint32_t s, int64_t result)
{
	int status = (int)s;

	if (result <= 0)
		return false;
	if (WIFEXITED(status)) {
		text_addf(t, "[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]", WEXITSTATUS(status));
	} else if (WIFCONTINUED(status)) {
		add(t, "[{WIFCONTINUED(s)}]");
	} else {
		bool is_stopped = WIFSTOPPED(status);

		add(t, is_stopped ? "[{WIFSTOPPED(s) && WSTOPSIG(s) == "
				  : "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		call_signal(t, is_stopped ? WSTOPSIG(status) & 0x7f : WTERMSIG(status));
		add(t, !is_stopped && WCOREDUMP(status) ? " && WCOREDUMP(s)}]" : "}]");
	}
	return true;
}

static void add_action(struct text *t, const struct call_memory *m)
{
	uint64_t handler = u64(m, 0), flags = u64(m, 8), mask = u64(m, 24);
	const uint64_t has_restorer = 0x04000000;

	add(t, "{sa_handler=");
	if (handler <= 1)
		add(t, handler ? "SIG_IGN" : "SIG_DFL");
	else
		add_hex(t, handler);
	add(t, ", sa_mask=");
	call_set_add(t, mask);
	add(t, ", sa_flags=");
	if (flags & has_restorer)
		add(t, flags & ~has_restorer ? "SA_RESTORER|" : "SA_RESTORER");
	if (flags != has_restorer)
		(flags & has_restorer ? call_flags_plain : call_flags)(t, call_names_sa,
								       flags & ~has_restorer);
	if (flags & has_restorer) {
		add(t, ", sa_restorer=");
		add_address(t, u64(m, 16));
	}
	add(t, "}");
}

void call_ticks(struct text *t, int64_t ticks)
{
	enum { PER_SECOND = 100 }; /* of the kernel's interface: USER_HZ */

	add_signed(t, ticks);
	if (ticks && call_style()->constants != CALL_RAW)
		text_addf(t, " /* %.2f s */", (double)ticks / PER_SECOND);
}

static void add_sysinfo(struct text *t, const struct call_memory *m)
{
	static const char *const names[] = { "totalram",  "freeram",   "sharedram",
					     "bufferram", "totalswap", "freeswap" };

	text_addf(t, "{uptime=%" PRId64 ", loads=[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
		  (int64_t)u64(m, 0), u64(m, 8), u64(m, 16), u64(m, 24));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		text_addf(t, ", %s=%" PRIu64, names[i], u64(m, 32 + 8 * i));
	text_addf(t,
		  ", procs=%u, totalhigh=%" PRIu64 ", freehigh=%" PRIu64 ", mem_unit=%" PRIu32 "}",
		  u16(m, 80), u64(m, 88), u64(m, 96), u32(m, 104));
}

static void add_sigstack(struct text *t, const struct call_memory *m)
{
	add(t, "{ss_sp=");
	add_address(t, u64(m, 0));
	add(t, ", ss_flags=");
	call_flags(t, call_names_sigstack, u32(m, 8));
	text_addf(t, ", ss_size=%" PRIu64 "}", u64(m, 16));
}

/* ---------------------------------------------------------------- rows */

/* New descriptors. */
static void add_ints(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	add(t, "[");
	for (uint32_t i = 0; i + 4 <= m->size; i += 4) {
		add(t, i ? ", " : "");
		call_fd(t, (int32_t)u32(m, i), x->about);
	}
	add(t, "]");
}

/* @revents: show the events that happened, for descriptors that have some; else show the requested
 * events. */
static void add_poll(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_about *about = x->about;
	bool revents = m->what->is_after;
	const char *before = "";
	uint64_t most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX,
		 n = 0;

	add(t, "[");
	for (uint32_t i = 0; i + 8 <= m->size; i += 8) {
		if (revents && !u16(m, i + 6))
			continue;
		if (n++ == most) {
			text_addf(t, "%s...", before);
			break;
		}
		text_addf(t, "%s{fd=", before);
		call_fd(t, (int32_t)u32(m, i), about);
		if ((int32_t)u32(m, i) >= 0 || revents) {
			add(t, revents ? ", revents=" : ", events=");
			call_flags(t, call_names_poll, u16(m, i + (revents ? 6 : 4)));
		}
		add(t, "}");
		before = ", ";
	}
	if (n <= most && n < (revents ? (uint64_t)x->result : (uint32_t)x->args[1])) {
		text_addf(t, "%s...", before);
		if (!revents && n < most && m->size < m->what->size) /* it could not be read */
			text_addf(t, " /* %#" PRIx64 " */", (uint64_t)x->args[0] + 8 * n);
	}
	add(t, "]");
}

static void add_epoll_event(struct text *t, const struct call_memory *m, uint32_t at)
{
	add(t, "{events=");
	call_flags(t, call_names_epoll_events, u32(m, at));
	text_addf(t, ", data={u32=%" PRIu32 ", u64=%" PRIu64 "}}", u32(m, at + 4), u64(m, at + 4));
}

static void add_epoll(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX,
		 n = 0;

	add(t, "[");
	for (; n < most && 12 * (n + 1) <= m->size; n++) {
		add(t, n ? ", " : "");
		add_epoll_event(t, m, 12 * (uint32_t)n);
	}
	if (n < (uint64_t)x->result)
		add(t, n ? ", ..." : "...");
	add(t, "]");
}

/* The numbers of the bits that are set, below @most. */
static void add_bits(struct text *t, const struct call_memory *m, int64_t most, bool has_more)
{
	const char *before = "";

	add(t, "[");
	for (int64_t i = 0; i < most && i < (int64_t)m->size * 8; i++)
		if (m->bytes[i / 8] >> i % 8 & 1) {
			text_addf(t, "%s%" PRId64, before, i);
			before = " ";
		}
	if (has_more)
		text_addf(t, "%s...", before);
	add(t, "]");
}

/* A set is read as a whole, or not at all. */
static bool add_cpus(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint32_t all = m->what->is_at_exit ? m->size : (uint32_t)x->args[1];

	if (!x->args[2] || m->size < (all < m->what->size ? all : m->what->size))
		return false;
	add_bits(t, m, (int64_t)all * 8, all > m->size);
	return true;
}

static void add_uname(struct text *t, const struct call_memory *m)
{
	add(t, "{sysname=");
	call_quoted(t, (const char *)m->bytes, strnlen((const char *)m->bytes, 65));
	add(t, ", nodename=");
	call_quoted(t, (const char *)m->bytes + 65, strnlen((const char *)m->bytes + 65, 65));
	add(t, ", ...}");
}

static void add_rusage(struct text *t, const struct call_memory *m)
{
	static const char *const names[] = { "maxrss", "ixrss",	   "idrss",   "isrss",	 "minflt",
					     "majflt", "nswap",	   "inblock", "oublock", "msgsnd",
					     "msgrcv", "nsignals", "nvcsw",   "nivcsw" };
	bool is_whole = call_style()->is_whole && m->size >= 144;

	add(t, "{ru_utime=");
	add_two(t, m, 0, "tv_usec");
	add(t, ", ru_stime=");
	add_two(t, m, 16, "tv_usec");
	for (size_t i = 0; is_whole && i < sizeof names / sizeof *names; i++)
		text_addf(t, ", ru_%s=%" PRIu64, names[i], u64(m, 32 + 8 * i));
	add(t, is_whole ? "}" : ", ...}");
}

int64_t call_fds_known(const struct call_memory *m, int32_t n, bool *is_cut)
{
	enum { OLD = 128 };
	uint64_t all = n > 0 ? ((uint64_t)n + 63) / 64 * 8 : 0, known = m->size / 8 * 8;
	bool has_end = m->size % 8 == 1;

	*is_cut = has_end ? m->bytes[known] != ABI_CAPTURE_SET_WHOLE : all > OLD;
	if (!has_end && known < (all < OLD ? all : OLD))
		return 0;
	return (int64_t)known * 8 < n ? (int64_t)known * 8 : n;
}

/* The kernel writes no more of a set than it read, though the table of the process may have grown. */
static bool add_fds(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_length *before = call_length_of(x, m->what->argument);
	bool is_cut;
	int64_t known = call_fds_known(m, (int32_t)x->args[0], &is_cut);

	if (before && known > (int64_t)before->bytes)
		known = (int64_t)before->bytes;
	if (known <= 0 || !x->args[m->what->argument - 1])
		return false;
	return add_bits(t, m, known, is_cut), true;
}

/* The kernel refuses a set that is larger than its own. */
static bool add_signals(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint8_t from = m->what->size_argument;
	uint64_t set = 0;

	uint64_t size = from ? (uint64_t)x->args[from - 1] : sizeof set;

	if (!m->size || m->size < size || size > sizeof set ||
	    (size < sizeof set && strcmp(m->what->call, "rt_sigpending") != 0))
		return false;
	memcpy(&set, m->bytes, m->size < sizeof set ? m->size : sizeof set);
	call_set_add(t, set);
	return true;
}

/* ---------------------------------------------------------------- dispatch */

enum { SIGINFO = 48 }; /* its part that is used; it has 128 */

/* The least number of bytes for a kind. */
static uint32_t least(uint8_t kind)
{
	static const uint8_t sizes[ABI_CAPTURE_KINDS] = {
		[ABI_CAPTURE_STAT] = 56,     [ABI_CAPTURE_STATX] = 48,
		[ABI_CAPTURE_STATFS] = 88,   [ABI_CAPTURE_LIMIT] = 16,
		[ABI_CAPTURE_INTS] = 4,	     [ABI_CAPTURE_OFFSET] = 8,
		[ABI_CAPTURE_STATUS] = 4,    [ABI_CAPTURE_ACTION] = 32,
		[ABI_CAPTURE_EPOLL] = 0,     [ABI_CAPTURE_SIGINFO] = SIGINFO,
		[ABI_CAPTURE_SIGSTACK] = 24, [ABI_CAPTURE_TIMEVAL] = 16,
		[ABI_CAPTURE_ITIMER] = 32,   [ABI_CAPTURE_TIMER] = 32,
		[ABI_CAPTURE_STAMPS] = 32,   [ABI_CAPTURE_FDSET] = 0,
		[ABI_CAPTURE_CPUS] = 0,	     [ABI_CAPTURE_UTSNAME] = 130,
		[ABI_CAPTURE_SYSINFO] = 112, [ABI_CAPTURE_RUSAGE] = 32,
	};

	return sizes[kind];
}

bool call_struct_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	if (m->size < least(m->what->kind))
		return false;
	switch ((enum abi_capture_kind)m->what->kind) {
	case ABI_CAPTURE_TYPED:
		return call_described_add(t, m, x);
	case ABI_CAPTURE_STAT:
		return call_stat_add(t, m), true;
	case ABI_CAPTURE_STATX:
		return call_statx_add(t, m), true;
	case ABI_CAPTURE_STATFS:
		return add_statfs(t, m), true;
	case ABI_CAPTURE_LIMIT: {
		const char *none = "RLIM64_INFINITY";

		add(t, "{rlim_cur=");
		add_limit(t, u64(m, 0), none);
		add(t, ", rlim_max=");
		add_limit(t, u64(m, 8), none);
		return add(t, "}"), true;
	}
	case ABI_CAPTURE_INTS:
		return add_ints(t, m, x), true;
	case ABI_CAPTURE_OFFSET:
		if (strcmp(m->what->call, "sendfile") != 0)
			return text_addf(t, "[%" PRId64 "]", (int64_t)u64(m, 0)), true;
		return text_addf(t, "[%" PRIu64 "]", u64(m, 0)), true;
	case ABI_CAPTURE_STATUS:
		return add_status(t, u32(m, 0), x->result);
	case ABI_CAPTURE_POLL:
		if (!x->args[0] || (m->size < 8 && x->args[1]))
			return false;
		return add_poll(t, m, x), true;
	case ABI_CAPTURE_EPOLL:
		if (!x->is_end && (m->size < 12 || x->args[1] == 2)) /* EPOLL_CTL_DEL reads none */
			return false;
		if (!m->size && !x->args[m->what->argument - 1])
			return false;
		if (!x->is_end)
			return add_epoll_event(t, m, 0), true;
		return add_epoll(t, m, x), true;
	case ABI_CAPTURE_ACTION:
		return add_action(t, m), true;
	case ABI_CAPTURE_SIGNALS:
		return add_signals(t, m, x);
	case ABI_CAPTURE_SIGINFO:
		if (m->size > SIGINFO && m->size < m->what->size) /* the kernel reads all of it */
			return false;
		return call_siginfo(t, m->bytes), true;
	case ABI_CAPTURE_SIGSTACK:
		return add_sigstack(t, m), true;
	case ABI_CAPTURE_TIMEVAL:
		return add_two(t, m, 0, "tv_usec"), true;
	case ABI_CAPTURE_ITIMER:
		return add_pair(t, m, "tv_usec"), true;
	case ABI_CAPTURE_TIMER:
		return add_pair(t, m, "tv_nsec"), true;
	case ABI_CAPTURE_STAMPS:
		add(t, "[");
		add_stamp(t, m, 0);
		add(t, ", ");
		add_stamp(t, m, 16);
		return add(t, "]"), true;
	case ABI_CAPTURE_FDSET:
		return add_fds(t, m, x);
	case ABI_CAPTURE_CPUS:
		if (!m->size && x->args[1])
			return false;
		return add_cpus(t, m, x);
	case ABI_CAPTURE_UTSNAME:
		return add_uname(t, m), true;
	case ABI_CAPTURE_SYSINFO:
		return add_sysinfo(t, m), true;
	case ABI_CAPTURE_RUSAGE:
		if (!strcmp(m->what->call, "wait4") && x->result <= 0)
			return false;
		return add_rusage(t, m), true;
	case ABI_CAPTURE_CLONE:
		return call_clone_add(t, m, x);
	default:
		return false;
	}
}
