/* SPDX-License-Identifier: MIT */
/* ctf/decode/packet.c - decodes the header and context of a packet.  See decode.h. */
#include <errno.h>

#include "ctf/decode/decode.h"
#include "ctf/decode/vm.h"

static void note(struct ctf_packet_info *info, const char *name, uint64_t v,
		 struct ctf_location place, uint32_t *size_seen)
{
	if (!strcmp(name, "timestamp_begin") || !strcmp(name, "=clock")) {
		info->begin = v;
		info->begin_at = place;
		info->has_begin = true;
	} else if (!strcmp(name, "timestamp_end")) {
		info->end = v;
		info->end_at = place;
		info->has_end = true;
	} else if (!strcmp(name, "content_size")) {
		info->content_bits = v;
		info->content_at = place;
		*size_seen |= 1;
	} else if (!strcmp(name, "packet_size")) {
		info->packet_bits = v;
		info->packet_at = place;
		*size_seen |= 2;
	} else if (!strcmp(name, "packet_seq_num")) {
		info->sequence = v;
		info->sequence_at = place;
		info->has_sequence = true;
	} else if (!strcmp(name, "events_discarded")) {
		info->discarded = v;
		info->discarded_at = place;
		info->has_discarded = true;
	}
}

static int packet_fault(struct ctf_fault *f, uint64_t at, const char *what)
{
	if (what)
		*f = (struct ctf_fault){ .at_bits = at, .what = what };
	return -EINVAL;
}

static bool is_other_uuid(const struct ctf_meta *m, const struct ctf_walk *w,
			  const struct ctf_op *op, uint64_t at)
{
	return op->code == OP_ARRAY && !strcmp(ctf_op_role(op), "uuid") && op->count == 16 &&
	       op->size_bits == 8 && m->has_uuid && at % 8 == 0 &&
	       memcmp(w->packet + at / 8, m->uuid, 16);
}

/*
 * Checks magic and uuid, and finds the stream class.
 *
 * With a right magic number another uuid is only noted: some writers give each stream a uuid of its
 * own, and copies keep that of their original.
 */
static int read_packet_header(const struct ctf_meta *m, struct ctf_walk *w,
			      struct ctf_packet_info *info, uint64_t *stream_id,
			      struct ctf_fault *f)
{
	const struct ctf_op *op, *next;
	bool has_magic = false;

	for (op = w->ops; op->code != OP_END; op = next) {
		const char *role;
		uint64_t at, v;
		uint32_t bits;

		next = vm_move(w, op);
		if (!next) {
			w->op = (uint32_t)(op - w->ops);
			vm_explain(w, f);
			return -EINVAL;
		}
		at = w->base + op->offset_bits;
		if (is_other_uuid(m, w, op, at)) {
			if (!has_magic)
				return packet_fault(f, at,
						    "a packet of another trace (its uuid differs)");
			info->other_uuid_at = (uint32_t)(at / 8); /* behind the magic number */
		}
		if (!vm_integer(w, op, &v, &bits))
			continue;
		role = ctf_op_role(op);
		if (!strcmp(role, "magic") && v != 0xC1FC1FC1)
			return packet_fault(f, at, "no packet: the magic number is wrong");
		has_magic |= !strcmp(role, "magic");
		if (!strcmp(role, "stream_id"))
			*stream_id = v;
		else if (!strcmp(role, "stream_instance_id"))
			info->instance = v;
	}
	return 0;
}

static int read_packet_context(struct ctf_walk *w, struct ctf_packet_info *info, uint64_t file_bits,
			       struct ctf_fault *f)
{
	const struct ctf_op *op, *next;
	uint32_t seen = 0, bits;
	uint64_t v;

	for (op = w->ops; op->code != OP_END; op = next) {
		next = vm_move(w, op);
		if (!next) {
			w->op = (uint32_t)(op - w->ops);
			vm_explain(w, f);
			return -EINVAL;
		}
		if (!vm_integer(w, op, &v, &bits))
			continue;
		note(info, ctf_op_role(op), v,
		     (struct ctf_location){ w->base + op->offset_bits, bits, op->is_big }, &seen);
		if (op->name && !strcmp(op->name, "cpu_id")) /* it has no role */
			info->cpu = (uint32_t)v;
	}
	info->has_size = seen;
	if (!(seen & 2))
		info->packet_bits = seen & 1 ? info->content_bits : file_bits;
	if (!(seen & 1))
		info->content_bits = info->packet_bits;
	return 0;
}

/* Headers have some dozen bytes.  Files with many that claim all of the file would be read again for each. */
enum { HEADER_BYTES_MAX = 1 << 16 };

int ctf_packet_read(const struct ctf_meta *m, const uint8_t *bytes, uint64_t size,
		    struct ctf_packet_info *info, uint64_t *slots, struct ctf_fault *f)
{
	const uint64_t none = UINT64_MAX;
	uint64_t stream_id = none, bits = size * 8;
	uint64_t end = size < HEADER_BYTES_MAX ? bits : HEADER_BYTES_MAX * 8;
	struct ctf_walk w;

	*info = (struct ctf_packet_info){ .cpu = UINT32_MAX };
	vm_begin(&w, m->packet_header_program, bytes, 0, end, slots);
	if (read_packet_header(m, &w, info, &stream_id, f))
		return -EINVAL;
	info->stream = ctf_meta_stream(m, stream_id == none ? 0 : stream_id);
	if (!info->stream && stream_id == none && !m->streams->next)
		info->stream = m->streams; /* with any number */
	if (!info->stream)
		return packet_fault(f, 0, "a packet of a stream that the metadata do not describe");
	vm_begin(&w, info->stream->packet_program, bytes, w.at, end, slots);
	if (read_packet_context(&w, info, bits, f))
		return -EINVAL;
	info->body_bits = w.at;
	if (info->content_bits < info->body_bits)
		return packet_fault(f, 0, "a packet that claims to be shorter than its own header");
	if (info->packet_bits < info->content_bits)
		return packet_fault(f, 0, "a packet that claims less room than content");
	if (info->packet_bits % 8)
		return packet_fault(f, 0, "a packet that claims no whole number of bytes");
	return 0;
}
