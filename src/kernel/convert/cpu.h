/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/cpu.h - one CPU's ring buffer, drained into one CTF stream.
 */
#ifndef KERNEL_CONVERT_CPU_H
#define KERNEL_CONVERT_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "ctf/write/writer.h"
#include "kernel/convert/class.h"
#include "kernel/threads/contexts.h"
#include "kernel/kernel.h"

struct kernel_packet;

/* What all CPUs of a recording share. */
struct kernel_drain {
	int instance; /* descriptor of its directory */
	struct abi_clock clock;
	struct kernel_classes classes;
	struct ctf_writer sink;
	struct kernel_watch *watch;	  /* NULL: nobody waits for an event */
	struct kernel_contexts *contexts; /* NULL: none */
	uint8_t *room; /* with contexts: room_size bytes, where a page's events are put */
	size_t room_size;
	uint8_t *page; /* page_size bytes */
	size_t page_size;
	uint32_t buffer_pages; /* per CPU */
	uint64_t until_ns;     /* KERNEL_DRAIN_LIVE: see there */
	bool is_behind;	       /* more was recorded than it took */
	uint64_t n_events;
	uint64_t n_malformed;
};

/* A page as it was read, kept for snapshots. */
struct kernel_held {
	struct kernel_held *next; /* younger */
	uint64_t begin_ns;
	size_t size;
	uint8_t bytes[];
};

/*
 * What is lost of one CPU.  In memory that outlives the collector, if it is to be replaced when it
 * is killed: its successor counts on from here, and tells nothing again.  Killed just between a
 * packet and `told` it leaves what that packet was the first to tell to be told twice.
 */
struct kernel_losses {
	uint64_t flagged;  /* as pages told */
	uint64_t counted;  /* as stats told, the same and more */
	uint64_t here;	   /* not understood, or not written */
	uint64_t reported; /* in the last packet, and in the traces before */
};

struct kernel_cpu {
	int number;
	const char *prefix; /* of its stream's name */
	int pipe;	    /* trace_pipe_raw, non-blocking */
	bool has_stream;    /* once there is something to write */
	struct ctf_stream stream;
	uint64_t last_ticks;	      /* of what was read */
	uint64_t last_ns;	      /* end of the last packet */
	struct kernel_losses *losses; /* lent */
	uint64_t lost_before;	      /* told in the traces before */
	uint64_t from_ns;	      /* packets that end before are not wanted */
	struct kernel_held *oldest, *youngest;
	size_t held_bytes;
};

enum kernel_drain_mode {
	/* Stops at the first page that is not full, if it holds what is at k->until_ns or later: it
	 * is being written. */
	KERNEL_DRAIN_LIVE,
	KERNEL_DRAIN_LAST, /* recording has stopped: takes everything, and tells all losses */
};

/* kernel_cpu_open - 0 or -errno.  c->losses is still to be set. */
int kernel_cpu_open(struct kernel_cpu *c, const struct kernel_drain *k, int number, struct diag *d);
void kernel_cpu_close(struct kernel_cpu *c);

/* kernel_cpu_append - write a packet to its stream; events that cannot be written are counted as
 * lost. */
int kernel_cpu_append(struct kernel_cpu *c, struct kernel_drain *k,
		      const struct kernel_packet *packet, struct diag *d);
/* kernel_cpu_report_lost - losses that no packet has told get an empty one. */
int kernel_cpu_report_lost(struct kernel_cpu *c, struct kernel_drain *k, struct diag *d);

/* Its stream is to begin anew, in another trace, which tells no loss that those before have told.
 */
void kernel_cpu_restart(struct kernel_cpu *c);

/* Writes what is there.  Returns 0 or the first error; even then everything was read. */
int kernel_cpu_drain(struct kernel_cpu *c, struct kernel_drain *k, enum kernel_drain_mode mode,
		     struct diag *d);

/*
 * kernel_cpu_take - read what was recorded up to @until_ns into memory, while recording goes on.
 *
 * What is held grows to the size of the ring, then the oldest is dropped.
 */
int kernel_cpu_take(struct kernel_cpu *c, const struct kernel_drain *k, uint64_t until_ns,
		    struct diag *d);

/* kernel_cpu_write_held - write what is held, from to->from_ns on, into the stream of @to, which
 * may be @c. It stays held. */
int kernel_cpu_write_held(const struct kernel_cpu *c, struct kernel_cpu *to, struct kernel_drain *k,
			  struct diag *d);

/* The end of a held page is the beginning of the next one, at the latest. */
static inline uint64_t kernel_held_end_ns(const struct kernel_held *h)
{
	return h->next ? h->next->begin_ns : UINT64_MAX;
}

static inline uint64_t kernel_cpu_lost(const struct kernel_cpu *c)
{
	const struct kernel_losses *l = c->losses;

	return l->here + (l->counted > l->flagged ? l->counted : l->flagged);
}

/* Writes to the metadata what classes have gathered. */
int kernel_drain_describe(struct kernel_drain *k, struct diag *d);

#endif
