/* SPDX-License-Identifier: MIT */
/* analysis/report/latency.c - keeps one open A for each key, in a hash table with chains. */
#include "analysis/report/latency.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/index.h"

static const uint32_t KEYS_MAX = 1u << 26;

struct latency_plan {
	bool is_a, is_b;
	const struct ctf_op *field;
};

struct open { /* state of a key */
	bool is_open;
	uint32_t epoch; /* of all domains together */
	uint32_t thread;
	uint32_t next; /* in its bucket, plus 1 */
	uint64_t hash;
	int64_t begin_ns;
};

struct reading {
	struct latency *l;
	const char *a, *b, *field;
	uint32_t n_slowest;
	bool wants_keys;
	struct latency_plan *plans;
	struct open *opens; /* parallel to `keys` */
	uint32_t n_open_rooms, n_key_rooms;
	uint32_t *buckets;
	uint32_t n_buckets;
};

static void plan_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct reading *r = context;
	struct latency_plan *p = &r->plans[number];

	p->is_a = pass_is_like(r->a, s, c->name);
	p->is_b = pass_is_like(r->b, s, c->name);
	r->l->n_classes_a += p->is_a;
	r->l->n_classes_b += p->is_b;
	if (!r->field || !(p->is_a || p->is_b))
		return;
	p->field = ctf_class_find(c, CTF_PAYLOAD, r->field);
	if (!p->field)
		p->field = ctf_class_find(c, CTF_CONTEXT, r->field);
	if (p->field && p->field->type && p->field->type->base == 16)
		r->l->is_hex = true;
}

/* ---------------------------------------------------------------- keys */

/* Texts count as equal if their hashes and beginnings are: with 2^64 hashes that is safe enough. */
static bool key_from(struct reading *r, const struct latency_plan *p, const struct trace_event *e,
		     uint32_t thread, struct latency_key *key, uint64_t *hash)
{
	const char *text;
	size_t size;

	*key = (struct latency_key){ .number = thread, .thread = thread };
	if (!r->field) {
		*hash = thread * 0x9E3779B97F4A7C15u;
		return true;
	}
	if (!p->field)
		return false;
	if (ctf_event_number(e->ctf, p->field, &key->number)) {
		*hash = (uint64_t)key->number * 0x9E3779B97F4A7C15u;
		return true;
	}
	if (!ctf_event_text(e->ctf, p->field, &text, &size))
		return false;
	key->is_text = true;
	key->number = 0;
	memcpy(key->text, text, size < sizeof key->text - 1 ? size : sizeof key->text - 1);
	*hash = hash_bytes(text, size);
	return true;
}

static bool are_equal(const struct latency_key *a, const struct latency_key *b)
{
	return a->is_text == b->is_text && a->number == b->number && !strcmp(a->text, b->text);
}

static int rehash(struct reading *r)
{
	uint32_t n = r->n_buckets ? r->n_buckets * 2 : 1024;
	uint32_t *buckets = calloc(n, sizeof *buckets);

	if (!buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->l->n_keys; i++) {
		uint32_t *b = &buckets[(r->opens[i].hash >> 32) & (n - 1)];

		r->opens[i].next = *b;
		*b = i + 1;
	}
	free(r->buckets);
	r->buckets = buckets;
	r->n_buckets = n;
	return 0;
}

/* The index of @key, which is added if @may_add. -1 if there is none; -ENOMEM. */
static int64_t find(struct reading *r, const struct latency_key *key, uint64_t hash, bool may_add)
{
	struct latency *l = r->l;
	uint32_t *bucket, i;

	if (l->n_keys >= r->n_buckets && rehash(r))
		return -ENOMEM;
	bucket = &r->buckets[(hash >> 32) & (r->n_buckets - 1)];
	for (i = *bucket; i; i = r->opens[i - 1].next)
		if (r->opens[i - 1].hash == hash && are_equal(&l->keys[i - 1], key))
			return i - 1;
	if (!may_add)
		return -1;
	i = l->n_keys;
	if (i == KEYS_MAX || pass_grow(&l->keys, &r->n_key_rooms, i, sizeof *l->keys) ||
	    pass_grow(&r->opens, &r->n_open_rooms, i, sizeof *r->opens) ||
	    (r->wants_keys && pass_grow(&l->times, &l->n_times, i, sizeof *l->times)))
		return -ENOMEM;
	l->keys[i] = *key;
	r->opens[i] = (struct open){ .hash = hash, .next = *bucket };
	*bucket = ++l->n_keys;
	return i;
}

/* ---------------------------------------------------------------- times */

static int end(struct reading *r, int64_t key, uint32_t epoch, const struct trace_event *e,
	       uint32_t thread)
{
	struct latency *l = r->l;
	struct open *o = key >= 0 ? &r->opens[key] : NULL;
	uint64_t ns;

	l->n_b++;
	if (!o || !o->is_open || o->epoch != epoch) {
		l->n_without_a++;
		return 0;
	}
	o->is_open = false;
	ns = e->time_ns > o->begin_ns ? (uint64_t)(e->time_ns - o->begin_ns) : 0;
	slowest_add(&l->slowest,
		    &(struct slow){ ns, o->begin_ns, o->thread, (uint32_t)key, thread });
	if (r->wants_keys && samples_add(&l->times[key], ns))
		return -ENOMEM;
	return samples_add(&l->time, ns);
}

static void begin(struct reading *r, int64_t key, uint32_t epoch, const struct trace_event *e,
		  uint32_t thread)
{
	struct open *o = &r->opens[key];

	r->l->n_a++;
	if (o->is_open) {
		r->l->n_abandoned++;
		r->l->n_cut += o->epoch != epoch;
	}
	o->is_open = true;
	o->epoch = epoch;
	o->thread = thread;
	o->begin_ns = e->time_ns;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	const struct latency_plan *p = &r->plans[trace_class_number(e)];
	uint32_t epoch = run->epoch[0] + run->epoch[1] + run->epoch[2];
	struct latency_key key;
	uint64_t hash;
	int64_t i;

	if (!p->is_a && !p->is_b)
		return 0;
	if (!key_from(r, p, e, thread, &key, &hash)) {
		r->l->n_no_field++;
		return 0;
	}
	i = find(r, &key, hash, p->is_a);
	if (i == -ENOMEM || (p->is_b && end(r, i, epoch, e, thread)))
		return -ENOMEM;
	if (p->is_a)
		begin(r, i, epoch, e, thread);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;

	r->plans = calloc(trace_n_classes(r->l->run.trace) + (size_t)1, sizeof *r->plans);
	if (!r->plans || slowest_init(&r->l->slowest, r->n_slowest))
		return -ENOMEM;
	pass_each_class(&r->l->run, plan_class, r);
	return 0;
}

static int finish(void *context)
{
	struct reading *r = context;

	for (uint32_t i = 0; i < r->l->n_keys; i++)
		r->l->n_pending += r->opens[i].is_open;
	assert(r->l->n_a == r->l->time.n + r->l->n_abandoned + r->l->n_pending);
	assert(r->l->n_b == r->l->time.n + r->l->n_without_a);
	slowest_sort(&r->l->slowest);
	return 0;
}

int latency_init(struct latency *l, struct trace *t, const struct pass_range *range, const char *a,
		 const char *b, const char *field, uint32_t n_slowest, bool wants_keys,
		 struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "latencies", .prepare = prepare, .on_event = on_event, .finish = finish
	};
	struct reading r = { .l = l,
			     .a = a,
			     .b = b,
			     .field = field,
			     .n_slowest = n_slowest,
			     .wants_keys = wants_keys };
	int err;

	*l = (struct latency){ 0 };
	err = pass_run(&l->run, t, range, &analysis, &r, d);
	free(r.plans);
	free(r.opens);
	free(r.buckets);
	if (err)
		latency_fini(l);
	return err;
}

void latency_fini(struct latency *l)
{
	for (uint32_t i = 0; i < l->n_times; i++)
		samples_fini(&l->times[i]);
	free(l->times);
	samples_fini(&l->time);
	slowest_fini(&l->slowest);
	free(l->keys);
	pass_fini(&l->run);
	*l = (struct latency){ 0 };
}
