/* SPDX-License-Identifier: MIT */
/* collect/drain/interval.c - estimate the rate of writing and derive the poll interval from it. */
#include "collect/drain/interval.h"

#include <assert.h>

/* bench-write: find with malloc and free recorded, 4.6 million events a second of 35 bytes. */
#define CPU_BYTES_S 160000000u
#define BATCH_BYTES (2u << 20)
#define FORGET_NS 500000000u
#define FIRST_BYTES_S ((uint64_t)BATCH_BYTES * 1000 / POLL_MS)
/* Programs that joined had this time; what they write seems to be whole chunks, however empty. */
#define VAIN_NS 100000000u
#define MUCH_BYTES (4 * BATCH_BYTES)
#define VAIN_MOST 7

void poll_interval_expect(struct poll_interval *p, uint64_t now_ns)
{
	uint64_t expected = FIRST_BYTES_S >> p->n_vain;

	if (p->bytes_s < expected)
		p->bytes_s = expected;
	p->at_ns = now_ns;
	if (now_ns - p->vain_ns < VAIN_NS)
		return;
	p->n_vain += p->n_vain < VAIN_MOST; /* until much is observed */
	p->vain_ns = now_ns;
	p->written = 0;
}

/* The earlier rate, decayed over the time passed; approximately exponential. */
static uint64_t decayed(const struct poll_interval *p, uint64_t passed_ns)
{
	return passed_ns < FORGET_NS
		       ? p->bytes_s - p->bytes_s / 2 * (passed_ns >> 10) / (FORGET_NS >> 10)
		       : p->bytes_s / 2;
}

void poll_interval_observe(struct poll_interval *p, uint64_t bytes, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - p->at_ns, rate;

	if (passed_ns < 1000)
		return;
	rate = bytes / (passed_ns / 1000) * 1000000;
	p->written += bytes < MUCH_BYTES ? bytes : MUCH_BYTES;
	if (p->written >= MUCH_BYTES)
		p->n_vain = 0;
	p->bytes_s = decayed(p, passed_ns);
	p->bytes_s = rate > p->bytes_s ? rate : p->bytes_s;
	p->at_ns = now_ns;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint32_t poll_interval_ms(const struct poll_interval *p, uint64_t free_bytes, uint32_t n_cpus)
{
	assert(n_cpus > 0);
	uint64_t by_room = free_bytes * 1000 / ((uint64_t)CPU_BYTES_S * n_cpus),
		 by_rate = at_most(free_bytes / 4, BATCH_BYTES) * 1000 / (p->bytes_s + 1);

	by_room = at_least(by_room, POLL_MS);
	by_rate = at_least(by_rate, POLL_LEAST_MS);
	return (uint32_t)at_most(at_most(by_room, by_rate), POLL_MOST_MS);
}
