/* SPDX-License-Identifier: MIT */
/*
 * trace/names_state.c - the state of struct names as bytes, and back; the numbers of hosts in its keys.
 *
 * The bytes may come from a file that anybody wrote: all of them are checked before one is used.
 * The expectations of a recording (plans, hosts) are not part of it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/names_internal.h"

struct state_head {
	uint32_t n_threads, n_running, n_aliases;
	int32_t next_unknown;
};

struct state_running {
	uint32_t host, cpu;
	int32_t tid;
	uint32_t reserved;
};

_Static_assert(sizeof(struct state_head) == 16 && sizeof(struct state_running) == 16 &&
		       sizeof(struct thread) == 32 && sizeof(struct alias) == 20,
	       "the layouts of the file: docs/formats/names-index.md");

static void add_threads(const struct names *n, struct text *bytes)
{
	for (uint32_t i = 0; i < n->capacity; i++) {
		const struct thread *t = &n->threads[i];
		struct thread clean;

		if (!t->key)
			continue;
		memset(&clean, 0, sizeof clean);
		clean.key = t->key;
		clean.pid = t->pid;
		clean.size = t->size;
		clean.is_kernels = t->is_kernels;
		memcpy(clean.name, t->name, t->size);
		text_add(bytes, (const char *)&clean, sizeof clean);
	}
}

static uint32_t add_running(const struct names *n, struct text *bytes)
{
	uint32_t count = 0;

	for (uint32_t host = 0; host < n->n_hosts; host++)
		for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
			const struct state_running r = {
				.host = host,
				.cpu = cpu,
				.tid = n->running[host * (size_t)CPUS_MAX + cpu],
			};

			if (r.tid == -1)
				continue;
			text_add(bytes, (const char *)&r, sizeof r);
			count++;
		}
	return count;
}

void names_save(const struct names *n, struct text *bytes)
{
	size_t at = bytes->size;
	struct state_head h = { .n_threads = n->n_threads };

	text_add(bytes, (const char *)&h, sizeof h);
	add_threads(n, bytes);
	h.n_running = add_running(n, bytes);
	h.n_aliases = aliases_save(n->aliases, bytes, &h.next_unknown);
	if (!bytes->failed)
		memcpy(bytes->bytes + at, &h, sizeof h);
}

/* ---------------------------------------------------------------- back */

struct state { /* places in the bytes; they may be unaligned */
	struct state_head head;
	const char *threads, *running, *aliases;
};

static bool divide(struct state *s, const char *bytes, size_t size)
{
	uint64_t threads, running, aliases;

	if (size < sizeof s->head)
		return false;
	memcpy(&s->head, bytes, sizeof s->head);
	threads = (uint64_t)s->head.n_threads * sizeof(struct thread);
	running = (uint64_t)s->head.n_running * sizeof(struct state_running);
	aliases = (uint64_t)s->head.n_aliases * sizeof(struct alias);
	s->threads = bytes + sizeof s->head;
	if (threads + running + aliases != size - sizeof s->head)
		return false;
	s->running = s->threads + threads;
	s->aliases = s->running + running;
	return true;
}

static struct thread thread_at(const struct state *s, uint32_t i)
{
	struct thread t;

	memcpy(&t, s->threads + (size_t)i * sizeof t, sizeof t);
	return t;
}

static struct state_running running_at(const struct state *s, uint32_t i)
{
	struct state_running r;

	memcpy(&r, s->running + (size_t)i * sizeof r, sizeof r);
	return r;
}

static bool is_sound(const struct names *n, const struct state *s)
{
	if (s->head.n_threads > THREADS_MAX)
		return false;
	for (uint32_t i = 0; i < s->head.n_threads; i++) {
		struct thread t = thread_at(s, i);

		if (!t.key || (t.key - 1) >> 32 >= n->n_hosts || t.size > NAME_MAX_BYTES ||
		    t.pid < -1 || !(uint32_t)(t.key - 1) || t.is_kernels > 1)
			return false;
	}
	for (uint32_t i = 0; i < s->head.n_running; i++) {
		struct state_running r = running_at(s, i);

		if (r.host >= n->n_hosts || r.cpu >= CPUS_MAX)
			return false;
	}
	return aliases_are_sound(s->aliases, s->head.n_aliases, s->head.next_unknown, n->n_sources);
}

int names_load(struct names *n, const char *bytes, size_t size)
{
	struct state s;

	if (n->n_threads || !divide(&s, bytes, size) || !is_sound(n, &s))
		return -EINVAL;
	for (uint32_t i = 0; i < s.head.n_threads; i++) {
		struct thread saved = thread_at(&s, i), *t;

		t = names_find_or_add(n, (uint32_t)((saved.key - 1) >> 32),
				      (int64_t)(uint32_t)(saved.key - 1));
		if (!t)
			return -ENOMEM;
		*t = saved;
		t->is_named = t->is_doubtful = 0;
	}
	for (uint32_t i = 0; i < s.head.n_running; i++) {
		struct state_running r = running_at(&s, i);

		n->running[r.host * (size_t)CPUS_MAX + r.cpu] = r.tid;
	}
	n->n_changes++;
	return aliases_load(n->aliases, s.aliases, s.head.n_aliases, s.head.next_unknown);
}

void names_forget_threads(struct names *n)
{
	memset(n->threads, 0, n->capacity * sizeof *n->threads);
	n->n_threads = 0;
	n->n_changes++;
}

int names_forget(struct names *n)
{
	struct aliases *none = aliases_open();

	if (!none)
		return -ENOMEM;
	aliases_close(n->aliases);
	n->aliases = none;
	names_forget_threads(n);
	names_recall_close(n);
	memset(n->running, 0xff, n->n_hosts * (size_t)CPUS_MAX * sizeof *n->running);
	return 0;
}

/* ---------------------------------------------------------------- hosts */

/* Keys of threads have the number of their host.  So it must not change when the sources of a host are
 * forgotten, and new ones come: hosts are kept by name. */
static bool number_host(struct names *n, const char *name, uint32_t *number)
{
	char **bigger;

	for (*number = 0; *number < n->n_hosts; ++*number)
		if (!strcmp(n->host_names[*number], name))
			return true;
	bigger = reallocarray(n->host_names, n->n_hosts + (size_t)1, sizeof *bigger);
	if (!bigger)
		return false;
	n->host_names = bigger;
	bigger[n->n_hosts] = strdup(name);
	return bigger[n->n_hosts] && ++n->n_hosts;
}

bool names_number_hosts(struct names *n, const struct trace *t, uint32_t first)
{
	for (uint32_t i = first; i < trace_n_sources(t); i++)
		if (!number_host(n, trace_source(t, i)->hostname, &n->hosts[i]))
			return false;
	return true;
}

uint32_t names_host(const struct names *n, uint32_t source)
{
	assert(source < n->n_sources);
	return n->hosts[source];
}

void names_free_hosts(struct names *n)
{
	for (uint32_t i = 0; i < n->n_hosts; i++)
		free(n->host_names[i]);
	free(n->host_names);
}
