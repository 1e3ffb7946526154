/* SPDX-License-Identifier: MIT */
/* kernel/perf/profile.c - opens, maps and reads the rings of all CPUs.
 *
 * Forks are read from all rings before any sample is judged, because a child's samples may lie in
 * another ring than its fork. See profile.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/perf/internal.h"

static size_t shared_bytes(void)
{
	return sizeof(struct profile_shared) +
	       (size_t)sysconf(_SC_NPROCESSORS_CONF) * sizeof(struct profile_shared_ring);
}

int kernel_profile_open(struct kernel_profile **out, enum kernel_profile_target target,
			size_t ring_bytes, const struct abi_clock *clock, struct diag *d)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct kernel_profile *p = calloc(1, sizeof *p + (size_t)n * sizeof p->rings[0]);
	int err;

	*out = NULL;
	if (!p)
		return diag_fail(d, -ENOMEM, "no memory for a profile");
	p->whole_machine = target != KERNEL_PROFILE_FOLLOWED;
	p->is_own = target == KERNEL_PROFILE_ATTACHED || target == KERNEL_PROFILE_SAMPLED;
	p->has_instance = target == KERNEL_PROFILE_SAMPLED;
	p->shared = mmap(NULL, shared_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	if (p->shared == MAP_FAILED) {
		free(p);
		return diag_errno(d, "no memory for a profile");
	}
	clock_track_begin(&p->shared->clock, clock);
	for (int cpu = 0; cpu < n; cpu++) {
		struct profile_ring *r = &p->rings[p->n_rings];

		if (!ring_bytes)
			ring_bytes = CLOCK_RING;
		err = p->is_own ? kernel_perf_open_own(&r->perf, cpu, ring_bytes)
				: kernel_perf_open(&r->perf, cpu, ring_bytes);
		if (err == -ENODEV)
			continue; /* off-line */
		if (err) {
			kernel_profile_close(p);
			return kernel_sampled_explain("what perf tells", err, d);
		}
		r->stream = (struct ctf_stream){ .fd = -1, .index = -1 };
		r->shared_state = &p->shared->shared_state[p->n_rings++];
	}
	*out = p;
	return 0;
}

/* Adds an event on each CPU; @what names it in errors. No @extras: a counter for other samples. */
static int add_source(struct kernel_profile *p, const struct profile_source *s, const char *what,
		      const struct perf_event_attr *a, uint32_t extras, const char *filter,
		      struct diag *d)
{
	struct profile_source *sources =
		realloc(p->sources, (size_t)(p->n_sources + 1) * sizeof *sources);
	int err = !sources ? -ENOMEM : p->is_own ? profile_try_own(a, extras) : 0;

	if (sources)
		p->sources = sources;
	for (int i = 0; i < p->n_rings && !err && !p->is_own; i++)
		err = extras ? kernel_perf_add(&p->rings[i].perf, a, extras, filter)
			     : kernel_perf_count(&p->rings[i].perf, a);
	if (err)
		return kernel_sampled_explain(what, err, d);
	p->sources[p->n_sources] = *s;
	p->sources[p->n_sources].attr = *a;
	p->sources[p->n_sources++].extras = extras;
	return 0;
}

int kernel_profile_sample(struct kernel_profile *p, const struct kernel_sampled *what,
			  struct diag *d)
{
	struct profile_source s = { .is_counter = what->is_counter,
				    .count = what->attr.sample_period };

	snprintf(s.name, sizeof s.name, "%s", what->event);
	return add_source(p, &s, what->name, &what->attr, KERNEL_PERF_STACKS, NULL, d);
}

int kernel_profile_count(struct kernel_profile *p, const struct kernel_sampled *what,
			 struct diag *d)
{
	const struct profile_source s = { .count = 0 };

	return add_source(p, &s, what->name, &what->attr, 0, NULL, d);
}

/* The thread that is woken, or switched to, counts as well as the running one, as in
 * kernel_add_pid(). */
static uint16_t other_of(const struct kernel_format *f, const char *system)
{
	for (int i = 0; i < f->n_fields && !strcmp(system, "sched"); i++)
		if (f->fields[i].place == KERNEL_IN_RECORD && f->fields[i].size == sizeof(pid_t) &&
		    (!strcmp(f->fields[i].name, "next_pid") || !strcmp(f->fields[i].name, "pid")))
			return f->fields[i].offset;
	return 0;
}

int kernel_profile_event(struct kernel_profile *p, const struct kernel_format *f,
			 const char *system, uint32_t extras, const char *filter, struct diag *d)
{
	const struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT,
					   .config = f->id,
					   .sample_period = 1 };
	const struct profile_source s = { .other = other_of(f, system) };

	return add_source(p, &s, f->name, &a, extras, filter, d);
}

void kernel_profile_close(struct kernel_profile *p)
{
	if (!p)
		return;
	for (struct profile_ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		if (p->owner != getpid())
			r->perf.map = NULL;
		if (r->has_stream)
			ctf_stream_close(&r->stream);
		kernel_perf_close(&r->perf);
	}
	pids_fini(&p->followed);
	pids_fini(&p->threads);
	pids_fini(&p->reported_pids);
	free(p->sources);
	if (p->marks)
		munmap(p->marks, p->marks_bytes);
	munmap(p->shared, shared_bytes());
	free(p);
}

/* A killed collector had taken these and may not have written them. */
static void count_unwritten(const struct profile_ring *r)
{
	struct profile_shared_ring *shared_state = r->shared_state;

	if (shared_state->unwritten && shared_state->unwritten_at == r->perf.at)
		shared_state->losses.here += shared_state->unwritten;
	shared_state->unwritten = 0;
}

static int map_rings(struct kernel_profile *p, struct diag *d)
{
	struct profile_ring *end = p->rings + p->n_rings;
	int err;

	/* The parent process made these mappings. */
	for (struct profile_ring *r = p->rings; r < end && p->owner != getpid(); r++)
		r->perf.map = NULL;
	p->owner = getpid();
	for (struct profile_ring *r = p->rings; r < end; r++) {
		if (r->perf.map)
			continue;
		err = kernel_perf_map(&r->perf);
		if (err == -EPERM)
			return diag_fail(d, err,
					 "profile: no right to lock so much memory for the "
					 "samples: smaller buffers "
					 "(--kernel-buffer), or more in "
					 "/proc/sys/kernel/perf_event_mlock_kb");
		if (err)
			return diag_fail(d, err, "profile: cannot map the samples of cpu %d: %s",
					 r->perf.cpu, strerror(-err));
		count_unwritten(r);
	}
	return 0;
}

void kernel_profile_set_callbacks(struct kernel_profile *p,
				  void (*on_sampled)(void *arg, pid_t pid, uint64_t at_ns),
				  void (*mapped)(void *arg, const struct kernel_mapped *m),
				  void *arg)
{
	if (p) {
		p->on_sampled = on_sampled;
		p->mapped = mapped;
		p->callback_arg = arg;
	}
}

int kernel_profile_add(struct kernel_profile *p, pid_t pid)
{
	return p && !p->whole_machine ? pids_put(&p->followed, pid) : 0;
}

int kernel_profile_add_thread(struct kernel_profile *p, pid_t tid)
{
	return p && !p->whole_machine ? pids_put(&p->threads, tid) : 0;
}

int kernel_profile_run(struct kernel_profile *p, bool runs, struct diag *d)
{
	/* Data in a ring is lost with its last mapping. A process that survives the collector keeps
	 * one. */
	int err = p ? map_rings(p, d) : 0;

	for (int i = 0; p && !err && i < p->n_rings; i++) {
		err = kernel_perf_run(&p->rings[i].perf, runs);
		if (err)
			diag_fail(d, err, "profile: cannot switch the samples of cpu %d: %s",
				  p->rings[i].perf.cpu, strerror(-err));
	}
	return err;
}

/* ---------------------------------------------------------------- reading */

/* Follows the process and the thread. A new thread may reuse the number of a followed one that
 * ended; then it is dropped. */
static int apply_fork(struct kernel_profile *p, const struct kernel_perf_fork *f)
{
	int err;

	if (!pids_has(&p->followed, (pid_t)f->ppid)) {
		pids_drop(&p->threads, (pid_t)f->tid);
		if (f->pid != f->ppid)
			pids_drop(&p->followed, (pid_t)f->pid);
		return 0;
	}
	err = pids_put(&p->threads, (pid_t)f->tid);
	return err ? err : pids_put(&p->followed, (pid_t)f->pid);
}

static int apply_forks(struct kernel_profile *p, const struct profile_ring *r)
{
	uint64_t end = kernel_perf_end(&r->perf),
		 from = p->marks ? r->shared_state->stamped_at : r->perf.at;
	const struct perf_event_header *h;
	int err = 0;

	for (uint64_t at = from; !err && (h = kernel_perf_record(&r->perf, at, end, p->record));
	     at += h->size)
		if (h->type == PERF_RECORD_FORK && h->size >= sizeof(struct kernel_perf_fork))
			err = apply_fork(p, (const struct kernel_perf_fork *)h);
	return err;
}

/* A process that executed another program must be reported again. */
static void take_comm(struct kernel_profile *p, const struct kernel_perf_comm *c)
{
	if (c->header.size >= sizeof *c && c->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		pids_drop(&p->reported_pids, (pid_t)c->pid);
}

/* For the whole machine only processes with samples are reported: all others would be too many. */
static void take_mapping(struct kernel_profile *p, const struct kernel_perf_mapping *m)
{
	size_t room = m->header.size - sizeof *m;
	struct kernel_mapped to = { .pid = (pid_t)m->pid,
				    .begin = m->begin,
				    .end = m->begin + m->size,
				    .offset = m->offset,
				    .major = m->major,
				    .minor = m->minor,
				    .inode = m->inode,
				    .path = m->path };
	uint64_t time_ns;

	if (!p->mapped || room < sizeof time_ns + 1 || to.end <= to.begin || *m->path != '/' ||
	    m->path[1] == '/' || !memchr(m->path, 0, room - sizeof time_ns) ||
	    !pids_has(p->whole_machine ? &p->reported_pids : &p->followed, to.pid))
		return;
	memcpy(&time_ns, (const char *)m + m->header.size - sizeof time_ns, sizeof time_ns);
	to.at_ns = clock_track_ns(&p->shared->clock, &p->line, time_ns);
	p->mapped(p->callback_arg, &to);
}

void profile_apply(struct kernel_profile *p, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_COMM)
		take_comm(p, (const struct kernel_perf_comm *)h);
	if (h->type == PERF_RECORD_MMAP2 && h->size >= sizeof(struct kernel_perf_mapping))
		take_mapping(p, (const struct kernel_perf_mapping *)h);
}

bool profile_take_apart(struct kernel_profile *p, const struct profile_ring *r,
			const struct kernel_perf_sample *s, struct profile_taken *t)
{
	int number = kernel_perf_number(&r->perf, s, &t->is_shared);

	t->sample = s;
	t->source = number ? &p->sources[r->perf.events[number].source] : NULL;
	return t->source && kernel_perf_parts(&r->perf, number, s, &t->parts);
}

bool profile_is_young(const struct profile_ring *r, const struct kernel_perf_sample *s,
		      uint64_t until_ns)
{
	bool is_shared;

	return s->time_ns >= until_ns && kernel_perf_number(&r->perf, s, &is_shared) && !is_shared;
}

bool profile_is_wanted(const struct kernel_profile *p, const struct profile_taken *t)
{
	pid_t tid;

	if (p->whole_machine || pids_has(&p->followed, (pid_t)t->sample->pid))
		return true;
	if (!t->source->other || t->parts.raw_size < t->source->other + sizeof tid)
		return false;
	memcpy(&tid, t->parts.raw + t->source->other, sizeof tid);
	return pids_has(&p->threads, tid);
}

uint64_t profile_sample_ns(struct kernel_profile *p, const struct profile_taken *t,
			   const struct kernel_drain *k)
{
	uint64_t ns = clock_track_ns(&p->shared->clock, &p->line, t->sample->time_ns), now_ns;
	pid_t pid = (pid_t)t->sample->pid;

	if (t->is_shared) { /* its time may come from another recorder's clock */
		now_ns = clock_now_ns(&k->clock);
		ns = ns < now_ns ? ns : now_ns;
	}
	if (p->on_sampled && pid && !pids_has(&p->reported_pids, pid) &&
	    !pids_put(&p->reported_pids, pid))
		p->on_sampled(p->callback_arg, pid, ns);
	return ns;
}

void profile_skip(struct profile_ring *r, uint64_t end, struct kernel_drain *k)
{
	r->perf.at = end;
	r->lost++;
	k->n_malformed++;
}

static int take_sample(struct kernel_profile *p, struct profile_ring *r,
		       const struct kernel_perf_sample *s, struct kernel_drain *k, struct diag *d)
{
	struct profile_taken t;

	if (!profile_take_apart(p, r, s, &t)) {
		r->lost++;
		return 0;
	}
	if (!profile_is_wanted(p, &t))
		return 0;
	return profile_write_sample(p, r, t.source, s, &t.parts, profile_sample_ns(p, &t, k), k, d);
}

static int drain_ring(struct kernel_profile *p, struct profile_ring *r, uint64_t until_ns,
		      struct kernel_drain *k, struct diag *d)
{
	uint64_t end = kernel_perf_end(&r->perf);
	const struct perf_event_header *h;
	int first = profile_open_stream(r, k, d), err;

	if (first)
		return first;
	for (; (h = kernel_perf_record(&r->perf, r->perf.at, end, p->record));
	     r->perf.at += h->size) {
		const struct kernel_perf_sample *s = (const struct kernel_perf_sample *)h;

		if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct kernel_perf_lost))
			r->lost += ((const struct kernel_perf_lost *)h)->n;
		profile_apply(p, h);
		if (p->is_own && !p->has_instance && h->type != PERF_RECORD_SAMPLE) {
			err = profile_take_own(p, r, h, k, d);
			first = first ? first : err;
		}
		if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof *s)
			continue;
		if (profile_is_young(r, s, until_ns))
			break;
		err = take_sample(p, r, s, k, d);
		first = first ? first : err;
	}
	if (!h && r->perf.at != end) /* the end of a malformed record is unknown */
		profile_skip(r, end, k);
	err = profile_flush(p, r, k, d);
	return first ? first : err;
}

int profile_prepare(struct kernel_profile *p, const struct kernel_drain *k, uint64_t promised_ns,
		    uint64_t *until_ns, struct diag *d)
{
	uint64_t now_ns;
	int err = map_rings(p, d);

	if (err)
		return err;
	now_ns = clock_track_step(&p->shared->clock);
	*until_ns = now_ns - YOUNG_NS;
	if (promised_ns) {
		promised_ns = now_ns - (clock_now_ns(&k->clock) - promised_ns);
		*until_ns = promised_ns > *until_ns ? promised_ns : *until_ns;
	}
	for (int i = 0; !p->whole_machine && i < p->n_rings; i++)
		if (apply_forks(p, &p->rings[i]))
			return diag_fail(d, -ENOMEM,
					 "profile: no memory for the processes followed");
	return 0;
}

int kernel_profile_drain(struct kernel_profile *p, struct kernel_drain *k, bool is_last,
			 struct diag *d)
{
	uint64_t until_ns;
	int first, err;

	if (!p)
		return 0;
	if (p->marks)
		return profile_drain_kept(p, k, d);
	first = profile_prepare(p, k, k->until_ns, &until_ns, d);
	for (int i = 0; i < p->n_rings && p->rings[i].perf.map; i++) {
		err = drain_ring(p, &p->rings[i], is_last ? UINT64_MAX : until_ns, k, d);
		first = first ? first : err;
	}
	return first;
}

void kernel_profile_restart(struct kernel_profile *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->n_sources; i++)
		p->sources[i].is_described = false;
	p->own_are_described = false;
	for (struct profile_ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		if (r->has_stream)
			ctf_stream_close(&r->stream);
		r->has_stream = false;
		r->stream = (struct ctf_stream){ .fd = -1, .index = -1 };
		r->lost_before = r->shared_state->losses.reported;
	}
}

uint64_t kernel_profile_lost(const struct kernel_profile *p)
{
	uint64_t n = 0;

	for (int i = 0; p && i < p->n_rings; i++)
		n += p->rings[i].shared_state->losses.here + p->rings[i].lost;
	return n;
}
