/* SPDX-License-Identifier: MIT */
/* kernel/profile.c - see profile.h. */
#include "kernel/profile.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock/clock.h"
#include "clock/follow.h"
#include "kernel/page.h"
#include "kernel/pids.h"

enum {
	RING_PAGES = 64, /* a power of two */
	FRAMES_MAX = 127, /* of both stacks together */
	RECORD_MAX = UINT16_MAX,
	BODY_SIZE = 65536,
	EVENT_MAX = KERNEL_EVENT_HEADER + 4 + 2 * 2 + FRAMES_MAX * 8,
	/* Younger samples wait, unless a promise was given: a fork on another CPU is to be visible first. */
	SETTLING_NS = 1000000,
	GAP_NS = 1 << 30, /* events further apart share no packet: they carry 32 bits of time */
};

struct ring {
	int cpu, fd;
	char *map; /* NULL: not mapped in this process */
	uint64_t at; /* read up to here */
	uint64_t lost; /* samples */
	uint64_t lost_told; /* in the last packet */
	uint64_t lost_before; /* in the traces before */
	uint64_t last_ns; /* end of what was written */
	bool has_stream;
	struct ctf_stream stream;
};

struct kernel_profile {
	bool whole_machine, runs;
	pid_t owner; /* which process has mapped */
	struct pids followed;
	void (*see)(void *arg, pid_t pid, uint64_t at_ns);
	void *see_arg;
	struct pids seen;
	struct clock_follow clock; /* perf's, as the session's */
	struct clock_line line;
	uint16_t id; /* of the event, in the trace being written */
	bool is_described;
	uint8_t body[BODY_SIZE];
	struct kernel_packet packet; /* gathers in body */
	uint8_t record[RECORD_MAX + 1]; /* one, in a piece */
	int n_rings;
	struct ring rings[];
};

static const char fields[] =
	"\t\tint32_t _pid;\n"
	"\t\tuint16_t __callstack_kernel_length;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _callstack_kernel[ __callstack_kernel_length ];\n"
	"\t\tuint16_t __callstack_user_length;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _callstack_user[ __callstack_user_length ];\n";

/* PERF_RECORD_SAMPLE, as our sample_type makes it. */
struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t n_frames;
	uint64_t frames[];
};

struct fork { /* PERF_RECORD_FORK */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct comm { /* PERF_RECORD_COMM */
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct lost { /* PERF_RECORD_LOST */
	struct perf_event_header header;
	uint64_t id, n;
};

/* ---------------------------------------------------------------- opening */

static int open_event(int cpu, int hz)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof a,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / (unsigned)hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = FRAMES_MAX - 4, /* markers come on top */
		.disabled = 1,
		.exclude_idle = 1,
		.task = 1, /* forks */
		.comm = 1, /* execs */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int explain(struct diag *d, int err, int cpu)
{
	if (err == -EACCES || err == -EPERM)
		return diag_fail(d, err, "profile: no right to sample all processes: it takes root, CAP_PERFMON, "
				 "or 0 in /proc/sys/kernel/perf_event_paranoid");
	return diag_fail(d, err, "profile: cannot sample cpu %d: %s", cpu, strerror(-err));
}

int kernel_profile_open(struct kernel_profile **out, int hz, bool whole_machine, const struct abi_clock *clock,
			struct diag *d)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct kernel_profile *p = calloc(1, sizeof *p + (size_t)n * sizeof p->rings[0]);
	int fd;

	*out = NULL;
	if (!p)
		return diag_fail(d, -ENOMEM, "no memory for a profile");
	p->whole_machine = whole_machine;
	clock_follow_begin(&p->clock, clock);
	for (int cpu = 0; cpu < n; cpu++) {
		fd = open_event(cpu, hz);
		if (fd == -ENODEV || (fd == -EINVAL && cpu))
			continue; /* off-line */
		if (fd < 0) {
			kernel_profile_close(p);
			return explain(d, fd, cpu);
		}
		p->rings[p->n_rings++] = (struct ring){ .cpu = cpu, .fd = fd, .stream = { .fd = -1, .index = -1 } };
	}
	*out = p;
	return 0;
}

static size_t ring_bytes(void)
{
	return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t map_bytes(void)
{
	return ring_bytes() + (size_t)sysconf(_SC_PAGESIZE);
}

void kernel_profile_close(struct kernel_profile *p)
{
	if (!p)
		return;
	for (struct ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		if (r->map && p->owner == getpid())
			munmap(r->map, map_bytes());
		if (r->has_stream)
			ctf_stream_close(&r->stream);
		close(r->fd);
	}
	pids_fini(&p->followed);
	pids_fini(&p->seen);
	free(p);
}

/* Without a mapping perf records nothing. */
static int map_rings(struct kernel_profile *p, struct diag *d)
{
	struct perf_event_mmap_page *page;
	void *map;

	if (p->owner == getpid())
		return 0;
	p->owner = getpid();
	for (struct ring *r = p->rings; r < p->rings + p->n_rings; r++) {
		r->map = NULL;
		map = mmap(NULL, map_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		if (map == MAP_FAILED)
			return diag_errno(d, "profile: cannot map the samples of cpu %d", r->cpu);
		r->map = map;
		page = map;
		r->at = __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
	}
	return 0;
}

void kernel_profile_tell(struct kernel_profile *p, void (*see)(void *arg, pid_t pid, uint64_t at_ns), void *arg)
{
	if (p) {
		p->see = see;
		p->see_arg = arg;
	}
}

int kernel_profile_add(struct kernel_profile *p, pid_t pid)
{
	return p && !p->whole_machine ? pids_put(&p->followed, pid) : 0;
}

int kernel_profile_run(struct kernel_profile *p, bool runs, struct diag *d)
{
	int err = p && runs ? map_rings(p, d) : 0;

	for (int i = 0; p && !err && i < p->n_rings; i++)
		if (ioctl(p->rings[i].fd, runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			err = diag_errno(d, "profile: cannot switch the samples of cpu %d", p->rings[i].cpu);
	if (p && !err)
		p->runs = runs;
	return err;
}

/* ---------------------------------------------------------------- writing */

static int open_stream(struct kernel_profile *p, struct ring *r, struct kernel_drain *k, struct diag *d)
{
	char name[32];
	int err;

	if (!p->is_described)
		p->id = kernel_classes_describe(&k->classes, "profile", fields);
	p->is_described = true;
	if (r->has_stream)
		return 0;
	snprintf(name, sizeof name, "profile_%d", r->cpu);
	err = ctf_stream_open(&r->stream, &k->sink, name, d);
	r->has_stream = !err;
	return err;
}

static int flush(struct kernel_profile *p, struct ring *r, struct kernel_drain *k, struct diag *d)
{
	struct iovec body = { p->body, p->packet.size };
	struct ctf_packet packet = { .begin_ns = p->packet.begin_ns,
				     .end_ns = p->packet.end_ns,
				     .discarded = r->lost - r->lost_before,
				     .cpu = (uint32_t)r->cpu,
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
static uint8_t *put_stacks(uint8_t *to, const struct sample *s, uint64_t n_frames)
{
	uint64_t kernel[FRAMES_MAX], user[FRAMES_MAX], where = 0;
	unsigned n_kernel = 0, n_user = 0;

	for (uint64_t i = 0; i < n_frames && n_kernel + n_user < FRAMES_MAX; i++) {
		if (s->frames[i] >= (uint64_t)PERF_CONTEXT_MAX)
			where = s->frames[i];
		else if (where == (uint64_t)PERF_CONTEXT_KERNEL)
			kernel[n_kernel++] = s->frames[i];
		else if (where == (uint64_t)PERF_CONTEXT_USER)
			user[n_user++] = s->frames[i];
	}
	to = put_stack(to, kernel, n_kernel);
	return put_stack(to, user, n_user);
}

static int write_sample(struct kernel_profile *p, struct ring *r, const struct sample *s, uint64_t ns,
			uint64_t n_frames, struct kernel_drain *k, struct diag *d)
{
	uint32_t time;
	uint8_t *to;
	int err = 0;

	if (ns < r->last_ns)
		ns = r->last_ns;
	if (p->packet.size + EVENT_MAX > BODY_SIZE || (p->packet.n_events && ns - p->packet.end_ns > GAP_NS))
		err = flush(p, r, k, d);
	to = p->body + p->packet.size;
	time = (uint32_t)ns;
	memcpy(to, &time, 4);
	memcpy(to + 4, &p->id, 2);
	memset(to + 6, 0, 2);
	memcpy(to + 8, &s->tid, 4);
	memcpy(to + 12, &s->pid, 4);
	to = put_stacks(to + 16, s, n_frames);
	p->packet.size = (size_t)(to - p->body);
	if (!p->packet.n_events++)
		p->packet.begin_ns = ns;
	p->packet.end_ns = r->last_ns = ns;
	return err;
}

/* ---------------------------------------------------------------- reading */

/* The record at @at, in one piece; NULL if there is none before @end.  perf writes it, so only what bounds
 * our reading is checked. */
static const struct perf_event_header *record_at(struct kernel_profile *p, const struct ring *r, uint64_t at,
						 uint64_t end)
{
	const char *data = r->map + sysconf(_SC_PAGESIZE);
	size_t size = ring_bytes(), offset = (size_t)(at & (size - 1)), first;
	struct perf_event_header h;

	if (end - at < sizeof h)
		return NULL;
	memcpy(&h, data + offset, sizeof h); /* records are multiples of 8 bytes: a header does not wrap */
	if (h.size < sizeof h || h.size > end - at)
		return NULL;
	first = size - offset < h.size ? size - offset : h.size;
	memcpy(p->record, data + offset, first);
	memcpy(p->record + first, data, h.size - first);
	return (const struct perf_event_header *)p->record;
}

static uint64_t ring_end(const struct ring *r)
{
	const struct perf_event_mmap_page *page = (const struct perf_event_mmap_page *)r->map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

/* Whose child is whose.  A process that has its number from a dead one that was followed is not. */
static int learn_forks(struct kernel_profile *p, const struct ring *r)
{
	uint64_t end = ring_end(r);
	const struct perf_event_header *h;
	int err = 0;

	for (uint64_t at = r->at; !err && (h = record_at(p, r, at, end)); at += h->size) {
		const struct fork *f = (const struct fork *)h;

		if (h->type != PERF_RECORD_FORK || h->size < sizeof *f || f->pid == f->ppid)
			continue;
		if (pids_has(&p->followed, (pid_t)f->ppid))
			err = pids_put(&p->followed, (pid_t)f->pid);
		else
			pids_drop(&p->followed, (pid_t)f->pid);
	}
	return err;
}

/* Who runs another program now, is to be looked at again. */
static void take_comm(struct kernel_profile *p, const struct comm *c)
{
	if (c->header.size >= sizeof *c && c->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		pids_drop(&p->seen, (pid_t)c->pid);
}

static int take_sample(struct kernel_profile *p, struct ring *r, const struct sample *s, struct kernel_drain *k,
		       struct diag *d)
{
	uint64_t n_held = (s->header.size - sizeof *s) / sizeof s->frames[0], ns;

	if (!p->whole_machine && !pids_has(&p->followed, (pid_t)s->pid))
		return 0;
	ns = clock_follow_ns(&p->clock, &p->line, s->time_ns);
	if (p->see && !pids_has(&p->seen, (pid_t)s->pid) && !pids_put(&p->seen, (pid_t)s->pid))
		p->see(p->see_arg, (pid_t)s->pid, ns);
	return write_sample(p, r, s, ns, s->n_frames < n_held ? s->n_frames : n_held, k, d);
}

static int drain_ring(struct kernel_profile *p, struct ring *r, uint64_t until_ns, struct kernel_drain *k,
		      struct diag *d)
{
	struct perf_event_mmap_page *page = (struct perf_event_mmap_page *)r->map;
	uint64_t end = ring_end(r);
	const struct perf_event_header *h;
	int first = open_stream(p, r, k, d), err;

	if (first)
		return first;
	for (; (h = record_at(p, r, r->at, end)); r->at += h->size) {
		const struct sample *s = (const struct sample *)h;

		if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct lost))
			r->lost += ((const struct lost *)h)->n;
		if (h->type == PERF_RECORD_COMM)
			take_comm(p, (const struct comm *)h);
		if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof *s)
			continue;
		if (s->time_ns >= until_ns)
			break;
		err = take_sample(p, r, s, k, d);
		first = first ? first : err;
	}
	__atomic_store_n(&page->data_tail, r->at, __ATOMIC_RELEASE);
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
	p->is_described = false;
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
