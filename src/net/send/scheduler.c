/* SPDX-License-Identifier: MIT */
/*
 * net/send/scheduler.c - which part of a backlog is sent next.
 *
 * A round takes about ROUND_BYTES of the stream that is furthest behind in time, and from each
 * other stream the packets that begin no later than the rest of that one.  So streams advance
 * together in time, not in bytes, and the lines of .duet/clock up to there are true at the relay.
 * A follower can show events while the backlog arrives, and never has to buffer much more than a
 * round and the events between two lines.
 *
 * The times are those of index entries.  If they are inconsistent, rounds go by bytes alone, and
 * the clock waits for the end.
 */
#include "net/send/internal.h"
#include "net/send/scheduler.h"

#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"

enum {
	ROUND_BYTES = 1 << 20, /* of a stream */
	ENTRIES = 128,	       /* of an index, read in one round */
	LINES_BYTES = 4096,    /* of a clock, read in one round */
	/* smaller streams are sent completely: they contain names (cmd/view/view.c) */
	WHOLE_BYTES = 4 << 20,
	/* smaller clocks are sent completely; larger ones, which are read from their ends, only with
	 * the last half of this */
	CLOCK_BYTES = 1 << 20,
	HEAD = sizeof(struct abi_ctf_index_header),
	ENTRY = sizeof(struct abi_ctf_index_entry),
};
#define ALL UINT64_MAX

/* ---------------------------------------------------------------- streams and indexes */

/* A round may see the same packet again. */
static void note_packet(struct spool_file *stream, uint64_t offset)
{
	uint64_t *newest = &stream->last[CTF_PACKETS_MOST - 1];

	if (offset <= *newest)
		return;
	memmove(stream->last, stream->last + 1, sizeof stream->last - sizeof *newest);
	*newest = offset;
}

/* Finds the packets that an earlier sender sent last. */
static void note_last(struct spool *s, uint32_t index, struct spool_file *stream, uint64_t from)
{
	uint64_t at =
		from > HEAD + CTF_PACKETS_MOST * ENTRY ? from - CTF_PACKETS_MOST * ENTRY : HEAD;
	struct abi_ctf_index_entry e;

	if (stream->last[CTF_PACKETS_MOST - 1] || from <= HEAD || spool_open_number(s, index))
		return;
	for (; at < from && pread(s->fd, &e, sizeof e, (off_t)at) == (ssize_t)sizeof e; at += ENTRY)
		note_packet(stream, be64toh(e.offset));
}

/* Returns the time at which the packets after the target begin; 0: not known; ALL: there are
 * none. */
static uint64_t target_stream(struct spool *s, uint32_t number, uint64_t until_ns)
{
	struct abi_ctf_index_entry e[ENTRIES];
	struct spool_file *index = &s->files[number], *stream = &s->files[index->partner];
	uint64_t from = index->sent < HEAD ? HEAD : index->sent - (index->sent - HEAD) % ENTRY,
		 upto = stream->sent;
	ssize_t n;

	if (s->frees)
		note_last(s, number, stream, from);
	if (index->size < from + ENTRY) {
		if (index->size >=
		    from) /* a stream without a packet: the head of its index completes it */
			index->target = from;
		return ALL;
	}
	if (!index->is_known || !stream->is_known || spool_open_number(s, number))
		return 0;
	n = pread(s->fd, e, sizeof e, (off_t)from) / (ssize_t)ENTRY;
	index->target = from;
	stream->target = upto;
	for (ssize_t i = 0; i < n; i++) {
		uint64_t end = be64toh(e[i].offset) + be64toh(e[i].packet_bits) / 8,
			 begin_ns = be64toh(e[i].begin_ns);

		if (end < be64toh(e[i].offset) || end > stream->size)
			return 0; /* not an index of duet: the final round sends everything */
		if (upto >= stream->sent + ROUND_BYTES || begin_ns > until_ns)
			return begin_ns;
		upto = end > upto ? end : upto;
		note_packet(stream, be64toh(e[i].offset));
		index->target = from + (uint64_t)(i + 1) * ENTRY;
		stream->target = upto;
	}
	return n <= 0 ? 0 : index->target + ENTRY <= index->size ? be64toh(e[n - 1].begin_ns) : ALL;
}

static uint64_t target_streams(struct spool *s, uint64_t until_ns)
{
	uint64_t left_ns = ALL, ns;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->files[i].kind != SPOOL_INDEX)
			continue;
		ns = target_stream(s, i, until_ns);
		left_ns = ns < left_ns ? ns : left_ns;
	}
	return left_ns;
}

static bool is_any_due(const struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->files[i].sent < s->files[i].target)
			return true;
	return false;
}

/* ---------------------------------------------------------------- clocks */

/* Whether the line is true at a relay that has only the packets that begin before @left_ns. */
static bool is_true_before(const char *line, uint64_t left_ns)
{
	uint64_t at_ns, written_ns;
	char end = 0;
	int n = sscanf(line, "%*u %" SCNu64 " %*u %*u %*u %" SCNu64, &at_ns, &written_ns);

	if (n == 1 && sscanf(line, "%*u %*u %*u %*u %*u %c", &end) == 1)
		return false; /* the line "end" has no number here */
	return n < 1 || (n == 1 ? at_ns : written_ns) <= left_ns;
}

static void target_clock(struct spool *s, uint32_t number, uint64_t left_ns)
{
	struct spool_file *f = &s->files[number];
	uint64_t from = f->sent ? f->sent - 1 : 0;
	char text[LINES_BYTES], *line = text, *end;
	ssize_t n;

	if (left_ns == ALL) {
		f->target = f->size;
		return;
	}
	f->target = f->sent;
	if (!f->is_known || f->sent >= f->size || spool_open_number(s, number))
		return;
	n = pread(s->fd, text, sizeof text - 1, (off_t)from);
	text[n > 0 ? n : 0] = 0;
	if (f->sent) { /* after the line that was sent last, or the rest of it */
		end = strchr(text, '\n');
		line = end ? end + 1 : text + strlen(text);
		f->target = from + (uint64_t)(line - text);
	}
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (!is_true_before(line, left_ns))
			break;
		f->target = from + (uint64_t)(end + 1 - text);
	}
	f->target = f->target < f->size ? f->target : f->size;
}

/* ---------------------------------------------------------------- skipped data */

static uint64_t end_of_packet(struct spool *s, uint64_t i, uint64_t *offset)
{
	struct abi_ctf_index_entry e;

	if (pread(s->fd, &e, sizeof e, (off_t)(HEAD + i * ENTRY)) != (ssize_t)sizeof e)
		return ALL;
	*offset = be64toh(e.offset);
	return be64toh(e.end_ns);
}

/* Skips the packets of a long stream that end before from_ns: they become a hole in the copy. */
static void skip_packets(struct spool *s, uint32_t number)
{
	struct spool_file *index = &s->files[number], *stream = &s->files[index->partner];
	uint64_t low = 0, high, offset = 0, middle;

	if (!index->is_known || !stream->is_known || index->sent || stream->sent ||
	    stream->size < WHOLE_BYTES || index->size < HEAD + 2 * ENTRY ||
	    spool_open_number(s, number))
		return;
	assert(s->from_ns);
	high = (index->size - HEAD) / ENTRY - 1; /* the last packet is always sent */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (end_of_packet(s, middle, &offset) < s->from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || end_of_packet(s, low, &offset) == ALL || offset > stream->size)
		return;
	index->sent = index->acknowledged = HEAD + low * ENTRY;
	stream->sent = stream->acknowledged = offset;
}

static void skip_lines(struct spool_file *f)
{
	if (f->is_known && !f->sent && f->size > CLOCK_BYTES)
		f->sent = f->acknowledged = f->size - CLOCK_BYTES / 2;
}

/* The begin of trace chunk @n by the trace's clock; ALL if it does not exist. */
static uint64_t trace_chunk_begin_ns(const struct spool *s, unsigned n)
{
	char name[64], text[256];
	uint64_t ns = ALL;
	ssize_t got;
	int fd;

	snprintf(name, sizeof name, "piece-%06u/.duet/clock", n);
	fd = spool_open_below(s, name, O_RDONLY);
	got = fd < 0 ? 0 : io_read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	for (char *line = text, *end; ns == ALL && (end = strchr(line, '\n')); line = end + 1)
		if (*line != '#')
			sscanf(line, "%*u %" SCNu64, &ns);
	return ns;
}

bool spool_is_before(const struct spool *s, const char *path)
{
	unsigned n;

	/* An event near the border may be in the next trace chunk: so one more is sent. */
	return s->from_ns && sscanf(path, "piece-%u", &n) == 1 && n < UINT32_MAX - 2 &&
	       trace_chunk_begin_ns(s, n + 2) <= s->from_ns;
}

void spool_schedule(struct spool *s)
{
	uint64_t left_ns;

	for (uint32_t i = 0; i < s->n && s->from_ns; i++)
		if (s->files[i].kind == SPOOL_INDEX)
			skip_packets(s, i);
		else if (s->files[i].kind == SPOOL_CLOCK)
			skip_lines(&s->files[i]);
	left_ns = target_streams(s, ALL);
	if (left_ns && left_ns != ALL)
		left_ns = target_streams(s, left_ns);
	if (left_ns != ALL && !is_any_due(s))
		left_ns = target_streams(s, ALL);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->files[i].kind == SPOOL_CLOCK)
			target_clock(s, i, left_ns);
}
