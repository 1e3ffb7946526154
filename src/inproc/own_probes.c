/* SPDX-License-Identifier: MIT */
/*
 * inproc/own_probes.c - attach and detach probes, and call them.
 *
 * The probes that an event calls are a word of bits for each line of the control page.  Invariants:
 *
 *   (1) a probe's function, argument and pattern are set before its first bit, and stay until no
 *       bit is left and no call runs
 *   (2) a caller counts itself in `calls` first, then checks that the bit is still set; a detacher
 *       clears the bits first, then reads `calls`.  Calls from a parent's incarnation do not count
 *   (3) a line with any bit has the byte of the own session slot set in its enable word; one
 *       without may have it
 *
 * Attaching, detaching and registering take the lock; calling does not.
 */
#include "inproc/own_probes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "rules/rules.h"
#include "base/schema.h"
#include "duet/probe.h"
#include "inproc/guest_lock.h"
#include "inproc/page.h"

enum { PROBES = 32, PATTERN_BYTES = 256, NAME_BYTES = 512, WAIT_NS = 200000 };
enum { OWN_BYTE = 1, OWN_EPOCH = 1 << 8 | OWN_BYTE };

struct probe {
	int number;	/* its number for the user; 0: free */
	uint64_t calls; /* running calls: the incarnation of the process above, their number
			   below */
	void (*function)(const struct duet_probe_event *event, void *arg);
	void *arg;
	char pattern[PATTERN_BYTES];
};

struct probes {
	uint32_t wanted[ABI_EVENTS]; /* bit k: it calls probe k */
	struct probe at[PROBES];
	int last_number;
};

/* Mapped when the first one is attached. */
static struct probes *probes;
/* The probe that runs in this thread, from 1; 0: none. */
static __thread uint32_t running_probe __attribute__((tls_model("initial-exec")));
static struct signal_lock lock = SIGNAL_LOCK_FREE;

void probes_lock(void)
{
	signal_lock_take(&lock);
}

void probes_unlock(void)
{
	signal_lock_release(&lock);
}

/* ---------------------------------------------------------------- calling */

/* "LEVEL CHANNEL:NAME TYPE FIELD ..." from TYPE on. */
static struct schema_text fields_of(const struct duet_i_site *site)
{
	uint32_t size;
	const char *schema =
		page_schema(process.control, page_event(process.control, site->index), &size);
	struct schema_text words = { schema, schema ? schema + size : schema };

	if (site->kind == DUET_I_TYPED) /* private memory that no other process writes */
		words = (struct schema_text){ site->schema, site->schema + strlen(site->schema) };
	else if (schema)
		schema_next_word(&words), schema_next_word(&words);
	schema_skip_spaces(&words);
	return words;
}

/* Returns the incarnation at the start of the call. */
static uint32_t begin_call(struct probe *p)
{
	uint64_t seen = load(&p->calls), next;
	uint32_t incarnation = load(&process.incarnation);

	do
		next = (seen >> 32 == incarnation ? seen : (uint64_t)incarnation << 32) + 1;
	while (!compare_exchange(&p->calls, &seen, next));
	return incarnation;
}

static void end_call(struct probe *p, uint32_t incarnation)
{
	uint64_t seen = load(&p->calls);

	while (seen >> 32 == incarnation && !compare_exchange(&p->calls, &seen, seen - 1))
		;
}

static bool is_running(const struct probe *p)
{
	uint64_t seen = __atomic_load_n(&p->calls, __ATOMIC_SEQ_CST);

	return seen >> 32 == load(&process.incarnation) && (uint32_t)seen;
}

static void call(uint32_t k, const struct duet_i_site *site, const struct duet_probe_event *e)
{
	struct probe *p = &probes->at[k];
	uint32_t incarnation = begin_call(p);

	if (__atomic_load_n(&probes->wanted[site->index], __ATOMIC_SEQ_CST) & 1u << k) { /* (2) */
		running_probe = k + 1;
		p->function(e, p->arg);
		running_probe = 0;
	}
	end_call(p, incarnation);
}

void probes_call(const struct duet_i_site *site, const void *payload, size_t size, const void *ip)
{
	const struct probes *all = load_acquire(&probes);
	uint32_t wanted = all ? load_acquire(&all->wanted[site->index]) : 0;
	struct duet_probe_event e = { .size = sizeof e,
				      .name = site->name,
				      .payload = payload,
				      .payload_size = size,
				      .ip = ip,
				      .level = (int)site->level };
	struct schema_text fields;

	if (!wanted)
		return; /* detached meanwhile, or the parent's */
	if (running_probe) {
		count_lost(ABI_OWN_SESSION_SLOT);
		return;
	}
	fields = fields_of(site);
	e.fields = fields.p;
	e.fields_size = (size_t)(fields.end - fields.p);
	for (; wanted; wanted &= wanted - 1)
		call((uint32_t)__builtin_ctz(wanted), site, &e);
}

uint64_t probe_missed(void)
{
	return process.control ? load(&process.control->session_slots[ABI_OWN_SESSION_SLOT].lost)
			       : 0;
}

/* ---------------------------------------------------------------- selecting events, under the
 * lock */

static void set_byte(uint32_t index)
{
	uint8_t *bytes = (uint8_t *)&page_event(process.control, index)->enabled;

	store_release(&bytes[ABI_OWN_SESSION_SLOT],
		      (uint8_t)(load(&probes->wanted[index]) ? OWN_BYTE : 0));
}

static void apply(uint32_t k, uint32_t index, const char *name)
{
	const char *pattern = probes->at[k].pattern;

	if (rules_pattern_matches(pattern, pattern + strlen(pattern), name))
		__atomic_or_fetch(&probes->wanted[index], 1u << k, __ATOMIC_SEQ_CST);
}

void probes_register(uint32_t index, const char *name)
{
	if (!load_acquire(&probes))
		return;
	probes_lock();
	for (uint32_t k = 0; k < PROBES; k++)
		if (probes->at[k].number)
			apply(k, index, name);
	if (load(&probes->wanted[index]))
		set_byte(index);
	probes_unlock();
}

/* The name of the event in line @index; false if the line is not valid. */
static bool name_of(uint32_t index, char name[NAME_BYTES])
{
	uint32_t size;
	const char *schema =
		page_schema(process.control, page_event(process.control, index), &size);
	struct schema_text words = { schema, schema ? schema + size : schema }, word;

	if (!schema)
		return false;
	schema_next_word(&words);
	word = schema_next_word(&words);
	if (word.end - word.p >= NAME_BYTES)
		return false;
	memcpy(name, word.p, (size_t)(word.end - word.p));
	name[word.end - word.p] = 0;
	return true;
}

static uint32_t n_events(void)
{
	uint32_t n = load_acquire(&process.control->n_events);

	return n < ABI_EVENTS ? n : ABI_EVENTS;
}

static void apply_to_all(uint32_t k)
{
	char name[NAME_BYTES];

	store(&process.control->session_slots[ABI_OWN_SESSION_SLOT].epoch, OWN_EPOCH);
	for (uint32_t i = 0, n = n_events(); i < n; i++)
		if (name_of(i, name)) {
			apply(k, i, name);
			if (load(&probes->wanted[i]))
				set_byte(i);
		}
}

/* ---------------------------------------------------------------- attaching and detaching */

/* Makes the page if there is no event yet, so that later events find the probe. */
static bool have_page(void)
{
	int dir = -1;

	if (!process.control) {
		process_lock();
		process_open(&dir, NULL);
		if (dir >= 0)
			syscall(SYS_close, dir);
		process_unlock();
	}
	if (process.control)
		process_renew();
	return process.control;
}

static bool have_memory(void)
{
	void *memory;

	if (probes)
		return true;
	memory = mmap(NULL, sizeof *probes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return false;
	store_release(&probes, (struct probes *)memory);
	return true;
}

static int attach(const char *pattern, void (*function)(const struct duet_probe_event *, void *),
		  void *arg)
{
	struct probe *p;
	uint32_t k = 0;

	if (!have_memory())
		return -ENOMEM;
	while (k < PROBES && (probes->at[k].number || is_running(&probes->at[k])))
		k++;
	if (k == PROBES)
		return -ENOSPC;
	p = &probes->at[k];
	p->function = function;
	p->arg = arg;
	memcpy(p->pattern, pattern, strlen(pattern) + 1);
	p->number = ++probes->last_number;
	apply_to_all(k);
	return p->number;
}

int probe_attach(const char *pattern, void (*function)(const struct duet_probe_event *, void *),
		 void *arg)
{
	int number;

	if (!pattern || !*pattern || !function || strlen(pattern) >= PATTERN_BYTES)
		return -EINVAL;
	if (!have_page())
		return -ENODEV;
	probes_lock();
	number = attach(pattern, function, arg);
	probes_unlock();
	return number;
}

static struct probe *find(int number)
{
	for (uint32_t k = 0; probes && number > 0 && k < PROBES; k++)
		if (probes->at[k].number == number)
			return &probes->at[k];
	return NULL;
}

static void clear_bits(struct probe *p)
{
	uint32_t bit = 1u << (p - probes->at);

	for (uint32_t i = 0, n = n_events(); i < n; i++)
		if (load(&probes->wanted[i]) & bit) {
			__atomic_and_fetch(&probes->wanted[i], ~bit, __ATOMIC_SEQ_CST);
			set_byte(i);
		}
	p->number = 0;
}

int probe_detach(int number)
{
	static const struct timespec moment = { .tv_nsec = WAIT_NS };
	struct probe *p;

	if (!process.control)
		return -ENOENT;
	process_renew();
	probes_lock();
	p = find(number);
	if (p)
		clear_bits(p);
	probes_unlock();
	if (!p)
		return -ENOENT;
	/* Another probe may have its place by now: then no call of ours is left. */
	while (is_running(p) && !load(&p->number)) {
		if (running_probe)
			return -EINPROGRESS;
		syscall(SYS_nanosleep, &moment, NULL);
	}
	return 0;
}

void probes_forked(void)
{
	if (!probes || load(&process.control->pid) != process.pid)
		return;
	for (uint32_t i = 0, n = n_events(); i < n; i++)
		set_byte(i);
}
