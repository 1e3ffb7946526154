/* SPDX-License-Identifier: MIT */
/* ctf/decode/class_header.c - recognises the event headers that have a decoder in C: see enum
 * ctf_header. */
#include <string.h>

#include "ctf/decode/class.h"

static bool is_integer(const struct ctf_meta *m, const struct ctf_type *t, uint32_t bits,
		       uint32_t align)
{
	return (t->kind == CTF_INTEGER || t->kind == CTF_ENUM) && !t->is_signed &&
	       t->size_bits == bits && t->align_bits == align &&
	       (t->order == CTF_NATIVE ? m->order : t->order) == CTF_LITTLE;
}

static bool is_struct_of(const struct ctf_meta *m, const struct ctf_type *t, uint32_t bits0,
			 uint32_t align0, uint32_t bits1, uint32_t align1)
{
	return t->kind == CTF_STRUCT && t->n_members == 1u + !!bits1 &&
	       is_integer(m, t->members[0].type, bits0, align0) &&
	       (!bits1 || is_integer(m, t->members[1].type, bits1, align1));
}

static bool has_range(const struct ctf_type *t, const char *label, uint64_t first, uint64_t last)
{
	for (uint32_t i = 0; i < t->n_members; i++)
		if (!strcmp(t->labels[i].text, label))
			return t->labels[i].first == first && t->labels[i].last == last;
	return false;
}

/* LTTng's two headers: an enum `id`.  Its last value selects a wider id in the variant `v`. */
static bool is_lttng_header(const struct ctf_meta *m, const struct ctf_type *h, uint32_t id_bits,
			    uint32_t time_bits, uint32_t align)
{
	uint64_t extended = (1u << id_bits) - 1;
	const struct ctf_type *id, *v;

	if (h->n_members != 2 || h->align_bits != 8 || strcmp(h->members[0].name, "id"))
		return false;
	id = h->members[0].type;
	v = h->members[1].type;
	return id->kind == CTF_ENUM && is_integer(m, id, id_bits, align) && id->n_members == 2 &&
	       has_range(id, "compact", 0, extended - 1) &&
	       has_range(id, "extended", extended, extended) && v->kind == CTF_VARIANT &&
	       v->n_members == 2 && v->path && !strcmp(v->path, "id") &&
	       !strcmp(v->members[0].name, "compact") && !strcmp(v->members[1].name, "extended") &&
	       is_struct_of(m, v->members[0].type, time_bits, align, 0, 0) &&
	       is_struct_of(m, v->members[1].type, 32, 8, 64, 8) &&
	       v->members[0].type->align_bits == align && v->members[1].type->align_bits == 8;
}

/* Like LTTng's compact one, but with a third form: abi/ctf.h. */
static bool is_wide_header(const struct ctf_meta *m, const struct ctf_type *h)
{
	const struct ctf_type *id, *v;

	if (h->n_members != 2 || h->align_bits != 8 || strcmp(h->members[0].name, "id"))
		return false;
	id = h->members[0].type;
	v = h->members[1].type;
	return id->kind == CTF_ENUM && is_integer(m, id, 5, 1) && id->n_members == 3 &&
	       has_range(id, "compact", 0, 29) && has_range(id, "wide", 30, 30) &&
	       has_range(id, "extended", 31, 31) && v->kind == CTF_VARIANT && v->n_members == 3 &&
	       v->path && !strcmp(v->path, "id") && !strcmp(v->members[0].name, "compact") &&
	       !strcmp(v->members[1].name, "wide") && !strcmp(v->members[2].name, "extended") &&
	       is_struct_of(m, v->members[0].type, 27, 1, 0, 0) &&
	       is_struct_of(m, v->members[1].type, 27, 1, 16, 1) &&
	       is_struct_of(m, v->members[2].type, 32, 8, 64, 8) &&
	       v->members[0].type->align_bits == 1 && v->members[1].type->align_bits == 1 &&
	       v->members[2].type->align_bits == 8;
}

static bool is_kernel_header(const struct ctf_meta *m, const struct ctf_type *h)
{
	return is_struct_of(m, h, 32, 8, 16, 8) && h->align_bits == 8 &&
	       !strcmp(h->members[0].name, "timestamp") && !strcmp(h->members[1].name, "id");
}

enum ctf_header ctf_header_recognise(const struct ctf_meta *m, const struct ctf_type *h)
{
	if (!h)
		return CTF_HEADER_NONE;
	if (is_lttng_header(m, h, 5, 27, 1))
		return CTF_HEADER_COMPACT;
	if (is_wide_header(m, h))
		return CTF_HEADER_WIDE;
	if (is_lttng_header(m, h, 16, 32, 8))
		return CTF_HEADER_LARGE;
	return is_kernel_header(m, h) ? CTF_HEADER_KERNEL : CTF_HEADER_GENERIC;
}
