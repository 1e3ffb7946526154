/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/marks.c - the USDT marks among the sites of a target, and arguments of functions.
 *
 * Their stubs (inproc/usdt) lie in the target's arena behind those of functions.  They are switched by
 * the enable word of their event, which a stub reads, so no byte of them ever changes.  A mark's
 * semaphore is counted up exactly as long as its site is switched on.
 */
#include <elf.h>
#include <string.h>

#include "base/schema.h"
#include "inproc/calls/target.h"

enum { RETURN_BYTES = 16 }; /* that the name of a result's event is longer, and more */

static uint32_t count_marks(const struct target *t, size_t *schema_bytes)
{
	uint32_t n = 0;

	*schema_bytes = 0;
	for (uint32_t i = 0; i < t->plan.head->n_sites; i++) {
		const struct abi_plan_site *s = &t->plan.sites[i];
		uint32_t more = (s->kind == ABI_SITE_MARK || s->flags & ABI_SITE_ARGUMENTS) +
				!!(s->flags & ABI_SITE_RESULT);

		n += more;
		*schema_bytes += more * (strlen(t->plan.text + s->schema) + RETURN_BYTES);
	}
	return n;
}

/* Constants of the file: the first segment that is readable alone. */
static const struct loaded_segment *constants(const struct target *t)
{
	static const struct loaded_segment none;

	for (uint32_t i = 0; i < t->loaded.n_segments; i++)
		if ((t->loaded.segments[i].flags & (PF_R | PF_W)) == PF_R)
			return &t->loaded.segments[i];
	return &none;
}

static struct usdt_mark *add(struct target *t, const struct abi_plan_site *s, uint32_t first,
			     uint32_t n, const char *schema, size_t size)
{
	const struct loaded_segment *c = constants(t);

	return usdt_add(&t->usdt, s->address, t->plan.operands + s->operand + first, n, schema,
			size, t->loaded.bias, c->begin, c->end);
}

static struct usdt_mark *add_mark(struct target *t, const struct abi_plan_site *s)
{
	const char *schema = t->plan.text + s->schema;

	if (!loaded_contains(&t->loaded, t->loaded.bias + s->address, s->window, PF_R | PF_X) ||
	    (s->semaphore && !loaded_contains(&t->loaded, t->loaded.bias + s->semaphore,
					      sizeof(uint16_t), PF_R | PF_W)))
		return NULL;
	return add(t, s, 0, s->n_operands, schema, strlen(schema));
}

/* The schema behind @n fields; its name, "calls:f", is @name. */
static struct schema_text behind(const char *schema, uint32_t n, struct schema_text *name)
{
	struct schema_text t = { schema, schema + strlen(schema) };

	schema_next_word(&t);
	*name = schema_next_word(&t);
	for (uint32_t i = 0; i < 2 * n; i++)
		schema_next_word(&t);
	return t;
}

/* "13 calls:f i32 a str b u64 result" is one event at the entry, another at the return. */
static void add_function(struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const char *schema = t->plan.text + s->schema;
	uint32_t n = s->n_operands - !!(s->flags & ABI_SITE_RESULT);
	struct schema_text name, rest = behind(schema, n, &name);
	char whole[1024];
	size_t head = (size_t)(name.end - schema), tail = (size_t)(rest.end - rest.p);

	if (s->n_operands < !!(s->flags & ABI_SITE_RESULT))
		return;
	if (s->flags & ABI_SITE_ARGUMENTS)
		t->marks[i] = add(t, s, 0, n, schema, (size_t)(rest.p - schema));
	if (!(s->flags & ABI_SITE_RESULT) || head + tail + RETURN_BYTES > sizeof whole)
		return;
	memcpy(whole, schema, head);
	memcpy(whole + head, "_return", 7);
	memcpy(whole + head + 7, rest.p, tail);
	t->results[i] = add(t, s, n, 1, whole, head + 7 + tail);
}

bool marks_make(struct target *t)
{
	size_t schema_bytes;
	uint32_t n = count_marks(t, &schema_bytes), sites = t->plan.head->n_sites;

	if (!n)
		return true;
	t->marks = target_memory(2 * (size_t)sites * sizeof(struct usdt_mark *));
	if (!t->marks || !usdt_make(&t->usdt, n, schema_bytes))
		return false;
	t->results = t->marks + sites;
	for (uint32_t i = 0; i < sites; i++)
		if (t->plan.sites[i].kind == ABI_SITE_MARK)
			t->marks[i] = add_mark(t, &t->plan.sites[i]);
		else if (t->plan.sites[i].flags & (ABI_SITE_ARGUMENTS | ABI_SITE_RESULT))
			add_function(t, i);
	return true;
}

void marks_moved(struct target *t)
{
	const struct loaded_segment *c = constants(t);
	uint32_t sites = t->plan.head->n_sites;

	for (uint32_t i = 0; t->marks && i < 2 * sites; i++) {
		struct usdt_mark *m = t->marks[i];

		if (!m)
			continue;
		m->bias = t->loaded.bias;
		m->address = t->loaded.bias + t->plan.sites[i % sites].address;
		m->low = c->begin;
		m->high = c->end;
	}
}

uint32_t marks_stub(struct target *t, uint32_t i, uint8_t *to, uintptr_t at)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const struct usdt_stub stub = { s, t->plan.code + s->code, t->plan.fixups + s->fixup,
					t->loaded.bias, t->marks ? t->marks[i] : NULL };

	return stub.mark ? usdt_stub_write(to, at, &stub) : 0;
}

void marks_register(struct target *t)
{
	if (t->marks)
		usdt_register(&t->usdt);
}

void marks_settle(struct target *t)
{
	for (uint32_t i = 0; t->marks && i < t->plan.head->n_sites; i++) {
		struct usdt_mark *m = t->marks[i];
		bool is_on = t->states[i] == SITE_ON;

		if (!m || m->is_counted == is_on)
			continue;
		m->is_counted = is_on;
		if (t->is_loaded && t->plan.sites[i].semaphore)
			usdt_semaphore(t->loaded.bias + t->plan.sites[i].semaphore, is_on ? 1 : -1);
	}
}
