/* SPDX-License-Identifier: MIT */
/*
 * collect/resume.c - recover the files of a killed collector, and mark in each chunk how far it is
 * in them.
 */
#include "collect/resume.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "collect/drain/drain.h"
#include "collect/drain/files.h"
#include "collect/drain/procnames.h"
#include "collect/chunks/chunks.h"
#include "ctf/write/public.h"

/* ---------------------------------------------------------------- the packets in progress */

struct recovering {
	struct session *session;
	struct handover *handover;
	struct bounds *bounds;
	uint32_t number; /* of the trace, as in bounds_slot.reported */
	int dir;
	uint32_t n_packets; /* files with at least one */
	uint64_t bytes;	    /* of all packets */
};

/* Whether packet @k of a file holds exactly the bytes [read, pending) of chunk @c. */
static bool holds_bytes_of(const struct recovering *g, const struct ctf_recovered *s,
			   const struct ctf_recovered_packet *k, const struct abi_chunk *c,
			   uint64_t read, uint64_t pending)
{
	uint64_t size = pending - read;
	char *bytes;
	bool same = false;
	int fd;

	if (k->content != sizeof(struct abi_ctf_packet) + size)
		return false;
	fd = openat(g->dir, s->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bytes = malloc(size);
	if (fd >= 0 && bytes)
		same = pread(fd, bytes, size, (off_t)(k->offset + sizeof(struct abi_ctf_packet))) ==
			       (ssize_t)size &&
		       !memcmp(bytes, (const char *)c + read, size);
	free(bytes);
	if (fd >= 0)
		close(fd);
	return same;
}

/*
 * Whether the drain may have written chunk @c into the file of @cpu, or of no CPU.  Two CPUs may write equal
 * bytes, so the files of others prove nothing.  A late chunk of a CPU is in a file of no CPU.
 */
static bool belongs_to(const struct pool *p, const struct abi_chunk *c, uint32_t cpu)
{
	return cpu == ABI_CPU_UNKNOWN ||
	       (cpu < p->n_cpus && load(&c->path) == ABI_PATH_RSEQ && load(&c->cpu) == cpu);
}

/* @cpu: of the file @s, or ABI_CPU_UNKNOWN. */
static void recover_chunk(const struct recovering *g, const struct ctf_recovered *s, struct pool *p,
			  uint32_t i, uint32_t cpu)
{
	struct abi_chunk *c = pool_chunk_at(p, i);
	uint64_t state = load(&p->states[i]), read, pending;

	if (ABI_STATE_OF(state) != ABI_OWNED && ABI_STATE_OF(state) != ABI_FULL)
		return;
	if (!belongs_to(p, c, cpu))
		return;
	read = load(&c->read);
	pending = load(&c->pending);
	if (read < sizeof *c || pending <= read || pending > p->chunk_size)
		return;
	for (uint32_t k = 0; k < s->n; k++) {
		if (!holds_bytes_of(g, s, &s->packets[k], c, read, pending))
			continue;
		store(&c->cut_ns, s->packets[k].end_ns);
		store(&c->read, pending);
		store(&c->pending, 0);
		return;
	}
}

/*
 * The pool whose file is @name; *@rest: the name without the channel's prefix, "cpu_3", "lane_7".
 */
static struct pool *pool_of(struct session *s, const char *name, const char **rest)
{
	for (uint32_t i = 1; i < s->n_channels; i++) {
		size_t n = strlen(s->channels[i].name);

		if (!strncmp(name, s->channels[i].name, n) && name[n] == '_' &&
		    (!strncmp(name + n + 1, "cpu_", 4) || !strncmp(name + n + 1, "lane_", 5))) {
			*rest = name + n + 1;
			return &s->pools[i];
		}
	}
	*rest = name;
	return strncmp(name, "cpu_", 4) && strncmp(name, "lane_", 5) ? NULL : &s->pools[0];
}

/*
 * A pool in overwrite mode is copied at the end and not changed by that: the successor copies all
 * of it again.
 */
static void remove_copy(const struct recovering *g, const struct ctf_recovered *s)
{
	char index[sizeof s->name + 16];

	snprintf(index, sizeof index, "index/%s.idx", s->name);
	unlinkat(g->dir, index, 0);
	unlinkat(g->dir, s->name, 0);
}

static void recover_stream(void *arg, const struct ctf_recovered *s)
{
	struct recovering *g = arg;
	const char *rest;
	struct pool *p = pool_of(g->session, s->name, &rest);
	uint32_t cpu = ABI_CPU_UNKNOWN;

	if (p && p->flight_recorder) {
		remove_copy(g, s);
		return;
	}
	g->n_packets += s->bytes > 0;
	g->bytes += s->bytes;
	if (s->bytes && !strcmp(s->name, PROCNAMES_STREAM))
		drain_add_reported(&g->handover->reported, g->number, s->discarded);
	if (!p || !s->bytes)
		return;
	if (sscanf(rest, "cpu_%" SCNu32, &cpu) == 1 && cpu < p->n_cpus)
		drain_add_reported(
			&bounds_slot(g->bounds, (uint32_t)(p - g->session->pools), cpu)->reported,
			g->number, s->discarded);
	for (uint32_t i = 0; i < p->n_chunks; i++)
		recover_chunk(g, s, p, i, cpu);
}

static void forget_pending(struct pool *p)
{
	for (uint32_t i = 0; i < p->n_chunks; i++) {
		uint64_t state = load(&p->states[i]);

		if (ABI_STATE_OF(state) == ABI_OWNED || ABI_STATE_OF(state) == ABI_FULL)
			store(&pool_chunk_at(p, i)->pending, 0);
	}
}

static void count_packets(void *arg, const struct ctf_recovered *s)
{
	struct recovering *g = arg;

	g->n_packets += s->bytes > 0;
	g->bytes += s->bytes;
}

/*
 * Recovers the trace at @path, if it exists.  A trace without a packet is removed: its collector
 * had just created it, and its metadata may be empty.  Returns 1 if it stays.
 */
static int recover_trace(struct recovering *g, const char *path,
			 void (*each)(void *arg, const struct ctf_recovered *s),
			 struct counts *counts, uint32_t number, struct diag *d)
{
	int err;

	g->n_packets = 0;
	g->bytes = 0;
	g->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dir < 0)
		return errno == ENOENT ? 0 : diag_errno(d, "cannot open %s", path);
	err = ctf_recover(path, each, g, d);
	close(g->dir);
	if (err && err != -ENOENT) /* it did not even have an index yet */
		return err;
	if (!err)
		counts_settle(counts, number, g->bytes);
	if (!g->n_packets)
		files_remove_trace(path);
	return g->n_packets > 0;
}

static int recover_applications(struct recovering *g, const char *path, uint32_t incarnation,
				struct diag *d)
{
	char trace[PATH_MAX];
	int err = files_application_path(trace, sizeof trace, path, g->session->tenant, incarnation,
					 d);

	return err ? err
		   : recover_trace(g, trace, recover_stream, &g->handover->apps, g->number, d);
}

static int recover_kernel(struct recovering *g, const char *path, uint32_t incarnation,
			  struct diag *d)
{
	char trace[PATH_MAX];
	int err = files_kernel_path(trace, sizeof trace, path, incarnation, d);

	return err ? err
		   : recover_trace(g, trace, count_packets, &g->handover->kernel, g->number, d);
}

/* The copies of pools in overwrite mode are removed, with what follows them: they are made again. */
static void forget_copies(struct handover *k)
{
	if (load_acquire(&k->is_copying))
		ctf_ledger_set(&k->apps.ledger, k->before_copy);
	store_release(&k->is_copying, false);
}

static void forget_all_pending(struct session *s)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		forget_pending(&s->pools[i]);
}

/*
 * A collector first recovers earlier traces, then creates its own, then writes packets.  So only
 * the last existing trace can be damaged, and a collector that died earlier left none.
 */
int resume_files(struct session *s, struct handover *handover, struct bounds *bounds,
		 const char *path, uint32_t incarnation, struct diag *d)
{
	struct recovering g = { .session = s, .handover = handover, .bounds = bounds };
	int applications = 0, kernel = 0;

	assert(incarnation > 1);
	forget_copies(handover);
	for (g.number = incarnation - 1; g.number && !applications; g.number--)
		applications = recover_applications(&g, path, g.number, d);
	for (g.number = incarnation - 1; g.number && !kernel && applications >= 0; g.number--)
		kernel = recover_kernel(&g, path, g.number, d);
	forget_all_pending(s);
	return applications < 0 ? applications : kernel < 0 ? kernel : 0;
}

static int recover_trace_chunk(struct recovering *g, const char *path, uint64_t now_ns,
			       struct diag *d)
{
	char trace_chunk[PATH_MAX];
	int err = trace_chunks_path(trace_chunk, sizeof trace_chunk, path, g->number, d),
	    applications, kernel;

	assert(g->number > 0);
	if (err || !io_exists(trace_chunk))
		return err;
	applications = recover_applications(g, trace_chunk, 1, d);
	kernel = applications < 0 ? applications : recover_kernel(g, trace_chunk, 1, d);
	if (kernel < 0)
		return kernel;
	if (applications || kernel) {
		const struct trace_chunk_content content = {
			.begin_ns = g->handover->trace_chunk_begin_ns,
			.end_ns = now_ns,
			.sum = handover_content(g->handover, g->number)
		};

		return trace_chunks_finish(path, g->number, &content, d);
	}
	files_remove_trace(trace_chunk);
	return 0;
}

/*
 * The same for trace chunks.  A finished one is intact and may have been changed by others.  The
 * one being written is finished here; the next one may exist already.  The older goes first: the
 * losses that it reports are added once, even if that was done before (drain_add_reported).
 */
int resume_trace_chunks(struct session *s, struct handover *handover, struct bounds *bounds,
			const char *path, uint64_t now_ns, struct diag *d)
{
	struct recovering g = { .session = s,
				.handover = handover,
				.bounds = bounds,
				.number = handover->trace_chunk };
	int err = 0;

	forget_copies(handover);
	while (g.number && !trace_chunks_is_finished(path, g.number))
		g.number--;
	while (g.number++ < handover->trace_chunk && !err)
		err = recover_trace_chunk(&g, path, now_ns, d);
	forget_all_pending(s);
	return err;
}

/* ---------------------------------------------------------------- the session */

static int find_rules(struct session *s, struct diag *d)
{
	struct abi_session file;
	int err = session_find(s->dir, s->file.name, &file, d);

	if (err)
		return err;
	if (file.epoch != s->file.epoch)
		return diag_fail(d, -ESTALE, "session %s belongs to another collector now",
				 s->file.name);
	s->file = file;
	return 0;
}

int resume_session(struct session *s, bool is_stopping, struct diag *d)
{
	int err = is_stopping ? 0 : find_rules(s, d);

	if (err)
		return err;
	for (int i = 0; i < SESSION_CONNECTIONS; i++)
		s->connections[i].fd = -1; /* its peer has reconnected or given up */
	session_recount(s);
	return 0;
}
