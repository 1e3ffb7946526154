/* SPDX-License-Identifier: MIT */
/* net/send/spool.c: the bytes a relay gets of recordings made by hand, round by round. */
#include "net/send/spool.h"

#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "test.h"

static char work[] = "/tmp/duet-spool-XXXXXX";

static void put(const char *name, const char *bytes, size_t n)
{
	char path[PATH_MAX], *slash;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", work, name);
	slash = strrchr(path, '/');
	*slash = 0;
	is(io_make_dirs(path), 0);
	*slash = '/';
	f = fopen(path, "w");
	if (ok(f) && n)
		is(fwrite(bytes, n, 1, f), 1);
	if (f)
		fclose(f);
}

/* As a relay that has nothing and acknowledges at once does. */
static void rounds(struct spool *s, int n)
{
	static uint8_t bytes[MESSAGE_PAYLOAD];
	struct diag d = { "" };
	struct message m;

	for (int i = 0; i < n; i++) {
		ok(spool_round(s, &d) >= 0);
		s->n_announced = s->n;
		for (uint32_t k = 0; k < s->n; k++)
			if (!s->files[k].is_known)
				is(spool_size(s, k, 0, &d), 0);
		while (spool_next(s, &m)) {
			if (!is(spool_read(s, &m, bytes, &d), 0))
				return;
			is(spool_size(s, m.data.number, m.data.offset + m.data.n, &d), 0);
		}
	}
}

/* A CPU without events until the chunk was over has a stream, and an index with nothing but its
 * head. */
static void a_piece_with_an_empty_stream_arrives_whole(void)
{
	static const char head[16] = "\xc1\xf1\xdc\xc1\0\0\0\1\0\0\0\1\0\0\0\x48", packet[96];
	struct {
		char head[sizeof head];
		struct abi_ctf_index_entry entry;
	} __attribute__((packed)) index = { .entry = { .packet_bits = htobe64(sizeof packet * 8),
						       .begin_ns = htobe64(1000),
						       .end_ns = htobe64(2000) } };
	struct diag d = { "" };
	struct spool s;

	put("piece-000001/ust/uid/0/64-bit/metadata", "", 0);
	memcpy(index.head, head, sizeof head);
	put("piece-000001/ust/uid/0/64-bit/cpu_0", packet, sizeof packet);
	put("piece-000001/ust/uid/0/64-bit/index/cpu_0.idx", (char *)&index, sizeof index);
	put("piece-000001/ust/uid/0/64-bit/cpu_1", "", 0);
	put("piece-000001/ust/uid/0/64-bit/index/cpu_1.idx", head, sizeof head);
	put("piece-000001/.duet/clock", "# x\n", 4);
	put("piece-000001/.duet/finished", "0 1\n", 4);
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	spool_begin_connection(&s);
	rounds(&s, 5);
	is(spool_trace_chunks(&s), 1);
	spool_close(&s);
}

/* A recorder removes chunks that have arrived. */
static void a_chunk_has_arrived_only_when_it_is_finished(void)
{
	struct diag d = { "" };
	struct spool s;

	put("piece-000002/.duet/clock", "# x\n", 4);
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	spool_begin_connection(&s);
	rounds(&s, 5);
	is(spool_trace_chunks(&s), 1);
	put("piece-000002/.duet/finished", "0 1\n", 4);
	rounds(&s, 1); /* it is found, and reported to the relay */
	is(spool_trace_chunks(&s), 1);
	rounds(&s, 2);
	is(spool_trace_chunks(&s), 2);
	spool_close(&s);
}

static void (*after_look)(void);

/* Replaces libc's: the act of another process just after the recording was scanned. */
int closedir(DIR *dir)
{
	int (*real)(DIR *) = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");
	void (*then)(void) = after_look;
	struct stat top, st;

	if (then && !stat(work, &top) && !fstat(dirfd(dir), &st) && st.st_ino == top.st_ino) {
		after_look = NULL;
		then();
	}
	return real(dir);
}

static const char first_line[] = "1 1 1 1 1 1000\n",
		  both_lines[] = "1 1 1 1 1 1000\n2 2 2 2 2 3000\n";

/* Another trace begins, and the clock file says that all events before 3000 are in the files. */
static void record_more(void)
{
	static const char packet[96];
	struct {
		char head[16];
		struct abi_ctf_index_entry entry;
	} __attribute__((packed)) index = { .entry = { .packet_bits = htobe64(sizeof packet * 8),
						       .begin_ns = htobe64(2000),
						       .end_ns = htobe64(2500) } };

	put("ust-2/metadata", "", 0);
	put("ust-2/cpu_0", packet, sizeof packet);
	put("ust-2/index/cpu_0.idx", (char *)&index, sizeof index);
	put(".duet/clock", both_lines, sizeof both_lines - 1);
}

static uint64_t acknowledged(const struct spool *s, const char *name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!strcmp(s->files[i].name, name))
			return s->files[i].acknowledged;
	return 0;
}

static void the_clock_is_not_sent_before_the_data_it_covers(void)
{
	struct diag d = { "" };
	struct spool s;

	put(".duet/clock", first_line, sizeof first_line - 1);
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	spool_begin_connection(&s);
	rounds(&s, 2);
	is(acknowledged(&s, ".duet/clock"), sizeof first_line - 1);
	after_look = record_more;
	rounds(&s, 1);
	is(acknowledged(&s, ".duet/clock"), sizeof first_line - 1);
	rounds(&s, 3);
	is(acknowledged(&s, "ust-2/cpu_0"), 96);
	is(acknowledged(&s, ".duet/clock"), sizeof both_lines - 1);
	spool_close(&s);
}

static void (*after_check)(void);

/* Replaces libc's: another process acts just after ust-3 was found without metadata. */
int faccessat(int dir, const char *name, int mode, int flags)
{
	int (*real)(int, const char *, int, int) =
		(int (*)(int, const char *, int, int))dlsym(RTLD_NEXT, "faccessat");
	int result = real(dir, name, mode, flags);
	void (*then)(void) = after_check;
	char path[PATH_MAX];
	struct stat a, b;

	snprintf(path, sizeof path, "%s/ust-3", work);
	if (then && result && !strcmp(name, "metadata") && !fstat(dir, &a) && !stat(path, &b) &&
	    a.st_ino == b.st_ino) {
		after_check = NULL;
		then();
	}
	return result;
}

static void begin_trace(void)
{
	put("ust-3/metadata", "", 0);
}

/* A collector creates a trace while the sender is in its directory, and is killed before the first
 * packet: its successor removes the trace. */
static void a_trace_without_a_packet_is_not_announced(void)
{
	struct diag d = { "" };
	struct spool s;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/ust-3/index", work);
	is(io_make_dirs(path), 0);
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	spool_begin_connection(&s);
	after_check = begin_trace;
	rounds(&s, 2);
	ok(!after_check); /* the metadata appeared during the scan */
	for (uint32_t i = 0; i < s.n; i++)
		ok(strncmp(s.files[i].name, "ust-3/", 6));
	spool_close(&s);
}

/* ---------------------------------------------------------------- a recording of another user */

static char own[] = "/tmp/duet-spool-own-XXXXXX",
	    before[sizeof work]; /* files of the sender's user */

static void put_own(const char *name)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", own, name);
	f = fopen(path, "w");
	ok(f && fputs("own secret", f) > 0 && !fclose(f));
}

/* A recording of its own, beside those above. */
static void begin_other(const char *name)
{
	strcpy(before, work);
	snprintf(work, sizeof work, "/tmp/duet-spool-XXXXXX");
	ok(mkdtemp(work) != NULL);
	put("ust/metadata", "secret?", 7);
	put(name, "sent", 4);
}

static void end_other(void)
{
	io_remove_tree(work);
	strcpy(work, before);
}

static void put_link_in_place_of_directory(void)
{
	char at[PATH_MAX], aside[PATH_MAX];

	snprintf(at, sizeof at, "%s/sub", work);
	snprintf(aside, sizeof aside, "%s/aside", work);
	ok(!rename(at, aside) && !symlink(own, at));
}

static void put_link_in_place_of_file(void)
{
	char at[PATH_MAX], there[PATH_MAX];

	snprintf(at, sizeof at, "%s/sub/file", work);
	snprintf(there, sizeof there, "%s/file", own);
	ok(!unlink(at) && !symlink(there, at));
}

static void put_fifo_in_place_of_file(void)
{
	char at[PATH_MAX];

	snprintf(at, sizeof at, "%s/sub/file", work);
	ok(!unlink(at) && !mkfifo(at, 0600));
}

/* The first round of a sender; @then happens after its scan.  Whatever it reads is not "secret". */
static void send_while(void (*then)(void))
{
	static uint8_t bytes[MESSAGE_PAYLOAD];
	struct diag d = { "" };
	struct message m;
	struct spool s;
	int err = 0;

	begin_other("sub/file");
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	spool_begin_connection(&s);
	s.is_final = true;
	is(spool_round(&s, &d), 1);
	s.n_announced = s.n;
	for (uint32_t k = 0; k < s.n; k++)
		is(spool_size(&s, k, 0, &d), 0);
	then();
	while (!err && spool_next(&s, &m)) {
		memset(bytes, 0, sizeof bytes);
		err = spool_read(&s, &m, bytes, &d);
		ok(strncmp((char *)bytes, "own", 3));
	}
	ok(err < 0 && strstr(d.text, "cannot read"));
	spool_close(&s);
	end_other();
}

static void links_and_fifos_that_come_after_the_scan_are_not_opened(void)
{
	alarm(60); /* a FIFO without a writer is waited for */
	send_while(put_link_in_place_of_directory);
	send_while(put_link_in_place_of_file);
	send_while(put_fifo_in_place_of_file);
	alarm(0);
}

static void the_senders_file_is_not_made_behind_a_link(void)
{
	struct message hello = { .type = MESSAGE_HELLO,
				 .hello = { .host = "h", .session = "s", .date = "d" } };
	char at[PATH_MAX], there[PATH_MAX];
	struct diag d = { "" };
	struct spool s;
	int lock = -1;

	begin_other("sub/file");
	snprintf(at, sizeof at, "%s/.duet", work);
	snprintf(there, sizeof there, "%s/stream", own);
	ok(!symlink(own, at));
	is(spool_open(&s, work, 0, false, NULL, &d), 0);
	ok(spool_identity(&s, &hello, &lock, &d) < 0 && strstr(d.text, ".duet/stream"));
	ok(access(there, F_OK));
	spool_close(&s);
	end_other();
	if (lock >= 0)
		close(lock);
}

static void a_relay_acknowledges_no_more_than_was_sent(void)
{
	struct message hello = { .type = MESSAGE_HELLO,
				 .hello = { .host = "h", .session = "s", .date = "d" } };
	struct diag d = { "" };
	struct spool s;
	int lock;

	for (int i = 0; i < 2; i++) {
		if (!i)
			begin_other("sub/file");
		is(spool_open(&s, work, 0, false, NULL, &d), 0);
		is(spool_identity(&s, &hello, &lock, &d), 0);
		spool_begin_connection(&s);
		is(spool_round(&s, &d), 1);
		s.n_announced = s.n;
		/* The second time another process may have sent it, and the relay knows. */
		is(spool_size(&s, 0, 1, &d), i ? 0 : -EPROTO);
		is(spool_size(&s, 0, UINT64_MAX, &d), -EPROTO);
		is(spool_size(&s, s.n, 0, &d), -EPROTO);
		spool_close(&s);
		close(lock);
	}
	end_other();
}

enum { LONG_PACKETS = 12, LONG_BYTES = 4096 };

/* A successor compares the last packets, as many as one write may have added, with the buffers. */
static void the_last_packets_stay_on_disk(void)
{
	static char stream[LONG_PACKETS * LONG_BYTES];
	struct {
		char head[16];
		struct abi_ctf_index_entry entries[LONG_PACKETS];
	} __attribute__((packed)) index = { .head = "\xc1\xf1\xdc\xc1\0\0\0\1\0\0\0\1\0\0\0\x48" };
	struct diag d = { "" };
	struct stat full, freed;
	char path[PATH_MAX];
	struct spool s;

	memset(stream, 'a', sizeof stream);
	for (uint64_t i = 0; i < LONG_PACKETS; i++)
		index.entries[i] = (struct abi_ctf_index_entry){
			.offset = htobe64(i * LONG_BYTES),
			.packet_bits = htobe64(LONG_BYTES * 8),
			.begin_ns = htobe64(1000 + i),
			.end_ns = htobe64(1001 + i),
		};
	put("ust/uid/0/64-bit/metadata", "", 0);
	put("ust/uid/0/64-bit/cpu_0", stream, sizeof stream);
	put("ust/uid/0/64-bit/index/cpu_0.idx", (char *)&index, sizeof index);
	put(".duet/clock", "# x\n", 4);
	snprintf(path, sizeof path, "%s/ust/uid/0/64-bit/cpu_0", work);
	is(stat(path, &full), 0);
	is(spool_open(&s, work, 0, true, NULL, &d), 0);
	spool_begin_connection(&s);
	rounds(&s, 5);
	is(stat(path, &freed), 0);
	if (!s.cannot_free)
		is((full.st_blocks - freed.st_blocks) * 512,
		   (LONG_PACKETS - CTF_PACKETS_MOST) * LONG_BYTES);
	spool_close(&s);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

int main(void)
{
	if (!mkdtemp(work) || !mkdtemp(own))
		return 1;
	run(the_clock_is_not_sent_before_the_data_it_covers);
	run(a_trace_without_a_packet_is_not_announced);
	run(a_piece_with_an_empty_stream_arrives_whole);
	run(a_chunk_has_arrived_only_when_it_is_finished);
	put_own("file");
	run(links_and_fifos_that_come_after_the_scan_are_not_opened);
	run(the_senders_file_is_not_made_behind_a_link);
	run(a_relay_acknowledges_no_more_than_was_sent);
	run(the_last_packets_stay_on_disk);
	nftw(own, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return test_status();
}
