/* SPDX-License-Identifier: MIT */
/* ctf/write/context.c - the table of contexts, and the parser of their names. */
#include "ctf/write/context.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define I32(name) "integer { size = 32; align = 8; signed = true; base = 10; } _" name ";"
#define U64(name) "integer { size = 64; align = 8; signed = false; base = 10; } _" name ";"
#define U32(name) "integer { size = 32; align = 8; signed = false; base = 10; } _" name ";"

/* Field names begin with an underscore, which readers remove: see ctf/write/schema.c. */
static const struct {
	const char *name, *field;
} contexts[ABI_CONTEXTS] = {
	[ABI_CONTEXT_PROCNAME] = { "procname", "integer { size = 8; align = 8; signed = false; "
					       "encoding = UTF8; } _procname[17];" },
	[ABI_CONTEXT_PPID] = { "ppid", I32("ppid") },
	[ABI_CONTEXT_VUID] = { "vuid", U32("vuid") },
	[ABI_CONTEXT_VEUID] = { "veuid", U32("veuid") },
	[ABI_CONTEXT_VGID] = { "vgid", U32("vgid") },
	[ABI_CONTEXT_VEGID] = { "vegid", U32("vegid") },
	[ABI_CONTEXT_CGROUP_NS] = { "cgroup_ns", U32("cgroup_ns") },
	[ABI_CONTEXT_IPC_NS] = { "ipc_ns", U32("ipc_ns") },
	[ABI_CONTEXT_MNT_NS] = { "mnt_ns", U32("mnt_ns") },
	[ABI_CONTEXT_NET_NS] = { "net_ns", U32("net_ns") },
	[ABI_CONTEXT_PID_NS] = { "pid_ns", U32("pid_ns") },
	[ABI_CONTEXT_TIME_NS] = { "time_ns", U32("time_ns") },
	[ABI_CONTEXT_USER_NS] = { "user_ns", U32("user_ns") },
	[ABI_CONTEXT_UTS_NS] = { "uts_ns", U32("uts_ns") },
	[ABI_CONTEXT_IP] = { "ip",
			     "integer { size = 64; align = 8; signed = false; base = 16; } _ip;" },
	[ABI_CONTEXT_CALLSTACK] = { "callstack",
				    "integer { size = 32; align = 8; signed = false; } "
				    "__callstack_user_length;\n"
				    "\t\tinteger { size = 64; align = 8; signed = false; base = "
				    "16; } "
				    "_callstack_user[ __callstack_user_length ];" },
	/* The first byte of an identifier is written first, so these fields are big-endian, in
	 * two halves. */
	[ABI_CONTEXT_SLOT] = { "slot", "integer { size = 64; align = 8; signed = false; base = 16; "
				       "byte_order = be; } _slot[2];" },
	[ABI_CONTEXT_PERF_CYCLES] = { "perf_thread_cycles", U64("perf_thread_cycles") },
	[ABI_CONTEXT_PERF_INSTRUCTIONS] = { "perf_thread_instructions",
					    U64("perf_thread_instructions") },
	[ABI_CONTEXT_PERF_CACHE_MISSES] = { "perf_thread_cache_misses",
					    U64("perf_thread_cache_misses") },
	[ABI_CONTEXT_PERF_BRANCH_MISSES] = { "perf_thread_branch_misses",
					     U64("perf_thread_branch_misses") },
};

#define NAMESPACES                                                                                 \
	(ABI_CONTEXT_BIT(ABI_CONTEXT_UTS_NS + 1) - ABI_CONTEXT_BIT(ABI_CONTEXT_CGROUP_NS))

static const struct {
	const char *name;
	uint64_t mask;
} aliases[] = {
	{ "uid", ABI_CONTEXT_BIT(ABI_CONTEXT_VUID) },
	{ "euid", ABI_CONTEXT_BIT(ABI_CONTEXT_VEUID) },
	{ "gid", ABI_CONTEXT_BIT(ABI_CONTEXT_VGID) },
	{ "egid", ABI_CONTEXT_BIT(ABI_CONTEXT_VEGID) },
	{ "namespaces", NAMESPACES },
	{ "callstack_user", ABI_CONTEXT_BIT(ABI_CONTEXT_CALLSTACK) },
	{ "perf:thread:cycles", ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES) },
	{ "perf:thread:cpu-cycles", ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES) },
	{ "perf:thread:instructions", ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_INSTRUCTIONS) },
	{ "perf:thread:cache-misses", ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CACHE_MISSES) },
	{ "perf:thread:branch-misses", ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_BRANCH_MISSES) },
	/* Recorded with every event. */
	{ "vpid", 0 },
	{ "vtid", 0 },
	{ "pid", 0 },
	{ "tid", 0 },
	{ "cpu_id", 0 },
	{ "cpu", 0 },
};

enum { N_ALIASES = sizeof aliases / sizeof *aliases, N_NAMES = ABI_CONTEXTS + N_ALIASES };

static const char *name_at(int i)
{
	return i < ABI_CONTEXTS ? contexts[i].name : aliases[i - ABI_CONTEXTS].name;
}

static uint64_t mask_at(int i)
{
	return i < ABI_CONTEXTS ? ABI_CONTEXT_BIT(i) : aliases[i - ABI_CONTEXTS].mask;
}

static bool is_word(const char *name, const char *word, size_t size)
{
	return strlen(name) == size && !memcmp(name, word, size);
}

/* The number of letters to add, drop or change: V. I. Levenshtein (1966), one row at a time. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	enum { LONGEST = 32 };
	unsigned row[LONGEST + 1];

	if (a_size > LONGEST)
		return LONGEST;
	for (unsigned i = 0; i <= a_size; i++)
		row[i] = i;
	for (unsigned j = 1; j <= b_size; j++) {
		unsigned diagonal = row[0];

		row[0] = j;
		for (unsigned i = 1; i <= a_size; i++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[i];
			if (row[i] + 1 < best)
				best = row[i] + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
		}
	}
	return row[a_size];
}

/* The known name closest to @word; NULL if none is close. */
static const char *nearest(const char *word, size_t size)
{
	const char *found = NULL;
	unsigned least = 3;

	for (int i = 0; i < N_NAMES; i++) {
		const char *name = name_at(i);
		unsigned d = distance(word, size, name, strlen(name));

		if (d < least && d < size) {
			least = d;
			found = name;
		}
	}
	return found;
}

static int fail_unknown(const char *word, size_t size, struct diag *d)
{
	const char *near = nearest(word, size);
	struct text all = { 0 };
	int shown = size > 64 ? 64 : (int)size;

	if (near)
		return diag_fail(d, -EINVAL, "no context is called '%.*s'; did you mean '%s'?",
				 shown, word, near);
	context_names(&all, ABI_CONTEXT_ALL);
	diag_fail(d, -EINVAL, "no context is called '%.*s'\n  there are: namespaces,%s", shown,
		  word, all.bytes ? all.bytes : "");
	text_fini(&all);
	return -EINVAL;
}

static int parse_one(const char *word, size_t size, uint64_t *mask, struct diag *d)
{
	for (int i = 0; i < N_NAMES; i++)
		if (is_word(name_at(i), word, size)) {
			*mask |= mask_at(i);
			return 0;
		}
	return fail_unknown(word, size, d);
}

int context_parse(const char *names, uint64_t *mask, struct diag *d)
{
	uint64_t found = *mask;

	for (const char *p = names;; p++) {
		size_t size = strcspn(p, ",");
		int err = size ? parse_one(p, size, &found, d)
			       : diag_fail(d, -EINVAL, "an empty name of a context in '%s'", names);

		if (err)
			return err;
		p += size;
		if (!*p)
			break;
	}
	*mask = found;
	return 0;
}

void context_to_tsdl(struct text *out, uint64_t mask)
{
	for (int i = 0; i < ABI_CONTEXTS; i++)
		if (mask & ABI_CONTEXT_BIT(i))
			text_addf(out, "\t\t%s\n", contexts[i].field);
}

void context_names(struct text *out, uint64_t mask)
{
	const char *comma = "";

	for (int i = 0; i < ABI_CONTEXTS; i++)
		if (mask & ABI_CONTEXT_BIT(i)) {
			text_addf(out, "%s%s", comma, contexts[i].name);
			comma = ",";
		}
}
