/* SPDX-License-Identifier: MIT */
/* kernel/perf/profile_write.c - converts samples into events of a CPU's stream.
 *
 * A tracepoint's sample becomes the same event that a page of tracefs would give, so that analyses
 * need not know its origin. See profile.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "kernel/perf/internal.h"

static const char process_field[] = "\t\tint32_t _pid;\n";
static const char counter_fields[] =
	"\t\tuint64_t _count;\n"
	"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _address;\n";

int profile_open_stream(struct profile_ring *r, struct kernel_drain *k, struct diag *d)
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

static int describe(struct profile_source *s, struct kernel_drain *k)
{
	struct text fields = { 0 };

	if (s->is_described)
		return 0;
	text_addf(&fields, "%s%s%s%s", process_field, s->is_counter ? counter_fields : "",
		  kernel_stack_fields[0], kernel_stack_fields[1]);
	if (!fields.failed) {
		s->id = kernel_classes_describe(&k->classes, s->name, fields.bytes);
		s->is_described = true;
	}
	text_fini(&fields);
	return s->is_described ? 0 : -ENOMEM;
}

/* Losses in this data are counted now, because a successor reads all data again that was not given
 * back. */
void profile_give_back(struct profile_ring *r, uint64_t n)
{
	struct profile_shared_ring *shared_state = r->shared_state;

	shared_state->unwritten_at = r->perf.at;
	store_release(&shared_state->unwritten, n + r->lost);
	if (!r->is_copy)
		kernel_perf_done(&r->perf);
	shared_state->losses.here += r->lost;
	r->lost = 0;
	store_release(&shared_state->unwritten, n);
}

int profile_flush(struct kernel_profile *p, struct profile_ring *r, struct kernel_drain *k,
		  struct diag *d)
{
	struct kernel_losses *losses = &r->shared_state->losses;
	struct iovec body = { p->body, p->packet.size };
	struct ctf_packet packet = { .begin_ns = p->packet.begin_ns,
				     .end_ns = p->packet.end_ns,
				     .n_events = p->packet.n_events,
				     .births = kernel_births(k, &p->packet),
				     .cpu = (uint32_t)r->perf.cpu,
				     .n_body = 1,
				     .body = &body };
	uint32_t n = p->packet.n_events;
	int err;

	assert(packet.begin_ns <= packet.end_ns);
	profile_give_back(r, n);
	packet.discarded = losses->here - r->lost_before;
	if (!n && losses->here == losses->reported)
		return 0;
	if (!n) { /* only a loss */
		r->last_ns = r->last_ns ? r->last_ns : clock_now_ns(&k->clock);
		packet.begin_ns = packet.end_ns = r->last_ns;
	}
	err = kernel_drain_describe(k, d);
	if (!err) {
		packet.sequence = r->stream.sequence;
		err = ctf_stream_append(&r->stream, &packet, d);
	}
	if (err)
		losses->here += n;
	else
		store(&losses->reported, r->lost_before + packet.discarded);
	store_release(&r->shared_state->unwritten, 0);
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

/* Frames are innermost first, after a marker for kernel or user. */
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
static uint8_t *put_extras(uint8_t *to, const struct kernel_perf_parts *p, int n_counters,
			   uint32_t extras)
{
	for (int i = 0; p->values && i < n_counters; i++)
		if (extras & (uint32_t)KERNEL_PERF_VALUE << i) {
			memcpy(to, &p->values[i], sizeof p->values[i]);
			to += sizeof p->values[i];
		}
	return put_stacks(to, p, extras);
}

/* Writes an event of duet's own, up to its stacks. Returns its end. */
static uint8_t *put_own(uint8_t *to, const struct profile_source *source,
			const struct kernel_perf_sample *s, uint32_t time)
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

/* The same for a tracepoint's record, as if it came from a page; NULL if it is not understood. */
static uint8_t *put_record(uint8_t *to, struct kernel_classes *c, const struct kernel_perf_parts *p,
			   uint32_t time)
{
	size_t size;

	if (!p->raw || p->raw_size > RAW_MAX)
		return NULL;
	memcpy(to + 4, p->raw, p->raw_size);
	size = kernel_class_convert(c, to, to + 4, p->raw_size, time);
	return size ? to + size : NULL;
}

uint8_t *profile_begin_event(struct kernel_profile *p, struct profile_ring *r, uint64_t *ns,
			     struct kernel_drain *k, int *err, struct diag *d)
{
	if (*ns < r->last_ns)
		*ns = r->last_ns;
	*err = 0;
	if (p->packet.size + EVENT_MAX > BODY_SIZE ||
	    (p->packet.n_events && *ns - p->packet.end_ns > GAP_NS))
		*err = profile_flush(p, r, k, d);
	assert(p->packet.size + EVENT_MAX <= BODY_SIZE);
	return p->body + p->packet.size;
}

void profile_end_event(struct kernel_profile *p, struct profile_ring *r, uint8_t *to, uint64_t ns,
		       struct kernel_drain *k)
{
	uint8_t *begin = p->body + p->packet.size;

	p->packet.size += kernel_contexts_put(k->contexts, begin, (size_t)(to - begin), ns);
	assert(p->packet.size <= BODY_SIZE && ns >= r->last_ns);
	if (!p->packet.n_events++)
		p->packet.begin_ns = ns;
	p->packet.end_ns = r->last_ns = ns;
}

int profile_write_sample(struct kernel_profile *p, struct profile_ring *r,
			 struct profile_source *source, const struct kernel_perf_sample *s,
			 const struct kernel_perf_parts *parts, uint64_t ns, struct kernel_drain *k,
			 struct diag *d)
{
	bool is_own = *source->name;
	uint32_t extras = is_own ? KERNEL_PERF_STACKS
				 : kernel_classes_extras(&k->classes, parts->raw, parts->raw_size);
	int err;
	uint8_t *to = profile_begin_event(p, r, &ns, k, &err, d);

	if (is_own && !err)
		err = describe(source, k);
	to = is_own ? put_own(to, source, s, (uint32_t)ns)
		    : put_record(to, &k->classes, parts, (uint32_t)ns);
	if (!to || err) {
		r->lost++;
		return err;
	}
	p->packet.has_births |= !is_own && k->classes.was_birth;
	profile_end_event(p, r, put_extras(to, parts, r->perf.n_counters, extras), ns, k);
	return 0;
}
