/* SPDX-License-Identifier: MIT */
/* net/lttng_live: what one viewer receives of a recording made by hand, command by command. */
#include "net/lttng_live/protocol.h"

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "test.h"

#define MS 1000000ull

enum { CONNECT = 1, ATTACH = 3, NEXT_INDEX, GET_PACKET, GET_METADATA, NEW_STREAMS };
enum { OK = 1, RETRY, HUP, ERROR, INACTIVE };
enum { NEW_METADATA = 1, NEW_STREAM = 2 };

static char work[] = "/tmp/duet-lttng-live-XXXXXX";
static int clock_fd;
static struct live_files files;
static struct live_connection c;

static void append(const char *name, const void *bytes, size_t n)
{
	char path[PATH_MAX], *slash;
	FILE *f;

	snprintf(path, sizeof path, "%s/r/%s", work, name);
	slash = strrchr(path, '/');
	*slash = 0;
	is(io_make_dirs(path), 0);
	*slash = '/';
	f = fopen(path, "a");
	if (ok(f) && n)
		is(fwrite(bytes, n, 1, f), 1);
	if (f)
		fclose(f);
}

/* Adds an empty packet of some bytes with these bounds to a stream. */
static void add_packet(const char *stream, uint64_t number, uint64_t begin_ns, uint64_t end_ns)
{
	enum { BYTES = 256 };
	struct abi_ctf_packet p = { .begin_ns = begin_ns,
				    .end_ns = end_ns,
				    .packet_bits = BYTES * 8,
				    .content_bits = sizeof p * 8,
				    .sequence = number };
	struct abi_ctf_index_header head = { htobe32(0xC1F1DCC1), htobe32(1), htobe32(1),
					     htobe32(sizeof(struct abi_ctf_index_entry)) };
	struct abi_ctf_index_entry e = { .offset = htobe64(number * BYTES),
					 .packet_bits = htobe64(BYTES * 8),
					 .content_bits = htobe64(sizeof p * 8),
					 .begin_ns = htobe64(begin_ns),
					 .end_ns = htobe64(end_ns),
					 .sequence = htobe64(number) };
	uint8_t bytes[BYTES] = { 0 };
	char index[64];

	memcpy(bytes, &p, sizeof p);
	append(stream, bytes, sizeof bytes);
	snprintf(index, sizeof index, "index/%s.idx", stream);
	if (!number)
		append(index, &head, sizeof head);
	append(index, &e, sizeof e);
}

/* The recorder notes that everything before @known_ns is in the files; 0: that it has ended. */
static void note(uint64_t known_ns)
{
	char line[80];
	int n = known_ns ? snprintf(line, sizeof line, "0 0 0 0 0 %llu\n",
				    (unsigned long long)known_ns + 20 * MS)
			 : snprintf(line, sizeof line, "0 0 0 0 0 end\n");

	append(".duet/clock", line, (size_t)n);
	for (uint32_t i = 0; i < files.n_recordings; i++)
		files.recordings[i].checked_ns = 1; /* long ago */
}

/* Sends a command.  The answer stays in c.out until the next one. */
static const uint8_t *ask(uint32_t number, const void *body, uint32_t n)
{
	uint8_t bytes[64];
	uint64_t size = htobe64(n);

	number = htobe32(number);
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, &size, 8);
	memcpy(bytes + 8, &number, 4);
	memcpy(bytes + 16, body, n);
	if (c.out.size)
		live_connection_sent(&c, c.out.size);
	is(live_connection_process(&c, bytes, 16 + n), 16 + n);
	ok(!c.is_over && c.out.size);
	return (const uint8_t *)c.out.bytes;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return be32toh(v);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof v);
	return be64toh(v);
}

static struct {
	uint64_t begin_ns, end_ns;
	uint32_t status, flags;
} told; /* the last answer to NEXT_INDEX */

static uint32_t next_index(uint64_t stream)
{
	uint64_t body = htobe64(stream);
	const uint8_t *a = ask(NEXT_INDEX, &body, sizeof body);

	told.begin_ns = get64(a + 24);
	told.end_ns = get64(a + 32);
	told.status = get32(a + 56);
	told.flags = get32(a + 60);
	return told.status;
}

/* Returns the number of streams that the viewer receives; their first is @first. */
static uint32_t new_streams(uint64_t *first)
{
	uint64_t body = htobe64(1);
	const uint8_t *a = ask(NEW_STREAMS, &body, sizeof body);
	uint32_t n = get32(a + 4);

	*first = n ? get64(a + 8) : 0;
	return n;
}

/* A recording of one stream, with two packets, and a viewer. */
static void begin(void)
{
	static const char metadata[] = "/* CTF 1.8 */\n";
	uint8_t hello[20] = { 0 }, attach[20] = { 0 };
	char path[PATH_MAX];
	const char *root = path;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	snprintf(path, sizeof path, "%s/r", work);
	append("metadata", metadata, sizeof metadata - 1);
	add_packet("a", 0, 100 * MS, 900 * MS);
	add_packet("a", 1, 900 * MS, 1500 * MS);
	note(1000 * MS);
	snprintf(path + strlen(path), 20, "/.duet/clock");
	clock_fd = open(path, O_RDWR | O_CLOEXEC);
	is(fcntl(clock_fd, F_OFD_SETLK, &l), 0);
	*strstr(path, "/.duet") = 0;
	is(live_files_open(&files, &root, 1), 0);
	c = (struct live_connection){ .files = &files, .from_begin = true };
	hello[11] = 2; /* version 2.13 */
	hello[15] = 13;
	ask(CONNECT, hello, sizeof hello);
	attach[7] = 1; /* the first session */
	is(get32(ask(ATTACH, attach, sizeof attach)), OK);
	is(get32((const uint8_t *)c.out.bytes + 4), 2);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st, (void)kind, (void)f;
	return remove(path);
}

static void end(void)
{
	char path[PATH_MAX];

	live_connection_fini(&c);
	live_files_close(&files);
	close(clock_fd);
	snprintf(path, sizeof path, "%s/r", work);
	is(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

enum { STREAM_A = 2 }; /* 1 is the metadata */

static void no_packet_is_sent_that_is_newer_than_the_recording_is_complete(void)
{
	begin();
	is(next_index(STREAM_A), OK);
	is(told.end_ns, 900 * MS);
	is(next_index(STREAM_A), RETRY); /* its events could be before the end of this packet */
	note(1499 * MS);
	is(next_index(STREAM_A), RETRY);
	note(1501 * MS);
	is(next_index(STREAM_A), OK);
	is(told.end_ns, 1500 * MS);
	add_packet("a", 2, 1800 * MS, 1900 * MS);
	is(next_index(STREAM_A), INACTIVE);
	ok(told.end_ns > 1500 * MS && told.end_ns <= 1501 * MS);
	note(1850 * MS);
	is(next_index(STREAM_A), INACTIVE);
	is(told.end_ns, 1800 * MS); /* not behind events that follow */
	is(next_index(STREAM_A), RETRY);
	note(0);
	is(next_index(STREAM_A), OK);
	is(told.end_ns, 1900 * MS);
	is(next_index(STREAM_A), HUP);
	end();
}

/* The order in which Babeltrace asks: it takes up new streams as soon as it has the flag. */
static void a_late_stream_comes_before_anything_newer_than_it(void)
{
	uint64_t b;

	begin();
	is(next_index(STREAM_A), OK);
	is(next_index(STREAM_A), RETRY);
	add_packet("b", 0, 1000 * MS, 1200 * MS);
	note(2000 * MS);
	is(next_index(STREAM_A), OK);
	is(told.flags & NEW_STREAM, NEW_STREAM);
	is(told.begin_ns, 900 * MS); /* an empty one */
	is(told.end_ns, 900 * MS);
	is(new_streams(&b), 1);
	is(next_index(b), OK);
	is(told.begin_ns, 1000 * MS);
	is(next_index(STREAM_A), OK);
	is(told.flags & NEW_STREAM, 0);
	is(told.begin_ns, 900 * MS);
	is(told.end_ns, 1500 * MS);
	end();
}

static void a_stream_without_a_packet_yet_begins_with_a_real_one(void)
{
	uint64_t b;

	begin();
	add_packet("b", 0, 950 * MS, 990 * MS);
	note(1010 * MS);
	is(next_index(STREAM_A), OK);
	is(told.flags & NEW_STREAM, NEW_STREAM);
	is(told.begin_ns, 100 * MS);
	is(told.end_ns, 900 * MS);
	is(new_streams(&b), 1);
	is(next_index(b), OK);
	is(told.begin_ns, 950 * MS);
	end();
}

/* It may be opened before its first event. */
static void a_late_stream_does_not_begin_before_what_was_sent(void)
{
	uint64_t b;

	begin();
	is(next_index(STREAM_A), OK);
	add_packet("b", 0, 500 * MS, 1200 * MS);
	note(2000 * MS);
	is(next_index(STREAM_A), OK);
	is(told.flags & NEW_STREAM, NEW_STREAM);
	is(new_streams(&b), 1);
	is(next_index(b), OK);
	is(told.begin_ns, 900 * MS);
	is(told.end_ns, 1200 * MS);
	end();
}

int main(void)
{
	if (!mkdtemp(work)) {
		perror(work);
		return 1;
	}
	run(no_packet_is_sent_that_is_newer_than_the_recording_is_complete);
	run(a_late_stream_comes_before_anything_newer_than_it);
	run(a_stream_without_a_packet_yet_begins_with_a_real_one);
	run(a_late_stream_does_not_begin_before_what_was_sent);
	rmdir(work);
	return test_status();
}
