/* SPDX-License-Identifier: MIT */
/* collect/drain/bounds.c - the account of counters, and the list of programs that wrote nonsense. */
#include "collect/drain/bounds.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "clock/clock.h"

/*
 * A refused event costs more than this, whatever the machine.  Events within the time between the
 * reading of a counter and of the clock come on top.
 */
#define SEVERAL "several programs"
enum { LOSS_NS = 4, LOSSES_AT_ONCE = 4096 };

struct bounds *bounds_open(const struct abi_clock *clock, uint32_t n_channels, uint32_t n_cpus,
			   uid_t uid)
{
	uint32_t n_slots = n_cpus + ABI_UNKNOWN_CPU_SLOTS;
	size_t size =
		sizeof(struct bounds) + (size_t)n_channels * n_slots * sizeof(struct bounds_slot);
	struct bounds *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert(n_channels >= 1 && n_channels <= ABI_CHANNELS && n_cpus > 0);
	if (b == MAP_FAILED)
		return NULL;
	b->size = size;
	b->clock = *clock;
	b->begin_ns = clock_now_ns(clock);
	b->n_channels = n_channels;
	b->n_slots = n_slots;
	b->n_cpus = n_cpus;
	b->uid = uid;
	return b;
}

void bounds_close(struct bounds *b)
{
	if (b)
		munmap(b, b->size);
}

/* ---------------------------------------------------------------- counters */

struct bounds_slot *bounds_slot(struct bounds *b, uint32_t channel, uint32_t slot)
{
	if (!b)
		return NULL;
	assert(channel < b->n_channels && slot < b->n_slots);
	return &b->slots[(size_t)channel * b->n_slots + slot];
}

static uint64_t most_since(const struct bounds *b, uint64_t since_ns, uint64_t now_ns,
			   uint32_t n_writers)
{
	uint64_t begin_ns = since_ns > b->begin_ns ? since_ns : b->begin_ns,
		 passed_ns = now_ns > begin_ns ? now_ns - begin_ns : 0;

	return passed_ns / LOSS_NS * n_writers + LOSSES_AT_ONCE;
}

uint64_t bounds_most(const struct bounds *b)
{
	return most_since(b, 0, clock_now_ns(&b->clock), b->n_cpus);
}

/*
 * The clock is read before and after the counter, and each counter is measured from the earlier
 * reading to the later one: a collector that sleeps in between blames nobody.
 */
uint64_t bounds_count(struct bounds *b, struct bounds_counter *c, const uint64_t *shared,
		      uint32_t n_writers)
{
	const struct bounds_kinds one = { .counters = 1 };
	const struct bounds_sum *last = &c->sums[load(&c->valid) & 1];
	struct bounds_sum next = *last;
	uint32_t to = !(load(&c->valid) & 1);

	if (load(shared) == last->raw)
		return last->value;
	next.at_ns = clock_now_ns(&b->clock);
	next.raw = load(shared);
	if (next.raw > last->raw &&
	    next.raw - last->raw <= most_since(b, last->at_ns, clock_now_ns(&b->clock), n_writers))
		next.value += next.raw - last->raw;
	else if (next.raw != last->raw)
		bounds_note(b, 0, &one);
	c->sums[to] = next;
	store_release(&c->valid, to);
	return next.value;
}

/* ---------------------------------------------------------------- programs */

static void take_name(char to[ABI_NAME_BYTES], const char *name)
{
	snprintf(to, ABI_NAME_BYTES, "%.*s", ABI_NAME_BYTES - 1, name);
	for (char *p = to; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '_';
}

void bounds_joined(struct bounds *b, pid_t pid, const char *name)
{
	uint32_t i = (uint32_t)pid % BOUNDS_WRITERS;

	if (!b || pid <= 0)
		return;
	b->writers[i].pid = (uint32_t)pid;
	take_name(b->writers[i].name, name);
}

/* Beyond BOUNDS_PROGRAMS the last one stands for all others. */
static struct bounds_program *find_program(struct bounds *b, uint32_t pid, const char *name)
{
	struct bounds_program *p;
	char plain[ABI_NAME_BYTES];

	take_name(plain, name);
	for (p = b->programs; p < b->programs + b->n_programs; p++)
		if (p->pid == pid && !strcmp(p->name, plain))
			return p;
	if (b->n_programs == BOUNDS_PROGRAMS) {
		p = &b->programs[BOUNDS_PROGRAMS - 1];
		p->pid = 0;
		take_name(p->name, SEVERAL);
		return p;
	}
	p->pid = pid;
	take_name(p->name, name);
	b->n_programs++;
	return p;
}

void bounds_note_program(struct bounds *b, uint32_t pid, const char *name,
			 const struct bounds_kinds *found)
{
	struct bounds_program *p;

	if (!b)
		return;
	p = find_program(b, pid, name);
	p->found.times += found->times;
	p->found.bytes += found->bytes;
	p->found.counters += found->counters;
}

/* A pid that never joined is itself something that a program made up. */
void bounds_note(struct bounds *b, uint32_t pid, const struct bounds_kinds *found)
{
	uint32_t i = pid % BOUNDS_WRITERS;
	bool is_known = b && pid && b->writers[i].pid == pid;

	bounds_note_program(b, is_known ? pid : 0, is_known ? b->writers[i].name : "", found);
}

bool bounds_has_counter(const struct bounds *b, const char *name)
{
	char plain[ABI_NAME_BYTES];

	take_name(plain, name);
	for (uint32_t i = 0; b && i < b->n_programs; i++)
		if (b->programs[i].found.counters && !strcmp(b->programs[i].name, plain))
			return true;
	return !b;
}

const struct bounds_program *bounds_next(struct bounds *b, struct bounds_kinds *found)
{
	for (uint32_t i = 0; b && i < b->n_programs; i++) {
		struct bounds_program *p = &b->programs[i];

		*found = (struct bounds_kinds){ p->found.times - p->recorded.times,
						p->found.bytes - p->recorded.bytes,
						p->found.counters - p->recorded.counters };
		p->recorded = p->found;
		if (found->times || found->bytes || found->counters)
			return p;
	}
	return NULL;
}

static size_t add_kind(char *text, size_t n, size_t size, uint64_t count, const char *one)
{
	if (!count || n >= size)
		return n;
	return n + (size_t)snprintf(text + n, size - n, " %" PRIu64 " impossible %s%s,", count, one,
				    count == 1 ? "" : "s");
}

static const char *kind_of(const struct bounds_program *p)
{
	return !strcmp(p->name, SEVERAL) ? "" : p->pid || *p->name ? "program " : "a program";
}

void bounds_describe(const struct bounds *b, struct impossible *to)
{
	size_t at = 0, n;

	*to->text = 0;
	for (uint32_t i = 0; b && i < b->n_programs; i++) {
		const struct bounds_program *p = &b->programs[i];
		char line[280], pid[24] = "";

		if (p->pid)
			snprintf(pid, sizeof pid, "pid %" PRIu32 ", ", p->pid);
		n = (size_t)snprintf(line, sizeof line, "%s%s (%suid %u) wrote", kind_of(p),
				     p->name, pid, (unsigned)b->uid);
		n = add_kind(line, n, sizeof line, p->found.times, "time");
		n = add_kind(line, n, sizeof line, p->found.bytes, "byte");
		n = add_kind(line, n, sizeof line, p->found.counters, "counter");
		if (line[n - 1] != ',' || at + n + 2 > sizeof to->text)
			continue;
		line[n - 1] = 0;
		at += (size_t)snprintf(to->text + at, sizeof to->text - at, "%s\n", line);
	}
}
