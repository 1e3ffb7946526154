/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/io.c - joins entries and exits of transfers, and issue and completion of block
 * requests.
 */
#include "analysis/report/io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event_table.h"

enum { IN_FLIGHT_MAX = 4096, SECTOR = 512 };

enum does { DOES_NOTHING, DOES_READ, DOES_WRITE, DOES_SYNC, DOES_COPY_OUT_FIRST, DOES_COPY };

static const struct {
	const char *call;
	enum does does;
} meanings[] = {
	{ "read", DOES_READ },
	{ "pread64", DOES_READ },
	{ "readv", DOES_READ },
	{ "preadv", DOES_READ },
	{ "preadv2", DOES_READ },
	{ "recvfrom", DOES_READ },
	{ "recvmsg", DOES_READ },
	{ "write", DOES_WRITE },
	{ "pwrite64", DOES_WRITE },
	{ "writev", DOES_WRITE },
	{ "pwritev", DOES_WRITE },
	{ "pwritev2", DOES_WRITE },
	{ "sendto", DOES_WRITE },
	{ "sendmsg", DOES_WRITE },
	{ "fsync", DOES_SYNC },
	{ "fdatasync", DOES_SYNC },
	{ "sync_file_range", DOES_SYNC },
	{ "sendfile", DOES_COPY_OUT_FIRST },
	{ "sendfile64", DOES_COPY_OUT_FIRST },
	{ "splice", DOES_COPY },
	{ "copy_file_range", DOES_COPY },
};

enum role { ROLE_NONE, ROLE_DEATH, ROLE_ISSUE, ROLE_COMPLETE };

static const struct event_table_kind kinds[] = {
	{ "sched_process_exit", ROLE_DEATH, { NULL } },
	{ "block_rq_issue", ROLE_ISSUE, { "dev", "sector", "nr_sector", "rwbs", "bytes" } },
	{ "block_rq_complete", ROLE_COMPLETE, { "dev", "sector", "nr_sector", "rwbs", "error" } },
};

struct state { /* of a thread */
	struct call_made call;
	uint32_t epoch;
	int64_t begin_ns;
};

struct request {
	uint64_t device, sector;
	enum io_direction direction;
	int64_t begin_ns;
};

struct reading {
	struct io *io;
	struct event_table *plans;
	enum does *does;      /* by call */
	struct state *states; /* by thread */
	uint32_t n_states, n_row_rooms, n_slow_rooms, n_device_rooms, n_depth_rooms, n_slowest;
	struct index row_keys, device_keys;
	struct request in_flight[IN_FLIGHT_MAX];
	uint32_t n_in_flight;
	bool by_process;
};

static uint32_t process_of(struct reading *r, uint32_t thread)
{
	int64_t process = threads_process(r->io->run.threads, thread);

	return process < 0 ? thread : (uint32_t)process;
}

/* ---------------------------------------------------------------- transfers */

static struct io_row *row_of(struct reading *r, uint32_t process, uint32_t file,
			     enum io_direction direction)
{
	struct io *io = r->io;
	int64_t i = index_find(&r->row_keys, r->by_process ? process : file, direction, 0, true);

	if (i < 0 || pass_grow(&io->rows, &r->n_row_rooms, (uint32_t)i, sizeof *io->rows))
		return NULL;
	io->rows[i].process = process;
	io->rows[i].file = file;
	io->rows[i].direction = direction;
	io->n_rows = r->row_keys.n;
	return &io->rows[i];
}

static int note_slow(struct reading *r, uint64_t ns, const struct state *st, uint32_t thread,
		     uint32_t file, int64_t bytes)
{
	struct io *io = r->io;
	struct slowest *s = &io->slowest;

	/* Only the longest need an entry in `slow`. Entries of transfers that drop out are not
	 * reused. */
	if (!s->max || (s->n == s->max && ns <= s->at[0].duration_ns))
		return 0;
	if (pass_grow(&io->slow, &r->n_slow_rooms, io->n_slow, sizeof *io->slow))
		return -ENOMEM;
	io->slow[io->n_slow] = (struct io_slow){ file, st->call.call - 1 };
	slowest_add(s, &(struct slow){ ns, st->begin_ns, thread, io->n_slow++, bytes });
	return 0;
}

static int transfer(struct reading *r, uint32_t thread, int64_t fd, enum io_direction direction,
		    const struct trace_event *e, int64_t result)
{
	const struct state *st = &r->states[thread];
	uint64_t ns = e->time_ns > st->begin_ns ? (uint64_t)(e->time_ns - st->begin_ns) : 0;
	uint32_t process = process_of(r, thread);
	int64_t file = fds_find(&r->io->objects.fds, process, fd);
	struct io_row *row = file < 0 ? NULL : row_of(r, process, (uint32_t)file, direction);

	if (!row)
		return -ENOMEM;
	if (result < 0) {
		*(result == -EAGAIN ? &row->n_again : &row->n_errors) += 1;
		return 0;
	}
	r->io->n_transfers++;
	if (direction < IO_SYNC) {
		row->bytes += (uint64_t)result;
		r->io->bytes[direction] += (uint64_t)result;
		if (samples_add(&r->io->sizes[direction], (uint64_t)result))
			return -ENOMEM;
	}
	if (note_slow(r, ns, st, thread, (uint32_t)file, direction < IO_SYNC ? result : 0))
		return -ENOMEM;
	return samples_add(&row->time, ns);
}

static int leave(struct reading *r, uint32_t thread, const struct trace_event *e, int64_t result)
{
	const struct call_made *m = &r->states[thread].call;
	int err;

	switch (r->does[m->call - 1]) {
	case DOES_NOTHING:
		return 0;
	case DOES_READ:
		return transfer(r, thread, m->args[0], IO_READ, e, result);
	case DOES_WRITE:
		return transfer(r, thread, m->args[0], IO_WRITE, e, result);
	case DOES_SYNC:
		return transfer(r, thread, m->args[0], IO_SYNC, e, result);
	case DOES_COPY_OUT_FIRST:
		err = transfer(r, thread, m->args[1], IO_READ, e, result);
		return err ? err : transfer(r, thread, m->args[0], IO_WRITE, e, result);
	case DOES_COPY:
		err = transfer(r, thread, m->args[0], IO_READ, e, result);
		return err ? err : transfer(r, thread, m->args[2], IO_WRITE, e, result);
	}
	return 0;
}

static bool is_transfer(const struct reading *r, const struct state *st)
{
	return st->call.call && r->does[st->call.call - 1];
}

static int on_call(struct reading *r, const struct call_class *c, const struct trace_event *e,
		   uint32_t thread, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	bool is_pair = c->is == CALL_EXIT && st->call.call == c->call + 1 && st->epoch == epoch;
	int err = 0;

	if (is_pair)
		err = leave(r, thread, e, pass_number(e, c->field[0], 0));
	else
		r->io->n_open += is_transfer(r, st);
	st->call = (struct call_made){ 0 };
	if (c->is == CALL_ENTRY) {
		calls_read(c, e, &st->call);
		st->epoch = epoch;
		st->begin_ns = e->time_ns;
	}
	return err;
}

/* ---------------------------------------------------------------- devices */

/* Letters of the kernel; or bits, of which readers know the letters (ctf/decode/known.h). */
static bool read_request(const struct trace_event *e, const struct ctf_op *rwbs, const char **text,
			 size_t *size)
{
	const char *label;

	if (ctf_event_text(e->ctf, rwbs, text, size))
		return true;
	label = rwbs->type->kind == CTF_ENUM
			? ctf_enum_label(rwbs->type, (uint64_t)pass_number(e, rwbs, 0))
			: NULL;
	*text = label ? label : "";
	*size = strlen(*text);
	return label;
}

static enum io_direction direction_of(const struct trace_event *e, const struct ctf_op *rwbs)
{
	const char *text = "";
	size_t size = 0;

	if (!rwbs || !read_request(e, rwbs, &text, &size))
		return IO_READ;
	if (memchr(text, 'D', size))
		return IO_DISCARD;
	if (memchr(text, 'W', size))
		return IO_WRITE;
	return memchr(text, 'R', size) ? IO_READ : IO_SYNC;
}

static struct io_device *device_of(struct reading *r, uint64_t number, enum io_direction direction)
{
	struct io *io = r->io;
	int64_t i = index_find(&r->device_keys, number, direction, 0, true);

	if (i < 0 || pass_grow(&io->devices, &r->n_device_rooms, (uint32_t)i, sizeof *io->devices))
		return NULL;
	io->devices[i].number = number;
	io->devices[i].direction = direction;
	io->n_devices = r->device_keys.n;
	return &io->devices[i];
}

static int change_depth(struct reading *r, uint64_t number, int by, int64_t time_ns)
{
	struct io *io = r->io;
	struct io_depth *d;
	uint32_t i = 0;

	while (i < io->n_depths && io->depths[i].number != number)
		i++;
	if (i == io->n_depths) {
		if (pass_grow(&io->depths, &r->n_depth_rooms, i, sizeof *io->depths))
			return -ENOMEM;
		io->depths[io->n_depths++] = (struct io_depth){ .number = number,
								.first_ns = time_ns,
								.since_ns = time_ns };
	}
	d = &io->depths[i];
	d->sum_ns += (double)d->now * (double)(time_ns - d->since_ns);
	d->since_ns = time_ns;
	if (by > 0 || d->now)
		d->now += (uint32_t)by;
	d->max = d->now > d->max ? d->now : d->max;
	assert(d->now <= d->max);
	return 0;
}

static int give_up(struct reading *r, uint32_t i, int64_t time_ns)
{
	struct request *q = &r->in_flight[i];
	struct io_device *device = device_of(r, q->device, q->direction);
	int err = device ? change_depth(r, q->device, -1, time_ns) : -ENOMEM;

	if (device)
		device->n_open++;
	*q = r->in_flight[--r->n_in_flight];
	return err;
}

/*
 * A flush is issued for sector 0 and completes with another number; the kernel has one at a time for a
 * queue.  Then the file system's request for the flush completes; it has no sectors and was not issued.
 */
static bool is_same(const struct request *q, uint64_t device, uint64_t sector,
		    enum io_direction direction)
{
	return q->device == device && q->direction == direction &&
	       (q->sector == sector || direction == IO_SYNC);
}

static int issue(struct reading *r, const struct event_table *p, const struct trace_event *e)
{
	struct request q = { .device = (uint64_t)pass_number(e, p->field[0], 0),
			     .sector = (uint64_t)pass_number(e, p->field[1], 0),
			     .direction = direction_of(e, p->field[3]),
			     .begin_ns = e->time_ns };
	int err = r->n_in_flight == IN_FLIGHT_MAX ? give_up(r, 0, e->time_ns) : 0;

	for (uint32_t i = 0; i < r->n_in_flight && !err; i++)
		if (is_same(&r->in_flight[i], q.device, q.sector, q.direction)) {
			/* its completion was not recorded */
			err = give_up(r, i, e->time_ns);
			break;
		}
	if (err)
		return err;
	assert(r->n_in_flight < IN_FLIGHT_MAX);
	r->in_flight[r->n_in_flight++] = q;
	return change_depth(r, q.device, 1, e->time_ns);
}

static int complete(struct reading *r, const struct event_table *p, const struct trace_event *e)
{
	uint64_t number = (uint64_t)pass_number(e, p->field[0], 0),
		 sector = (uint64_t)pass_number(e, p->field[1], 0);
	uint64_t bytes = (uint64_t)pass_number(e, p->field[2], 0) * SECTOR;
	struct io_device *device = device_of(r, number, direction_of(e, p->field[3]));
	uint32_t i = 0;
	uint64_t ns;

	if (!device)
		return -ENOMEM;
	while (i < r->n_in_flight && !is_same(&r->in_flight[i], number, sector, device->direction))
		i++;
	device->bytes += bytes;
	device->n_errors += pass_number(e, p->field[4], 0) != 0;
	if (i == r->n_in_flight) {
		r->io->n_headless_requests += bytes || device->direction == IO_SYNC;
		return 0;
	}
	ns = e->time_ns > r->in_flight[i].begin_ns
		     ? (uint64_t)(e->time_ns - r->in_flight[i].begin_ns)
		     : 0;
	r->in_flight[i] = r->in_flight[--r->n_in_flight];
	return change_depth(r, number, -1, e->time_ns) || samples_add(&device->time, ns) ? -ENOMEM
											 : 0;
}

/* ---------------------------------------------------------------- events */

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	uint32_t class = trace_class_number(e);
	const struct event_table *p = &r->plans[class];
	const struct call_class *c = r->io->calls.classes[class];
	bool is_before = e->time_ns < run->range.from_ns;

	/* A transfer needs the descriptors as they were before its exit, which changes none. */
	if (devices_on_event(&r->io->machine, e) ||
	    objects_on_event(&r->io->objects, run, &r->io->calls, e, thread))
		return -ENOMEM;
	if (c->is) {
		if (pass_grow(&r->states, &r->n_states, thread, sizeof *r->states))
			return -ENOMEM;
		if (!is_before || !r->does[c->call] || c->is == CALL_ENTRY)
			return on_call(r, c, e, thread, run->epoch[TRACE_KERNEL]);
		r->states[thread].call = (struct call_made){ 0 };
		return 0;
	}
	switch (p->role) {
	case ROLE_DEATH:
		if (thread < r->n_states) {
			r->io->n_open += is_transfer(r, &r->states[thread]);
			r->states[thread].call = (struct call_made){ 0 };
		}
		return 0;
	case ROLE_ISSUE:
		return is_before ? 0 : issue(r, p, e);
	case ROLE_COMPLETE:
		return is_before ? 0 : complete(r, p, e);
	}
	return 0;
}

static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct reading *r = context;
	int err = 0;

	(void)run;
	while (e->stream->source->domain == TRACE_KERNEL && r->n_in_flight && !err)
		err = give_up(r, 0, e->time_ns);
	return err;
}

/* ---------------------------------------------------------------- the beginning and the end */

static int most_bytes_first(const void *a, const void *b)
{
	const struct io_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->time.sum != y->time.sum)
		return x->time.sum < y->time.sum ? 1 : -1;
	return x->file != y->file ? (x->file < y->file ? -1 : 1)
				  : (int)x->direction - (int)y->direction;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct io *io = r->io;

	r->plans = event_table_make(&io->run, kinds, sizeof kinds / sizeof *kinds);
	if (!r->plans || objects_init(&io->objects, &io->run, NULL, 0, NULL) ||
	    devices_init(&io->machine, &io->run) || calls_init(&io->calls, &io->run) ||
	    slowest_init(&io->slowest, r->n_slowest))
		return -ENOMEM;
	r->does = calloc(io->calls.n + (size_t)1, sizeof *r->does);
	if (!r->does)
		return -ENOMEM;
	for (uint32_t i = 0; i < io->calls.n; i++)
		for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++)
			if (!strcmp(io->calls.names[i], meanings[k].call))
				r->does[i] = meanings[k].does;
	io->has_block = event_table_has(&io->run, r->plans, ROLE_ISSUE) ||
			event_table_has(&io->run, r->plans, ROLE_COMPLETE);
	return 0;
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct io *io = r->io;
	int err = 0;

	for (uint32_t i = 0; i < r->n_states; i++)
		io->n_open += is_transfer(r, &r->states[i]);
	while (r->n_in_flight && !err)
		err = give_up(r, 0, io->run.last_ns);
	if (io->n_rows)
		qsort(io->rows, io->n_rows, sizeof *io->rows, most_bytes_first);
	slowest_sort(&io->slowest);
	return err;
}

int io_init(struct io *io, struct trace *t, const struct pass_range *range, bool by_process,
	    uint32_t n_slowest, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "files",
		.wants_earlier = true, /* for descriptors */
		.prepare = prepare,
		.on_event = on_event,
		.on_lost = on_lost,
		.finish = finalize,
	};
	struct reading *r = calloc(1, sizeof *r);
	int err;

	*io = (struct io){ 0 };
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory for files");
	r->io = io;
	r->by_process = by_process;
	r->n_slowest = n_slowest;
	err = pass_run(&io->run, t, range, &analysis, r, d);
	index_fini(&r->row_keys);
	index_fini(&r->device_keys);
	free(r->plans);
	free(r->does);
	free(r->states);
	free(r);
	if (err)
		io_fini(io);
	return err;
}

void io_fini(struct io *io)
{
	for (uint32_t i = 0; i < io->n_rows; i++)
		samples_fini(&io->rows[i].time);
	for (uint32_t i = 0; i < io->n_devices; i++)
		samples_fini(&io->devices[i].time);
	free(io->rows);
	free(io->devices);
	free(io->depths);
	free(io->slow);
	samples_fini(&io->sizes[0]);
	samples_fini(&io->sizes[1]);
	slowest_fini(&io->slowest);
	objects_fini(&io->objects);
	devices_fini(&io->machine);
	calls_fini(&io->calls);
	pass_fini(&io->run);
	*io = (struct io){ 0 };
}
