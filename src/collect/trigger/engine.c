/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/engine.c - the state of each trigger's condition, and the queue of firings.
 *
 * Everything that must outlive this process is in struct triggers_saved; the rest (times of a rate,
 * open pairs) starts empty in a successor.
 */
#include "collect/trigger/engine.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/atomic.h"

/*
 * Open pairs, in a set-associative table.  If a set is full, its oldest pair is dropped and
 * counted. Linear probing would need a cleanup of pairs that never end.
 */
enum { SETS = 512, WAYS = 8 };

struct trigger_pair {
	bool is_open;
	uint64_t key;
	struct trigger_facts facts; /* of the first event */
};

static void free_armed(struct armed *a)
{
	if (!a)
		return;
	free(a->times);
	free(a->pairs);
	free(a);
}

static bool is_pair(const struct trigger *t)
{
	return t->kind == TRIGGER_TIME || t->kind == TRIGGER_LATE;
}

/* Sets *@context to true at a context that trigger events do not carry. */
static void refuse_context(void *context, bool is_context, const char *name)
{
	if (is_context && strcmp(name, "vpid") && strcmp(name, "vtid") &&
	    strcmp(name, "procname") && strcmp(name, "cpu_id"))
		*(bool *)context = true;
}

static int prepare(struct armed *a, const char *text, struct diag *d)
{
	struct trigger *t = &a->trigger;
	bool has_unknown = false;
	int err = trigger_parse(t, text, d);

	if (!err && t->filter) {
		err = filter_compile(t->filter, &a->code, d);
		if (!err)
			filter_each_name(&a->code, refuse_context, &has_unknown);
	}
	if (!err && has_unknown)
		err = diag_fail(
			d, -EINVAL,
			"trigger: its filter can use the contexts $vpid, $vtid, $procname and "
			"$cpu_id only");
	if (!err && t->kind == TRIGGER_RATE)
		a->times = malloc((t->count + 1) * sizeof *a->times);
	if (!err && is_pair(t))
		a->pairs = calloc(SETS * WAYS, sizeof *a->pairs);
	if (!err && ((t->kind == TRIGGER_RATE && !a->times) || (is_pair(t) && !a->pairs)))
		err = diag_fail(d, -ENOMEM, "no memory for a trigger");
	if (!err && t->kind == TRIGGER_FILE)
		a->did_exist = io_exists(t->path);
	return err;
}

static int arm(struct triggers *t, int slot, const char *text, struct diag *d)
{
	struct armed *a = calloc(1, sizeof *a);
	int err = a ? prepare(a, text, d) : diag_fail(d, -ENOMEM, "no memory for a trigger");

	assert(slot >= 0 && slot < TRIGGERS_MAX && !t->at[slot]);
	if (err) {
		free_armed(a);
		return err;
	}
	t->at[slot] = a;
	t->generation++;
	t->n++;
	t->n_events += trigger_has_events(&a->trigger);
	t->n_kernel += trigger_has_kernel(&a->trigger);
	return 0;
}

int triggers_open(struct triggers *t, struct triggers_saved *saved, struct diag *d)
{
	int err = 0;

	*t = (struct triggers){ .saved = saved };
	for (int i = 0; i < TRIGGERS_MAX && !err; i++)
		if (saved->at[i].number)
			err = arm(t, i, saved->at[i].text, d);
	return err;
}

void triggers_close(struct triggers *t)
{
	while (t->n_firings)
		triggers_done(t, 0);
	for (int i = 0; i < TRIGGERS_MAX; i++)
		free_armed(t->at[i]);
	*t = (struct triggers){ .saved = t->saved };
}

/* The first free slot. */
static int find_slot(const struct triggers *t)
{
	int slot = 0;

	while (slot < TRIGGERS_MAX && t->at[slot])
		slot++;
	return slot;
}

/* The next number; after INT_MAX, which a request may choose, the lowest free one. */
static uint32_t new_number(const struct triggers *t)
{
	uint32_t number = 1;

	if (t->saved->next_number < INT_MAX)
		return t->saved->next_number + 1;
	while (triggers_find(t, number) >= 0)
		number++;
	return number;
}

int triggers_add(struct triggers *t, const char *text, uint32_t number, struct diag *d)
{
	int slot = number ? triggers_find(t, number) : -1, err;

	assert(number <= INT_MAX);
	if (slot >= 0)
		return !strcmp(t->saved->at[slot].text, text)
			       ? (int)number
			       : diag_fail(d, -EEXIST, "trigger %u exists with another text: %s",
					   number, t->saved->at[slot].text);
	slot = find_slot(t);
	if (slot == TRIGGERS_MAX)
		return diag_fail(d, -E2BIG, "trigger: the session has %d already", TRIGGERS_MAX);
	err = arm(t, slot, text, d);
	if (err)
		return err;
	strcpy(t->saved->at[slot].text, text);
	t->saved->at[slot].fired = t->saved->at[slot].held_back = t->saved->at[slot].forgotten = 0;
	t->saved->at[slot].not_before_ns = t->saved->at[slot].last_ns = 0;
	t->saved->at[slot].error[0] = 0;
	if (!number)
		number = new_number(t);
	if (number > t->saved->next_number)
		t->saved->next_number = number;
	store_release(&t->saved->at[slot].number, number); /* pairs with triggers_copy */
	return (int)number;
}

uint32_t triggers_copy(const struct triggers_saved *of, int slot, char text[TRIGGER_TEXT_BYTES])
{
	uint32_t number = load_acquire(&of->at[slot].number);

	memcpy(text, of->at[slot].text, TRIGGER_TEXT_BYTES);
	text[TRIGGER_TEXT_BYTES - 1] = 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* pairs with the exchange in triggers_remove */
	return number == load(&of->at[slot].number) ? number : 0;
}

int triggers_find(const struct triggers *t, uint32_t number)
{
	for (int i = 0; i < TRIGGERS_MAX; i++)
		if (t->at[i] && t->saved->at[i].number == number)
			return i;
	return -1;
}

void triggers_note(const struct triggers *t, uint32_t number, const char *why)
{
	int slot = triggers_find(t, number);

	if (slot >= 0)
		snprintf(t->saved->at[slot].error, TRIGGER_ERROR_BYTES, "%.*s",
			 (int)strcspn(why, "\n"), why);
}

int triggers_remove(struct triggers *t, uint32_t number)
{
	int slot = triggers_find(t, number);

	if (slot < 0)
		return -ENOENT;
	for (int i = t->n_firings - 1; i >= 0; i--)
		if (t->firings[i].number == number)
			triggers_done(t, i);
	exchange(&t->saved->at[slot].number,
		 0); /* before another text replaces it: triggers_copy */
	t->n_events -= trigger_has_events(&t->at[slot]->trigger);
	t->n_kernel -= trigger_has_kernel(&t->at[slot]->trigger);
	t->n--;
	t->generation++;
	free_armed(t->at[slot]);
	t->at[slot] = NULL;
	return 0;
}

/* ---------------------------------------------------------------- firing */

/*
 * Whether the queue has no slot for this trigger: its command may hang, and other triggers need
 * slots too.
 */
static bool is_queue_full(const struct triggers *t, int slot)
{
	int n = 0;

	for (int i = 0; i < t->n_firings; i++)
		n += t->firings[i].slot == slot;
	return n == TRIGGERS_FIRINGS_EACH || t->n_firings == TRIGGERS_FIRINGS;
}

static bool may_fire(const struct triggers *t, int slot, uint64_t now_ns)
{
	return now_ns >= t->saved->at[slot].not_before_ns && !is_queue_full(t, slot);
}

static bool is_switch(const struct trigger *t)
{
	return trigger_does(t, TRIGGER_START) || trigger_does(t, TRIGGER_STOP);
}

/* Whether recording is paused after all actions of trigger @t have run. */
static bool is_to_pause(const struct trigger *t)
{
	int i = t->n_actions - 1;

	while (t->actions[i].act != TRIGGER_START && t->actions[i].act != TRIGGER_STOP)
		i--;
	return t->actions[i].act == TRIGGER_STOP;
}

/*
 * Stores the start or stop that is held back; @number 0 clears it.  A successor of a killed
 * collector sees it complete or not at all.
 */
static void defer(struct triggers *t, uint32_t number, const struct trigger_facts *facts)
{
	store_release(&t->saved->deferred.number, 0);
	t->saved->deferred.time_ns = facts->time_ns;
	t->saved->deferred.value = facts->value;
	t->saved->deferred.vpid = facts->vpid;
	t->saved->deferred.vtid = facts->vtid;
	t->deferred_event = facts->event;
	memcpy(t->deferred_program, facts->program, sizeof t->deferred_program);
	store_release(&t->saved->deferred.number, number);
}

static void fire(struct triggers *t, int slot, const struct trigger_facts *facts, uint64_t now_ns)
{
	struct armed *a = t->at[slot];
	uint32_t number = t->saved->at[slot].number;
	bool is_over = a->trigger.once && t->saved->at[slot].fired,
	     may_fire_now = !is_over && may_fire(t, slot, now_ns);

	assert(a && t->n_firings <= TRIGGERS_FIRINGS);
	if (!is_over && is_switch(&a->trigger)) /* this request replaces an older one that was
						 * held back */
		defer(t, may_fire_now ? 0 : number, facts);
	if (!may_fire_now) {
		t->saved->at[slot].held_back++;
		return;
	}
	t->saved->at[slot].not_before_ns = now_ns + a->trigger.every_ns;
	t->saved->at[slot].last_ns = facts->time_ns;
	t->firings[t->n_firings++] = (struct firing){
		.slot = slot, .number = number, .fired = ++t->saved->at[slot].fired, .facts = *facts
	};
}

/* Fires the start or stop that was held back, if it may fire now and still changes the state. */
static void fire_deferred(struct triggers *t, uint64_t now_ns)
{
	uint32_t number = t->saved->deferred.number;
	struct trigger_facts facts = { .time_ns = t->saved->deferred.time_ns,
				       .value = t->saved->deferred.value,
				       .vpid = t->saved->deferred.vpid,
				       .vtid = t->saved->deferred.vtid,
				       .event = t->deferred_event };
	int slot = number ? triggers_find(t, number) : -1;

	if (!number || (slot >= 0 && !may_fire(t, slot, now_ns)))
		return;
	t->saved->deferred.number = 0;
	memcpy(facts.program, t->deferred_program, sizeof facts.program);
	if (slot >= 0 && is_to_pause(&t->at[slot]->trigger) != t->saved->is_paused)
		fire(t, slot, &facts, now_ns);
}

void triggers_done(struct triggers *t, int i)
{
	assert(i >= 0 && i < t->n_firings);
	free(t->firings[i].snapshot);
	memmove(&t->firings[i], &t->firings[i + 1],
		(size_t)(--t->n_firings - i) * sizeof *t->firings);
}

/* ---------------------------------------------------------------- conditions */

/* Fires if the last count + 1 events lie within `time_ns`. */
static void count_event(struct triggers *t, int slot, const struct trigger_facts *facts,
			uint64_t now_ns)
{
	struct armed *a = t->at[slot];
	uint64_t n = a->trigger.count, at = a->n_times++ % (n + 1), before = a->n_times % (n + 1);
	struct trigger_facts f = *facts;

	assert(a->times);
	a->times[at] = facts->time_ns;
	if (a->n_times <= n || facts->time_ns - a->times[before] >= a->trigger.time_ns)
		return;
	f.value = n + 1;
	fire(t, slot, &f, now_ns);
	a->n_times = 0; /* count the next events from zero */
}

static struct trigger_pair *set_of(const struct armed *a, uint64_t key)
{
	return a->pairs + (key * 0x9e3779b97f4a7c15ull >> 55) * WAYS;
}

static struct trigger_pair *find_pair(const struct armed *a, uint64_t key)
{
	struct trigger_pair *set = set_of(a, key);

	for (int i = 0; i < WAYS; i++)
		if (set[i].is_open && set[i].key == key)
			return &set[i];
	return NULL;
}

static void open_pair(struct triggers *t, int slot, const struct trigger_hit *hit)
{
	struct armed *a = t->at[slot];
	struct trigger_pair *set = set_of(a, hit->key), *p = find_pair(a, hit->key);

	assert(a->pairs);
	if (p && a->trigger.kind == TRIGGER_LATE)
		return; /* the first one waits longest */
	for (int i = 0; i < WAYS && !p; i++)
		if (!set[i].is_open)
			p = &set[i];
	if (!p) {
		p = set;
		for (int i = 1; i < WAYS; i++)
			p = set[i].facts.time_ns < p->facts.time_ns ? &set[i] : p;
		t->saved->at[slot].forgotten++;
	}
	*p = (struct trigger_pair){ .is_open = true, .key = hit->key, .facts = hit->facts };
	if (hit->facts.time_ns + a->trigger.time_ns < a->overdue_ns)
		a->overdue_ns = hit->facts.time_ns + a->trigger.time_ns;
}

static void end_pair(struct triggers *t, int slot, const struct trigger_hit *hit, uint64_t now_ns)
{
	struct armed *a = t->at[slot];
	struct trigger_pair *p = find_pair(a, hit->key);
	struct trigger_facts f = hit->facts;

	if (!p)
		return;
	p->is_open = false;
	f.value = f.time_ns > p->facts.time_ns ? f.time_ns - p->facts.time_ns : 0;
	if (f.value > a->trigger.time_ns)
		fire(t, slot, &f, now_ns);
}

void triggers_event(struct triggers *t, const struct trigger_hit *hit, uint64_t now_ns)
{
	struct armed *a = t->at[hit->slot];

	assert(hit->slot >= 0 && hit->slot < TRIGGERS_MAX);
	if (!a || t->saved->at[hit->slot].number != hit->number)
		return; /* the trigger was removed meanwhile */
	if (a->trigger.kind == TRIGGER_EVENT)
		fire(t, hit->slot, &hit->facts, now_ns);
	else if (a->trigger.kind == TRIGGER_RATE)
		count_event(t, hit->slot, &hit->facts, now_ns);
	else if (hit->is_second)
		end_pair(t, hit->slot, hit, now_ns);
	else
		open_pair(t, hit->slot, hit);
}

/* Fires for pairs whose second event is overdue. */
static void expire(struct triggers *t, int slot, uint64_t until_ns, uint64_t now_ns)
{
	struct armed *a = t->at[slot];

	if (until_ns <= a->overdue_ns)
		return;
	a->overdue_ns = UINT64_MAX;
	for (struct trigger_pair *p = a->pairs; p < a->pairs + SETS * WAYS; p++) {
		struct trigger_facts f = p->facts;
		uint64_t overdue_ns = f.time_ns + a->trigger.time_ns;

		if (!p->is_open)
			continue;
		if (until_ns > overdue_ns) {
			p->is_open = false;
			f.value = until_ns - f.time_ns;
			fire(t, slot, &f, now_ns);
		} else if (overdue_ns < a->overdue_ns) {
			a->overdue_ns = overdue_ns;
		}
	}
}

uint64_t triggers_scanned_ns(const struct triggers *t, int slot)
{
	const struct trigger *trigger = t->at[slot] ? &t->at[slot]->trigger : NULL;
	uint64_t programs =
		trigger && !trigger_has_events(trigger) ? UINT64_MAX : t->programs_scanned_ns;
	uint64_t kernel =
		trigger && !trigger_has_kernel(trigger) ? UINT64_MAX : t->kernel_scanned_ns;

	return programs < kernel ? programs : kernel;
}

void triggers_time(struct triggers *t, uint64_t now_ns)
{
	for (int i = 0; i < TRIGGERS_MAX; i++)
		if (t->at[i] && t->at[i]->trigger.kind == TRIGGER_LATE)
			expire(t, i, triggers_scanned_ns(t, i), now_ns);
	fire_deferred(t, now_ns);
}

enum { SAMPLES = sizeof((struct armed *)0)->samples / sizeof((struct armed *)0)->samples[0] };

/*
 * The lost count at the start of the interval that ends now: from the oldest sample within the
 * interval, or the last one if polls come late.
 */
static uint64_t lost_before(const struct armed *a, uint64_t now_ns, uint64_t lost)
{
	for (uint32_t i = a->n_samples < SAMPLES ? 0 : a->n_samples - SAMPLES; i < a->n_samples;
	     i++)
		if (now_ns - a->samples[i % SAMPLES].time_ns <= a->trigger.time_ns ||
		    i + 1 == a->n_samples)
			return a->samples[i % SAMPLES].lost;
	return lost;
}

static void check_losses(struct triggers *t, int slot, uint64_t lost, uint64_t now_ns)
{
	struct armed *a = t->at[slot];
	uint64_t before = lost_before(a, now_ns, lost);
	struct trigger_facts f = { .time_ns = now_ns, .value = lost > before ? lost - before : 0 };
	uint32_t last = a->n_samples ? (a->n_samples - 1) % SAMPLES : 0;

	if (f.value > a->trigger.count) {
		fire(t, slot, &f, now_ns);
		a->n_samples = 0; /* losses reported once are not reported again */
	}
	if (a->n_samples && now_ns - a->samples[last].time_ns < a->trigger.time_ns / (SAMPLES - 2))
		return;
	a->samples[a->n_samples % SAMPLES].time_ns = now_ns;
	a->samples[a->n_samples++ % SAMPLES].lost = lost;
}

static void check_file(struct triggers *t, int slot, uint64_t now_ns)
{
	struct armed *a = t->at[slot];
	const struct trigger_facts f = { .time_ns = now_ns };
	bool exists = io_exists(a->trigger.path);

	if (exists && !a->did_exist)
		fire(t, slot, &f, now_ns);
	a->did_exist = exists;
}

void triggers_poll(struct triggers *t, uint64_t lost, uint64_t now_ns)
{
	for (int i = 0; i < TRIGGERS_MAX; i++) {
		if (t->at[i] && t->at[i]->trigger.kind == TRIGGER_LOST)
			check_losses(t, i, lost, now_ns);
		if (t->at[i] && t->at[i]->trigger.kind == TRIGGER_FILE)
			check_file(t, i, now_ns);
	}
	fire_deferred(t, now_ns);
}

void triggers_signal(struct triggers *t, int signal, uint64_t now_ns)
{
	const struct trigger_facts f = { .time_ns = now_ns };

	for (int i = 0; i < TRIGGERS_MAX; i++)
		if (t->at[i] && t->at[i]->trigger.kind == TRIGGER_SIGNAL &&
		    t->at[i]->trigger.signal == signal)
			fire(t, i, &f, now_ns);
}
