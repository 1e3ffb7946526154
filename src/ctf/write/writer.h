/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/writer.h - writes a trace directory.
 *
 * One directory is one CTF trace: `metadata`, stream files, `index/<stream>.idx`.  At every
 * moment, whatever process dies:
 *
 * (1) an event class is in `metadata` before a packet that uses it is in a stream
 * (2) a packet is complete in its stream before the index names it.  The index's blocks are reserved before
 *     the packet is written, so a full disk does not cut an entry, nor one of several packets
 * (3) metadata grows by whole blocks, with one write each
 *
 * So the worst that a crash leaves is a stream that ends inside a packet; readers stop before it.
 *
 * Readers that look only at the time that all streams of a trace have in common (Babeltrace's
 * --stream-intersection, LTTng-analyses) shall see the whole recording.  So an empty packet at
 * `begin_ns` opens each stream, and ctf_writer_end() closes each with another.
 * One thread at a time may use a writer and its streams.
 */
#ifndef CTF_WRITE_WRITER_H
#define CTF_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "disk/disk.h"
#include "base/quota.h"
#include "ctf/write/ledger.h"

struct ctf_writer {
	int dir; /* descriptor of the directory */
	int index_dir;
	int metadata;
	uint8_t uuid[16];
	uint32_t n_streams;
	uint64_t bytes;		    /* written to all streams */
	uint64_t begin_ns;	    /* as in the options */
	uint64_t first_ns, last_ns; /* earliest begin and latest end of a packet; 0, 0: none */
	struct quota *quota;	    /* of packets; NULL: none */
	struct disk_budget *disk;   /* of packets and descriptions; lent; NULL: no limit */
	struct ctf_ledger *ledger;  /* enters each packet; lent; NULL: none */
	const char *refuses;	    /* why nothing more is written; lent; NULL: it is */
	char path[512];
};

struct ctf_stream {
	struct ctf_writer *writer; /* lent; outlives the stream */
	int fd;
	int index;
	uint64_t instance;
	uint32_t class_id;   /* of its stream class; 0 unless set after ctf_stream_open() */
	uint64_t offset;     /* bytes in the file */
	uint64_t gaps;	     /* the part of them that lets full packets end with large folios */
	uint64_t n_index;    /* bytes in its index */
	uint64_t index_room; /* bytes of the index with blocks reserved on the disk */
	uint64_t sequence;   /* of the next packet */
	/* If its first packet is number 0 and begins later, an empty one at this time precedes it.
	 * The writer's, unless set after ctf_stream_open(); 0: none. */
	uint64_t begin_ns;
	char name[64];
};

struct ctf_writer_options {
	const char *path;   /* created with its parents; must not contain a trace */
	const char *domain; /* "ust" or "kernel": selects the layout that env names */
	const struct abi_clock *clock;
	uint64_t clock_offset_ns; /* from the Epoch to the clock's zero */
	uint64_t begin_ns;	  /* all streams begin then; 0: each with its first packet */
	/* kernel: "machine", or "followed" if only some processes are recorded; or NULL */
	const char *scope;
	/* names of channels whose times may be early, and the error; NULL: none */
	const char *coarse_channels;
	uint64_t coarse_error_ns;
	bool is_of_command; /* the trace begins and ends with a command: "duet_subject" */
	/* for a trace made of another: its host, and the 16 bytes of its clock's uuid.  NULL: this
	 * machine's */
	const char *hostname;
	const uint8_t *clock_uuid;
};

/* ctf_writer_open - create the directory and write the head of its metadata (trace, env and
 * clock, but no stream).  Returns 0 or -errno. */
int ctf_writer_open(struct ctf_writer *s, const struct ctf_writer_options *o, struct diag *d);
void ctf_writer_close(struct ctf_writer *s);

/* ctf_writer_describe - append complete TSDL blocks (stream, event) to the metadata. */
int ctf_writer_describe(struct ctf_writer *s, const char *tsdl, size_t size, struct diag *d);

/* The head declares the types of packet header, packet context and clock that `stream` blocks
 * use: see the text in writer.c.  A stream block contains packet.context := struct
 * packet_context. */

/* Whether a packet holds events with the process of a thread, as its index entry has it: abi/ctf.h. */
enum ctf_births { CTF_BIRTHS_UNKNOWN, CTF_BIRTHS_NONE, CTF_BIRTHS_SOME };

/* One packet to append.  Its events are in @n_body parts, which are not copied. */
struct ctf_packet {
	uint64_t begin_ns;  /* not after the first event */
	uint64_t end_ns;    /* not before the last event */
	uint64_t discarded; /* cumulative for the stream */
	uint64_t sequence;  /* of the stream; gaps are lost packets */
	uint64_t n_events;  /* for the ledger */
	bool is_report;	    /* of losses: it is written although events do not fit on the disk */
	enum ctf_births births;
	uint32_t cpu; /* ABI_CPU_UNKNOWN if not known */
	int n_body;
	struct iovec *body;
};

/* ctf_stream_open - add a stream file @name to the trace.  Returns 0 or -errno. */
int ctf_stream_open(struct ctf_stream *st, struct ctf_writer *s, const char *name, struct diag *d);
void ctf_stream_close(struct ctf_stream *st);

/* ctf_stream_append - write one packet, then its index entry.  On error (disk full) the file is
 * cut back to whole packets.  Returns 0 or -errno; -ENOSPC also if the quota of the writer is
 * used up, -EDQUOT if its disk budget is. */
int ctf_stream_append(struct ctf_stream *st, const struct ctf_packet *p, struct diag *d);

/*
 * ctf_stream_append_all - the same for at most CTF_PACKETS_MOST packets, in order: one write for all of
 * them and one for their index entries.  All are appended, or none.  The numbers of those behind the
 * first count on from its own, and all are reports or none.
 */
int ctf_stream_append_all(struct ctf_stream *st, const struct ctf_packet *p, int n, struct diag *d);

/* ctf_writer_end - let each stream of the trace end at @end_ns, or where the last one ends if that
 * is later.  Nothing is appended afterwards.  Returns 0 or the first error: then some streams end
 * with their last packet. */
int ctf_writer_end(struct ctf_writer *s, uint64_t end_ns, struct diag *d);

#endif
