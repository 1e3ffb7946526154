/* SPDX-License-Identifier: MIT */
/* tests/unit/ctf/writer_test.c - a packet that the disk takes only in part leaves nothing behind; all streams
 * begin and end together. */
#include "ctf/write/writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "test.h"

static char directory[] = "/tmp/duet-sink-XXXXXX";
static struct ctf_writer sink;
static struct ctf_stream stream;

static int append(uint64_t at_ns)
{
	struct ctf_packet p = { .begin_ns = at_ns, .end_ns = at_ns, .sequence = stream.sequence };

	return ctf_stream_append(&stream, &p, NULL);
}

/* The likest to a full disk that needs no disk. */
static void limit_files_to(rlim_t size)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = size;
	ok(!setrlimit(RLIMIT_FSIZE, &l));
}

static off_t size_of(const char *file)
{
	struct stat st;

	return fstatat(sink.dir, file, &st, 0) ? -1 : st.st_size;
}

static void a_packet_cut_in_the_stream_leaves_no_trace(void)
{
	limit_files_to(2 * sizeof(struct abi_ctf_packet) - 1);
	is(append(1), 0);
	is(append(2), -EFBIG);
	is(size_of("s"), sizeof(struct abi_ctf_packet));
	is(size_of("index/s.idx"),
	   sizeof(struct abi_ctf_index_header) + sizeof(struct abi_ctf_index_entry));
	limit_files_to(RLIM_INFINITY);
}

/* The index is the longer of the two as long as packets are empty and few. */
static void an_entry_cut_in_the_index_leaves_no_trace(void)
{
	struct abi_ctf_index_entry last;
	int fd;

	ctf_stream_close(&stream);
	is(ctf_stream_open(&stream, &sink, "t", NULL), 0);
	limit_files_to(sizeof(struct abi_ctf_packet) + 2);
	is(append(1), -EFBIG);
	is(size_of("t"), 0);
	is(size_of("index/t.idx"), sizeof(struct abi_ctf_index_header));
	limit_files_to(RLIM_INFINITY);
	is(append(7), 0);
	fd = openat(sink.dir, "index/t.idx", O_RDONLY);
	is(pread(fd, &last, sizeof last, sizeof(struct abi_ctf_index_header)), sizeof last);
	is(be64toh(last.begin_ns), 7);
	is(be64toh(last.offset), 0);
	close(fd);
}

static struct abi_ctf_packet packet_at(const char *file, int number)
{
	struct abi_ctf_packet p = { 0 };
	int fd = openat(sink.dir, file, O_RDONLY);

	is(pread(fd, &p, sizeof p, number * (off_t)sizeof p), sizeof p);
	close(fd);
	return p;
}

/* The instance that entry @n of an index has, and packet @n of its stream of empty packets. */
static uint64_t instance_of(const struct ctf_writer *of, int n, uint64_t *in_packet)
{
	struct abi_ctf_index_entry e = { 0 };
	struct abi_ctf_packet p = { 0 };
	int fd = openat(of->dir, "births", O_RDONLY),
	    index = openat(of->index_dir, "births.idx", O_RDONLY);

	is(pread(fd, &p, sizeof p, n * (off_t)sizeof p), sizeof p);
	is(pread(index, &e, sizeof e,
		 (off_t)sizeof(struct abi_ctf_index_header) + n * (off_t)sizeof e),
	   sizeof e);
	close(fd);
	close(index);
	*in_packet = p.stream_instance_id;
	return be64toh(e.stream_instance_id);
}

/* The empty packets at the stream's begin and end have none. */
static void the_index_shows_where_births_are(void)
{
	static const uint64_t shown[] = { ABI_CTF_INDEX_NO_BIRTHS, ABI_CTF_INDEX_BIRTHS,
					  ABI_CTF_INDEX_NO_BIRTHS, ABI_CTF_INDEX_NO_BIRTHS };
	struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	char path[64];
	struct ctf_writer_options o = {
		.path = path, .domain = "kernel", .clock = &clock, .begin_ns = 3
	};
	struct ctf_packet p = { .begin_ns = 5, .end_ns = 6, .births = CTF_BIRTHS_SOME };
	struct ctf_stream first, second;
	struct ctf_writer of;
	uint64_t instance;

	snprintf(path, sizeof path, "%s/kernel", directory);
	is(ctf_writer_open(&of, &o, NULL), 0);
	is(ctf_stream_open(&first, &of, "other", NULL), 0);
	is(ctf_stream_open(&second, &of, "births", NULL), 0);
	is(ctf_stream_append(&second, &p, NULL), 0);
	p.sequence = second.sequence;
	p.births = CTF_BIRTHS_NONE;
	is(ctf_stream_append(&second, &p, NULL), 0);
	ctf_stream_close(&second);
	ctf_stream_close(&first);
	is(ctf_writer_end(&of, 9, NULL), 0);
	for (int i = 0; i < 4; i++) {
		is(instance_of(&of, i, &instance), 1 | shown[i]);
		is(instance, 1);
	}
	ctf_writer_close(&of);
}

/* @n empty packets: each in the stream and in the index. */
static void is_of_packets(const char *name, int n)
{
	char index[64];

	snprintf(index, sizeof index, "index/%s.idx", name);
	is(size_of(name), n * sizeof(struct abi_ctf_packet));
	is(size_of(index),
	   sizeof(struct abi_ctf_index_header) + (size_t)n * sizeof(struct abi_ctf_index_entry));
}

static void streams_begin_and_end_together(void)
{
	struct ctf_packet lossy = { .begin_ns = 60, .end_ns = 70, .discarded = 5, .cpu = 3 };

	ctf_stream_close(&stream);
	sink.begin_ns = 50;
	is(ctf_stream_open(&stream, &sink, "late", NULL), 0);
	is(ctf_stream_append(&stream, &lossy, NULL), 0);
	ctf_stream_close(&stream);
	is_of_packets("late", 2);
	is(packet_at("late", 0).begin_ns, 50);
	is(packet_at("late", 0).end_ns, 50);
	is(packet_at("late", 0).discarded, 0);
	is(packet_at("late", 0).cpu, 3);
	is(packet_at("late", 1).sequence, 1);
	is(ctf_stream_open(&stream, &sink, "early", NULL), 0);
	is(append(40), 0);
	is(append(90), 0);
	is(ctf_writer_end(&sink, 80, NULL), 0); /* but the last packet ends at 90 */
	is_of_packets("late", 3);
	is(packet_at("late", 2).begin_ns, 90);
	is(packet_at("late", 2).end_ns, 90);
	is(packet_at("late", 2).sequence, 2);
	is(packet_at("late", 2).discarded, 5);
	is(packet_at("late", 2).cpu, 3);
	is(packet_at("late", 2).stream_instance_id, packet_at("late", 0).stream_instance_id);
	is_of_packets("early", 2);
	is(packet_at("early", 0).begin_ns, 40);
	is(ctf_writer_end(&sink, 80, NULL), 0);
	is_of_packets("late", 3);
	sink.begin_ns = 0;
}

/* Packets that a flight recorder overwrote came before it. */
static void a_stream_without_its_first_packet_begins_with_what_it_has(void)
{
	ctf_stream_close(&stream);
	sink.begin_ns = 50;
	is(ctf_stream_open(&stream, &sink, "rest", NULL), 0);
	stream.sequence = 7;
	is(append(60), 0);
	is_of_packets("rest", 1);
	is(packet_at("rest", 0).sequence, 7);
	sink.begin_ns = 0;
}

/* Offset, size and content of packet @n, by the index. */
static void is_packet(const char *index, int n, uint64_t offset, uint64_t size, uint64_t content)
{
	struct abi_ctf_index_entry e = { 0 };
	int fd = openat(sink.dir, index, O_RDONLY);

	is(pread(fd, &e, sizeof e,
		 (off_t)(sizeof(struct abi_ctf_index_header) + (size_t)n * sizeof e)),
	   sizeof e);
	is(be64toh(e.offset), offset);
	is(be64toh(e.packet_bits), size * 8);
	is(be64toh(e.content_bits), content * 8);
	close(fd);
}

static void append_bytes(uint64_t at_ns, size_t n)
{
	static char body[65536];
	struct iovec v = { body, n - sizeof(struct abi_ctf_packet) };
	struct ctf_packet p = { .begin_ns = at_ns,
				.end_ns = at_ns,
				.sequence = stream.sequence,
				.n_body = 1,
				.body = &v };

	memset(body, 7, sizeof body);
	is(ctf_stream_append(&stream, &p, NULL), 0);
}

static void large_packets_end_with_a_page_of_the_file(void)
{
	enum { FULL = 65536 - 52 };
	char byte = 1;
	int fd;

	ctf_stream_close(&stream);
	is(ctf_stream_open(&stream, &sink, "pages", NULL), 0);
	append_bytes(1, 84); /* 4012 zeros would be most of it */
	append_bytes(2, FULL);
	append_bytes(3, FULL);
	append_bytes(4, 5000);
	append_bytes(5, 65536);
	is_packet("index/pages.idx", 0, 0, 84, 84);
	is_packet("index/pages.idx", 1, 84, 69632 - 84, FULL);
	is_packet("index/pages.idx", 2, 69632, 65536, FULL);
	is_packet("index/pages.idx", 3, 135168, 5000, 5000);
	is_packet("index/pages.idx", 4, 140168, 65536 + 3192, 65536);
	is(size_of("pages"), 208896);
	fd = openat(sink.dir, "pages", O_RDONLY);
	is(pread(fd, &byte, 1, 69632 + FULL - 1), 1);
	is(byte, 7);
	is(pread(fd, &byte, 1, 69632 + FULL), 1);
	is(byte, 0);
	close(fd);
}

/* Full sub-buffers end with 64 KiB of the file, as soon as the gap before the first is a small part of it. */
static void full_packets_end_with_large_folios(void)
{
	enum { FULL = 65536 - 52, UNIT = 65536, PAGE = 4096 };
	uint64_t gaps = 0;
	int last_odd = 0;

	ctf_stream_close(&stream);
	is(ctf_stream_open(&stream, &sink, "folios", NULL), 0);
	append_bytes(1, 84);
	for (int i = 0; i < 300; i++) {
		uint64_t before = stream.offset, size = i % 100 == 90 ? 20000 : FULL;

		append_bytes(2 + (uint64_t)i, size);
		gaps += stream.offset - before > size + PAGE ? stream.offset - before - size : 0;
		ok(!gaps || gaps * 64 <= stream.offset);
		is(stream.gaps, gaps);
		ok(i == 0 || i % 100 == 90 || stream.offset % PAGE == 0);
		last_odd = stream.offset % UNIT ? i : last_odd;
	}
	is(size_of("folios"), stream.offset);
	ok(gaps > 0 && last_odd < 299 && last_odd >= 290);
}

/* Those that one write appends share the gap's budget. */
static void packets_of_one_write_have_one_gap(void)
{
	static char body[65536 - 52 - sizeof(struct abi_ctf_packet)];
	struct iovec v = { body, sizeof body };
	struct ctf_packet p[4];
	int n_odd = 0;

	ctf_stream_close(&stream);
	is(ctf_stream_open(&stream, &sink, "gap", NULL), 0);
	append_bytes(1, 84);
	for (int i = 0; i < 20; i++) {
		for (uint64_t k = 0; k < 4; k++)
			p[k] = (struct ctf_packet){ .begin_ns = 2,
						    .end_ns = 2,
						    .sequence = stream.sequence + k,
						    .n_body = 1,
						    .body = &v };
		is(ctf_stream_append_all(&stream, p, 4, NULL), 0);
		n_odd += stream.offset % 65536 != 0;
	}
	/* They end 4 KiB behind a multiple.  The gap has 60 KiB, so 60 packets of 64 KiB come before it. */
	is(n_odd, 14);
	is(stream.gaps, 60 * 1024 + 52);
	is(stream.offset, (4 * 20 + 1) * 65536);
}

/* Four packets at once are a try: one by one they may fit. */
static void packets_that_do_not_fit_together_are_no_refusal(void)
{
	struct quota quota = { .limit = 3 * sizeof(struct abi_ctf_packet) };
	struct disk_budget disk = { .rule.limit = 1 << 20 };
	struct ctf_packet p[4];

	for (uint64_t i = 0; i < 4; i++)
		p[i] = (struct ctf_packet){ .begin_ns = i + 1, .end_ns = i + 1, .sequence = i };
	ctf_stream_close(&stream);
	is(ctf_stream_open(&stream, &sink, "tried", NULL), 0);
	sink.quota = &quota;
	is(ctf_stream_append_all(&stream, p, 4, NULL), -ENOSPC);
	is(size_of("tried"), 0);
	ok(!quota.was_full && !quota.held && quota.n_begun == quota.n_done);
	is(ctf_stream_append_all(&stream, p, 3, NULL), 0);
	is(ctf_stream_append(&stream, &p[3], NULL), -ENOSPC);
	ok(quota.was_full);
	sink.quota = NULL;
	sink.disk = &disk;
	disk.used = disk.rule.limit;
	is(ctf_stream_append_all(&stream, p, 4, NULL), -ENOSPC);
	ok(!disk.n_refused && !disk.refused);
	is(ctf_stream_append(&stream, &p[3], NULL), -EDQUOT);
	is(disk.n_refused, 1);
	sink.disk = NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int main(void)
{
	struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	struct ctf_writer_options o = { .path = directory, .domain = "ust", .clock = &clock };

	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(directory))
		skip("no temporary directory");
	is(ctf_writer_open(&sink, &o, NULL), 0);
	is(ctf_stream_open(&stream, &sink, "s", NULL), 0);
	run(a_packet_cut_in_the_stream_leaves_no_trace);
	run(an_entry_cut_in_the_index_leaves_no_trace);
	run(streams_begin_and_end_together);
	run(the_index_shows_where_births_are);
	run(large_packets_end_with_a_page_of_the_file);
	run(full_packets_end_with_large_folios);
	run(packets_of_one_write_have_one_gap);
	run(packets_that_do_not_fit_together_are_no_refusal);
	run(a_stream_without_its_first_packet_begins_with_what_it_has);
	ctf_stream_close(&stream);
	ctf_writer_close(&sink);
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return test_status();
}
