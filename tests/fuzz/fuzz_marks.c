/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_marks.c - libFuzzer's door to files of marks: see README.md beside it.
 *
 * A small recording is read once, which gives a right file.  The input changes it: a byte with flags, a byte
 * for the time to begin at, then triples of a place (two bytes) and a byte to add there.  With right checksums
 * or not: from that time on as many items are read as without the file.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "trace/marks/internal.h"
#include "unit/trace/make_trace.h"

enum { STREAMS = 3, PACKETS = 6, EVENTS = 20, EVERY = 25, BEGIN = 1000, MENDS = 1, CUTS = 2 };

#define META                                                                                       \
	COMPACT "env { domain = \"kernel\"; hostname = \"h\"; };\n"                                \
		"event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { "      \
		"i32 prev_tid; string prev_comm; i32 next_tid; string next_comm; }; };\n"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *where;
static int file = -1;
static char right[1 << 16];
static size_t n_right;

static void write_stream(int number)
{
	static struct bytes b;
	uint64_t now = BEGIN;
	char name[16];

	b.n = 0;
	for (uint64_t p = 0; p < PACKETS; p++) {
		size_t at = begin_packet(&b, now, p, p / 2);

		put_at(&b, b.n - 4, (uint64_t)number, 4);
		for (int i = 0; i < EVENTS; i++) {
			put(&b, (now += (uint64_t)(i % 3)) << 5, 4);
			put(&b, (uint64_t)(i % 7), 4);
			put_text(&b, i % 2 ? "a" : "another");
			put(&b, (uint64_t)(i % 5), 4);
			put_text(&b, "b");
		}
		put_at(&b, at + 24 + 8, now, 8);
		end_packet(&b, at);
	}
	snprintf(name, sizeof name, "s%d", number);
	write_file(where, name, b.at, b.n);
}

/* Reads all from @from_ns on, with the file or without. */
static uint64_t count(int64_t from_ns, bool has_file)
{
	struct marks_file f = { .fd = has_file ? dup(file) : -1, .path = "marks" };
	struct diag d = { "" }, note;
	struct thread_identity who;
	struct marks m = { 0 };
	struct trace_event e;
	struct names *names;
	struct trace *t;
	uint64_t n = 0;
	int item;

	if (trace_open(&t, &where, 1, NULL, &d) || names_open(&names, t, &d) ||
	    marks_open_every(&m, &f, t, names, EVERY, &note) || marks_go(&m, from_ns, &note, &d))
		abort();
	while ((item = trace_next(t, &e, &d)) > 0) {
		marks_on_item(&m, e.time_ns);
		if (item == TRACE_EVENT)
			names_on_event(names, &e, &who);
		n += e.time_ns >= from_ns;
	}
	marks_close(&m);
	names_close(names);
	trace_close(t);
	return n;
}

static void clean(void)
{
	remove_directory(where);
}

static void prepare(void)
{
	ssize_t n;

	setenv("TMPDIR", "/dev/shm", 1);
	where = strdup(make_directory());
	atexit(clean);
	write_file(where, "metadata", META, strlen(META));
	for (int i = 0; i < STREAMS; i++)
		write_stream(i);
	file = memfd_create("marks", MFD_CLOEXEC);
	count(INT64_MIN, true);
	n = pread(file, right, sizeof right, 0);
	if (n < 500 || n == sizeof right)
		abort();
	n_right = (size_t)n;
}

/* As file.c computes them. */
static void mend(char *bytes, size_t size)
{
	struct marks_header h;
	struct marks_entry *e;
	uint64_t hash = 0;

	memcpy(&h, bytes, sizeof h);
	if (h.table_at > size || h.n > (size - h.table_at) / sizeof *e)
		return;
	e = malloc(h.n * sizeof *e + 1);
	memcpy(e, bytes + h.table_at, h.n * sizeof *e);
	for (uint32_t i = 0; i < h.n; i++)
		if (e[i].at <= size && e[i].size <= size - e[i].at)
			e[i].checksum = hash_bytes(bytes + e[i].at, e[i].size);
	memcpy(bytes + h.table_at, e, h.n * sizeof *e);
	h.checksum = 0;
	hash = (hash ^ hash_bytes((const char *)&h, sizeof h)) * 0x9E3779B97F4A7C15u + 1;
	hash = (hash ^ hash_bytes((const char *)e, h.n * sizeof *e)) * 0x9E3779B97F4A7C15u + 1;
	h.checksum = hash;
	memcpy(bytes, &h, sizeof h);
	free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char changed[sizeof right];
	size_t n;

	if (file < 0)
		prepare();
	if (size < 2)
		return 0;
	memcpy(changed, right, n_right);
	for (size_t i = 2; i + 3 <= size; i += 3)
		changed[(bytes[i] | bytes[i + 1] << 8) % n_right] += (char)bytes[i + 2];
	if (bytes[0] & MENDS)
		mend(changed, n_right);
	n = bytes[0] & CUTS ? n_right - bytes[1] : n_right;
	if (ftruncate(file, 0) || pwrite(file, changed, n, 0) != (ssize_t)n)
		abort();
	if (count(BEGIN + bytes[1], true) != count(BEGIN + bytes[1], false))
		abort();
	return 0;
}
