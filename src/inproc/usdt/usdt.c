/* SPDX-License-Identifier: MIT */
/* inproc/usdt/usdt.c - marks become events; the slow path of a hit. */
#include "inproc/usdt/usdt.h"

#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/schema.h"
#include "inproc/emit.h"
#include "inproc/usdt/internal.h"

static const uint64_t never_enabled;
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* ---------------------------------------------------------------- events */

bool usdt_make(struct usdt *u, uint32_t n, size_t schema_bytes)
{
	/* A schema is stored as name and fields: one NUL more. */
	size_t text_bytes = schema_bytes + n,
	       bytes = n * (sizeof *u->marks + sizeof *u->events) + text_bytes;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*u = (struct usdt){ .most = n };
	if (p == MAP_FAILED)
		return false;
	usdt_keep_start();
	u->marks = (struct usdt_mark *)p;
	u->events = (struct duet_i_site *)(u->marks + n);
	u->text = (char *)(u->events + n);
	u->text_bytes = text_bytes;
	return true;
}

/* Whether field @word takes the bytes that the operand gives. */
static bool is_of(struct schema_text word, const struct abi_plan_operand *o)
{
	struct schema_type t;

	if (!schema_read_type(word, &t))
		return false;
	if (o->is_text)
		return t.base == 's';
	return (t.shape == SCHEMA_ONE || t.shape == SCHEMA_ENUM) && t.base != 's' &&
	       t.base != 'c' && t.bits == 8 * o->bytes;
}

/* Parses "LEVEL CHANNEL:NAME FIELDS".  False if it is not so, or does not fit the operands. */
static bool read_schema(struct schema_text t, const struct abi_plan_operand *operands, uint32_t n,
			uint64_t *level, struct schema_text *name, struct schema_text *fields)
{

	if (!schema_read_number(&t, UINT32_MAX, level))
		return false;
	*name = schema_next_word(&t);
	*fields = t;
	if (name->p == name->end || !memchr(name->p, ':', (size_t)(name->end - name->p)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct schema_text type = schema_next_word(&t), field = schema_next_word(&t);

		if (field.p == field.end || !is_of(type, &operands[i]))
			return false;
	}
	schema_skip_spaces(&t);
	return t.p == t.end;
}

static const char *store_text(struct usdt *u, const char *p, size_t n)
{
	char *to = u->text + u->text_used;

	if (n >= u->text_bytes - u->text_used)
		return NULL;
	memcpy(to, p, n);
	to[n] = 0;
	u->text_used += n + 1;
	return to;
}

static bool is_event(const struct duet_i_site *e, struct schema_text name,
		     struct schema_text fields)
{
	return schema_is(name, e->name) && schema_is(fields, e->schema);
}

static struct duet_i_site *find_event(struct usdt *u, struct schema_text name,
				      struct schema_text fields, uint64_t level)
{
	struct duet_i_site *e = &u->events[u->n_events];

	for (uint32_t i = 0; i < u->n_events; i++)
		if (is_event(&u->events[i], name, fields))
			return &u->events[i];
	*e = (struct duet_i_site){ .enabled = &never_enabled,
				   .kind = DUET_I_TYPED,
				   .level = (uint32_t)level };
	e->name = store_text(u, name.p, (size_t)(name.end - name.p));
	e->schema = e->name ? store_text(u, fields.p, (size_t)(fields.end - fields.p)) : NULL;
	if (!e->schema)
		return NULL;
	u->n_events++;
	return e;
}

uintptr_t usdt_entry_address(void)
{
	return (uintptr_t)usdt_entry;
}

struct usdt_mark *usdt_add(struct usdt *u, uint64_t address,
			   const struct abi_plan_operand *operands, uint32_t n, const char *schema,
			   size_t size, uintptr_t bias, uintptr_t low, uintptr_t high)
{
	struct usdt_mark *m = &u->marks[u->n_marks];
	struct schema_text name, fields;
	uint64_t level;

	if (u->n_marks == u->most || n > ABI_PLAN_OPERANDS_MAX ||
	    !read_schema((struct schema_text){ schema, schema + size }, operands, n, &level, &name,
			 &fields))
		return NULL;
	*m = (struct usdt_mark){ .event = find_event(u, name, fields, level),
				 .bias = bias,
				 .address = bias + address,
				 .low = low,
				 .high = high,
				 .n_operands = n };
	if (!m->event)
		return NULL;
	memcpy(m->operands, operands, n * sizeof *operands);
	u->n_marks++;
	return m;
}

void usdt_register(struct usdt *u)
{
	if (u->n_events)
		duet_i_register(u->events, u->events + u->n_events, &u->api);
}

void usdt_semaphore(uintptr_t at, int by)
{
	__atomic_add_fetch((uint16_t *)at, (uint16_t)by, __ATOMIC_SEQ_CST);
}

/* ---------------------------------------------------------------- the slow path */

/* What the slow path calls in libc may have marks itself: those are lost, and counted. */
void usdt_slow(const struct usdt_mark *m, const void *payload, uint32_t size)
{
	uint64_t word = load(m->event->enabled);

	if (is_inside) {
		for (uint32_t i = 0; i < ABI_SESSIONS; i++)
			if (ABI_ENABLED(word, i))
				count_lost(i);
		return;
	}
	is_inside = true;
	emit_slow(m->event, payload, size, (const void *)m->address, NULL);
	is_inside = false;
}
