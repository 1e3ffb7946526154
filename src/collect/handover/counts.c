/* SPDX-License-Identifier: MIT */
/* collect/handover/counts.c - marks of traces, and the sums between them. */
#include "collect/handover/counts.h"

#include <assert.h>
#include <stddef.h>

void counts_begin(struct counts *c, uint32_t number)
{
	struct counts_mark *m = &c->marks[number % COUNTS_MARKS];

	assert(number > 0);
	store_release(&m->number, 0); /* we may be killed: no mark has another's sum */
	m->before = ctf_ledger_read(&c->ledger);
	store_release(&m->number, number);
}

static const struct counts_mark *find(const struct counts *c, uint32_t number)
{
	const struct counts_mark *m = &c->marks[number % COUNTS_MARKS];

	return load_acquire(&m->number) == number ? m : NULL;
}

/* The mark of the trace that was begun next; NULL: @number is the last. */
static const struct counts_mark *next_of(const struct counts *c, uint32_t number)
{
	const struct counts_mark *next = NULL;

	for (const struct counts_mark *m = c->marks; m < c->marks + COUNTS_MARKS; m++)
		if (m->number > number && (!next || m->number < next->number))
			next = m;
	return next;
}

struct ctf_sum counts_of(const struct counts *c, uint32_t number)
{
	const struct counts_mark *m = find(c, number), *next = next_of(c, number);

	if (!m)
		return (struct ctf_sum){ 0 };
	return ctf_ledger_less(next ? next->before : ctf_ledger_read(&c->ledger), m->before);
}

/*
 * Only the last trace with packets can have one that the ledger lacks.  Later ones, begun by
 * collectors that died before their first packet, then begin behind it.
 */
void counts_settle(struct counts *c, uint32_t number, uint64_t found)
{
	const struct counts_mark *m = find(c, number), *next = next_of(c, number);

	if (!m || (next && next->before.bytes != ctf_ledger_read(&c->ledger).bytes))
		return;
	ctf_ledger_settle(&c->ledger, m->before, found);
	for (struct counts_mark *later = c->marks; later < c->marks + COUNTS_MARKS; later++)
		if (later->number > number)
			later->before = ctf_ledger_read(&c->ledger);
}
