/* SPDX-License-Identifier: MIT */
/*
 * net/relay/receiver.h - one sender as a relay sees it, or a relay as one who watches does: bytes
 * in, files and bytes out.
 *
 * No socket and no waiting: whoever owns one asks where to put what it reads (receiver_room), says
 * how much came (receiver_took), and sends what lies in `out`.  What always holds:
 *
 *   (1) before the sender is welcome it has 512 bytes of us; after that one message, one answer
 *       buffer and its list of files, which is bounded
 *   (2) who does not read our answers is not read from
 *   (3) a file is acknowledged as far as it was written to the file system, never further
 */
#ifndef NET_RELAY_RECEIVER_H
#define NET_RELAY_RECEIVER_H

#include "net/relay/store.h"

enum { RECEIVER_OUT_BYTES = 4096 };

struct receiver {
	struct store store;  /* dir is -1 until it is welcome */
	int output;	     /* directory of all recordings; lent */
	uint64_t most_bytes; /* of one recording; 0: no limit */
	uint8_t *in;	     /* what came and is not yet dealt with */
	uint32_t n_in, in_capacity;
	uint8_t out[RECEIVER_OUT_BYTES];
	uint32_t n_out;
	uint32_t version;	 /* that both speak */
	uint32_t to_acknowledge; /* a file's number + 1; 0: none */
	uint32_t written;    /* of the message at the head of @in, when the disk filled up in its
				middle */
	bool is_watching;    /* we asked a relay for what it sends: set before the first byte */
	struct message said; /* with an event that says so */
	bool is_stalled;     /* the disk is full */
	bool is_over;	     /* refused, or complete: what is in @out is the last */
	uint64_t time_noted_ns;
	uint32_t n_times;
	uint64_t took_ns; /* wall clock, when the last bytes came */
};

/* receiver_init - 0 or -ENOMEM. */
int receiver_init(struct receiver *i, int output, uint64_t most_bytes);
void receiver_fini(struct receiver *i);

/* receiver_room - where to put what comes next, and how much.  0 in @*n: nothing may be read now.
 */
uint8_t *receiver_room(struct receiver *i, size_t *n);

enum receiver_event {
	RECEIVER_NOTHING,
	RECEIVER_WELCOME, /* store.path is now its; go on by receiver_took(i, 0) once nobody else
			     writes there */
	RECEIVER_WATCHER, /* it sends nothing, but wants to follow what `said` says: it is not ours
			     any more */
	/* To one who watches: go on by receiver_took(i, 0). */
	RECEIVER_LISTED,  /* `said` */
	RECEIVER_NO_MORE, /* of the list; nothing is sent */
	RECEIVER_REFUSED, /* `said.text` */
};

/* receiver_took - @n bytes came; deal with what is complete. */
enum receiver_event receiver_took(struct receiver *i, size_t n);

/* receiver_refuse - say why nothing more is taken. */
void receiver_refuse(struct receiver *i, const char *why);

/* receiver_sent - the first @n bytes of `out` are on their way. */
void receiver_sent(struct receiver *i, size_t n);

/* receiver_trouble - say why nothing is read for now. */
void receiver_trouble(struct receiver *i, const char *why);

/* receiver_retry - once in a while when it is stalled: perhaps there is room now. */
void receiver_retry(struct receiver *i);

#endif
