/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/cpu.c - reads one CPU's ring buffer page by page and writes CTF packets.
 *
 * read() swaps a full page out of the ring at the price of one copy. From a page that is still
 * being written read() copies event by event, and returns the rest of that page later. A reader
 * that reads until the ring is empty would never end under load and would read mostly headers. So
 * draining stops at the first page that is not full and continues in the next period. Mapping the
 * ring, and splicing it into a file, cost several times more (docs/design/kernel/README.md).
 *
 * Losses: a ring that overwrites flags them in the next page. A ring that discards only counts
 * them, in `stats`. That file is read only after reading so much that the ring may have been full.
 */
#include "kernel/convert/cpu.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "clock/clock.h"
#include "kernel/convert/page.h"
#include "kernel/tracefs/tracefs.h"

/* CPUs' counters may differ a little; a timestamp from another CPU may be ahead by this much. */
enum { SKEW_TICKS = 1 << 30 };

int kernel_cpu_open(struct kernel_cpu *c, const struct kernel_drain *k, int number, struct diag *d)
{
	char path[64];

	*c = (struct kernel_cpu){ .number = number,
				  .prefix = "kernel",
				  .stats = -1,
				  .stream = { .fd = -1, .index = -1 } };
	snprintf(path, sizeof path, "per_cpu/cpu%d/trace_pipe_raw", number);
	c->pipe = kernel_tracefs_open_file(k->instance, path);
	if (c->pipe >= 0) {
		snprintf(path, sizeof path, "per_cpu/cpu%d/stats", number);
		c->stats = kernel_tracefs_open_file(k->instance, path);
	}
	return c->stats < 0 ? diag_errno(d, "cannot open %s of the tracefs instance", path) : 0;
}

static void drop_oldest(struct kernel_cpu *c)
{
	struct kernel_held *h = c->oldest;

	assert(h && c->held_bytes >= h->size);
	c->oldest = h->next;
	if (!c->oldest)
		c->youngest = NULL;
	c->held_bytes -= h->size;
	assert(c->oldest || !c->held_bytes);
	free(h);
}

void kernel_cpu_close(struct kernel_cpu *c)
{
	if (c->pipe >= 0)
		close(c->pipe);
	if (c->stats >= 0)
		close(c->stats);
	if (c->has_stream)
		ctf_stream_close(&c->stream);
	while (c->oldest)
		drop_oldest(c);
	c->pipe = c->stats = -1;
	c->has_stream = false;
}

void kernel_cpu_restart(struct kernel_cpu *c)
{
	if (c->has_stream)
		ctf_stream_close(&c->stream);
	c->has_stream = false;
	c->lost_before = load(&c->losses->reported);
}

int kernel_drain_describe(struct kernel_drain *k, struct diag *d)
{
	struct text *t = &k->classes.tsdl;
	int err;

	if (t->failed)
		return diag_fail(d, -ENOMEM, "no memory for the metadata of kernel events");
	if (!t->size)
		return 0;
	err = ctf_writer_describe(&k->sink, t->bytes, t->size, d);
	if (!err)
		t->size = 0; /* otherwise it is tried again before the next packet */
	return err;
}

static int open_stream(struct kernel_cpu *c, struct kernel_drain *k, struct diag *d)
{
	char name[32];
	int err;

	if (c->has_stream)
		return 0;
	snprintf(name, sizeof name, "%s_%d", c->prefix, c->number);
	err = ctf_stream_open(&c->stream, &k->sink, name, d);
	c->has_stream = !err;
	return err;
}

enum ctf_births kernel_births(const struct kernel_drain *k, const struct kernel_packet *packet)
{
	if (k->misses_births)
		return CTF_BIRTHS_UNKNOWN;
	return packet->has_births ? CTF_BIRTHS_SOME : CTF_BIRTHS_NONE;
}

int kernel_cpu_append(struct kernel_cpu *c, struct kernel_drain *k,
		      const struct kernel_packet *packet, struct diag *d)
{
	struct iovec body = { packet->events, packet->size };
	struct ctf_packet p = {
		.begin_ns = packet->begin_ns,
		.end_ns = packet->end_ns,
		.discarded = kernel_cpu_lost(c) - c->lost_before,
		.n_events = packet->n_events,
		.cpu = (uint32_t)c->number,
		.n_body = packet->size ? 1 : 0,
		.is_report = !packet->size,
		.births = kernel_births(k, packet),
		.body = &body,
	};
	int err = kernel_drain_describe(k, d);

	assert(packet->begin_ns <= packet->end_ns);
	assert(!c->has_stream || packet->begin_ns >= c->last_ns); /* time never goes back */
	if (!err)
		err = open_stream(c, k, d);
	if (!err) {
		p.sequence = c->stream.sequence;
		err = ctf_stream_append(&c->stream, &p, d);
	}
	if (err) {
		c->losses->here += packet->n_events;
		return err;
	}
	c->last_ns = p.end_ns;
	store(&c->losses->reported, c->lost_before + p.discarded);
	k->n_events += packet->n_events;
	return 0;
}

static uint64_t stat_value(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

static void read_lost(struct kernel_cpu *c)
{
	char text[1024];
	ssize_t n = pread(c->stats, text, sizeof text - 1, 0);
	uint64_t lost;

	if (n <= 0)
		return;
	text[n] = 0;
	lost = stat_value(text, "\noverrun: ") + stat_value(text, "\ncommit overrun: ") +
	       stat_value(text, "\ndropped events: ");
	if (lost > c->losses->counted)
		c->losses->counted = lost;
}

static void report_malformed(struct kernel_cpu *c, struct kernel_drain *k,
			     const struct kernel_page *p, struct diag *d)
{
	c->losses->here++; /* at least */
	if (k->n_malformed++ == 0)
		diag_fail(d, -EBADMSG, "a page of cpu %d's ring buffer %s; its rest was skipped",
			  c->number, p->malformed);
}

static int write_page(struct kernel_cpu *c, struct kernel_drain *k, struct kernel_page *p,
		      struct diag *d)
{
	struct kernel_packet packet;
	int first = 0, err;
	bool more;

	c->losses->flagged += p->n_missed;
	do {
		more = kernel_page_next(p, &packet);
		c->losses->here += packet.n_unknown;
		err = more && packet.end_ns >= c->from_ns ? kernel_cpu_append(c, k, &packet, d) : 0;
		first = first ? first : err;
	} while (more);
	if (p->malformed)
		report_malformed(c, k, p, d);
	c->last_ticks = p->ticks;
	return first;
}

int kernel_cpu_report_lost(struct kernel_cpu *c, struct kernel_drain *k, struct diag *d)
{
	uint64_t now = clock_now_ns(&k->clock);
	struct kernel_packet empty = { .begin_ns = now, .end_ns = now };

	if (kernel_cpu_lost(c) == c->losses->reported)
		return 0;
	if (now < c->last_ns)
		empty.begin_ns = empty.end_ns = c->last_ns;
	return kernel_cpu_append(c, k, &empty, d);
}

/* Partial: another record of an eighth of the page would fit. Few records are as large. */
static bool is_partial(const struct kernel_page *p, size_t page_size)
{
	return p->n_bytes < page_size - KERNEL_PAGE_HEADER - page_size / 8;
}

int kernel_cpu_drain(struct kernel_cpu *c, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d)
{
	uint32_t n = 0, most = 4 * k->buffer_pages + 16;
	struct kernel_page p;
	int first = 0, err;

	for (; n < most; n++) {
		ssize_t size = read(c->pipe, k->page, k->page_size);

		if (size <= 0)
			break;
		if (n == k->buffer_pages / 2 && mode == KERNEL_DRAIN_LIVE)
			read_lost(c);
		if (k->watch)
			k->watch_page(k->watch, (uint32_t)c->number, k->page, (size_t)size);
		kernel_page_open(&p, &k->classes, &k->clock, k->page, (size_t)size, c->last_ticks,
				 clock_ticks(&k->clock) + SKEW_TICKS);
		kernel_page_widen(&p, k->contexts, k->room, k->room_size);
		err = write_page(c, k, &p, d);
		first = first ? first : err;
		if (mode == KERNEL_DRAIN_LIVE && is_partial(&p, k->page_size) &&
		    c->last_ns >= k->until_ns)
			break;
	}
	k->is_behind |= n == most;
	if (mode == KERNEL_DRAIN_LIVE)
		return first;
	read_lost(c);
	err = kernel_cpu_report_lost(c, k, d);
	return first ? first : err;
}

static struct kernel_held *hold(struct kernel_cpu *c, const struct kernel_drain *k, size_t size)
{
	size_t used = kernel_page_used(k->page, size);
	struct kernel_held *h = malloc(sizeof *h + used);

	if (!h)
		return NULL;
	*h = (struct kernel_held){ .size = used,
				   .begin_ns =
					   clock_ns(&k->clock, kernel_page_ticks(k->page, size)) };
	memcpy(h->bytes, k->page, used);
	if (c->youngest)
		c->youngest->next = h;
	else
		c->oldest = h;
	c->youngest = h;
	c->held_bytes += used;
	while (c->held_bytes > k->page_size * k->buffer_pages && c->oldest != h)
		drop_oldest(c);
	assert(c->oldest && c->youngest == h && !h->next);
	return h;
}

/*
 * Near its end the ring is read in pieces of the page being written, each beginning later. The
 * first piece that begins after @until_ns is the last one, so a busy writer cannot keep this loop
 * running.
 */
int kernel_cpu_take(struct kernel_cpu *c, const struct kernel_drain *k, uint64_t until_ns,
		    struct diag *d)
{
	struct kernel_held *h;
	ssize_t size;

	do {
		size = read(c->pipe, k->page, k->page_size);
		if (size <= 0)
			return 0;
		if (k->watch)
			k->watch_page(k->watch, (uint32_t)c->number, k->page, (size_t)size);
		h = hold(c, k, (size_t)size);
		if (!h)
			return diag_fail(d, -ENOMEM, "no memory for recorded kernel events");
	} while (h->begin_ns < until_ns);
	return 0;
}

int kernel_cpu_write_held(const struct kernel_cpu *c, struct kernel_cpu *to, struct kernel_drain *k,
			  struct diag *d)
{
	uint64_t latest = clock_ticks(&k->clock) + SKEW_TICKS;
	struct kernel_page p;
	int first = 0, err;

	for (const struct kernel_held *h = c->oldest; h; h = h->next) {
		if (kernel_held_end_ns(h) < to->from_ns)
			continue;
		memcpy(k->page, h->bytes, h->size);
		kernel_page_open(&p, &k->classes, &k->clock, k->page, h->size, to->last_ticks,
				 latest);
		kernel_page_widen(&p, k->contexts, k->room, k->room_size);
		if (to != c && !to->last_ticks)
			p.n_missed = 0; /* losses before a snapshot do not count in it */
		err = write_page(to, k, &p, d);
		first = first ? first : err;
	}
	if (to == c)
		return first; /* more remains */
	err = kernel_cpu_report_lost(to, k, d);
	return first ? first : err;
}
