/* SPDX-License-Identifier: MIT */
/* tests/unit/ctf/compressed_test.c - a packed file restores the plain one, or reports where it
 * is damaged. */
#include "ctf/compressed/compressed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "test.h"

enum { PACKETS = 20, BODY = 3000 };

static char directory[] = "/tmp/duet-packed-XXXXXX";
static int dir;
static uint8_t plain[PACKETS * (sizeof(struct abi_ctf_packet) + BODY)], packed[sizeof plain];
static uint64_t compressed_bytes_size;

static void write_whole(const char *name, const void *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	is(write(fd, bytes, size), size);
	close(fd);
}

static size_t read_whole(const char *name, void *bytes, size_t size)
{
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = read(fd, bytes, size);

	close(fd);
	return n < 0 ? 0 : (size_t)n;
}

/* Packets of ours, so that each is a frame of its header and one of its events. */
static void make_plain(void)
{
	for (int i = 0; i < PACKETS; i++) {
		uint8_t *at = plain + (size_t)i * (sizeof(struct abi_ctf_packet) + BODY);
		struct abi_ctf_packet h = { .magic = ABI_CTF_MAGIC,
					    .sequence = (uint64_t)i,
					    .packet_bits = (sizeof h + BODY) * 8 };

		memcpy(at, &h, sizeof h);
		for (int k = 0; k < BODY; k++)
			at[sizeof h + k] = (uint8_t)(i * k >> 3);
	}
}

static void packed_and_restored_a_file_is_what_it_was(void)
{
	static uint8_t again[sizeof plain];
	uint64_t out;

	write_whole("s", plain, sizeof plain);
	is(compressed_write(dir, "s", "s.zst", 1, &out, NULL), 0);
	compressed_bytes_size = read_whole("s.zst", packed, sizeof packed);
	is(compressed_bytes_size, out);
	ok(out < sizeof plain / 2);
	is(compressed_restore(dir, "s.zst", dir, "t", NULL), 0);
	is(read_whole("t", again, sizeof again), sizeof plain);
	ok(!memcmp(again, plain, sizeof plain));
}

static void a_file_that_is_no_trace_is_packed_too(void)
{
	char text[] = "trace { };", again[64];
	uint64_t out, size;
	char *bytes;
	char path[128];

	write_whole("metadata", text, sizeof text);
	is(compressed_write(dir, "metadata", "metadata.zst", 19, &out, NULL), 0);
	is(compressed_restore(dir, "metadata.zst", dir, "m", NULL), 0);
	is(read_whole("m", again, sizeof again), sizeof text);
	snprintf(path, sizeof path, "%s/metadata.zst", directory);
	is(compressed_read(path, sizeof text - 1, &bytes, &size, NULL), -EFBIG);
	is(compressed_read(path, sizeof text, &bytes, &size, NULL), 0);
	is(size, sizeof text);
	ok(!strcmp(bytes, text));
	free(bytes);
	write_whole("empty", "", 0);
	is(compressed_write(dir, "empty", "empty.zst", 1, &out, NULL), 0);
	is(out, 0);
	is(compressed_restore(dir, "empty.zst", dir, "e", NULL), 0);
}

static void a_header_is_read_without_its_events(void)
{
	const uint64_t step = sizeof(struct abi_ctf_packet) + BODY;
	struct compressed_file *p;

	is(compressed_open(&p, packed, compressed_bytes_size, NULL), 0);
	is(compressed_size(p), sizeof plain);
	is(compressed_frame(p, 7 * step), sizeof(struct abi_ctf_packet));
	ok(!memcmp(compressed_bytes(p) + 7 * step, plain + 7 * step,
		   sizeof(struct abi_ctf_packet)));
	is(compressed_need(p, 7 * step, step), step);
	ok(!memcmp(compressed_bytes(p) + 7 * step, plain + 7 * step, step));
	compressed_let_go(p, sizeof plain);
	is(compressed_need(p, 0, sizeof plain + 5), sizeof plain);
	ok(!memcmp(compressed_bytes(p), plain, sizeof plain));
	is(compressed_need(p, sizeof plain, 1), 0);
	is(compressed_frame(p, sizeof plain), 0);
	compressed_close(p);
}

/* After any cut, the bytes before it are right, and nothing is read beyond the file (the
 * sanitizers check that). */
static void every_cut_leaves_what_is_before_it(void)
{
	for (uint64_t size = 0; size < compressed_bytes_size; size += 1 + size % 7) {
		uint8_t *copy = malloc(size ? size : 1);
		struct diag d = { "" };
		struct compressed_file *p;
		uint64_t n;

		memcpy(copy, packed, size);
		is(compressed_open(&p, copy, size, &d), 0);
		n = compressed_size(p);
		ok(n < sizeof plain);
		is(compressed_need(p, 0, n), n);
		ok(!n || !memcmp(compressed_bytes(p), plain, n));
		compressed_close(p);
		free(copy);
	}
}

/* Frames have checksums: a wrong byte is reported, or changes nothing. */
static void no_damage_gives_other_events(void)
{
	for (uint64_t at = 0; at < compressed_bytes_size; at += 3) {
		struct diag d = { "" };
		struct compressed_file *p;
		uint64_t n;

		packed[at] ^= 0x41;
		is(compressed_open(&p, packed, compressed_bytes_size, &d), 0);
		for (uint64_t from = 0; from < compressed_size(p); from += n ? n : 1000) {
			n = compressed_need(p, from, 1000);
			ok(n <= 1000);
			ok(!n || compressed_size(p) != sizeof plain ||
			   !memcmp(compressed_bytes(p) + from, plain + from, n));
		}
		compressed_close(p);
		packed[at] ^= 0x41;
	}
}

/* A few bytes that claim to be very many. */
static void a_claim_of_gigabytes_costs_nothing(void)
{
	/* magic, descriptor: single segment with 8 bytes of content size */
	const uint8_t frame[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0
	};
	struct diag d = { "" };
	struct compressed_file *p;

	is(compressed_open(&p, frame, sizeof frame, &d), 0);
	is(compressed_size(p), 0);
	ok(*d.text);
	compressed_close(p);
}

int main(void)
{
	static const char *const names[] = { "s", "s.zst", "t",		"metadata", "metadata.zst",
					     "m", "empty", "empty.zst", "e" };

	if (!compressed_is_supported())
		skip("built without libzstd");
	if (!mkdtemp(directory))
		skip("no temporary directory");
	dir = open(directory, O_RDONLY | O_DIRECTORY);
	make_plain();
	run(packed_and_restored_a_file_is_what_it_was);
	run(a_file_that_is_no_trace_is_packed_too);
	run(a_header_is_read_without_its_events);
	run(every_cut_leaves_what_is_before_it);
	run(no_damage_gives_other_events);
	run(a_claim_of_gigabytes_costs_nothing);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		unlinkat(dir, names[i], 0);
	close(dir);
	rmdir(directory);
	return test_status();
}
