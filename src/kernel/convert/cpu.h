/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/cpu.h - one CPU's ring buffer, drained into one CTF stream.
 *
 * A drain never waits for a writer: a live drain stops at the first page that is not full.
 */
#ifndef KERNEL_CONVERT_CPU_H
#define KERNEL_CONVERT_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "ctf/write/public.h"
#include "kernel/convert/class.h"
#include "kernel/threads/event_contexts.h"

struct kernel_packet;
struct kernel_watch;

/* State that all CPUs of a recording share. */
struct kernel_drain {
	int instance; /* descriptor of its directory */
	struct abi_clock clock;
	struct kernel_classes classes;
	struct ctf_writer sink;
	struct kernel_watch *watch; /* NULL: no event is watched */
	/* kernel_watch_page(), set with watch; a call would include a room above this one. */
	void (*watch_page)(struct kernel_watch *w, uint32_t cpu, const uint8_t *page, size_t size);
	struct kernel_contexts *contexts; /* NULL: none */
	uint8_t *room; /* with contexts: room_size bytes for the converted events of a page */
	size_t room_size;
	uint8_t *page; /* page_size bytes */
	size_t page_size;
	uint32_t buffer_pages; /* per CPU */
	uint64_t until_ns;     /* see KERNEL_DRAIN_LIVE */
	bool is_behind;	       /* more was recorded than drained */
	bool misses_births;    /* of threads that may record: by a filter, or a pause */
	uint64_t n_events;
	uint64_t n_malformed;
};

/* kernel_births - what the index says of @packet: nothing if there may be births that no packet has. */
enum ctf_births kernel_births(const struct kernel_drain *k, const struct kernel_packet *packet);

/* A page as it was read, held for snapshots. */
struct kernel_held {
	struct kernel_held *next; /* younger */
	uint64_t begin_ns;
	size_t size;
	uint8_t bytes[];
};

/*
 * Losses of one CPU.
 *
 * If a supervisor restarts a killed collector, this lies in memory that outlives the collector. The
 * next collector continues the counts and does not report a loss again. If the collector is killed
 * between writing a packet and updating `reported`, the losses first reported in that packet are
 * reported twice.
 */
struct kernel_losses {
	uint64_t flagged;  /* from the flags of pages */
	uint64_t counted;  /* from `stats`: the same losses and more */
	uint64_t here;	   /* not understood, or not written */
	uint64_t reported; /* in the last packet, and in earlier traces */
};

struct kernel_cpu {
	int number;
	const char *prefix; /* of its stream's name */
	int pipe;	    /* trace_pipe_raw, non-blocking */
	int stats;	    /* open from the start: a lender may end before the recording */
	bool has_stream;    /* once there is data to write */
	struct ctf_stream stream;
	uint64_t last_ticks;	      /* of the last data read */
	uint64_t last_ns;	      /* end of the last packet */
	struct kernel_losses *losses; /* not owned */
	uint64_t lost_before;	      /* reported in earlier traces */
	uint64_t from_ns;	      /* packets that end earlier are skipped */
	struct kernel_held *oldest, *youngest;
	size_t held_bytes;
};

enum kernel_drain_mode {
	/* Stops at the first page that is not full if it holds data from k->until_ns or later: it
	 * is still being written. */
	KERNEL_DRAIN_LIVE,
	KERNEL_DRAIN_LAST, /* recording has stopped: reads everything and reports all losses */
};

/* kernel_cpu_open - 0 or -errno. The caller sets c->losses afterwards. */
int kernel_cpu_open(struct kernel_cpu *c, const struct kernel_drain *k, int number, struct diag *d);
void kernel_cpu_close(struct kernel_cpu *c);

/* kernel_cpu_append - write a packet to its stream; events that cannot be written count as lost. */
int kernel_cpu_append(struct kernel_cpu *c, struct kernel_drain *k,
		      const struct kernel_packet *packet, struct diag *d);
/* kernel_cpu_report_lost - write an empty packet for losses that no packet has reported yet. */
int kernel_cpu_report_lost(struct kernel_cpu *c, struct kernel_drain *k, struct diag *d);

/* Starts its stream again, in another trace. That trace does not repeat losses reported in earlier
 * ones. */
void kernel_cpu_restart(struct kernel_cpu *c);

/* Writes the available data. Returns 0 or the first error; all data is read even on an error. */
int kernel_cpu_drain(struct kernel_cpu *c, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d);

/*
 * kernel_cpu_take - read the data recorded up to @until_ns into memory, while recording goes on.
 *
 * The held data grows to the size of the ring; then the oldest page is dropped.
 */
int kernel_cpu_take(struct kernel_cpu *c, const struct kernel_drain *k, uint64_t until_ns,
		    struct diag *d);

/* kernel_cpu_write_held - write the held pages from to->from_ns on into the stream of @to, which
 * may be @c. They stay held. */
int kernel_cpu_write_held(const struct kernel_cpu *c, struct kernel_cpu *to, struct kernel_drain *k,
			  struct diag *d);

/* A held page ends where the next one begins, at the latest. */
static inline uint64_t kernel_held_end_ns(const struct kernel_held *h)
{
	return h->next ? h->next->begin_ns : UINT64_MAX;
}

static inline uint64_t kernel_cpu_lost(const struct kernel_cpu *c)
{
	const struct kernel_losses *l = c->losses;

	return l->here + (l->counted > l->flagged ? l->counted : l->flagged);
}

/* Writes the gathered descriptions to the metadata. */
int kernel_drain_describe(struct kernel_drain *k, struct diag *d);

#endif
