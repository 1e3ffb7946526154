/* SPDX-License-Identifier: MIT */
/*
 * net/lttng_live/protocol.h - a conversation with a viewer that speaks lttng-live, as LTTng's
 * relay 2.4 to 2.13 does.
 *
 * Commands in, answers out; nothing here waits or touches a socket.  A viewer asks, stream by
 * stream, for the next packet, and merges by time.  What we promise it, so that its merge never
 * goes back:
 *
 *   (1) a beacon of a stream (INACTIVE) is at most the recording's known_ns: nothing older will
 * come in it (2) no packet begins before what its stream's beacons, and for a new stream those of
 * all, have said; one that continues a chunk claims to, and its beginning is moved.  A packet that
 * ends before is late: it is passed over, and counted (3) while there is a stream the viewer does
 * not know, it gets no beacon, but the hint to ask for it. Babeltrace 2.0 takes the hint only with
 * a packet: if there is none, an empty one is made up (a bell) (4) metadata are whole blocks, and
 * are offered before a packet that needs them
 *
 * An answer is complete before the next command is looked at, so memory is bounded: one packet.
 */
#ifndef NET_LTTNG_LIVE_PROTOCOL_H
#define NET_LTTNG_LIVE_PROTOCOL_H

#include "base/text.h"
#include "net/lttng_live/files.h"

enum { LIVE_COMMAND_MAX = 16 + 32 };

struct live_cursor { /* of a stream */
	bool reported, is_over;
	bool has_class, has_packet;
	uint64_t class_id;
	uint64_t next;		   /* packet */
	uint64_t n_bells;	   /* packets made up so far: later ones are numbered on */
	bool is_bell;		   /* `packet` is one, with the header of the packet before */
	uint64_t floor_ns;	   /* nothing older may be given */
	uint64_t sent;		   /* of metadata */
	struct live_packet packet; /* given last */
};

struct live_talk {
	struct live_files *files; /* lent */
	bool from_begin;	  /* whatever the viewer asks for */
	uint8_t in[LIVE_COMMAND_MAX];
	uint32_t n_in;
	struct text out; /* the answer, until live_talk_sent() has taken all */
	size_t n_sent;
	bool is_over;		     /* it said what makes no sense: to be closed */
	bool is_known;		     /* it has said who it is */
	struct live_cursor *cursors; /* by stream */
	uint32_t n_cursors;
	uint64_t *floors;  /* by recording: the latest beacon of its streams */
	bool *is_attached; /* by recording */
	uint32_t n_floors;
	uint64_t n_late;
};

/* live_talk_took - @n bytes came.  Returns how many were taken: fewer while an answer waits to be
 * sent. */
uint32_t live_talk_took(struct live_talk *t, const uint8_t *bytes, uint32_t n);
/* live_talk_sent - @n bytes of out.bytes + n_sent were sent. */
void live_talk_sent(struct live_talk *t, size_t n);
void live_talk_fini(struct live_talk *t);

#endif
