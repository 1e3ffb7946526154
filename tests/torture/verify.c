/* SPDX-License-Identifier: MIT */
/* torture/verify.c - see verify.h. */
#include "verify.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/session.h"
#include "abi/ctf.h"

enum { WRONG_SHOWN = 20, IDS_BYTES = sizeof(struct abi_ctf_ids) };

struct event {
	uint32_t key, seq;
	uint64_t t_ns;
	uint32_t stream;
	uint32_t place; /* among the events of its stream */
};

/* A walk through one trace. */
struct walk {
	struct verify_counts *c;
	struct verify_options o;
	struct event *events;
	size_t n, capacity;
	uint32_t stream, place;
	const char *name;    /* of the stream */
	const uint8_t *file; /* its bytes */
	size_t gaps;	     /* zeros in it that are more than a 16th of their packet */
};

void verify_wrong(struct verify_counts *c, const char *format, ...)
{
	va_list ap;

	if (c->wrong++ >= WRONG_SHOWN)
		return;
	va_start(ap, format);
	printf("# wrong: ");
	vprintf(format, ap);
	printf("\n");
	va_end(ap);
}

/* ---------------------------------------------------------------- one event */

static void keep(struct walk *w, uint64_t context, uint64_t t_ns)
{
	if (w->n == w->capacity) {
		w->capacity = w->capacity ? 2 * w->capacity : 1 << 16;
		w->events = realloc(w->events, w->capacity * sizeof *w->events);
		if (!w->events)
			abort();
	}
	w->events[w->n++] = (struct event){ LEDGER_KEY(context), LEDGER_SEQ(context), t_ns,
					    w->stream, w->place++ };
}

static void check_time(struct walk *w, uint32_t key, uint32_t seq, uint64_t t_ns,
		       uint64_t before_ns)
{
	uint64_t early_ns = before_ns > t_ns ? before_ns - t_ns : 0;

	w->c->early_ns = early_ns > w->c->early_ns ? early_ns : w->c->early_ns;
	if (early_ns > w->o.early_ns)
		verify_wrong(w->c, "%s: event %u of key %u is of %lu, but was called at %lu",
			     w->name, seq, key, (long)t_ns, (long)before_ns);
}

/* The size of the payload at @p, at most @room; -1 if it differs from its writer's. */
static int64_t check_payload(struct walk *w, uint32_t id, uint32_t key, uint32_t seq, uint64_t t_ns,
			     const uint8_t *p, size_t room)
{
	uint32_t tag = ledger_tag(key, seq), i;
	struct ledger_body b;
	size_t size = id == LEDGER_EMPTY ? 0 : id == LEDGER_STAMP ? 8 : sizeof b;

	if ((id != LEDGER_EMPTY && id != LEDGER_STAMP && !ledger_has_body(id)) || room < size)
		return -1;
	memset(&b, 0, sizeof b);
	memcpy(&b, p, size);
	if (size)
		check_time(w, key, seq, t_ns, b.before_ns);
	if (size < sizeof b)
		return (int64_t)size;
	if (b.tag != tag || room - size < b.n)
		return -1;
	for (i = 0; i < b.n && p[size + i] == ledger_byte_of(id, tag, i, b.n); i++)
		;
	return i == b.n ? (int64_t)(size + i) : -1;
}

/* Events from @p to @end; *t_ns is the time before the first and becomes that of the last. */
static bool walk_events(struct walk *w, const uint8_t *p, const uint8_t *end, uint64_t *t_ns)
{
	while (p < end) {
		uint64_t context = 0, t = *t_ns;
		uint32_t id;
		int64_t size = (int64_t)abi_ctf_read_event(p, (size_t)(end - p), &id, &t);

		if (!size || end - p - size < IDS_BYTES)
			return false;
		w->c->extended += size == sizeof(struct abi_ctf_event_extended);
		if (t < *t_ns)
			verify_wrong(w->c, "%s: time runs back", w->name);
		*t_ns = t;
		memcpy(&context, p + size, IDS_BYTES);
		p += size + IDS_BYTES;
		size = check_payload(w, id, LEDGER_KEY(context), LEDGER_SEQ(context), t, p,
				     (size_t)(end - p));
		if (size < 0)
			return false;
		keep(w, context, t);
		p += size;
	}
	return true;
}

/* ---------------------------------------------------------------- one stream */

/*
 * Zeros behind @size bytes of content that end at @p: up to the end of a page, or of 64 KiB of the file, by
 * the rules of docs/formats/trace.md.
 */
static bool is_padding(struct walk *w, size_t size, const uint8_t *p, const uint8_t *end)
{
	enum { PAGE = 4096, UNIT = 65536, SHARE = 16, GAPS_SHARE = 64 };
	size_t n = (size_t)(end - p), to = (size_t)(end - w->file);

	for (; p < end; p++)
		if (*p)
			return false;
	if (!n || (n * SHARE <= size && n < PAGE && to % PAGE == 0))
		return true;
	if (n >= UNIT || to % UNIT || (-size & (UNIT - 1)) * SHARE > size)
		return false;
	w->gaps += n * SHARE > size ? n : 0;
	return n * SHARE <= size || w->gaps * GAPS_SHARE <= to - n;
}

static size_t walk_packet(struct walk *w, const uint8_t *p, size_t room,
			  struct abi_ctf_packet *before)
{
	bool is_first = !before->magic;
	struct abi_ctf_packet h;
	uint64_t t;

	if (room < sizeof h)
		return 0;
	memcpy(&h, p, sizeof h);
	/* The only channel has class 0.  The class of program losses, which have no CPU, is the
	 * last one. */
	uint32_t class_id = strncmp(w->name, "state", 5) ? 0 : ABI_CHANNELS;

	if (h.magic != ABI_CTF_MAGIC || h.stream_id != class_id || h.content_bits > h.packet_bits ||
	    h.packet_bits % 8 || h.content_bits % 8 || h.content_bits / 8 < sizeof h ||
	    h.packet_bits / 8 > room ||
	    !is_padding(w, h.content_bits / 8, p + h.content_bits / 8, p + h.packet_bits / 8))
		return 0;
	if (h.begin_ns > h.end_ns || h.begin_ns < before->end_ns)
		verify_wrong(w->c, "%s: packet from %lu to %lu after one that ended at %lu",
			     w->name, (long)h.begin_ns, (long)h.end_ns, (long)before->end_ns);
	if (h.discarded < before->discarded)
		verify_wrong(w->c, "%s: the number of lost events shrinks", w->name);
	if (!is_first && h.cpu != before->cpu && h.cpu != ABI_CPU_UNKNOWN &&
	    !strncmp(w->name, "cpu", 3))
		verify_wrong(w->c, "%s: another CPU's packet", w->name);
	if (is_first ? h.sequence && !w->o.is_flight_recorder
		     : h.sequence <= before->sequence ||
			       (h.sequence != before->sequence + 1 && !w->o.is_flight_recorder))
		verify_wrong(w->c, "%s: packet %lu after %ld", w->name, (long)h.sequence,
			     is_first ? -1 : (long)before->sequence);
	t = h.begin_ns;
	if (!walk_events(w, p + sizeof h, p + h.content_bits / 8, &t))
		verify_wrong(w->c, "%s: packet %lu holds a torn event", w->name, (long)h.sequence);
	if (t > h.end_ns)
		verify_wrong(w->c, "%s: an event at %lu, its packet ends at %lu", w->name, (long)t,
			     (long)h.end_ns);
	*before = h;
	w->c->packets++;
	return h.packet_bits / 8;
}

static void walk_stream(struct walk *w, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	struct abi_ctf_packet before = { 0 };
	const uint8_t *bytes;
	size_t at, n = 1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !st.st_size) {
		close(fd);
		return;
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		abort();
	w->name = name;
	w->file = bytes;
	w->gaps = 0;
	w->place = 0;
	for (at = 0; at < (size_t)st.st_size && n; at += n)
		n = walk_packet(w, bytes + at, (size_t)st.st_size - at, &before);
	if (!n)
		verify_wrong(w->c, "%s: no packet at byte %zu of %zu", name, at,
			     (size_t)st.st_size);
	munmap((void *)bytes, (size_t)st.st_size);
	w->c->discarded += before.discarded;
	w->c->streams++;
	w->stream++;
}

/* ---------------------------------------------------------------- the ledger */

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void check_order(struct walk *w)
{
	for (size_t i = 1; i < w->n; i++) {
		const struct event *a = &w->events[i - 1], *b = &w->events[i];

		if (a->key != b->key)
			continue;
		if (a->seq == b->seq)
			verify_wrong(w->c, "event %u of key %u is there twice", b->seq, b->key);
		if (b->t_ns < a->t_ns || (a->stream == b->stream && b->place < a->place))
			verify_wrong(w->c, "event %u of key %u comes before event %u", b->seq,
				     b->key, a->seq);
	}
}

static void check_account(struct walk *w, const struct ledger *l, uint32_t key, size_t *i)
{
	uint32_t n = load(&l->accounts[key].attempted);

	for (uint32_t seq = 0; seq < n; seq++) {
		enum ledger_status s = l->status[(size_t)key * l->limit + seq];
		bool is_there = *i < w->n && w->events[*i].key == key && w->events[*i].seq == seq;

		while (*i < w->n && w->events[*i].key == key && w->events[*i].seq == seq)
			++*i;
		w->c->recorded += s == LEDGER_RECORDED;
		w->c->refused += s == LEDGER_REFUSED;
		w->c->given_up += s == LEDGER_GIVEN_UP;
		w->c->unknown += s == LEDGER_UNKNOWN;
		w->c->unknown_seen += s == LEDGER_UNKNOWN && is_there;
		if (s == LEDGER_REFUSED && is_there)
			verify_wrong(w->c, "event %u of key %u was refused and is there", seq, key);
		if (s == LEDGER_GIVEN_UP && is_there)
			verify_wrong(w->c, "event %u of key %u was given up and is there", seq,
				     key);
		if (s != LEDGER_RECORDED || is_there)
			continue;
		w->c->missing++;
		if (!w->o.is_flight_recorder)
			verify_wrong(w->c, "event %u of key %u (of %u) is missing", seq, key, n);
	}
	for (; *i < w->n && w->events[*i].key == key; ++*i)
		verify_wrong(w->c, "event %u of key %u, which no writer wrote", w->events[*i].seq,
			     key);
}

/* A flight recorder may lose old events, but it has the last one. */
static void check_newest(struct walk *w, const struct ledger *l)
{
	const struct ledger_account *newest = l->accounts;
	struct event e;

	for (uint32_t key = 1; key < l->n_keys; key++)
		if (l->accounts[key].recorded_ns > newest->recorded_ns)
			newest = &l->accounts[key];
	e = (struct event){ .key = (uint32_t)(newest - l->accounts), .seq = newest->recorded - 1 };
	if (newest->recorded && (!w->n || !bsearch(&e, w->events, w->n, sizeof e, compare_events)))
		verify_wrong(w->c, "event %u of key %u was the last of all, and is missing", e.seq,
			     e.key);
}

static void check_ledger(struct walk *w, const struct ledger *l)
{
	size_t i = 0;

	for (uint32_t key = 0; key < l->n_keys; key++)
		check_account(w, l, key, &i);
	if (i != w->n)
		verify_wrong(w->c, "%zu events of no key", w->n - i);
	check_newest(w, l);
}

void verify_trace(struct verify_counts *c, const char *path, const struct ledger *l,
		  struct verify_options o)
{
	struct walk w = { .c = c, .o = o };
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "metadata") &&
		    strcmp(e->d_name, "index"))
			walk_stream(&w, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	else
		verify_wrong(c, "no trace at %s", path);
	c->events += w.n;
	if (w.n)
		qsort(w.events, w.n, sizeof *w.events, compare_events);
	check_order(&w);
	if (l)
		check_ledger(&w, l);
	free(w.events);
}

static void remove_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0); /* of a directory: fails, and is meant to */
	if (d)
		closedir(d);
	rmdir(path);
}

void verify_remove(const char *path)
{
	char index[600];

	snprintf(index, sizeof index, "%s/index", path);
	remove_files(index);
	remove_files(path);
}
