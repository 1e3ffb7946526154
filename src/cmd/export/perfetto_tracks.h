/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/perfetto_tracks.h - packets, interned names and tracks of `duet export perfetto`.
 *
 * A track is a row of the viewer.  Its packet precedes the first event on it; a track is written
 * once.
 */
#ifndef CMD_EXPORT_PERFETTO_TRACKS_H
#define CMD_EXPORT_PERFETTO_TRACKS_H

#include "cmd/export/internal.h"
#include "cmd/export/proto.h"

enum { PERFETTO_DEPTH_MAX = 2 * CTF_DEPTH_MAX };

struct interned {
	const char *text; /* of the metadata: equal texts may have different addresses */
	uint32_t size, field;
	uint64_t id;
};

struct perfetto {
	struct export *x;
	struct timeline timeline;
	struct proto p;
	struct interned *interned; /* open addressing, at most half full */
	uint32_t n_interned, n_slots;
	struct interned pending[PERFETTO_DEPTH_MAX * 4]; /* to be written with this packet */
	uint32_t n_pending;
	uint8_t *has_track; /* bits by thread: 1 as a thread, 2 as a process */
	bool *has_cpu_track, *has_counter_track;
	uint32_t n_has_track, n_has_cpu_track, n_has_counter_track;
	bool has_cpus_track;
	int64_t last_ns;
};

void perfetto_fini(struct perfetto *p);

/* perfetto_begin - write the first packet: clocks and categories.  0 or -ENOMEM. */
int perfetto_begin(struct perfetto *p, int64_t begin_ns);

/* perfetto_begin_packet, perfetto_end_packet - one packet; it is written at its end.  The first
 * returns the argument for the second, which returns 0 or -ENOMEM. */
size_t perfetto_begin_packet(struct perfetto *p);
int perfetto_end_packet(struct perfetto *p, size_t opened);
void perfetto_put_text(struct proto *p, uint32_t field, const char *text);

/* perfetto_intern - return the number for @text, which must live as long as the trace; 0 if it
 * cannot have one.  perfetto_write_interned() then writes new ones, once per packet. */
uint64_t perfetto_intern(struct perfetto *p, uint32_t field, const char *text, uint32_t size);
void perfetto_write_interned(struct perfetto *p);

/* perfetto_add_row_track, perfetto_add_counter_track - write the track of @item, if it is new, and
 * store its number.  A counter belongs to a process.  0 or -ENOMEM. */
int perfetto_add_row_track(struct perfetto *p, const struct timeline_item *item, uint64_t *uuid);
int perfetto_add_counter_track(struct perfetto *p, const struct timeline_item *item,
			       uint64_t *uuid);

#endif
