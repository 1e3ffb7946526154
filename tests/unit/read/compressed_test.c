/* SPDX-License-Identifier: MIT */
/* tests/unit/read/compressed_test.c - compressed streams: their bytes are restored, and they can
 * be followed. */
#include <endian.h>
#include <fcntl.h>

#include <duet/read.h>

#include "abi/ctf.h"
#include "ctf/compressed/compressed.h"
#include "unit/trace/make_trace.h"

#define EVENT                                                                                      \
	"event { name = \"said\"; id = 0; stream_id = 0; fields := struct { u32 _n; string "       \
	"_what; }; };\n"

enum { PACKETS = 200, EVENTS_OF_ONE = 500, EVENTS = PACKETS * EVENTS_OF_ONE };
static const char *path;

static size_t say(char *to, size_t room, uint64_t n)
{
	return (size_t)snprintf(to, room, "what event %" PRIu64 " says, and nobody else", n);
}

static void begin(struct bytes *b, uint64_t first, uint64_t sequence, size_t *at)
{
	b->n = 0;
	*at = begin_packet(b, 1000 + first * 100, sequence, 0);
}

static void add(struct bytes *b, uint64_t n)
{
	char what[64];

	say(what, sizeof what, n);
	put(b, 0 | (1000 + n * 100) << 5, 4);
	put(b, n, 4);
	put_text(b, what);
}

/* @n packets; @ends[i] is where packet i ends. */
static void write_packets(int fd, uint64_t n, uint64_t *ends)
{
	static struct bytes b;
	size_t at, end = 0;

	for (uint64_t p = 0; p < n; p++) {
		begin(&b, p * EVENTS_OF_ONE, p, &at);
		for (uint64_t i = 0; i < EVENTS_OF_ONE; i++)
			add(&b, p * EVENTS_OF_ONE + i);
		end_packet(&b, at);
		is(write(fd, b.at, b.n), b.n);
		end += b.n;
		if (ends)
			ends[p] = end;
	}
}

/* A trace of one stream with @n packets, packed or plain. */
static int make(uint64_t n, uint64_t *ends)
{
	int dir, fd;

	path = make_directory();
	write_file(path, "metadata", COMPACT EVENT, sizeof COMPACT EVENT - 1);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir, "s0", O_CREAT | O_EXCL | O_WRONLY, 0600);
	write_packets(fd, n, ends);
	close(fd);
	return dir;
}

static void pack(int dir)
{
	uint64_t out;

	is(compressed_write(dir, "s0", "s0.zst", 1, &out, NULL), 0);
	is(unlinkat(dir, "s0", 0), 0);
}

static void remove_all(int dir)
{
	static const char *const files[] = { "s0.zst", ".duet/clock", "index/s0.idx" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlinkat(dir, files[i], 0);
	unlinkat(dir, ".duet", AT_REMOVEDIR);
	unlinkat(dir, "index", AT_REMOVEDIR);
	close(dir);
	remove_directory(path);
}

/* All texts of one call, over many packets, and again from the beginning. */
static void texts_of_rows_stay_until_the_next_call(void)
{
	static struct duet_read_text texts[EVENTS];
	static int64_t numbers[EVENTS];
	const struct duet_read_column columns[] = { { 0, 0, numbers }, { 1, 0, texts } };
	char what[64], why[DUET_READ_WHY] = "";
	struct duet_read *r;
	size_t bad = 0;
	int dir = make(PACKETS, NULL);

	pack(dir);
	is(duet_read_open(&r, &path, 1, NULL, why), 0);
	for (int round = 0; round < 2; round++) {
		duet_read_seek(r, INT64_MIN);
		is(duet_read_rows(r, 0, columns, 2, EVENTS), EVENTS);
		for (uint64_t n = 0; n < EVENTS; n++)
			bad += numbers[n] != (int64_t)n ||
			       texts[n].size != say(what, sizeof what, n) ||
			       memcmp(texts[n].text, what, texts[n].size);
	}
	is(bad, 0);
	duet_read_close(r);
	remove_all(dir);
}

/* The recording says that all of its first @n packets are in the files. */
static void say_how_far(int clock, int index, uint64_t n, const uint64_t *ends)
{
	struct abi_ctf_index_entry e = { .offset = htobe64(n > 1 ? ends[n - 2] : 0) };
	char line[128];
	int size = snprintf(line, sizeof line, "1 2 3 4 5 %llu\n",
			    100000000 + n * EVENTS_OF_ONE * 100ull);

	e.packet_bits = htobe64((ends[n - 1] - (n > 1 ? ends[n - 2] : 0)) * 8);
	is(write(index, &e, sizeof e), sizeof e);
	is(write(clock, line, (size_t)size), size);
}

static uint64_t read_on(struct trace *t, uint64_t from)
{
	struct trace_event e;
	uint64_t n = 0;
	struct diag d;

	ok(trace_refresh(t, &d) >= 0);
	for (; trace_next(t, &e, &d) == TRACE_EVENT; n++)
		if (e.clock != 1000 + (from + n) * 100)
			ok(!"in order");
	return n;
}

/* It was packed after we asked how far it is: the bytes it reported must be read now, not later. */
static void streams_compressed_while_followed_are_noticed_in_time(void)
{
	const struct trace_options o = { .follows = true };
	const struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const struct abi_ctf_index_header head = { 0 };
	int dir, clock, index;
	uint64_t ends[6];
	struct diag d = { "" };
	struct trace *t;

	dir = make(6, ends);
	mkdirat(dir, ".duet", 0700);
	mkdirat(dir, "index", 0700);
	clock = openat(dir, ".duet/clock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	index = openat(dir, "index/s0.idx", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	is(fcntl(clock, F_OFD_SETLK, &lock), 0);
	is(write(index, &head, sizeof head), sizeof head);
	say_how_far(clock, index, 2, ends);
	if (!is(trace_open(&t, &path, 1, &o, &d), 0))
		return;
	is(read_on(t, 0), 2 * EVENTS_OF_ONE);
	say_how_far(clock, index, 4, ends);
	pack(dir);
	is(read_on(t, 2 * EVENTS_OF_ONE), 2 * EVENTS_OF_ONE);
	say_how_far(clock, index, 5, ends);
	is(read_on(t, 4 * EVENTS_OF_ONE), EVENTS_OF_ONE);
	is(write(clock, "1 2 3 4 5 end\n", 14), 14);
	is(read_on(t, 5 * EVENTS_OF_ONE), EVENTS_OF_ONE);
	is(trace_following(t)->n_late, 0);
	is(trace_n_damages(t), 0);
	trace_close(t);
	close(clock);
	close(index);
	remove_all(dir);
}

int main(void)
{
	if (!compressed_is_supported())
		return 77;
	run(texts_of_rows_stay_until_the_next_call);
	run(streams_compressed_while_followed_are_noticed_in_time);
	return test_status();
}
