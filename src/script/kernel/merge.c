/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/merge.c - counts made in the kernel, into the machine.
 *
 * A target has two maps.  The word that says which of them are counted in is changed, for all targets
 * at once; when no program runs any more that saw the old value, the old maps are final.  It
 * is merged and removed.  After the end the other maps are merged too, and then there is no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "kernel/tracefs/public.h"
#include "script/kernel/live.h"

enum { BATCH = 1024, KEY_TEXT = 16 };

struct merge {
	struct kernel_source *s;
	struct kernel_count *count;
	int map;
	uint8_t *keys, *values; /* of a batch */
	uint64_t *buckets;
	bool is_full;
};

static uint64_t word_at(const uint8_t *p)
{
	uint64_t n;

	memcpy(&n, p, 8);
	return n;
}

/* The name that a key is the number of; NULL: it is a text. */
static const struct script_string *name_of(struct merge *m, const uint8_t *key)
{
	uint64_t number = word_at(key), mark = word_at(key + 8);
	uint32_t slot = mark & 0xff;
	const char *name;

	if (mark >> 8 == KEY_NAME_OF_CALL >> 8) {
		name = kernel_syscall_name(number < INT32_MAX ? (int)number : -1);
		name = name ? name : "unknown";
		return script_vm_string(m->s->source.vm, name, strlen(name));
	}
	if (mark >> 8 != KEY_NAME_OF_PROBE >> 8 || number >= m->s->n_probes)
		return NULL;
	if (slot >= KEY_STANDARD(0)) {
		const struct script_world_point *p = &m->s->probes[number]->point;

		name = slot == KEY_STANDARD(STANDARD_POINT)    ? p->text
		       : slot == KEY_STANDARD(STANDARD_MODULE) ? p->module
							       : p->name;
		name = name ? name : "";
		return script_vm_string(m->s->source.vm, name, strlen(name));
	}
	if (slot >= m->s->probes[number]->handler->n_slots)
		return NULL;
	return ((const struct kernel_value *)m->s->probes[number]->slots[slot].data)->constant;
}

static void key_cells(struct merge *m, const uint8_t *key, union script_cell *cells)
{
	const struct script_variable *v = m->count->variable;

	for (uint32_t i = 0; i < v->n_keys; i++) {
		const uint8_t *p = key + m->count->key_at[i];

		if (v->keys[i] == SCRIPT_STRING)
			cells[i].text = name_of(m, p);
		else
			cells[i].number = (int64_t)word_at(p);
		if (v->keys[i] == SCRIPT_STRING && !cells[i].text)
			cells[i].text = script_vm_string(m->s->source.vm, (const char *)p,
							 strnlen((const char *)p, KEY_TEXT));
	}
}

/* ---------------------------------------------------------------- one element */

static int add_number(struct merge *m, const union script_cell *keys, const uint8_t *values)
{
	const struct script_variable *v = m->count->variable;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->count->n_copies; i++)
		sum += word_at(values + 8 * i);
	if (v->n_keys)
		return script_vm_array_add(m->s->source.vm, v->index, keys, (int64_t)sum);
	script_vm_global_add(m->s->source.vm, v->index, (int64_t)sum);
	return 0;
}

static int add_statistic(struct merge *m, const union script_cell *keys, const uint8_t *values)
{
	struct script_stats_delta d = { .min = INT64_MAX,
					.max = INT64_MIN,
					.buckets = m->count->n_buckets ? m->buckets : NULL,
					.n_buckets = m->count->n_buckets };

	memset(m->buckets, 0, 8 * (m->count->n_buckets + 1));
	for (uint32_t i = 0; i < m->count->n_copies; i++) {
		const uint8_t *p = values + (size_t)i * m->count->value_bytes;
		int64_t min = (int64_t)word_at(p + 16), max = (int64_t)word_at(p + 24);

		if (!word_at(p))
			continue;
		d.n += word_at(p);
		d.sum = (int64_t)((uint64_t)d.sum + word_at(p + 8));
		d.min = min < d.min ? min : d.min;
		d.max = max > d.max ? max : d.max;
		for (uint32_t j = 0; j < m->count->n_buckets; j++)
			m->buckets[j] += word_at(p + 32 + 8 * j);
	}
	return d.n ? script_vm_stats_add(m->s->source.vm, m->count->variable->index, keys, &d) : 0;
}

static void add(struct merge *m, const uint8_t *key, const uint8_t *values)
{
	union script_cell keys[SCRIPT_KEYS_MAX];
	int err;

	key_cells(m, key, keys);
	err = m->count->variable->type == SCRIPT_LONG ? add_number(m, keys, values)
						      : add_statistic(m, keys, values);
	m->is_full |= err != 0;
}

/* ---------------------------------------------------------------- one map */

static int take_single(struct merge *m)
{
	uint32_t zero = 0;
	int err = bpf_map_get(m->map, &zero, m->values);

	if (err)
		return err;
	add(m, (const uint8_t *)"", m->values);
	return kernel_count_clear(m->s, m->count, m->map);
}

static int take_all(struct merge *m)
{
	size_t stride = m->count->value_bytes;
	uint8_t from[256], to[256];
	bool is_first = true;
	int err = 0;

	while (!err) {
		uint32_t n = BATCH;

		err = bpf_map_take(m->map, is_first ? NULL : from, to, m->keys, m->values, &n);
		is_first = false;
		memcpy(from, to, sizeof from);
		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < n; i++)
			add(m, m->keys + (size_t)i * m->count->key_bytes, m->values + i * stride);
	}
	return 0;
}

static int report_full(struct merge *m, struct diag *d)
{
	const uint64_t *full = (const uint64_t *)(m->s->control + m->count->full_at);
	uint64_t n = load(full);

	if (n == m->count->n_full && !m->is_full)
		return 0;
	m->count->n_full = n;
	return diag_fail(d, -ENOSPC,
			 "array `%s` is full: it has its most elements (%u)\n"
			 "  declare it larger, `global %s[N]`, or set -D MAXMAPENTRIES=N",
			 m->count->variable->name, kernel_count_entries(m->s, m->count->variable),
			 m->count->variable->name);
}

static int merge_one(struct kernel_source *s, struct kernel_count *c, uint64_t which,
		     struct diag *d)
{
	struct merge m = { .s = s, .count = c, .map = c->maps[which] };
	size_t stride = (size_t)c->n_copies * c->value_bytes;
	int err;

	m.keys = calloc(BATCH, c->key_bytes + 1);
	m.values = calloc(c->n_keys ? BATCH : 1, stride);
	m.buckets = calloc(c->n_buckets + 1, 8);
	err = !m.keys || !m.values || !m.buckets ? -ENOMEM
	      : c->n_keys			 ? take_all(&m)
						 : take_single(&m);
	free(m.keys);
	free(m.values);
	free(m.buckets);
	return err ? diag_fail(d, err, "cannot read the counts of `%s`: %s", c->variable->name,
			       strerror(-err))
		   : report_full(&m, d);
}

static int merge_all(struct kernel_source *s, uint64_t which, struct diag *d)
{
	int first = 0;

	for (uint32_t i = 0; i < s->n_counts; i++) {
		int err = merge_one(s, &s->counts[i], which, first ? NULL : d);

		first = first ? first : err;
	}
	return first;
}

int kernel_merge(struct kernel_source *s, struct diag *d)
{
	uint64_t *active = (uint64_t *)(s->control + s->active_at), old;
	bool is_last = s->is_stopped;
	int first, err;

	if (!s->n_counts || s->is_merged)
		return 0;
	/* [A] Pairs with the load in find_element(), count.c: a program reads it once for an element,
	 * and is waited for. */
	old = load(active);
	store_release(active, !old);
	err = kernel_wait_programs(s);
	if (err)
		return diag_fail(d, err, "cannot wait for BPF programs: %s", strerror(-err));
	first = merge_all(s, old, d);
	if (!is_last)
		return first;
	err = merge_all(s, !old, first ? NULL : d);
	s->is_merged = true;
	return first ? first : err;
}
