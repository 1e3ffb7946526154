/* SPDX-License-Identifier: MIT */
/* tests/unit/read_packed.c - libduet-read on a compressed stream, which gives back what was read. */
#include <fcntl.h>

#include <duet/read.h>

#include "ctf/packed.h"
#include "read_make.h"

#define EVENT "event { name = \"said\"; id = 0; stream_id = 0; fields := struct { u32 _n; string _what; }; };\n"

enum { PACKETS = 200, EVENTS_OF_ONE = 500, EVENTS = PACKETS * EVENTS_OF_ONE };
static const char *path;

static size_t say(char *to, size_t room, uint64_t n)
{
	return (size_t)snprintf(to, room, "what event %" PRIu64 " says, and nobody else", n);
}

static void make(void)
{
	uint64_t out;
	char what[64], name[256];
	int dir, fd;

	path = make_directory();
	write_file(path, "metadata", COMPACT EVENT, sizeof COMPACT EVENT - 1);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "plain", O_CREAT | O_EXCL | O_WRONLY, 0600);
	for (uint64_t p = 0, n = 0; p < PACKETS; p++) {
		static struct bytes b;
		size_t at;

		b.n = 0;
		at = begin_packet(&b, 1000 + n * 100, p, 0);
		for (int i = 0; i < EVENTS_OF_ONE; i++, n++) {
			say(what, sizeof what, n);
			put(&b, 0 | (1000 + n * 100) << 5, 4);
			put(&b, n, 4);
			put_text(&b, what);
		}
		end_packet(&b, at);
		is(write(fd, b.at, b.n), b.n);
	}
	close(fd);
	is(packed_write(dir, "plain", "s0.zst", 1, &out, NULL), 0);
	unlinkat(dir, "plain", 0);
	close(dir);
	snprintf(name, sizeof name, "%s/s0.zst", path);
	ok(!access(name, R_OK));
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

	is(duet_read_open(&r, &path, 1, NULL, why), 0);
	for (int round = 0; round < 2; round++) {
		duet_read_seek(r, INT64_MIN);
		is(duet_read_rows(r, 0, columns, 2, EVENTS), EVENTS);
		for (uint64_t n = 0; n < EVENTS; n++)
			bad += numbers[n] != (int64_t)n || texts[n].size != say(what, sizeof what, n) ||
			       memcmp(texts[n].text, what, texts[n].size);
	}
	is(bad, 0);
	duet_read_close(r);
}

int main(void)
{
	char name[256];

	if (!packed_is_supported())
		return 77;
	make();
	run(texts_of_rows_stay_until_the_next_call);
	snprintf(name, sizeof name, "%s/s0.zst", path);
	unlink(name);
	remove_directory(path);
	return test_status();
}
