/* SPDX-License-Identifier: MIT */
/*
 * net/relay/receiver.h - one sender as a relay sees it, or a relay as one who watches does: bytes in, files and bytes out.
 *
 * No socket and no waiting: whoever owns one asks where to put what it reads (intake_room), says how
 * much came (intake_took), and sends what lies in `out`.  What always holds:
 *
 *   (1) before the sender is welcome it has 512 bytes of us; after that one message, one answer
 *       buffer and its list of files, which is bounded
 *   (2) who does not read our answers is not read from
 *   (3) a file is acknowledged as far as it was written to the file system, never further
 */
#ifndef NET_RELAY_RECEIVER_H
#define NET_RELAY_RECEIVER_H

#include "net/relay/store.h"

enum { INTAKE_OUT_BYTES = 4096 };

struct intake {
	struct store store; /* dir is -1 until it is welcome */
	int output; /* directory of all recordings; lent */
	uint64_t most_bytes; /* of one recording; 0: no limit */
	uint8_t *in; /* what came and is not yet dealt with */
	uint32_t n_in, in_capacity;
	uint8_t out[INTAKE_OUT_BYTES];
	uint32_t n_out;
	uint32_t version; /* that both speak */
	uint32_t to_acknowledge; /* a file's number + 1; 0: none */
	uint32_t written; /* of the message at the head of @in, when the disk filled up in its middle */
	bool is_watching; /* we asked a relay for what it sends: set before the first byte */
	struct message said; /* with an event that says so */
	bool is_stalled; /* the disk is full */
	bool is_over; /* refused, or complete: what is in @out is the last */
	uint64_t time_noted_ns;
	uint32_t n_times;
	uint64_t took_ns; /* wall clock, when the last bytes came */
};

/* intake_init - 0 or -ENOMEM. */
int intake_init(struct intake *i, int output, uint64_t most_bytes);
void intake_fini(struct intake *i);

/* intake_room - where to put what comes next, and how much.  0 in @*n: nothing may be read now. */
uint8_t *intake_room(struct intake *i, size_t *n);

enum intake_event {
	INTAKE_NOTHING,
	INTAKE_WELCOME, /* store.path is now its; go on by intake_took(i, 0) once nobody else writes there */
	INTAKE_WATCHER, /* it sends nothing, but wants to follow what `said` says: it is not ours any more */
	/* To one who watches: go on by intake_took(i, 0). */
	INTAKE_LISTED, /* `said` */
	INTAKE_NO_MORE, /* of the list; nothing is sent */
	INTAKE_REFUSED, /* `said.text` */
};

/* intake_took - @n bytes came; deal with what is complete. */
enum intake_event intake_took(struct intake *i, size_t n);

/* intake_refuse - say why nothing more is taken. */
void intake_refuse(struct intake *i, const char *why);

/* intake_sent - the first @n bytes of `out` are on their way. */
void intake_sent(struct intake *i, size_t n);

/* intake_trouble - say why nothing is read for now. */
void intake_trouble(struct intake *i, const char *why);

/* intake_retry - once in a while when it is stalled: perhaps there is room now. */
void intake_retry(struct intake *i);

#endif
