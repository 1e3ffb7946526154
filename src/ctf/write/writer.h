/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/writer.h - a trace directory while it is written.
 *
 * One directory is one CTF trace: `metadata`, stream files, `index/<stream>.idx`.  At every
 * instant, whatever dies:
 *
 *   (1) an event class is in `metadata` before a packet that uses it is in a stream
 *   (2) a packet is whole in its stream before the index names it
 *   (3) metadata grows by whole blocks, one write each
 *
 * A stream that ends in mid-packet is therefore the worst a crash leaves; readers stop before it.
 * One thread at a time may use a sink and its streams.
 */
#ifndef CTF_WRITE_WRITER_H
#define CTF_WRITE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "base/quota.h"

struct ctf_writer {
	int dir; /* descriptor of the directory */
	int index_dir;
	int metadata;
	uint8_t uuid[16];
	uint32_t n_streams;
	uint64_t bytes;	     /* written to all streams */
	struct quota *quota; /* of packets; NULL: none */
	char path[512];
};

struct ctf_stream {
	struct ctf_writer *sink; /* lent; outlives the stream */
	int fd;
	int index;
	uint64_t instance;
	uint32_t class_id; /* of its stream class; 0 unless set after ctf_stream_open */
	uint64_t offset;   /* bytes in the file */
	uint64_t sequence; /* of the next packet */
	char name[64];
};

struct ctf_writer_options {
	const char *path;   /* made with its parents; must hold no trace yet */
	const char *domain; /* "ust" or "kernel": chooses the layout env claims */
	const struct abi_clock *clock;
	uint64_t clock_offset_ns; /* from the Epoch to zero of the clock */
	const char *scope; /* kernel: "machine", or "followed" if only some processes are recorded;
			      or NULL */
};

/* ctf_writer_open - make the directory and write the head of its metadata (trace, env, clock; no
 * stream).  Returns 0 or -errno. */
int ctf_writer_open(struct ctf_writer *s, const struct ctf_writer_options *o, struct diag *d);
void ctf_writer_close(struct ctf_writer *s);

/* ctf_writer_describe - append whole TSDL blocks (stream, event) to the metadata. */
int ctf_writer_describe(struct ctf_writer *s, const char *tsdl, size_t size, struct diag *d);

/* The packet header, packet context and clock types that the head declares and `stream` blocks use:
 * see the text in writer.c.  A stream block names packet.context := struct packet_context. */

/* One packet to append: its events are @n_body pieces, not copied. */
struct ctf_packet {
	uint64_t begin_ns;  /* not after the first event */
	uint64_t end_ns;    /* not before the last event */
	uint64_t discarded; /* cumulative for the stream */
	uint64_t sequence;  /* of the stream; gaps are lost packets */
	uint32_t cpu;	    /* ABI_CPU_UNKNOWN if not known */
	int n_body;
	struct iovec *body;
};

/* ctf_stream_open - add a data file @name to the sink.  Returns 0 or -errno. */
int ctf_stream_open(struct ctf_stream *st, struct ctf_writer *s, const char *name, struct diag *d);
void ctf_stream_close(struct ctf_stream *st);

/* ctf_stream_append - write one packet, then its index entry.
 * On error (disk full) the file is cut back to whole packets: nothing half-written stays.
 * Returns 0 or -errno: -ENOSPC also if the sink has a quota and it is used up. */
int ctf_stream_append(struct ctf_stream *st, const struct ctf_packet *p, struct diag *d);

#endif
