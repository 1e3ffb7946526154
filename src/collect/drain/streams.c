/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/streams.c - apply each operation to all channels of a session: drains for channels
 * that discard or block, copies for those in overwrite mode.
 */
#include "collect/drain/streams.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/session.h"
#include "clock/clock.h"
#include "collect/drain/internal.h"

/* abi/ctf.h.  The time and the wide id begin in the middle of a byte, so they are not aligned. */
static const char header_tsdl[] =
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 16; align = 1; signed = false; } := uint16_unaligned_t;\n"
	"typealias integer {\n\tsize = 27; align = 1; signed = false;\n"
	"\tmap = clock.monotonic.value;\n} := uint27_clock_monotonic_t;\n\n"
	"struct event_header_compact {\n"
	"\tenum : uint5_t { compact = 0 ... 29, wide = 30, extended = 31 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n\t\t\tuint27_clock_monotonic_t timestamp;\n\t\t} compact;\n"
	"\t\tstruct {\n\t\t\tuint27_clock_monotonic_t timestamp;\n"
	"\t\t\tuint16_unaligned_t id;\n\t\t} wide;\n"
	"\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n"
	"\t\t} extended;\n\t} v;\n} align(8);\n\n";

static int open_drains(struct streams *s, const struct streams_options *o, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < o->n_channels && !err; i++) {
		struct drain_options dr = { .pool = o->channels[i].pool,
					    .sink = &s->sink,
					    .class_id = i,
					    .name = o->channels[i].name,
					    .contexts = o->channels[i].contexts,
					    .bounds = o->bounds };

		err = drain_open(&s->drains[i], &dr, d);
		s->n += !err;
		if (!err && o->resume)
			drain_resume(s->drains[i]);
	}
	return err;
}

/* Their names with blanks between, at @to; NULL: there are none. */
static const char *coarse_channels(const struct streams_options *o, char *to)
{
	char *p = to;

	for (uint32_t i = 0; i < o->n_channels; i++)
		if (o->channels[i].pool->is_coarse)
			p += sprintf(p, "%s%.*s", p == to ? "" : " ", ABI_CHANNEL_NAME_BYTES - 1,
				     i ? o->channels[i].name : "default");
	return p == to ? NULL : to;
}

int streams_open(struct streams **out, const struct streams_options *o, struct diag *d)
{
	struct streams *s = calloc(1, sizeof *s);
	struct ctf_writer_options so = { .path = o->path,
					 .domain = "ust",
					 .clock = &o->channels[0].pool->clock,
					 .clock_offset_ns = o->clock_offset_ns,
					 .begin_ns = o->begin_ns,
					 .coarse_error_ns = streams_coarse_error_ns(),
					 .is_of_command = o->is_of_command };
	char coarse[ABI_CHANNELS * ABI_CHANNEL_NAME_BYTES];
	int err;

	assert(o->n_channels >= 1 && o->n_channels <= ABI_CHANNELS);
	*out = NULL;
	so.coarse_channels = coarse_channels(o, coarse);
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for the collector");
	s->clock = so.clock;
	s->bounds = o->bounds;
	s->bytes_before = o->bytes_before;
	s->lost_before = o->lost_before;
	s->sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	err = ctf_writer_open(&s->sink, &so, d);
	s->sink.ledger = o->ledger;
	if (!err)
		err = ctf_writer_describe(&s->sink, header_tsdl, strlen(header_tsdl), d);
	if (!err)
		err = procnames_describe(&s->sink, d);
	if (!err)
		err = open_drains(s, o, d);
	if (err)
		streams_close(s);
	else
		*out = s;
	return err;
}

void streams_close(struct streams *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		drain_close(s->drains[i]);
	procnames_close(&s->procnames);
	ctf_writer_close(&s->sink);
	free(s);
}

void streams_limit(struct streams *s, struct quota *quota, struct disk_budget *disk)
{
	s->sink.quota = quota;
	s->sink.disk = disk;
}

void streams_refuse(struct streams *s, const char *why)
{
	s->sink.refuses = why;
}

static bool is_flight_recorder(const struct streams *s, uint32_t i)
{
	return s->drains[i]->pool->flight_recorder;
}

bool streams_any_overwrite(const struct streams *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (is_flight_recorder(s, i))
			return true;
	return false;
}

/* In overwrite mode names are kept until the end; drop those that are no longer needed. */
static void forget(struct streams *s)
{
	uint64_t oldest_ns = UINT64_MAX, ns;

	if (!procnames_many(&s->procnames))
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		ns = drain_oldest_ns(s->drains[i]);
		oldest_ns = ns < oldest_ns ? ns : oldest_ns;
	}
	procnames_forget_dead(&s->procnames, oldest_ns);
}

void streams_process(struct streams *s, uint64_t at_ns, uint32_t vpid, pid_t pid,
		     const char *program)
{
	forget(s);
	procnames_add(&s->procnames, at_ns, vpid, pid, program);
}

void streams_fired(struct streams *s, uint64_t at_ns, const struct procnames_firing *f)
{
	forget(s);
	procnames_fired(&s->procnames, at_ns, f);
}

void streams_impossible(struct streams *s, uint64_t at_ns)
{
	const struct bounds_program *p;
	struct bounds_kinds found;

	while ((p = bounds_next(s->bounds, &found)))
		procnames_impossible(&s->procnames, at_ns, s->bounds->uid, p, &found);
}

void streams_names(struct streams *s, const struct streams *other, uint64_t from_ns)
{
	procnames_add_all(&s->procnames, &other->procnames, from_ns);
}

static int write_names(struct streams *s, uint64_t lost, bool is_last, struct diag *d)
{
	const struct procnames_report r = { .lost = lost,
					    .now_ns = clock_now_ns(s->clock),
					    .is_last = is_last };

	return procnames_write(&s->procnames, &s->sink, &r, d);
}

/*
 * In overwrite mode names are kept for snapshots and written at the end; otherwise they are written
 * at once.  A channel that fails does not stop the others.
 */
int streams_scan(struct streams *s, bool partial, struct diag *d)
{
	int err = streams_any_overwrite(s) ? 0 : write_names(s, s->procnames.lost, false, d),
	    result;

	for (uint32_t i = 0; i < s->n; i++) {
		if (is_flight_recorder(s, i)) {
			drain_look(s->drains[i]);
			continue;
		}
		result = drain_scan(s->drains[i], partial, err ? NULL : d);
		err = err ? err : result;
	}
	return err;
}

int streams_write(struct streams *s, uint64_t until_ns, struct diag *d)
{
	int err = 0, more = 0, result;

	for (uint32_t i = 0; i < s->n; i++) {
		result = is_flight_recorder(s, i)
				 ? 0
				 : drain_write(s->drains[i], until_ns, err ? NULL : d);
		if (result < 0 && !err)
			err = result;
		more |= result > 0;
	}
	return more ? 1 : err;
}

int streams_pass(struct streams *s, bool partial, struct diag *d)
{
	int begun = streams_scan(s, partial, d),
	    err = streams_write(s, UINT64_MAX, begun ? NULL : d);

	return begun ? begun : err;
}

uint32_t streams_poll_interval(struct streams *s, uint64_t now_ns)
{
	uint32_t least_ms = UINT32_MAX, ms;

	for (uint32_t i = 0; i < s->n; i++) {
		ms = is_flight_recorder(s, i) ? UINT32_MAX
					      : drain_poll_interval(s->drains[i], now_ns);
		least_ms = ms < least_ms ? ms : least_ms;
		ms = drain_look_ms(s->drains[i]);
		least_ms = ms < least_ms ? ms : least_ms;
	}
	return least_ms;
}

void streams_look(struct streams *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		drain_look(s->drains[i]);
}

uint64_t streams_coarse_error_ns(void)
{
	return COARSE_MS * 1000000ull;
}

uint64_t streams_coarse_worst_ns(const struct streams *s, uint32_t i)
{
	assert(i < s->n);
	return load(&s->drains[i]->pool->shared->coarse_worst_ns);
}

void streams_expect(struct streams *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->n; i++)
		drain_expect(s->drains[i], now_ns);
}

uint64_t streams_complete_ns(const struct streams *s, uint64_t now_ns)
{
	uint64_t ns = now_ns, drain_ns;
	bool any = false;

	for (uint32_t i = 0; i < s->n; i++) {
		if (is_flight_recorder(s, i))
			continue;
		any = true;
		drain_ns = drain_held_ns(s->drains[i]);
		ns = drain_ns < ns ? drain_ns : ns;
	}
	if (!any)
		return 0;
	return now_ns - ns < STREAMS_SLOW_NS ? ns : now_ns - STREAMS_SLOW_NS;
}

int streams_flush(struct streams *s, struct diag *d)
{
	int err = 0;

	/*
	 * Each pass frees chunks that let the next one continue in order; a few passes reach the
	 * end.
	 */
	for (int i = 0; i < 8 && err >= 0; i++)
		err = streams_pass(s, true, d);
	return err < 0 ? err : 0;
}

void streams_reclaim(struct streams *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (is_flight_recorder(s, i))
			drain_reclaim(s->drains[i]);
}

/* All copies include everything before the earliest of their cuts. */
int streams_copy(struct streams *s, const struct drain_limits *l, uint64_t *cut_ns, struct diag *d)
{
	uint64_t cut;
	int err = 0;

	*cut_ns = UINT64_MAX;
	for (uint32_t i = 0; i < s->n && !err; i++) {
		if (!is_flight_recorder(s, i))
			continue;
		err = drain_copy(s->drains[i], l, &cut, d);
		if (!err && cut < *cut_ns)
			*cut_ns = cut;
	}
	return err;
}

void streams_each_copied(const struct streams *s,
			 void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
			 void *arg)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (is_flight_recorder(s, i))
			drain_each_copied(s->drains[i], each, arg);
}

int streams_write_copied(struct streams *s, uint64_t from_ns, uint64_t about_bytes, struct diag *d)
{
	uint64_t until =
		about_bytes < UINT64_MAX - s->sink.bytes ? s->sink.bytes + about_bytes : UINT64_MAX;
	int more = write_names(s, s->procnames.lost, false, d);

	for (uint32_t i = 0; i < s->n && !more; i++)
		if (is_flight_recorder(s, i))
			more = drain_write_copied(s->drains[i], from_ns, until, d);
	return more;
}

int streams_write_overwrite(struct streams *s, struct diag *d)
{
	const struct drain_limits all = { UINT64_MAX, UINT64_MAX };
	uint64_t cut_ns;
	int err = streams_copy(s, &all, &cut_ns, d);

	if (!err)
		err = streams_write_copied(s, 0, UINT64_MAX, d);
	for (uint32_t i = 0; i < s->n && err; i++)
		if (is_flight_recorder(s, i))
			drain_count_uncopied(s->drains[i]);
	return err;
}

int streams_finish_names(struct streams *s, uint64_t lost_outside, struct diag *d)
{
	uint64_t lost = lost_outside;

	for (uint32_t i = 0; i < s->n; i++)
		lost += drain_lost_nowhere(s->drains[i]);
	return write_names(s, lost > s->lost_before ? lost - s->lost_before : 0, true, d);
}

int streams_finish_cpus(struct streams *s, struct diag *d)
{
	int first = 0, err;

	for (uint32_t i = 0; i < s->n; i++) {
		err = drain_finish(s->drains[i], first ? NULL : d);
		first = first ? first : err;
	}
	return first;
}

/* A disk without room for it is no loss: readers see all events. */
void streams_end(struct streams *s)
{
	uint64_t now_ns = clock_now_ns(s->clock);

	/* Babeltrace 2.0 finds no time in common if a trace has no stream. */
	if (!s->sink.n_streams)
		(void)!procnames_write_nothing(&s->procnames, &s->sink, now_ns, NULL);
	(void)!ctf_writer_end(&s->sink, now_ns, NULL);
}

int streams_finish(struct streams *s, uint64_t lost_outside, struct diag *d)
{
	int err = streams_finish_cpus(s, d),
	    names = streams_finish_names(s, lost_outside, err ? NULL : d);

	streams_end(s);
	return err ? err : names;
}

void streams_reported(struct streams *s, struct streams *next, uint32_t number, uint64_t *reported)
{
	assert(s != next && number > 0);
	for (uint32_t i = 0; i < s->n && s->bounds; i++)
		for (uint32_t k = 0; k < s->drains[i]->pool->n_cpus; k++)
			drain_add_reported(&bounds_slot(s->bounds, i, k)->reported, number,
					   s->drains[i]->cpus[k].lost);
	drain_add_reported(reported, number, s->procnames.lost);
	next->lost_before = DRAIN_REPORTED_LOST(*reported);
	next->bytes_before = streams_bytes(s);
}

uint64_t streams_bytes(const struct streams *s)
{
	return s->bytes_before + s->sink.bytes;
}

uint64_t streams_unwritten(const struct streams *s)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n; i++)
		bytes += s->drains[i]->unwritten;
	return bytes;
}

void streams_drop_rest(struct streams *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		drain_drop_rest(s->drains[i]);
}

uint64_t streams_lost(const struct streams *s, uint32_t i)
{
	assert(i < s->n);
	return drain_lost(s->drains[i]);
}

uint64_t streams_too_large(const struct streams *s, uint32_t i)
{
	assert(i < s->n);
	return drain_too_large(s->drains[i]);
}

uint64_t streams_waited(const struct streams *s, uint32_t i)
{
	assert(i < s->n);
	return drain_waited(s->drains[i]);
}
