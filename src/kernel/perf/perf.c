/* SPDX-License-Identifier: MIT */
/* kernel/perf/perf.c - opens perf events, joins them to one ring per CPU, and reads records.
 *
 * A record is copied into one piece before it is parsed, because it may wrap at the end of the
 * ring. */
#include "kernel/perf/perf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* @group: descriptor of the event that leads its group, or -1. @tid: -1: any thread on the CPU. */
static int open_event_of(struct kernel_perf_ring *r, const struct perf_event_attr *a, pid_t tid,
			 int group)
{
	struct kernel_perf_event *events =
		realloc(r->events, (size_t)(r->n_events + 1) * sizeof *events);
	long fd;

	if (!events)
		return -ENOMEM;
	r->events = events;
	fd = syscall(SYS_perf_event_open, a, tid, r->cpu, group, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	events[r->n_events] =
		(struct kernel_perf_event){ .fd = (int)fd,
					    .source = r->n_events - 1,
					    .sample_type = a->sample_type,
					    .has_id = a->read_format == PERF_FORMAT_ID };
	r->n_events++;
	return ioctl((int)fd, PERF_EVENT_IOC_ID, &events[r->n_events - 1].id) ? -errno : 0;
}

static int open_event(struct kernel_perf_ring *r, const struct perf_event_attr *a, int group)
{
	return open_event_of(r, a, -1, group);
}

static void begin_ring(struct kernel_perf_ring *r, int cpu, size_t size_bytes)
{
	*r = (struct kernel_perf_ring){ .cpu = cpu, .data_bytes = (size_t)sysconf(_SC_PAGESIZE) };
	while (2 * r->data_bytes <= size_bytes)
		r->data_bytes *= 2;
	assert(!(r->data_bytes & (r->data_bytes - 1)));
}

int kernel_perf_open_own(struct kernel_perf_ring *r, int cpu, size_t size_bytes)
{
	const struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
					   .size = sizeof a,
					   .config = PERF_COUNT_SW_DUMMY,
					   .disabled = 1,
					   .exclude_kernel = 1,
					   .exclude_hv = 1,
					   .use_clockid = 1,
					   .clockid = CLOCK_MONOTONIC };
	int err;

	begin_ring(r, cpu, size_bytes);
	err = open_event_of(r, &a, 0, -1);
	if (err)
		kernel_perf_close(r);
	return err;
}

int kernel_perf_open(struct kernel_perf_ring *r, int cpu, size_t size_bytes)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof a,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.task = 1, /* forks and ends */
		.comm = 1, /* execs */
		.mmap = 1, /* of code */
		.mmap2 = 1,
		.sample_id_all = 1, /* when */
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int err;

	begin_ring(r, cpu, size_bytes);
	err = open_event(r, &a, -1);
	if (err)
		kernel_perf_close(r);
	return err == -EINVAL && cpu ? -ENODEV : err;
}

static size_t map_bytes(const struct kernel_perf_ring *r)
{
	return r->data_bytes + (size_t)sysconf(_SC_PAGESIZE);
}

void kernel_perf_close(struct kernel_perf_ring *r)
{
	if (r->map)
		munmap(r->map, map_bytes(r));
	for (int i = 0; i < r->n_events; i++)
		close(r->events[i].fd);
	free(r->events);
	*r = (struct kernel_perf_ring){ 0 };
}

/* The first counter leads the group of all events whose samples have values: a group is read at
 * once. */
static int leader(const struct kernel_perf_ring *r)
{
	assert(r->n_counters < r->n_events);
	return r->n_counters ? r->events[1].fd : -1;
}

int kernel_perf_count(struct kernel_perf_ring *r, const struct perf_event_attr *requested)
{
	const struct perf_event_attr a = { .type = requested->type,
					   .size = sizeof a,
					   .config = requested->config,
					   .disabled = 1,
					   .read_format = PERF_FORMAT_GROUP,
					   .use_clockid = 1,
					   .clockid = CLOCK_MONOTONIC };
	int err = open_event(r, &a, leader(r));

	assert(err || r->n_events == r->n_counters + 2); /* before any event that has values */
	r->n_counters += !err;
	return err;
}

/* Sets the contents of samples. */
static void prepare(struct perf_event_attr *a, uint32_t extras)
{
	bool has_stacks = extras & KERNEL_PERF_STACKS, has_values = extras >= KERNEL_PERF_VALUE;
	bool has_id = a->type == PERF_TYPE_SOFTWARE; /* with its count: see kernel_perf_number() */

	a->size = sizeof *a;
	/* Not PERF_SAMPLE_PERIOD: with it the kernel's own counters sample each event, whatever the
	 * period. */
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_ADDR | (has_values || has_id ? PERF_SAMPLE_READ : 0) |
			 (has_stacks ? PERF_SAMPLE_CALLCHAIN : 0) |
			 (a->type == PERF_TYPE_TRACEPOINT ? PERF_SAMPLE_RAW : 0);
	a->read_format = has_values ? PERF_FORMAT_GROUP : has_id ? PERF_FORMAT_ID : 0;
	a->exclude_callchain_kernel = !(extras & KERNEL_PERF_KERNEL_STACK);
	a->exclude_callchain_user = !(extras & KERNEL_PERF_USER_STACK);
	if (has_stacks)
		a->sample_max_stack = KERNEL_PERF_FRAMES_MAX - 4; /* markers are added to these */
	a->disabled = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

int kernel_perf_add(struct kernel_perf_ring *r, const struct perf_event_attr *requested,
		    uint32_t extras, const char *filter)
{
	struct perf_event_attr a = *requested;
	int err, fd;

	prepare(&a, extras);
	err = open_event(r, &a, extras >= KERNEL_PERF_VALUE ? leader(r) : -1);
	if (err)
		return err;
	fd = r->events[r->n_events - 1].fd;
	return filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}

static int number_of(const struct kernel_perf_ring *r, uint64_t id)
{
	for (int i = 1; i < r->n_events; i++)
		if (r->events[i].id == id)
			return i;
	return 0;
}

/* Joins the event to the ring, and enables it if the others are enabled. */
static int join_last(struct kernel_perf_ring *r)
{
	int fd = r->events[r->n_events - 1].fd;

	if (r->map && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->events[0].fd))
		return -errno;
	return r->map && r->runs && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

/* Includes kernel mode if that is allowed. */
static int attach(struct kernel_perf_ring *r, pid_t tid, struct perf_event_attr *a, int source)
{
	int err = open_event_of(r, a, tid, -1);

	if (err == -EACCES || err == -EPERM) {
		a->exclude_kernel = a->exclude_hv = 1;
		err = open_event_of(r, a, tid, -1);
	}
	if (err)
		return err;
	r->events[r->n_events - 1].source = source;
	return join_last(r);
}

int kernel_perf_attach(struct kernel_perf_ring *r, pid_t tid,
		       const struct perf_event_attr *requested, uint32_t extras, int source)
{
	struct perf_event_attr a = *requested;

	prepare(&a, extras);
	a.inherit = 1;
	return attach(r, tid, &a, source);
}

int kernel_perf_attach_switches(struct kernel_perf_ring *r, pid_t tid, bool has_switches)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof a,
				     .config = PERF_COUNT_SW_DUMMY,
				     .disabled = 1,
				     .inherit = 1,
				     .task = 1,
				     .comm = 1,
				     .comm_exec = 1,
				     .mmap = 1,
				     .mmap2 = 1,
				     .context_switch = has_switches,
				     .exclude_kernel = 1,
				     .exclude_hv = 1,
				     .sample_id_all = 1,
				     .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				     .use_clockid = 1,
				     .clockid = CLOCK_MONOTONIC };

	return attach(r, tid, &a, -1);
}

int kernel_perf_number(const struct kernel_perf_ring *r, const struct kernel_perf_sample *s,
		       bool *is_shared)
{
	const struct kernel_perf_value *v = (const struct kernel_perf_value *)(s + 1);
	int number = number_of(r, s->id);

	*is_shared = !number;
	if (number || s->header.size < sizeof *s + sizeof *v)
		return number;
	number = number_of(r, v->id);
	return number && r->events[number].has_id ? number : 0;
}

int kernel_perf_map(struct kernel_perf_ring *r)
{
	const struct perf_event_mmap_page *page;
	void *map =
		mmap(NULL, map_bytes(r), PROT_READ | PROT_WRITE, MAP_SHARED, r->events[0].fd, 0);

	r->map = NULL;
	if (map == MAP_FAILED)
		return -errno;
	r->map = map;
	page = map;
	r->at = __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
	/* Only now does a ring exist to write to. The last unmapping cuts all events off from it
	 * again. */
	for (int i = 1; i < r->n_events; i++)
		if (ioctl(r->events[i].fd, PERF_EVENT_IOC_SET_OUTPUT, r->events[0].fd))
			return -errno;
	return 0;
}

/* The event that reports forks is enabled first. A group's leader comes last: an event that joins a
 * running group stays off (seen in 6.18). */
int kernel_perf_run(struct kernel_perf_ring *r, bool runs)
{
	for (int i = 0; i < r->n_events; i++)
		if (ioctl(r->events[i ? r->n_events - i : 0].fd,
			  runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			return -errno;
	r->runs = runs;
	return 0;
}

uint64_t kernel_perf_end(const struct kernel_perf_ring *r)
{
	const struct perf_event_mmap_page *page = (const struct perf_event_mmap_page *)r->map;

	assert(r->map);
	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

void kernel_perf_done(struct kernel_perf_ring *r)
{
	struct perf_event_mmap_page *page = (struct perf_event_mmap_page *)r->map;

	assert(r->map);
	__atomic_store_n(&page->data_tail, r->at, __ATOMIC_RELEASE);
}

const struct perf_event_header *kernel_perf_record(const struct kernel_perf_ring *r, uint64_t at,
						   uint64_t end, uint8_t *record)
{
	const char *data = r->map + sysconf(_SC_PAGESIZE);
	size_t offset = (size_t)(at & (r->data_bytes - 1)), first;
	struct perf_event_header h;

	if (end - at < sizeof h || end - at > r->data_bytes || at % sizeof h)
		return NULL;
	memcpy(&h, data + offset,
	       sizeof h); /* records are multiples of 8 bytes: a header does not wrap */
	if (h.size < sizeof h || h.size > end - at || h.size % sizeof h)
		return NULL;
	first = r->data_bytes - offset < h.size ? r->data_bytes - offset : h.size;
	memcpy(record, data + offset, first);
	memcpy(record + first, data, h.size - first);
	return (const struct perf_event_header *)record;
}

/* A number and that many words: perf's form for values and for frames. NULL if they are
 * incomplete. */
static const uint64_t *take_words(const uint64_t **at, const uint64_t *end, uint64_t *n)
{
	const uint64_t *words = *at + 1;

	if (*at >= end || **at > (uint64_t)(end - words))
		return NULL;
	*n = **at;
	*at = words + *n;
	return words;
}

bool kernel_perf_parts(const struct kernel_perf_ring *r, int number,
		       const struct kernel_perf_sample *s, struct kernel_perf_parts *p)
{
	const uint64_t *at = (const uint64_t *)(s + 1),
		       *end = (const uint64_t *)s + s->header.size / sizeof *at;
	uint64_t type = r->events[number].sample_type, n_values = 0;
	uint32_t length;

	assert(number > 0 && number < r->n_events);
	*p = (struct kernel_perf_parts){ 0 };
	if (r->events[number].has_id) {
		if ((size_t)(end - at) * sizeof *at < sizeof(struct kernel_perf_value))
			return false;
		at += sizeof(struct kernel_perf_value) / sizeof *at;
	} else if (type & PERF_SAMPLE_READ) {
		p->values = take_words(&at, end, &n_values);
		if (!p->values || n_values < (uint64_t)r->n_counters)
			return false;
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		p->frames = take_words(&at, end, &p->n_frames);
		if (!p->frames)
			return false;
	}
	if (!(type & PERF_SAMPLE_RAW))
		return true;
	if (at >= end)
		return false;
	memcpy(&length, at, sizeof length);
	p->raw = (const uint8_t *)at + sizeof length;
	p->raw_size = length;
	return length <= (size_t)(end - at) * sizeof *at - sizeof length;
}
