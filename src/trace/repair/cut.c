/* SPDX-License-Identifier: MIT */
/*
 * trace/repair/cut.c - the part of a packet that lies in the time that is wanted.
 *
 * Header and context are copied with other numbers, then the bytes of the events that stay.  The
 * packet begins at the wanted time or at its old begin, whichever is later, but not after its first
 * event.  That is never before the event ahead of it, so times of few bits mean the same.
 */
#include <inttypes.h>
#include <string.h>

#include "ctf/decode/public.h"
#include "trace/repair/repair_stream.h"

/* The clock's value at @ns; @up: the first one that is not earlier. */
static uint64_t clock_at(const struct stream *s, int64_t ns, bool up)
{
	__int128 since = (__int128)ns - (int64_t)s->base_ns;

	if (since <= 0)
		return 0;
	if (s->freq) {
		since = since * (__int128)s->freq + (up ? 999999999 : 0);
		since /= 1000000000;
	}
	return since > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)since;
}

uint64_t cut_latest(const struct stream *s)
{
	return clock_at(s, INT64_MAX, false);
}

void cut_open(struct cut *c, const struct stream *s, const struct repair_options *o)
{
	bool is_of_states = !strncmp(s->info.name, "state", 5);

	*c = (struct cut){ .to = UINT64_MAX, .is_given = o->is_cut };
	if (!o->is_cut)
		return;
	if (o->from_ns != INT64_MIN && !is_of_states)
		c->from = clock_at(s, o->from_ns, true);
	if (o->to_ns != INT64_MAX)
		c->to = clock_at(s, o->to_ns, false);
}

bool cut_is_outside(struct cut *c, const struct ctf_packet_info *info)
{
	if (!c->is_given)
		return false;
	if (info->has_end && info->end && info->end < c->from) {
		c->discarded = info->discarded;
		return true;
	}
	return info->begin > c->to;
}

static uint32_t larger(const struct ctf_program *p, uint32_t alignment)
{
	for (uint32_t i = 0; p && i < p->n_ops; i++)
		if (p->ops[i].align_bits > alignment)
			alignment = p->ops[i].align_bits;
	return alignment;
}

uint64_t cut_alignment(const struct stream *s, const struct ctf_stream_class *class)
{
	uint32_t alignment = larger(class->header_program, 8);

	for (const struct ctf_event_class *e = s->info.source->meta->events; e; e = e->next)
		if (e->stream_id == class->id)
			alignment = larger(e->program, alignment);
	return alignment;
}

void cut_note_event(const struct cut *c, struct measured_packet *p, uint64_t end, uint64_t clock,
		    uint64_t alignment)
{
	uint64_t body = p->info.body_bits, before = p->end_bits;

	if (!p->has_begun) {
		if (!p->n_events || (before - body) % alignment == 0) {
			p->candidate_bits = before;
			p->first_clock = clock;
			p->n_candidates = 0;
		}
		p->n_candidates++;
		if (clock < c->from)
			return;
		p->has_begun = true;
		p->first_bits = p->last_bits = p->candidate_bits;
		p->n_candidates--;
	}
	if (clock > c->to)
		return;
	p->last_bits = end;
	p->n_kept += 1 + p->n_candidates;
	p->n_candidates = 0;
}

static bool can_be_cut(const struct measured_packet *p)
{
	const struct ctf_packet_info *i = &p->info;

	return i->body_bits % 8 == 0 && i->content_at.size_bits && i->packet_at.size_bits &&
	       is_patchable(&i->content_at) && is_patchable(&i->packet_at) &&
	       is_patchable(&i->begin_at) && is_patchable(&i->end_at) &&
	       is_patchable(&i->sequence_at) && is_patchable(&i->discarded_at);
}

/* Numbers count from the part's begin. */
static void count_anew(struct cut *c, struct measured_packet *p, uint8_t *header)
{
	if (!c->has_written)
		c->sequence = p->info.sequence;
	c->has_written = true;
	if (p->info.has_sequence)
		patch(header, &p->info.sequence_at, p->info.sequence - c->sequence);
	if (p->info.has_discarded)
		patch(header, &p->info.discarded_at, p->info.discarded - c->discarded);
}

bool cut_packet(struct cut *c, struct measured_packet *p, uint8_t *header)
{
	struct ctf_packet_info *i = &p->info;
	uint64_t content, begin;

	if (!c->is_given || !can_be_cut(p))
		return false;
	if (!p->n_kept)
		p->first_bits = p->last_bits = i->body_bits;
	count_anew(c, p, header);
	content = i->body_bits + p->last_bits - p->first_bits;
	i->packet_bits = (content + 7) & ~7ull;
	patch(header, &i->content_at, content);
	patch(header, &i->packet_at, i->packet_bits);
	begin = p->n_kept && p->first_clock < c->from ? p->first_clock : c->from;
	if (i->has_begin && i->begin < begin)
		patch(header, &i->begin_at, i->begin = begin);
	if (i->has_end && i->end > c->to)
		patch(header, &i->end_at, i->end = c->to);
	p->n_events = p->n_kept;
	return true;
}
