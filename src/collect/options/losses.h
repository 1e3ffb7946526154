/* SPDX-License-Identifier: MIT */
/*
 * collect/options/losses.h - where and why events were lost, as far as the collector can find out.
 *
 * Plain data of a recording's result.  It is for the hint that fits: cmd/summary/loss_hint.c.
 */
#ifndef COLLECT_OPTIONS_LOSSES_H
#define COLLECT_OPTIONS_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/control.h"
#include "abi/session.h"

/* A channel's buffers. */
struct losses_channel {
	uint64_t limit_bytes; /* the most that they may have */
	uint64_t too_large;   /* events larger than a sub-buffer; part of the channel's losses */
	uint32_t chunk_bytes; /* of a sub-buffer */
	uint32_t wait_us;     /* the longest wait of a writer; 0: it does not wait */
	bool was_short;	      /* memory below the limit could not be allocated */
	bool overwrites;
};

struct losses {
	struct losses_channel channels[ABI_CHANNELS];
	uint64_t outside[ABI_LOSSES]; /* events that reached no pool, by reason: abi/control.h */
	char program[ABI_NAME_BYTES]; /* the first that lost such events; "" */
	uint32_t kernel_buffer_kib;   /* of each CPU */
	uint64_t kernel_elsewhere;    /* lost, but not for lack of room in the kernel's buffers */
};

#endif
