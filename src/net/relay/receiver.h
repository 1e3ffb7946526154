/* SPDX-License-Identifier: MIT */
/*
 * net/relay/receiver.h - the receiving half of a connection: bytes in, files and answers out.
 *
 * A relay has one for each sender, and a follower has one for its relay.  It has no socket and
 * never waits.  Its owner asks where to put the bytes that it reads (receiver_room), reports how
 * many came (receiver_process), and sends the bytes in `out`.  What always holds:
 *
 * (1) before MESSAGE_WELCOME a sender occupies 512 bytes here; after it one message, one buffer
 *     of answers and its list of files, which is bounded
 * (2) while the peer does not read the answers, nothing is read from it
 * (3) a file is acknowledged as far as it was written to the file system, never further
 */
#ifndef NET_RELAY_RECEIVER_H
#define NET_RELAY_RECEIVER_H

#include "net/relay/store.h"

enum { RECEIVER_OUT_BYTES = 4096 };

struct receiver {
	struct store store;  /* dir is -1 until MESSAGE_HELLO */
	int output;	     /* directory of all recordings; lent */
	uint64_t most_bytes; /* limit for one recording; 0: none */
	uint8_t *in;	     /* bytes that were received, and not processed yet */
	uint32_t n_in, in_capacity;
	uint8_t out[RECEIVER_OUT_BYTES];
	uint32_t n_out;
	uint32_t version;	 /* the version in use; see MESSAGE_WELCOME */
	uint32_t to_acknowledge; /* number of a file + 1; 0: none */
	/* bytes written of the message at the head of @in, if the disk filled up in its middle */
	uint32_t written;
	/* this side sent MESSAGE_WATCH: set before the first byte is received */
	bool is_follower;
	struct message message;	    /* set by the events that say so */
	bool is_stalled;	    /* the disk is full */
	uint32_t n_retries;	    /* since then */
	char why[MESSAGE_NAME + 1]; /* it is stalled, or was refused */
	bool is_over;		    /* refused, or complete: @out holds the last answer */
	uint64_t time_written_ns;
	uint32_t n_times;
	uint64_t received_ns; /* when the last bytes came, by the wall clock */
};

/* receiver_init - 0 or -ENOMEM. */
int receiver_init(struct receiver *r, int output, uint64_t most_bytes);
void receiver_fini(struct receiver *r);

/* receiver_room - where to put the next bytes, and how many fit.  0 in @*n: read nothing now. */
uint8_t *receiver_room(struct receiver *r, size_t *n);

enum receiver_event {
	RECEIVER_NOTHING,
	/* store.path is now known; call receiver_process(r, 0) once no other client writes there */
	RECEIVER_WELCOME,
	/* the peer wants to follow the recording in `message`: the connection leaves this
	 * receiver */
	RECEIVER_FOLLOWER,
	/* At a follower; call receiver_process(r, 0) afterwards. */
	RECEIVER_LISTED,  /* `message` */
	RECEIVER_NO_MORE, /* the list is complete; no recording is sent */
	RECEIVER_REFUSED, /* `message.text` */
};

/* receiver_process - @n bytes came; process each complete message. */
enum receiver_event receiver_process(struct receiver *r, size_t n);

/* receiver_refuse - refuse the connection, with a reason for the peer. */
void receiver_refuse(struct receiver *r, const char *why);

/* receiver_sent - the first @n bytes of `out` were sent. */
void receiver_sent(struct receiver *r, size_t n);

/* receiver_trouble - send the peer the reason why nothing is read for now. */
void receiver_trouble(struct receiver *r, const char *why);

/* receiver_retry - call it regularly while is_stalled: the disk may have room again.  Returns an
 * event like receiver_process. */
enum receiver_event receiver_retry(struct receiver *r);

#endif
