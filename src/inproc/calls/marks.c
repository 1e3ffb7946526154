/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/marks.c - the USDT marks among the sites of a target.
 *
 * Their stubs (inproc/usdt) lie in the target's arena behind those of functions.  They are switched by
 * the enable word of their event, which a stub reads, so no byte of them ever changes.  A mark's
 * semaphore is counted up exactly as long as its site is switched on.
 */
#include <elf.h>
#include <string.h>

#include "inproc/calls/target.h"

static uint32_t count_marks(const struct target *t, size_t *schema_bytes)
{
	uint32_t n = 0;

	*schema_bytes = 0;
	for (uint32_t i = 0; i < t->plan.head->n_sites; i++)
		if (t->plan.sites[i].kind == ABI_SITE_MARK) {
			n++;
			*schema_bytes += strlen(t->plan.text + t->plan.sites[i].schema) + 1;
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

static struct usdt_mark *add(struct target *t, uint32_t i)
{
	const struct abi_plan_site *s = &t->plan.sites[i];
	const struct loaded_segment *c = constants(t);

	if (!loaded_contains(&t->loaded, t->loaded.bias + s->address, s->window, PF_R | PF_X) ||
	    (s->semaphore && !loaded_contains(&t->loaded, t->loaded.bias + s->semaphore,
					      sizeof(uint16_t), PF_R | PF_W)))
		return NULL;
	return usdt_add(&t->usdt, s, t->plan.operands + s->operand, t->plan.text + s->schema,
			t->loaded.bias, c->begin, c->end);
}

bool marks_make(struct target *t)
{
	size_t schema_bytes;
	uint32_t n = count_marks(t, &schema_bytes), sites = t->plan.head->n_sites;

	if (!n)
		return true;
	t->marks = target_memory(sites * sizeof(struct usdt_mark *));
	if (!t->marks || !usdt_make(&t->usdt, n, schema_bytes))
		return false;
	for (uint32_t i = 0; i < sites; i++)
		if (t->plan.sites[i].kind == ABI_SITE_MARK)
			t->marks[i] = add(t, i);
	return true;
}

void marks_moved(struct target *t)
{
	const struct loaded_segment *c = constants(t);

	for (uint32_t i = 0; t->marks && i < t->plan.head->n_sites; i++) {
		struct usdt_mark *m = t->marks[i];

		if (!m)
			continue;
		m->bias = t->loaded.bias;
		m->address = t->loaded.bias + t->plan.sites[i].address;
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
