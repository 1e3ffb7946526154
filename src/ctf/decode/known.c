/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/known.c - see known.h.
 *
 * The labels are all combinations of an operation and of flags, in the kernel's order of letters
 * (blk_fill_rwbs()): F, the operation, F, A, S, M.
 */
#include "ctf/decode/known.h"

#include <errno.h>
#include <string.h>

enum { N_OPERATIONS = 6, N_FLAGS = 5, N_LABELS = N_OPERATIONS << N_FLAGS, LETTERS_MAX = 8 };

static const struct {
	const char *letters;
	uint32_t bits;
} operations[N_OPERATIONS] = { { "N", 0 }, { "W", 1 },	  { "D", 2 },
			       { "R", 4 }, { "DE", 130 }, { "F", 256 } };

/* The first stands before the operation. */
static const struct {
	char letter;
	uint32_t bit;
} flags[N_FLAGS] = { { 'F', 1024 }, { 'F', 512 }, { 'A', 8 }, { 'S', 32 }, { 'M', 64 } };

static void spell(char *to, struct ctf_label *label, unsigned operation, unsigned set)
{
	uint64_t bits = operations[operation].bits;

	label->text = to;
	if (set & 1)
		*to++ = flags[0].letter;
	to = stpcpy(to, operations[operation].letters);
	for (unsigned i = 1; i < N_FLAGS; i++)
		if (set & 1u << i)
			*to++ = flags[i].letter;
	*to = 0;
	for (unsigned i = 0; i < N_FLAGS; i++)
		bits |= set & 1u << i ? flags[i].bit : 0;
	label->first = label->last = bits;
}

/* All classes share them. */
static const struct ctf_label *request_labels(struct ctf_meta *m)
{
	struct ctf_label *labels;
	char *text;

	if (m->request_labels)
		return m->request_labels;
	labels = ctf_meta_alloc(m, N_LABELS * sizeof *labels);
	text = ctf_meta_alloc(m, (size_t)N_LABELS * LETTERS_MAX);
	if (!labels || !text)
		return NULL;
	for (unsigned i = 0; i < N_LABELS; i++)
		spell(text + (size_t)i * LETTERS_MAX, &labels[i], i >> N_FLAGS,
		      i & ((1u << N_FLAGS) - 1));
	m->request_labels = labels;
	return labels;
}

static struct ctf_type *request_type(struct ctf_meta *m, const struct ctf_type *integer)
{
	struct ctf_type *t = ctf_meta_alloc(m, sizeof *t);
	const struct ctf_label *labels = request_labels(m);

	if (!t || !labels)
		return NULL;
	*t = *integer;
	t->kind = CTF_ENUM;
	t->is_known = true;
	t->of = integer;
	t->labels = labels;
	t->n_members = N_LABELS;
	return t;
}

static bool is_request(const struct ctf_member *field)
{
	const char *name = field->name + (*field->name == '_');

	return !strcmp(name, "rwbs") && field->type->kind == CTF_INTEGER;
}

static bool is_kernel(const struct ctf_meta *m)
{
	const char *domain = ctf_meta_env(m, "domain");

	return domain && !strcmp(domain, "kernel");
}

/* The struct and its members are replaced, because classes may share them. */
static int replace(struct ctf_meta *m, struct ctf_event_class *e, uint32_t i)
{
	const struct ctf_type *old = e->fields;
	struct ctf_type *fields = ctf_meta_alloc(m, sizeof *fields);
	struct ctf_member *members = ctf_meta_alloc(m, old->n_members * sizeof *members);

	if (!fields || !members)
		return -ENOMEM;
	*fields = *old;
	memcpy(members, old->members, old->n_members * sizeof *members);
	members[i].type = request_type(m, old->members[i].type);
	fields->members = members;
	if (!members[i].type)
		return -ENOMEM;
	e->fields = fields;
	return 0;
}

int ctf_known_labels(struct ctf_meta *m, struct ctf_event_class *e)
{
	const struct ctf_type *t = e->fields;

	if (strncmp(e->name, "block_", 6) || !t || t->kind != CTF_STRUCT || !is_kernel(m))
		return 0;
	for (uint32_t i = 0; i < t->n_members; i++)
		if (is_request(&t->members[i]))
			return replace(m, e, i);
	return 0;
}
