/* SPDX-License-Identifier: MIT */
/*
 * patch/plan.c - a plan out of an analysed file and a request: abi/plan.h has its layout.
 */
#include "patch/internal.h"
#include "symbol/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"

enum { ELIDE_AFTER_CALLS = 256, LEVEL = 13, FIELD_MOST = 31 };

struct plan {
	const struct patch_file *f;
	const struct patch_request *r;
	struct patch_count *counts;    /* NULL: not wanted */
	bool *matched;		       /* of all patterns, for one function or mark */
	const struct patch_mark *mark; /* that is added */
	const char *names;	       /* of the fields of the mark, as wanted */
	struct text sites, fixups, operands, code, text;
	uint32_t n_sites;
	enum patch_reason failed; /* displacing failed though the analysis said otherwise */
};

static uint32_t add_text(struct plan *p, const char *text, size_t size)
{
	uint32_t at = (uint32_t)p->text.size;

	if (!size)
		return 0; /* the first byte of all texts is a NUL */
	text_add(&p->text, text, size);
	text_add(&p->text, "", 1);
	return at;
}

/* ---------------------------------------------------------------- sites */

static void add_code(struct plan *p, struct abi_plan_site *s)
{
	struct patch_code code = { .size = 0 };

	s->code = (uint32_t)p->code.size;
	s->fixup = (uint32_t)(p->fixups.size / sizeof(struct abi_plan_fixup));
	if (s->kind == ABI_SITE_PROLOGUE || s->kind == ABI_SITE_ISLAND)
		p->failed = patch_displace(p->f, s->address, s->window, &code);
	else if (s->kind == ABI_SITE_MARK)
		p->failed = patch_displace_mark(p->f, p->mark, &code, &s->lead);
	s->code_bytes = (uint16_t)code.size;
	s->n_fixups = (uint16_t)code.n_fixups;
	text_add(&p->code, (const char *)code.bytes, code.size);
	text_add(&p->fixups, (const char *)code.fixups, code.n_fixups * sizeof *code.fixups);
}

static void add_site(struct plan *p, struct abi_plan_site *s)
{
	uint64_t size;
	const uint8_t *bytes = patch_bytes(p->f, s->address, &size);

	assert(bytes && size >= s->window);
	memcpy(s->expected, bytes, s->window);
	if (s->kind == ABI_SITE_ISLAND) {
		bytes = patch_bytes(
			p->f, s->address + PATCH_HOP_BYTES + (uint64_t)(int64_t)s->island, &size);
		assert(bytes && size >= PATCH_JUMP_BYTES);
		memcpy(s->expected + ABI_PLAN_ISLAND_AT, bytes, PATCH_JUMP_BYTES);
	}
	add_code(p, s);
	text_add(&p->sites, (const char *)s, sizeof *s);
	p->n_sites++;
}

/* ---------------------------------------------------------------- functions */

static void count(struct plan *p, uint32_t first, uint32_t n, bool is_in_plan,
		  enum patch_reason reason)
{
	for (uint32_t i = first; p->counts && i < first + n; i++) {
		if (!p->matched[i])
			continue;
		p->counts[i].matched++;
		if (reason)
			p->counts[i].refused[reason]++;
		else if (is_in_plan)
			p->counts[i].patched++;
	}
}

/* Whether the last of the patterns that match includes the function. */
static bool is_selected(struct plan *p, const struct patch_function *fn,
			const char *const *patterns, uint32_t n, uint32_t first)
{
	bool is_in = false;

	for (uint32_t i = 0; i < n; i++) {
		bool match = patch_file_is(patterns[i], p->f->path, p->f->soname) &&
			     patch_selects(p->f, fn, patterns[i]);

		p->matched[first + i] = match;
		if (match)
			is_in = *patterns[i] != '!';
	}
	return is_in;
}

/* ---------------------------------------------------------------- arguments */

enum { ARGUMENTS_LEVEL = 13 };

static bool is_identifier(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && !name[n] && n < 200;
}

/* Adds the operands of the function's signature to @s, the result's last. */
static void add_arguments(struct plan *p, const struct patch_function *fn, struct abi_plan_site *s)
{
	struct text schema = { 0 };
	struct signature g;
	unsigned n;

	if (!is_identifier(fn->name) || !p->f->names ||
	    signature_of(p->f->names, fn->address, &g, NULL)) {
		for (uint32_t i = 0; p->counts && i < p->r->n_patterns; i++)
			p->counts[i].without_arguments += p->matched[i];
		return;
	}
	if (!g.n && !g.has_result)
		return;
	n = g.n < ABI_PLAN_OPERANDS_MAX ? g.n : ABI_PLAN_OPERANDS_MAX - 1;
	s->operand = (uint32_t)(p->operands.size / sizeof g.result.at);
	text_addf(&schema, "%d calls:%s", ARGUMENTS_LEVEL, fn->name);
	for (unsigned i = 0; i < n; i++) {
		text_addf(&schema, " %s %s", g.parameters[i].type, g.parameters[i].name);
		text_add(&p->operands, (const char *)&g.parameters[i].at, sizeof g.result.at);
	}
	if (g.has_result) {
		text_addf(&schema, " %s %s", g.result.type, g.result.name);
		text_add(&p->operands, (const char *)&g.result.at, sizeof g.result.at);
	}
	p->text.failed |= schema.failed;
	s->n_operands = (uint8_t)(n + g.has_result);
	s->schema = add_text(p, schema.bytes ? schema.bytes : "", schema.size);
	s->flags |= ABI_SITE_ALWAYS | (n ? ABI_SITE_ARGUMENTS : 0) |
		    (g.has_result ? ABI_SITE_RESULT : 0);
	text_fini(&schema);
}

static void add_function(struct plan *p, const struct patch_function *fn)
{
	const struct patch_request *r = p->r;
	bool is_recorded = is_selected(p, fn, r->patterns, r->n_patterns, 0);
	bool is_switch = is_selected(p, fn, r->within, r->n_within, r->n_patterns);
	struct abi_plan_site s = { .address = fn->site,
				   .function_begin = fn->address,
				   .function_bytes = fn->size,
				   .flags = fn->flags,
				   .stack_bytes = fn->stack_bytes,
				   .kind = fn->kind,
				   .island = fn->island,
				   .window = fn->window };

	count(p, 0, r->n_patterns, is_recorded, fn->reason);
	count(p, r->n_patterns, r->n_within, is_switch, fn->reason);
	if (fn->reason || !(is_recorded || is_switch || fn->flags))
		return;
	if (is_recorded && r->has_arguments)
		add_arguments(p, fn, &s);
	s.flags |= (is_switch ? ABI_SITE_SWITCH | ABI_SITE_ALWAYS : 0) |
		   (is_recorded ? 0 : ABI_SITE_HIDDEN);
	s.name = add_text(p, fn->name, strlen(fn->name));
	add_site(p, &s);
}

/* ---------------------------------------------------------------- marks */

/* The next word of p->names, or "arg<i>"; NAME:str is text. */
static bool take_name(struct plan *p, unsigned i, char name[FIELD_MOST + 1])
{
	size_t size, n;

	p->names += strspn(p->names, " ,\t");
	size = strcspn(p->names, " ,\t");
	n = size > 4 && !memcmp(p->names + size - 4, ":str", 4) ? size - 4 : size;
	if (!size || n > FIELD_MOST)
		snprintf(name, FIELD_MOST + 1, "arg%u", i + 1);
	else
		snprintf(name, FIELD_MOST + 1, "%.*s", (int)n, p->names);
	p->names += size;
	return n < size;
}

static void add_field(struct plan *p, const struct patch_mark *m, unsigned i,
		      struct abi_plan_operand *o, struct text *schema)
{
	char name[FIELD_MOST + 1];

	*o = m->operands[i];
	o->is_text = take_name(p, i, name) && o->bytes == 8;
	if (o->is_text)
		text_addf(schema, " str %s", name);
	else
		text_addf(schema, " %c%u %s",
			  m->floats >> i & 1 ? 'f'
			  : o->is_signed     ? 'i'
					     : 'u',
			  o->bytes * 8, name);
}

static void add_mark(struct plan *p, const struct patch_mark *m)
{
	const struct patch_request *r = p->r;
	const uint32_t first = r->n_patterns + r->n_within;
	struct abi_plan_operand operands[ABI_PLAN_OPERANDS_MAX] = { 0 };
	struct text schema = { 0 };
	const struct patch_range *range = patch_range_at(p->f, m->address);
	const char *name = range ? patch_name_of(p->f, range->begin) : "";
	bool is_wanted = false;
	struct abi_plan_site s = { .address = m->site,
				   .kind = m->kind,
				   .window = m->window,
				   .lead = m->lead,
				   .semaphore = m->semaphore,
				   .n_operands = m->n_operands };

	for (uint32_t i = 0; i < r->n_marks; i++) {
		p->matched[first + i] = patch_mark_is(p->f, m, r->marks[i].pattern);
		if (p->matched[first + i]) {
			is_wanted = true;
			p->names = r->marks[i].names ? r->marks[i].names : "";
		}
	}
	count(p, first, r->n_marks, is_wanted, m->reason);
	if (!is_wanted || m->reason)
		return;
	assert(range);
	s.function_begin = range->begin;
	s.function_bytes = (uint32_t)(range->end - range->begin);
	s.name = add_text(p, name, strlen(name));
	text_addf(&schema, "%d %s:%s", LEVEL, m->provider, m->name);
	for (unsigned i = 0; i < m->n_operands; i++)
		add_field(p, m, i, &operands[i], &schema);
	p->text.failed |= schema.failed;
	s.schema = add_text(p, schema.bytes ? schema.bytes : "", schema.size);
	s.operand = (uint32_t)(p->operands.size / sizeof *operands);
	text_add(&p->operands, (const char *)operands, m->n_operands * sizeof *operands);
	p->mark = m;
	add_site(p, &s);
	text_fini(&schema);
}

/* Functions and marks, ascending by address. */
static void add_all(struct plan *p)
{
	const struct patch_file *f = p->f;
	uint32_t m = 0;

	for (uint32_t i = 0; i < f->n_functions && !p->failed; i++) {
		const struct patch_function *fn = &f->functions[i];

		while (m < f->n_marks && f->marks[m].address < fn->address)
			add_mark(p, &f->marks[m++]);
		add_function(p, fn);
	}
	while (m < f->n_marks && !p->failed)
		add_mark(p, &f->marks[m++]);
}

/* ---------------------------------------------------------------- the file */

static uint32_t put_part(struct text *all, const struct text *part)
{
	uint32_t at = (uint32_t)all->size;

	text_add(all, part->size ? part->bytes : "", part->size);
	return at;
}

static void put_together(struct plan *p, struct text *all)
{
	const struct patch_request *r = p->r;
	struct abi_plan h = { .magic = ABI_PLAN_MAGIC,
			      .version = ABI_PLAN_VERSION,
			      .generation = r->generation,
			      .build_id_bytes = p->f->id_bytes,
			      .mode = r->mode,
			      .depth = r->depth,
			      .threshold_ns = r->threshold_ns,
			      .elide_under_ns = r->elide_under_ns,
			      .elide_after_calls = r->elide_after_calls ? r->elide_after_calls
									: ELIDE_AFTER_CALLS,
			      .flags = r->n_within ? ABI_PLAN_WITHIN : 0,
			      .n_sites = p->n_sites };

	h.path = add_text(p, p->f->path, strlen(p->f->path));
	memcpy(h.build_id, p->f->id, sizeof h.build_id);
	text_add(all, (const char *)&h, sizeof h);
	h.sites = put_part(all, &p->sites);
	h.fixups = put_part(all, &p->fixups);
	h.n_fixups = (uint32_t)(p->fixups.size / sizeof(struct abi_plan_fixup));
	h.operands = put_part(all, &p->operands);
	h.n_operands = (uint32_t)(p->operands.size / sizeof(struct abi_plan_operand));
	h.code = put_part(all, &p->code);
	h.code_bytes = (uint32_t)p->code.size;
	h.text = put_part(all, &p->text);
	h.text_bytes = (uint32_t)p->text.size;
	h.size_bytes = (uint32_t)all->size;
	all->failed |= p->sites.failed || p->fixups.failed || p->operands.failed ||
		       p->code.failed || p->text.failed;
	if (!all->failed)
		memcpy(all->bytes, &h, sizeof h);
}

static int write_file(const struct patch_file *f, const struct text *all, int dir, struct diag *d)
{
	char name[128];
	int fd, err;

	snprintf(name, sizeof name, ".%s.%d", f->id_hex, (int)getpid());
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return diag_errno(d, "cannot create the plan of %s", f->path);
	err = io_write(fd, all->bytes, all->size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, name, dir, f->id_hex))
		err = -errno;
	if (err) {
		unlinkat(dir, name, 0);
		errno = -err;
		return diag_errno(d, "cannot write the plan of %s", f->path);
	}
	return 0;
}

static int check(const struct plan *p, const struct text *all, struct diag *d)
{
	if (p->failed)
		return diag_fail(d, -EIO, "%s: it has changed since it was analysed", p->f->path);
	if (all->failed)
		return diag_fail(d, -ENOMEM, "%s: no memory for its plan", p->f->path);
	if (p->n_sites > ABI_PLAN_SITES || all->size > ABI_PLAN_MOST_BYTES)
		return diag_fail(d, -E2BIG,
				 "%s: %u functions are too many for one plan (%d): choose fewer",
				 p->f->path, p->n_sites, ABI_PLAN_SITES);
	return 0;
}

int patch_make_plan(const struct patch_file *f, const struct patch_request *r, int dir,
		    struct patch_count *counts, struct diag *d)
{
	struct plan p = { .f = f, .r = r, .counts = counts };
	struct text all = { 0 };
	int err;

	p.matched = calloc((size_t)r->n_patterns + r->n_within + r->n_marks + 1, 1);
	if (!p.matched)
		return diag_fail(d, -ENOMEM, "%s: no memory for its plan", f->path);
	text_add(&p.text, "", 1);
	add_all(&p);
	put_together(&p, &all);
	err = check(&p, &all, d);
	if (!err && (p.n_sites || !faccessat(dir, f->id_hex, F_OK, 0)))
		err = write_file(f, &all, dir, d);
	text_fini(&p.sites);
	text_fini(&p.fixups);
	text_fini(&p.operands);
	text_fini(&p.code);
	text_fini(&p.text);
	text_fini(&all);
	free(p.matched);
	return err ? err : (int)p.n_sites;
}
