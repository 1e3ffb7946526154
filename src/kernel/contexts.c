/* SPDX-License-Identifier: MIT */
/*
 * kernel/contexts.c - see contexts.h.
 *
 * A thread has versions, each from a moment on: pages of CPUs are converted one after the other, so the events of a
 * thread that moves about come in no order.  What was superseded is forgotten when no event so old can come any more.
 */
#include "kernel/contexts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"
#include "kernel/class.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define SECOND_NS	  1000000000ull
#define KEPT_NS		  (10 * SECOND_NS) /* events older than this do not come */
#define KEPT_LONG_NS	  (600 * SECOND_NS) /* of a flight recorder's */
#define INTO_CGROUP	  0x200000000ull /* clone3's CLONE_INTO_CGROUP */
#define OTHER_NAMESPACES                                                                                            \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWTIME | CLONE_NEWUSER | CLONE_NEWUTS)

enum {
	BUCKETS = 4096,
	VERSIONS_MAX = 1 << 16, /* of all threads, in a flight recorder, before it keeps less long */
	VERSIONS_OF_ONE = 4096, /* who changes its name without end keeps the newest */
};

/* What the kernel tells is not taken from a look, which knows what was only later: events are converted some time after
 * they were recorded. */
#define TOLD (KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))

struct version {
	uint64_t from_ns;
	struct kernel_thread_state state;
};

struct thread {
	struct thread *next; /* in its bucket */
	int32_t tid;
	uint64_t looked_ns;
	uint64_t dead_ns; /* 0: it lives */
	uint32_t n_told; /* births, and rights that were granted */
	bool asks; /* for `ids` by `call` */
	enum kernel_setter call;
	int32_t ids[2];
	struct version *versions; /* oldest first */
	uint32_t n, n_rooms;
};

struct kernel_contexts {
	uint32_t mask;
	uint32_t looked_at; /* what is not told */
	struct kernel_upkeep *upkeep;
	const struct abi_clock *clock;
	bool keeps;
	uint64_t learnt_ns; /* all changes up to then are known */
	uint64_t pruned_ns;
	size_t n_versions;
	struct thread *last; /* that was asked for */
	struct thread *buckets[BUCKETS];
	uint8_t bytes[KERNEL_CONTEXTS_BYTES_MAX];
};

/* ---------------------------------------------------------------- names */

#define NUMBER(name, is_signed) "integer { size = 32; align = 8; signed = " is_signed "; base = 10; } _" name ";"

static const struct {
	const char *name, *field;
} contexts[KERNEL_CONTEXTS] = {
	[KERNEL_CONTEXT_PID] = { "pid", NUMBER("pid", "true") },
	[KERNEL_CONTEXT_PPID] = { "ppid", NUMBER("ppid", "true") },
	[KERNEL_CONTEXT_VPID] = { "vpid", NUMBER("vpid", "true") },
	[KERNEL_CONTEXT_VTID] = { "vtid", NUMBER("vtid", "true") },
	[KERNEL_CONTEXT_PRIO] = { "prio", NUMBER("prio", "true") },
	[KERNEL_CONTEXT_NICE] = { "nice", NUMBER("nice", "true") },
	[KERNEL_CONTEXT_UID] = { "uid", NUMBER("uid", "true") },
	[KERNEL_CONTEXT_EUID] = { "euid", NUMBER("euid", "true") },
	[KERNEL_CONTEXT_GID] = { "gid", NUMBER("gid", "true") },
	[KERNEL_CONTEXT_EGID] = { "egid", NUMBER("egid", "true") },
	[KERNEL_CONTEXT_CGROUP_NS] = { "cgroup_ns", NUMBER("cgroup_ns", "false") },
	[KERNEL_CONTEXT_IPC_NS] = { "ipc_ns", NUMBER("ipc_ns", "false") },
	[KERNEL_CONTEXT_MNT_NS] = { "mnt_ns", NUMBER("mnt_ns", "false") },
	[KERNEL_CONTEXT_NET_NS] = { "net_ns", NUMBER("net_ns", "false") },
	[KERNEL_CONTEXT_PID_NS] = { "pid_ns", NUMBER("pid_ns", "false") },
	[KERNEL_CONTEXT_TIME_NS] = { "time_ns", NUMBER("time_ns", "false") },
	[KERNEL_CONTEXT_USER_NS] = { "user_ns", NUMBER("user_ns", "false") },
	[KERNEL_CONTEXT_UTS_NS] = { "uts_ns", NUMBER("uts_ns", "false") },
	[KERNEL_CONTEXT_PROCNAME] = { "procname", "integer { size = 8; align = 8; signed = false; encoding = UTF8; } "
						  "_procname[17];" },
	[KERNEL_CONTEXT_CGROUP] = { "cgroup", "string _cgroup;" },
};

static const struct {
	const char *name;
	uint32_t mask;
} aliases[] = {
	{ "comm", KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) },
	{ "namespaces", KERNEL_CONTEXT_NAMESPACES },
	{ "tid", 0 }, /* told with every event */
	{ "cpu_id", 0 },
};

static bool is_word(const char *name, const char *word, size_t size)
{
	return strlen(name) == size && !memcmp(name, word, size);
}

static int parse_one(const char *word, size_t size, uint32_t *mask, struct diag *d)
{
	struct text all = { 0 };
	int err;

	for (int i = 0; i < KERNEL_CONTEXTS; i++)
		if (is_word(contexts[i].name, word, size)) {
			*mask |= KERNEL_CONTEXT_BIT(i);
			return 0;
		}
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (is_word(aliases[i].name, word, size)) {
			*mask |= aliases[i].mask;
			return 0;
		}
	for (int i = 0; i < KERNEL_CONTEXTS; i++)
		text_addf(&all, ",%s", contexts[i].name);
	err = diag_fail(d, -EINVAL, "no context of kernel events is called '%.*s'\n  there are: namespaces%s",
			size > 64 ? 64 : (int)size, word, all.failed ? "" : all.bytes);
	text_fini(&all);
	return err;
}

int kernel_contexts_parse(const char *names, uint32_t *mask, struct diag *d)
{
	uint32_t found = *mask;

	for (const char *p = names;; p++) {
		size_t size = strcspn(p, ",");
		int err = parse_one(p, size, &found, d);

		if (err)
			return err;
		p += size;
		if (!*p)
			break;
	}
	*mask = found;
	return 0;
}

void kernel_contexts_tsdl(const struct kernel_contexts *c, struct text *out)
{
	for (int i = 0; c && i < KERNEL_CONTEXTS; i++)
		if (c->mask & KERNEL_CONTEXT_BIT(i))
			text_addf(out, "\t\t%s\n", contexts[i].field);
}

/* ---------------------------------------------------------------- threads */

static struct thread **bucket_of(struct kernel_contexts *c, int32_t tid)
{
	return &c->buckets[(uint32_t)tid % BUCKETS];
}

static struct thread *find(struct kernel_contexts *c, int32_t tid)
{
	struct thread *t = *bucket_of(c, tid);

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

static struct thread *find_or_add(struct kernel_contexts *c, int32_t tid)
{
	struct thread *t = find(c, tid), **bucket = bucket_of(c, tid);

	if (t)
		return t;
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	*t = (struct thread){ .next = *bucket, .tid = tid };
	*bucket = t;
	return t;
}

static struct version *newest(struct thread *t)
{
	return t->n ? &t->versions[t->n - 1] : NULL;
}

/* The @n oldest. */
static void forget_oldest(struct kernel_contexts *c, struct thread *t, uint32_t n)
{
	memmove(t->versions, t->versions + n, (t->n - n) * sizeof *t->versions);
	t->n -= n;
	c->n_versions -= n;
}

static bool make_room(struct kernel_contexts *c, struct thread *t)
{
	uint32_t n_rooms = t->n_rooms ? 2 * t->n_rooms : 1;
	struct version *versions;

	if (t->n < t->n_rooms)
		return true;
	if (t->n == VERSIONS_OF_ONE) {
		forget_oldest(c, t, t->n / 2);
		return true;
	}
	versions = realloc(t->versions, n_rooms * sizeof *versions);
	if (!versions)
		return false;
	t->versions = versions;
	t->n_rooms = n_rooms;
	return true;
}

/* Behind the newest, which it begins as.  NULL: no memory, then things stay as they were.  Valid until the next is added. */
static struct version *add_version(struct kernel_contexts *c, struct thread *t, uint64_t from_ns)
{
	struct version *v;

	if (!make_room(c, t))
		return NULL;
	v = &t->versions[t->n];
	if (t->n)
		v->state = v[-1].state;
	else
		kernel_thread_unknown(&v->state, t->tid);
	v->from_ns = t->n && from_ns < v[-1].from_ns ? v[-1].from_ns : from_ns;
	t->n++;
	c->n_versions++;
	return v;
}

/* How many begin at @ns or before. */
static uint32_t count_until(const struct thread *t, uint64_t ns)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->versions[middle].from_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of one that has some; of a time before all, the oldest. */
static const struct version *version_at(const struct thread *t, uint64_t ns)
{
	uint32_t n = count_until(t, ns);

	return &t->versions[n ? n - 1 : 0];
}

/* One that nobody told of: it was there before, or what told of it is lost. */
static struct thread *meet(struct kernel_contexts *c, int32_t tid)
{
	struct thread *t = find_or_add(c, tid);
	struct version *v;

	if (!t || t->n)
		return t;
	v = add_version(c, t, 0);
	if (v && tid && !kernel_thread_look(&v->state, tid, c->mask)) {
		kernel_thread_unknown(&v->state, tid);
		t->dead_ns = clock_now_ns(c->clock);
	}
	t->looked_ns = clock_now_ns(c->clock);
	return v ? t : NULL;
}

/* What of @mask is otherwise @now is so from @ns on. */
static void apply(struct kernel_contexts *c, struct thread *t, const struct kernel_thread_state *now, uint64_t ns, uint32_t mask)
{
	struct kernel_thread_state state = newest(t)->state;
	struct version *v;

	for (int i = 0; i < KERNEL_CONTEXT_NUMBERS; i++)
		if (mask & KERNEL_CONTEXT_BIT(i))
			state.number[i] = now->number[i];
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME))
		memcpy(state.name, now->name, sizeof state.name);
	if (mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))
		memcpy(state.cgroup, now->cgroup, sizeof state.cgroup);
	if (!memcmp(&state, &newest(t)->state, sizeof state))
		return;
	v = ns > newest(t)->from_ns ? add_version(c, t, ns) : newest(t);
	if (v)
		v->state = state;
}

static bool look(struct kernel_contexts *c, struct thread *t, struct kernel_thread_state *now, uint32_t mask)
{
	*now = newest(t)->state;
	t->looked_ns = clock_now_ns(c->clock);
	return t->tid && !t->dead_ns && kernel_thread_look(now, t->tid, mask & c->mask);
}

static void look_again(struct kernel_contexts *c, struct thread *t, uint64_t ns, uint32_t mask)
{
	struct kernel_thread_state now;

	if (look(c, t, &now, mask))
		apply(c, t, &now, ns, mask);
}

/* The same of an event of @ns, which is past: what was told of the thread since then says better from when on it is so. */
static void look_beside_event(struct kernel_contexts *c, struct thread *t, uint64_t ns)
{
	uint32_t n_told = t->n_told;
	struct kernel_thread_state now;
	int32_t tid = t->tid;

	if (!look(c, t, &now, c->looked_at))
		return;
	kernel_contexts_learn(c);
	t = find(c, tid);
	if (t && t->n && t->n_told == n_told)
		apply(c, t, &now, ns, c->looked_at);
}

/* ---------------------------------------------------------------- changes */

static void learn_birth(struct kernel_contexts *c, const struct kernel_change *change)
{
	struct thread *parent = meet(c, change->by), *t = find_or_add(c, change->tid);
	bool is_thread = change->flags & CLONE_THREAD;
	const struct kernel_thread_state *from;
	uint32_t asked = 0, tell = KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_VPID) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_VTID) |
				  KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PID_NS) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_TIME_NS);
	struct version *v = t ? add_version(c, t, change->ns) : NULL;

	if (!v)
		return;
	t->dead_ns = 0; /* another one had its number */
	t->n_told++;
	if (parent) {
		from = &version_at(parent, change->ns)->state;
		v->state = *from;
		v->state.number[KERNEL_CONTEXT_PPID] = from->number[is_thread || change->flags & CLONE_PARENT ? KERNEL_CONTEXT_PPID
													   : KERNEL_CONTEXT_PID];
		v->state.number[KERNEL_CONTEXT_VTID] = change->tid;
	}
	if (!is_thread)
		v->state.number[KERNEL_CONTEXT_PID] = v->state.number[KERNEL_CONTEXT_VPID] = change->tid;
	memset(v->state.name, 0, sizeof v->state.name);
	memccpy(v->state.name, change->text, 0, KERNEL_PROCNAME_BYTES - 1);
	t->looked_ns = change->ns;
	/* In which namespaces it is born its parent's do not tell. */
	if (!parent || change->flags & OTHER_NAMESPACES)
		asked = parent ? c->looked_at : ~TOLD;
	if (change->flags & INTO_CGROUP)
		asked |= KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP);
	if (c->mask & tell)
		asked |= tell;
	if (asked)
		look_again(c, t, change->ns, asked);
}

static void learn_cgroup(struct kernel_contexts *c, struct thread *leader, const struct kernel_change *change)
{
	int32_t pid = newest(leader)->state.number[KERNEL_CONTEXT_PID];

	for (int i = 0; i < BUCKETS; i++)
		for (struct thread *t = c->buckets[i]; t; t = t->next) {
			struct version *v;

			if (t->dead_ns || !t->n ||
			    (t != leader && (pid != leader->tid || newest(t)->state.number[KERNEL_CONTEXT_PID] != pid)))
				continue;
			v = add_version(c, t, change->ns);
			if (v)
				snprintf(v->state.cgroup, sizeof v->state.cgroup, "%s", change->text);
		}
}

static void learn_exec(struct kernel_contexts *c, struct thread *t, const struct kernel_change *change)
{
	struct thread *before = change->by != change->tid ? find(c, change->by) : NULL;
	struct version *v = before && before->n ? add_version(c, t, change->ns) : NULL;

	if (v) {
		const struct kernel_thread_state leader = v->state;

		v->state = newest(before)->state;
		v->state.number[KERNEL_CONTEXT_VTID] = leader.number[KERNEL_CONTEXT_VTID];
		memcpy(v->state.name, leader.name, sizeof leader.name); /* told just before */
		t->dead_ns = 0;
		before->dead_ns = change->ns;
	}
	if (c->mask & KERNEL_CONTEXT_CREDENTIALS && kernel_thread_is_set_id(t->tid))
		look_again(c, t, change->ns, ~TOLD);
}

/* As capabilities are not known: who is not root has none. */
static void set_ids(struct kernel_thread_state *s, enum kernel_setter call, const int32_t ids[2])
{
	bool of_user = call == KERNEL_SETUID || call == KERNEL_SETREUID || call == KERNEL_SETRESUID;
	int32_t *real = &s->number[of_user ? KERNEL_CONTEXT_UID : KERNEL_CONTEXT_GID];
	int32_t *effective = &s->number[of_user ? KERNEL_CONTEXT_EUID : KERNEL_CONTEXT_EGID];

	if (call == KERNEL_SETUID || call == KERNEL_SETGID) {
		*real = s->number[KERNEL_CONTEXT_EUID] ? *real : ids[0];
		*effective = ids[0];
		return;
	}
	*real = ids[0] == -1 ? *real : ids[0];
	*effective = ids[1] == -1 ? *effective : ids[1];
}

/* Users and groups are in the arguments: the thread may be gone before it can be looked at. */
static void learn_rights(struct kernel_contexts *c, struct thread *t, const struct kernel_change *change)
{
	bool asked = t->asks && t->call == change->call;
	struct version *v = asked ? add_version(c, t, change->ns) : NULL;

	t->asks = false;
	t->n_told++;
	if (v)
		set_ids(&v->state, change->call, t->ids);
	else if (!asked)
		look_again(c, t, change->ns, c->looked_at);
}

static void learn_one(void *arg, const struct kernel_change *change)
{
	struct kernel_contexts *c = arg;
	struct thread *t;
	struct version *v;

	if (change->kind == KERNEL_CHANGE_BORN) {
		learn_birth(c, change);
		return;
	}
	t = meet(c, change->tid);
	if (!t)
		return;
	switch (change->kind) {
	case KERNEL_CHANGE_BORN:
		break;
	case KERNEL_CHANGE_NAME:
		v = add_version(c, t, change->ns);
		if (v) {
			memset(v->state.name, 0, sizeof v->state.name);
			memccpy(v->state.name, change->text, 0, KERNEL_PROCNAME_BYTES - 1);
		}
		break;
	case KERNEL_CHANGE_EXEC:
		learn_exec(c, t, change);
		break;
	case KERNEL_CHANGE_CGROUP:
		learn_cgroup(c, t, change);
		break;
	case KERNEL_CHANGE_ASKED:
		t->asks = true;
		t->call = change->call;
		memcpy(t->ids, change->ids, sizeof t->ids);
		break;
	case KERNEL_CHANGE_GRANTED:
		learn_rights(c, t, change);
		break;
	case KERNEL_CHANGE_END:
		t->dead_ns = change->ns;
		break;
	}
}

static void free_thread(struct kernel_contexts *c, struct thread *t)
{
	c->n_versions -= t->n;
	free(t->versions);
	free(t);
}

/* Of @t what ended before @ns.  True: nothing is left of it. */
static bool prune_thread(struct kernel_contexts *c, struct thread *t, uint64_t ns)
{
	uint32_t n = count_until(t, ns);

	if (!t->n || (t->dead_ns && t->dead_ns < ns && n == t->n))
		return true;
	if (n > 1)
		forget_oldest(c, t, n - 1);
	return false;
}

static void prune(struct kernel_contexts *c, uint64_t now_ns)
{
	uint64_t kept_ns = c->keeps && c->n_versions < VERSIONS_MAX ? KEPT_LONG_NS : KEPT_NS;
	/* What was not read until now, because this process was stopped, say, may be older. */
	uint64_t ns = c->pruned_ns > kept_ns ? c->pruned_ns - kept_ns : 0;

	c->pruned_ns = now_ns;
	c->last = NULL;
	for (int i = 0; i < BUCKETS; i++)
		for (struct thread **at = &c->buckets[i], *t; (t = *at);) {
			if (prune_thread(c, t, ns)) {
				*at = t->next;
				free_thread(c, t);
			} else {
				at = &t->next;
			}
		}
}

static void forget_all(struct kernel_contexts *c)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct thread *t = c->buckets[i], *next; t; t = next) {
			next = t->next;
			free_thread(c, t);
		}
	memset(c->buckets, 0, sizeof c->buckets);
	c->last = NULL;
}

/* After a loss nothing is certain of those that live, and of those that do not it was so until now. */
static void look_at_known(struct kernel_contexts *c, uint64_t ns)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct thread *t = c->buckets[i]; t; t = t->next)
			if (t->n)
				look_again(c, t, ns, ~0u);
}

void kernel_contexts_learn(struct kernel_contexts *c)
{
	uint64_t now_ns;

	if (!c)
		return;
	now_ns = clock_now_ns(c->clock);
	c->last = NULL;
	if (!kernel_upkeep_read(c->upkeep, learn_one, c))
		look_at_known(c, now_ns);
	c->learnt_ns = now_ns;
	if (now_ns - c->pruned_ns > SECOND_NS)
		prune(c, now_ns);
}

/* ---------------------------------------------------------------- beginning and end */

int kernel_contexts_open(struct kernel_contexts **out, uint32_t mask, const struct kernel_upkeep_options *o, bool keeps,
			 struct diag *d)
{
	struct kernel_contexts *c = calloc(1, sizeof *c);
	int err;

	*out = NULL;
	if (!c)
		return diag_fail(d, -ENOMEM, "no memory for contexts of kernel events");
	c->mask = mask;
	c->looked_at = ~(TOLD | (o->system_calls ? KERNEL_CONTEXT_CREDENTIALS : 0));
	c->clock = o->clock;
	c->keeps = keeps;
	err = kernel_upkeep_open(&c->upkeep, o, d);
	if (err)
		kernel_contexts_close(c);
	else
		*out = c;
	return err;
}

void kernel_contexts_close(struct kernel_contexts *c)
{
	if (!c)
		return;
	kernel_upkeep_close(c->upkeep);
	forget_all(c);
	free(c);
}

static void meet_threads(struct kernel_contexts *c, const char *pid)
{
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			meet(c, atoi(e->d_name));
	if (dir)
		closedir(dir);
}

int kernel_contexts_begin(struct kernel_contexts *c, struct diag *d)
{
	struct dirent *e;
	DIR *dir;
	int err;

	if (!c)
		return 0;
	forget_all(c);
	err = kernel_upkeep_run(c->upkeep, true);
	if (err)
		return diag_fail(d, err, "cannot follow what changes of threads: %s", strerror(-err));
	dir = opendir("/proc");
	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			meet_threads(c, e->d_name);
	if (dir)
		closedir(dir);
	kernel_contexts_learn(c);
	return 0;
}

/* ---------------------------------------------------------------- events */

static const struct version *version_of(struct kernel_contexts *c, int32_t tid, uint64_t ns)
{
	struct thread *t;

	if (ns > c->learnt_ns) {
		kernel_contexts_learn(c);
		if (ns > c->learnt_ns) /* CPUs' counters differ by a little */
			c->learnt_ns = ns;
	}
	t = c->last && c->last->tid == tid ? c->last : meet(c, tid);
	if (!t)
		return NULL;
	c->last = t;
	if (ns > t->looked_ns && ns - t->looked_ns > SECOND_NS && c->learnt_ns < ns + SECOND_NS)
		look_beside_event(c, t, ns);
	t = c->last ? c->last : meet(c, tid); /* it may have been learnt of */
	c->last = t;
	return t ? version_at(t, ns) : NULL;
}

size_t kernel_contexts_put(struct kernel_contexts *c, uint8_t *event, size_t size, uint64_t ns)
{
	static const struct version nothing;
	const struct version *v;
	uint8_t *to;
	int32_t tid;
	size_t n;

	if (!c)
		return size;
	memcpy(&tid, event + KERNEL_EVENT_HEADER - sizeof tid, sizeof tid);
	v = version_of(c, tid, ns);
	v = v ? v : &nothing;
	to = c->bytes;
	for (int i = 0; i < KERNEL_CONTEXT_NUMBERS; i++)
		if (c->mask & KERNEL_CONTEXT_BIT(i)) {
			memcpy(to, &v->state.number[i], sizeof v->state.number[i]);
			to += sizeof v->state.number[i];
		}
	if (c->mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME)) {
		memcpy(to, v->state.name, KERNEL_PROCNAME_BYTES);
		to += KERNEL_PROCNAME_BYTES;
	}
	if (c->mask & KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP)) {
		n = strlen(v->state.cgroup) + 1;
		memcpy(to, v->state.cgroup, n);
		to += n;
	}
	n = (size_t)(to - c->bytes);
	memmove(event + KERNEL_EVENT_HEADER + n, event + KERNEL_EVENT_HEADER, size - KERNEL_EVENT_HEADER);
	memcpy(event + KERNEL_EVENT_HEADER, c->bytes, n);
	return size + n;
}
