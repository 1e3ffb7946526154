/* SPDX-License-Identifier: MIT */
/* kernel/profile.c - see profile.h. */
#include "kernel/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "clock/follow.h"
#include "kernel/page.h"
#include "kernel/pids.h"

enum {
	CLOCK_RING = 256 << 10, /* bytes, for samples of the clock alone */
	RAW_MAX = 8192, /* bytes of a tracepoint's record: perf has no more */
	BODY_SIZE = 65536,
	EVENT_MAX = KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX + RAW_MAX + 4 + 2 * 8 + KERNEL_SAMPLED_MAX * 8 + 2 * 2 +
		    KERNEL_PERF_FRAMES_MAX * 8,
	/* Younger samples wait, unless a promise was given: a fork on another CPU is to be visible first. */
	SETTLING_NS = 1000000,
	GAP_NS = 1 << 30, /* events further apart share no packet: they carry 32 bits of time */
};

struct ring {
	struct kernel_perf_ring perf;
	uint64_t lost; /* samples */
	uint64_t lost_told; /* in the last packet */
	uint64_t lost_before; /* in the traces before */
	uint64_t last_ns; /* end of what was written */
	bool has_stream;
	struct ctf_stream stream;
};

struct source {
	char name[KERNEL_NAME_MAX]; /* of the event; "": a tracepoint, its record says which, or only counted */
	bool is_counter;
	uint64_t count; /* a counter's: what each sample stands for */
	uint16_t other; /* where a tracepoint's record has a thread it is about, besides the one that runs; 0: nowhere */
	uint16_t id; /* of the event, in the trace being written */
	bool is_described;
};

struct kernel_profile {
	bool whole_machine;
	pid_t owner; /* which process has mapped */
	struct pids followed, threads;
	void (*see)(void *arg, pid_t pid, uint64_t at_ns);
	void (*mapped)(void *arg, const struct kernel_mapped *m);
	void *see_arg;
	struct pids seen;
	struct clock_follow clock; /* perf's, as the session's */
	struct clock_line line;
	struct source *sources; /* by the number of perf's event, less 1 */
	int n_sources;
	uint8_t body[BODY_SIZE];
	struct kernel_packet packet; /* gathers in body */
	_Alignas(8) uint8_t record[KERNEL_PERF_RECORD_MAX + 1]; /* one, in a piece */
	int n_rings;
	struct ring rings[];
};

static const char process_field[] = "\t\tint32_t _pid;\n";
static const char counter_fields[] = "\t\tuint64_t _count;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _address;\n";

/* ---------------------------------------------------------------- opening */

int kernel_profile_open(struct kernel_profile **out, bool whole_machine, size_t ring_bytes, const struct abi_clock *clock,
			struct diag *d)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct kernel_profile *p = calloc(1, sizeof *p + (size_t)n * sizeof p->rings[0]);
	int err;

	*out = NULL;
	if (!p)
		return diag_fail(d, -ENOMEM, "no memory for a profile");
	p->whole_machine = whole_machine;
	clock_follow_begin(&p->clock, clock);
	for (int cpu = 0; cpu < n; cpu++) {
		struct ring *r = &p->rings[p->n_rings];

		err = kernel_perf_open(&r->perf, cpu, ring_bytes ? ring_bytes : CLOCK_RING);
		if (err == -ENODEV)
			continue; /* off-line */
		if (err) {
			kernel_profile_close(p);
			return kernel_sampled_explain("what perf tells", err, d);
		}
		r->stream = (struct ctf_stream){ .fd = -1, .index = -1 };
		p->n_rings++;
	}
	*out = p;
	return 0;
}

/* An event on each CPU, called @what in errors.  No @extras: a counter that samples have. */
static int add_source(struct kernel_profile *p, const struct source *s, const char *what, const struct perf_event_attr *a,
		      uint32_t extras, const char *filter, struct diag *d)
{
	struct source *sources = realloc(p->sources, (size_t)(p->n_sources + 1) * sizeof *sources);
	int err = sources ? 0 : -ENOMEM;

	if (sources)
		p->sources = sources;
	for (int i = 0; i < p->n_rings && !err; i++)
		err = extras ? kernel_perf_add(&p->rings[i].perf, a, extras, filter) : kernel_perf_count(&p->rings[i].perf, a);
	if (err)
		return kernel_sampled_explain(what, err, d);
	p->sources[p->n_sources++] = *s;
	return 0;
}

int kernel_profile_sample(struct kernel_profile *p, const struct kernel_sampled *what, struct diag *d)
{
	struct source s = { .is_counter = what->is_counter, .count = what->attr.sample_period };

	snprintf(s.name, sizeof s.name, "%s", what->event);
	return add_source(p, &s, what->name, &what->attr, KERNEL_PERF_STACKS, NULL, d);
}

int kernel_profile_count(struct kernel_profile *p, const struct kernel_sampled *what, struct diag *d)
{
	const struct source s = { .count = 0 };

	return add_source(p, &s, what->name, &what->attr, 0, NULL, d);
}

/* The thread that is woken, or goes on, is asked for as well as the one that runs: kernel_add_pid() follows so. */
static uint16_t other_of(const struct kernel_format *f, const char *system)
{
	for (int i = 0; i < f->n_fields && !strcmp(system, "sched"); i++)
		if (f->fields[i].place == KERNEL_IN_RECORD && f->fields[i].size == sizeof(pid_t) &&
		    (!strcmp(f->fields[i].name, "next_pid") || !strcmp(f->fields[i].name, "pid")))
			return f->fields[i].offset;
	return 0;
}

int kernel_profile_event(struct kernel_profile *p, const struct kernel_format *f, const char *system, uint32_t extras,
			 const char *filter, struct diag *d)
{
	const struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT, .config = f->id, .sample_period = 1 };
	const struct source s = { .other = other_of(f, system) };

	return add_source(p, &s, f->name, &a, extras, filter, d);
}

void kernel_profile_close(struct kernel_profile *p)
{
	if (!p)
		return;
	for (struct ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		if (p->owner != getpid())
			r->perf.map = NULL;
		if (r->has_stream)
			ctf_stream_close(&r->stream);
		kernel_perf_close(&r->perf);
	}
	pids_fini(&p->followed);
	pids_fini(&p->threads);
	pids_fini(&p->seen);
	free(p->sources);
	free(p);
}

static int map_rings(struct kernel_profile *p, struct diag *d)
{
	struct ring *end = p->rings + p->n_rings;
	int err;

	/* What is mapped is the process's that we come from. */
	for (struct ring *r = p->rings; r < end && p->owner != getpid(); r++)
		r->perf.map = NULL;
	p->owner = getpid();
	for (struct ring *r = p->rings; r < end; r++) {
		err = r->perf.map ? 0 : kernel_perf_map(&r->perf);
		if (err == -EPERM)
			return diag_fail(d, err, "profile: no right to lock so much memory for the samples: smaller buffers "
					 "(--kernel-buffer), or more in /proc/sys/kernel/perf_event_mlock_kb");
		if (err)
			return diag_fail(d, err, "profile: cannot map the samples of cpu %d: %s", r->perf.cpu, strerror(-err));
	}
	return 0;
}

void kernel_profile_tell(struct kernel_profile *p, void (*see)(void *arg, pid_t pid, uint64_t at_ns),
			 void (*mapped)(void *arg, const struct kernel_mapped *m), void *arg)
{
	if (p) {
		p->see = see;
		p->mapped = mapped;
		p->see_arg = arg;
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
	int err = p && runs ? map_rings(p, d) : 0;

	for (int i = 0; p && !err && i < p->n_rings; i++) {
		err = kernel_perf_run(&p->rings[i].perf, runs);
		if (err)
			diag_fail(d, err, "profile: cannot switch the samples of cpu %d: %s", p->rings[i].perf.cpu,
				  strerror(-err));
	}
	return err;
}

/* ---------------------------------------------------------------- writing */

static int open_stream(struct ring *r, struct kernel_drain *k, struct diag *d)
{
	char name[32];
	int err;

	if (r->has_stream)
		return 0;
	snprintf(name, sizeof name, "profile_%d", r->perf.cpu);
	err = ctf_stream_open(&r->stream, &k->sink, name, d);
	r->has_stream = !err;
	return err;
}

static int describe(struct source *s, struct kernel_drain *k)
{
	struct text fields = { 0 };

	if (s->is_described)
		return 0;
	text_addf(&fields, "%s%s%s%s", process_field, s->is_counter ? counter_fields : "", kernel_stack_fields[0],
		  kernel_stack_fields[1]);
	if (!fields.failed) {
		s->id = kernel_classes_describe(&k->classes, s->name, fields.bytes);
		s->is_described = true;
	}
	text_fini(&fields);
	return s->is_described ? 0 : -ENOMEM;
}

static int flush(struct kernel_profile *p, struct ring *r, struct kernel_drain *k, struct diag *d)
{
	struct iovec body = { p->body, p->packet.size };
	struct ctf_packet packet = { .begin_ns = p->packet.begin_ns,
				     .end_ns = p->packet.end_ns,
				     .discarded = r->lost - r->lost_before,
				     .cpu = (uint32_t)r->perf.cpu,
				     .n_body = 1,
				     .body = &body };
	uint32_t n = p->packet.n_events;
	int err;

	if (!n && r->lost == r->lost_told)
		return 0;
	if (!n) /* a loss and nothing beside it */
		packet.begin_ns = packet.end_ns = r->last_ns;
	err = kernel_drain_describe(k, d);
	if (!err) {
		packet.sequence = r->stream.sequence;
		err = ctf_stream_append(&r->stream, &packet, d);
	}
	if (err)
		r->lost += n;
	else
		r->lost_told = r->lost;
	k->n_events += err ? 0 : n;
	p->packet = (struct kernel_packet){ 0 };
	return err;
}

static uint8_t *put_stack(uint8_t *to, const uint64_t *frames, unsigned n)
{
	uint16_t length = (uint16_t)n;

	memcpy(to, &length, sizeof length);
	memcpy(to + sizeof length, frames, n * sizeof *frames);
	return to + sizeof length + n * sizeof *frames;
}

/* Frames stand innermost first, behind a marker that says whose they are. */
static uint8_t *put_stacks(uint8_t *to, const struct kernel_perf_parts *p, uint32_t extras)
{
	uint64_t kernel[KERNEL_PERF_FRAMES_MAX], user[KERNEL_PERF_FRAMES_MAX], where = 0;
	unsigned n_kernel = 0, n_user = 0;

	for (uint64_t i = 0; i < p->n_frames && n_kernel + n_user < KERNEL_PERF_FRAMES_MAX; i++) {
		if (p->frames[i] >= (uint64_t)PERF_CONTEXT_MAX)
			where = p->frames[i];
		else if (where == (uint64_t)PERF_CONTEXT_KERNEL)
			kernel[n_kernel++] = p->frames[i];
		else if (where == (uint64_t)PERF_CONTEXT_USER)
			user[n_user++] = p->frames[i];
	}
	if (extras & KERNEL_PERF_KERNEL_STACK)
		to = put_stack(to, kernel, n_kernel);
	return extras & KERNEL_PERF_USER_STACK ? put_stack(to, user, n_user) : to;
}

/* In the order of kernel_classes_add_extras(). */
static uint8_t *put_extras(uint8_t *to, const struct kernel_perf_parts *p, int n_counters, uint32_t extras)
{
	for (int i = 0; p->values && i < n_counters; i++)
		if (extras & (uint32_t)KERNEL_PERF_VALUE << i) {
			memcpy(to, &p->values[i], sizeof p->values[i]);
			to += sizeof p->values[i];
		}
	return put_stacks(to, p, extras);
}

/* All before the stacks, of an event of our own.  Returns its end. */
static uint8_t *put_own(uint8_t *to, const struct source *source, const struct kernel_perf_sample *s, uint32_t time)
{
	memcpy(to, &time, 4);
	memcpy(to + 4, &source->id, 2);
	memset(to + 6, 0, 2);
	memcpy(to + 8, &s->tid, 4);
	memcpy(to + 12, &s->pid, 4);
	to += 16;
	if (!source->is_counter)
		return to;
	memcpy(to, &source->count, 8);
	memcpy(to + 8, &s->address, 8);
	return to + 16;
}

/* The same of a tracepoint's, as if a page had it; NULL if it is not understood. */
static uint8_t *put_record(uint8_t *to, struct kernel_classes *c, const struct kernel_perf_parts *p, uint32_t time)
{
	size_t size;

	if (!p->raw || p->raw_size > RAW_MAX)
		return NULL;
	memcpy(to + 4, p->raw, p->raw_size);
	size = kernel_class_convert(c, to, to + 4, p->raw_size, time);
	return size ? to + size : NULL;
}

static int write_sample(struct kernel_profile *p, struct ring *r, struct source *source, const struct kernel_perf_sample *s,
			const struct kernel_perf_parts *parts, uint64_t ns, struct kernel_drain *k, struct diag *d)
{
	bool is_own = *source->name;
	uint32_t extras = is_own ? KERNEL_PERF_STACKS : kernel_classes_extras(&k->classes, parts->raw, parts->raw_size);
	uint8_t *begin, *to;
	int err = 0;

	if (ns < r->last_ns)
		ns = r->last_ns;
	if (p->packet.size + EVENT_MAX > BODY_SIZE || (p->packet.n_events && ns - p->packet.end_ns > GAP_NS))
		err = flush(p, r, k, d);
	if (is_own && !err)
		err = describe(source, k);
	to = p->body + p->packet.size;
	to = is_own ? put_own(to, source, s, (uint32_t)ns) : put_record(to, &k->classes, parts, (uint32_t)ns);
	if (!to || err) {
		r->lost++;
		return err;
	}
	to = put_extras(to, parts, r->perf.n_counters, extras);
	begin = p->body + p->packet.size;
	p->packet.size += kernel_contexts_put(k->contexts, begin, (size_t)(to - begin), ns);
	if (!p->packet.n_events++)
		p->packet.begin_ns = ns;
	p->packet.end_ns = r->last_ns = ns;
	return 0;
}

/* ---------------------------------------------------------------- reading */

/* Of a process, and of the thread.  One that has its number from a dead one that was followed is not. */
static int learn_fork(struct kernel_profile *p, const struct kernel_perf_fork *f)
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

static int learn_forks(struct kernel_profile *p, const struct ring *r)
{
	uint64_t end = kernel_perf_end(&r->perf);
	const struct perf_event_header *h;
	int err = 0;

	for (uint64_t at = r->perf.at; !err && (h = kernel_perf_record(&r->perf, at, end, p->record)); at += h->size)
		if (h->type == PERF_RECORD_FORK && h->size >= sizeof(struct kernel_perf_fork))
			err = learn_fork(p, (const struct kernel_perf_fork *)h);
	return err;
}

/* Who runs another program now, is to be looked at again. */
static void take_comm(struct kernel_profile *p, const struct kernel_perf_comm *c)
{
	if (c->header.size >= sizeof *c && c->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		pids_drop(&p->seen, (pid_t)c->pid);
}

/* Of the whole machine only those that were sampled: the others' would be without end. */
static void take_mapping(struct kernel_profile *p, const struct kernel_perf_mapping *m)
{
	size_t room = m->header.size - sizeof *m;
	struct kernel_mapped to = { .pid = (pid_t)m->pid, .begin = m->begin, .end = m->begin + m->size, .offset = m->offset,
				    .major = m->major, .minor = m->minor, .inode = m->inode, .path = m->path };
	uint64_t time_ns;

	if (!p->mapped || room < sizeof time_ns + 1 || to.end <= to.begin || *m->path != '/' || m->path[1] == '/' ||
	    !memchr(m->path, 0, room - sizeof time_ns) || !pids_has(p->whole_machine ? &p->seen : &p->followed, to.pid))
		return;
	memcpy(&time_ns, (const char *)m + m->header.size - sizeof time_ns, sizeof time_ns);
	to.at_ns = clock_follow_ns(&p->clock, &p->line, time_ns);
	p->mapped(p->see_arg, &to);
}

static bool is_wanted(const struct kernel_profile *p, const struct source *source, const struct kernel_perf_sample *s,
		      const struct kernel_perf_parts *parts)
{
	pid_t tid;

	if (p->whole_machine || pids_has(&p->followed, (pid_t)s->pid))
		return true;
	if (!source->other || parts->raw_size < source->other + sizeof tid)
		return false;
	memcpy(&tid, parts->raw + source->other, sizeof tid);
	return pids_has(&p->threads, tid);
}

static int take_sample(struct kernel_profile *p, struct ring *r, const struct kernel_perf_sample *s,
		       struct kernel_drain *k, struct diag *d)
{
	bool is_shared;
	int number = kernel_perf_number(&r->perf, s, &is_shared);
	struct source *source = number ? &p->sources[number - 1] : NULL;
	struct kernel_perf_parts parts;
	uint64_t ns, now_ns;

	if (!source) {
		r->lost++;
		return 0;
	}
	if (!kernel_perf_parts(&r->perf, number, s, &parts)) {
		r->lost++;
		return 0;
	}
	if (!is_wanted(p, source, s, &parts))
		return 0;
	ns = clock_follow_ns(&p->clock, &p->line, s->time_ns);
	if (is_shared) { /* by another's clock, perhaps */
		now_ns = clock_now_ns(&k->clock);
		ns = ns < now_ns ? ns : now_ns;
	}
	if (p->see && s->pid && !pids_has(&p->seen, (pid_t)s->pid) && !pids_put(&p->seen, (pid_t)s->pid))
		p->see(p->see_arg, (pid_t)s->pid, ns);
	return write_sample(p, r, source, s, &parts, ns, k, d);
}

static int drain_ring(struct kernel_profile *p, struct ring *r, uint64_t until_ns, struct kernel_drain *k,
		      struct diag *d)
{
	uint64_t end = kernel_perf_end(&r->perf);
	const struct perf_event_header *h;
	int first = open_stream(r, k, d), err;
	bool is_shared;

	if (first)
		return first;
	for (; (h = kernel_perf_record(&r->perf, r->perf.at, end, p->record)); r->perf.at += h->size) {
		const struct kernel_perf_sample *s = (const struct kernel_perf_sample *)h;

		if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct kernel_perf_lost))
			r->lost += ((const struct kernel_perf_lost *)h)->n;
		if (h->type == PERF_RECORD_COMM)
			take_comm(p, (const struct kernel_perf_comm *)h);
		if (h->type == PERF_RECORD_MMAP2 && h->size >= sizeof(struct kernel_perf_mapping))
			take_mapping(p, (const struct kernel_perf_mapping *)h);
		if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof *s)
			continue;
		if (s->time_ns >= until_ns && kernel_perf_number(&r->perf, s, &is_shared) && !is_shared)
			break;
		err = take_sample(p, r, s, k, d);
		first = first ? first : err;
	}
	if (!h && r->perf.at != end) { /* nothing of it can be told from the rest */
		r->perf.at = end;
		r->lost++;
		k->n_malformed++;
	}
	kernel_perf_done(&r->perf);
	err = flush(p, r, k, d);
	return first ? first : err;
}

int kernel_profile_drain(struct kernel_profile *p, struct kernel_drain *k, bool is_last, struct diag *d)
{
	uint64_t now_ns, until_ns, promised_ns;
	int first, err;

	if (!p)
		return 0;
	first = map_rings(p, d);
	if (first)
		return first;
	now_ns = clock_follow_step(&p->clock);
	until_ns = is_last ? UINT64_MAX : now_ns - SETTLING_NS;
	promised_ns = now_ns - (clock_now_ns(&k->clock) - k->until_ns);
	if (k->until_ns && !is_last && promised_ns > until_ns)
		until_ns = promised_ns;
	for (int i = 0; !first && !p->whole_machine && i < p->n_rings; i++)
		if (learn_forks(p, &p->rings[i]))
			first = diag_fail(d, -ENOMEM, "profile: no memory for the processes followed");
	for (int i = 0; i < p->n_rings; i++) {
		err = drain_ring(p, &p->rings[i], until_ns, k, d);
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
	for (struct ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		if (r->has_stream)
			ctf_stream_close(&r->stream);
		r->has_stream = false;
		r->stream = (struct ctf_stream){ .fd = -1, .index = -1 };
		r->lost_before = r->lost_told;
	}
}

uint64_t kernel_profile_lost(const struct kernel_profile *p)
{
	uint64_t n = 0;

	for (int i = 0; p && i < p->n_rings; i++)
		n += p->rings[i].lost;
	return n;
}
