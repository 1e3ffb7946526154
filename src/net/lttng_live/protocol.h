/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/protocol.h - the protocol of one viewer that speaks lttng-live, as LTTng's relay
 * 2.4 to 2.13 does.
 *
 * Commands go in, answers come out.  Nothing here waits or touches a socket.  A viewer asks for
 * the next packet, stream by stream, and merges the streams by time.  These promises keep its
 * merge from going back in time:
 *
 * (1) while the recording grows, nothing is sent that is newer than its known_ns: no beacon of a
 *     stream (INACTIVE), and no packet that ends after it.  No older event will come, in this
 *     stream or in one that does not exist yet
 * (2) no packet begins before the last beacon of its stream, and for a new stream before what was
 *     sent of any.  A packet that overlaps it gets its begin moved.  A packet that ends before it
 *     is late: it is skipped and counted
 * (3) while there is a stream that the viewer does not know, it gets no beacon and nothing newer
 *     than before, but a flag that new streams exist.  Babeltrace 2.0 accepts this flag only with a
 *     packet: it gets an empty dummy packet, except in a stream that it has no packet of yet
 * (4) metadata is sent in complete blocks, and is offered before a packet that needs it
 *
 * An answer is complete before the next command is read, so memory is bounded by one packet.
 */
#ifndef NET_LTTNG_LIVE_PROTOCOL_H
#define NET_LTTNG_LIVE_PROTOCOL_H

#include "base/text.h"
#include "net/lttng_live/recordings.h"

enum { LIVE_COMMAND_MAX = 16 + 32 };

struct live_cursor { /* of a stream, for one viewer */
	bool is_announced, is_over;
	bool has_class, has_packet;
	uint64_t class_id;
	uint64_t next; /* number of the next packet */
	/* dummy packets so far: they raise the sequence numbers of later packets */
	uint64_t n_dummies;
	bool is_dummy;		   /* `packet` is a dummy, with the header of the packet before */
	uint64_t floor_ns;	   /* nothing older may be sent */
	uint64_t sent;		   /* bytes of metadata */
	struct live_packet packet; /* the last one sent */
};

struct live_connection {
	struct live_files *files; /* lent */
	bool from_begin;	  /* whatever the viewer asks for */
	uint8_t in[LIVE_COMMAND_MAX];
	uint32_t n_in;
	struct text out; /* the answer, until live_connection_sent() has taken all */
	size_t n_sent;
	bool is_over;		     /* it sent an invalid command, or memory ran out: close it */
	bool has_connected;	     /* it has sent CONNECT */
	struct live_cursor *cursors; /* by stream */
	uint32_t n_cursors;
	uint64_t *floors;  /* by recording: the newest that was sent of its streams */
	bool *is_attached; /* by recording */
	uint32_t n_floors;
	uint64_t n_late;
};

/* live_connection_process - @n bytes came.  Returns how many were processed: fewer while an
 * answer waits to be sent. */
uint32_t live_connection_process(struct live_connection *c, const uint8_t *bytes, uint32_t n);
/* live_connection_sent - @n bytes from out.bytes + n_sent on were sent. */
void live_connection_sent(struct live_connection *c, size_t n);
void live_connection_fini(struct live_connection *c);

#endif
