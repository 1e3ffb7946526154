/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/perfetto_format.h - field numbers of Perfetto's trace format.
 *
 * Source: github.com/google/perfetto, protos/perfetto/trace.  A prefix is the message that has the
 * field.
 */
#ifndef CMD_EXPORT_PERFETTO_FORMAT_H
#define CMD_EXPORT_PERFETTO_FORMAT_H

enum { TRACE_PACKET = 1 };
enum { /* TracePacket */
       PACKET_FTRACE = 1,
       PACKET_CLOCKS = 6,
       PACKET_TIME = 8,
       PACKET_SEQUENCE = 10,
       PACKET_EVENT = 11,
       PACKET_INTERNED = 12,
       PACKET_FLAGS = 13,
       PACKET_CLOCK = 58,
       PACKET_DEFAULTS = 59,
       PACKET_TRACK = 60,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2, SEQUENCE = 1, SEQUENCE_FTRACE = 2 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_IS_DELTA = 3 };
enum { REALTIME = 1, BOOTTIME = 6, OURS = 64 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_TEXT = 5 };
enum { /* TrackEvent */
       EVENT_CATEGORY = 3,
       EVENT_ANNOTATION = 4,
       EVENT_TYPE = 9,
       EVENT_NAME = 10,
       EVENT_TRACK = 11,
       EVENT_TEXT = 23,
       EVENT_NUMBER = 30,
       EVENT_FLOW = 47,
       EVENT_LAST_OF_FLOW = 48,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	ANNOTATION_NAME = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_REAL = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_MEMBER = 11,
	ANNOTATION_ELEMENT = 12
};
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_EVENT = 2,
	INTERNED_ANNOTATION = 3,
	INTERNED_ID = 1,
	INTERNED_TEXT = 2
};
enum {
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	FTRACE_TIME = 1,
	FTRACE_PID = 2,
	FTRACE_SWITCH = 4,
	FTRACE_WAKEUP = 17,
	FTRACE_WAKING = 20
};

#endif
