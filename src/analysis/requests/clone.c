/* SPDX-License-Identifier: MIT */
/* analysis/requests/clone.c - the structure of clone3(). */
#include "analysis/requests/decoders.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/sched.h>
#include <string.h>

#include "analysis/syscalls/words.h"

/* The flags of clone() by value, then those that only clone3() has. */
static const struct call_name flags[] = {
	{ "CLONE_VM", 0x100, NULL },
	{ "CLONE_FS", 0x200, NULL },
	{ "CLONE_FILES", 0x400, NULL },
	{ "CLONE_SIGHAND", 0x800, NULL },
	{ "CLONE_PIDFD", 0x1000, NULL },
	{ "CLONE_PTRACE", 0x2000, NULL },
	{ "CLONE_VFORK", 0x4000, NULL },
	{ "CLONE_PARENT", 0x8000, NULL },
	{ "CLONE_THREAD", 0x10000, NULL },
	{ "CLONE_NEWNS", 0x20000, NULL },
	{ "CLONE_SYSVSEM", 0x40000, NULL },
	{ "CLONE_SETTLS", 0x80000, NULL },
	{ "CLONE_PARENT_SETTID", 0x100000, NULL },
	{ "CLONE_CHILD_CLEARTID", 0x200000, NULL },
	{ "CLONE_UNTRACED", 0x800000, NULL },
	{ "CLONE_CHILD_SETTID", 0x1000000, NULL },
	{ "CLONE_NEWCGROUP", 0x2000000, NULL },
	{ "CLONE_NEWUTS", 0x4000000, NULL },
	{ "CLONE_NEWIPC", 0x8000000, NULL },
	{ "CLONE_NEWUSER", 0x10000000, NULL },
	{ "CLONE_NEWPID", 0x20000000, NULL },
	{ "CLONE_NEWNET", 0x40000000, NULL },
	{ "CLONE_IO", 0x80000000, NULL },
	{ "CLONE_NEWTIME", 0x80, NULL },
	{ "CLONE_CLEAR_SIGHAND", 0x100000000, NULL },
	{ "CLONE_INTO_CGROUP", 0x200000000, NULL },
	{ NULL, CALL_AS_LISTED, "CLONE_???" },
};

/* Offsets of members. */
enum {
	PIDFD = 8,
	CHILD_TID = 16,
	PARENT_TID = 24,
	EXIT_SIGNAL = 32,
	STACK = 40,
	STACK_SIZE = 48,
	TLS = 56,
	LEAST = 64,
	SET_TID = 64,
	SET_TID_SIZE = 72,
	CGROUP = 80,
	SIZE = 88,
	PAGE = 4096,
};

static void add_member(struct text *t, const struct call_memory *m, const char *name, size_t at)
{
	text_addf(t, ", %s=", name);
	add_address(t, u64(m, at));
}

static void add_threads(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { MOST = 32 };
	uint64_t n = u64(m, SET_TID_SIZE), known;
	const struct call_memory *ids = call_memory_behind(m, x, SET_TID);

	if (!n && !u64(m, SET_TID))
		return;
	known = ids ? ids->size / 4 : 0;
	if (!u64(m, SET_TID) || !n || n > MOST || !known) {
		add_member(t, m, "set_tid", SET_TID);
	} else {
		add(t, ", set_tid=[");
		for (uint64_t i = 0; i < n && i < known; i++)
			text_addf(t, "%s%" PRId32, i ? ", " : "", (int32_t)u32(ids, 4 * i));
		if (known < n)
			text_addf(t, ", ... /* %#" PRIx64 " */", u64(m, SET_TID) + 4 * known);
		add(t, "]");
	}
	text_addf(t, ", set_tid_size=%" PRIu64, n);
}

/* The number that the kernel wrote, behind the pointer at @at. */
static void add_written(struct text *t, const struct call_memory *m, const struct call_moment *x,
			const char *before, const char *name, size_t at)
{
	const struct call_memory *v = call_memory_behind(m, x, (unsigned)at);

	text_addf(t, "%s%s=", before, name);
	if (!v || v->size < 4)
		return add_address(t, u64(m, at));
	add(t, "[");
	if (at == PIDFD)
		call_fd(t, (int32_t)u32(v, 0), x->about);
	else
		text_addf(t, "%" PRId32, (int32_t)u32(v, 0));
	add(t, "]");
}

bool call_clone_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t size = (uint64_t)x->args[1], bits, known = size < SIZE ? size : SIZE;
	const char *before = " => {";

	if (m->size < LEAST || size < LEAST || m->size < known)
		return false;
	bits = u64(m, 0);
	add(t, "{flags=");
	call_flags(t, flags, bits);
	if (bits & CLONE_PIDFD)
		add_member(t, m, "pidfd", PIDFD);
	if (bits & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		add_member(t, m, "child_tid", CHILD_TID);
	if (bits & CLONE_PARENT_SETTID)
		add_member(t, m, "parent_tid", PARENT_TID);
	add(t, ", exit_signal=");
	if (u64(m, EXIT_SIGNAL) < INT_MAX)
		call_signal(t, (int64_t)u64(m, EXIT_SIGNAL));
	else
		add_base(t, u64(m, EXIT_SIGNAL), 10, "");
	add_member(t, m, "stack", STACK);
	add(t, ", stack_size=");
	add_hex(t, u64(m, STACK_SIZE));
	if (bits & CLONE_SETTLS)
		add_member(t, m, "tls", TLS);
	if (known >= SET_TID_SIZE + 8)
		add_threads(t, m, x);
	if (known >= SIZE && (u64(m, CGROUP) || bits & CLONE_INTO_CGROUP))
		text_addf(t, ", cgroup=%" PRIu64, u64(m, CGROUP));
	call_rest_add(t, m, SIZE, size < PAGE ? size : PAGE);
	add(t, "}");
	if (!x->is_end || x->result <= 0)
		return true;
	if (bits & CLONE_PIDFD) {
		add_written(t, m, x, before, "pidfd", PIDFD);
		before = ", ";
	}
	if (bits & CLONE_PARENT_SETTID) {
		add_written(t, m, x, before, "parent_tid", PARENT_TID);
		before = ", ";
	}
	add(t, *before == ',' ? "}" : "");
	return true;
}
