/* SPDX-License-Identifier: MIT */
/* Draining a CPU into a stream, from a directory of plain files that looks like an instance. */
#include "kernel/convert/cpu.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "kernel/tracefs/format.h"
#include "kernel/convert/page.h"
#include "test.h"

enum { PAGE = 4096, PLAIN = 10, RECORD = 16, FULL = (PAGE - KERNEL_PAGE_HEADER) / RECORD };

static char directory[64];
static struct kernel_drain drain;
static struct kernel_cpu cpu;
static struct kernel_losses losses;
static struct diag why;
static int pipe_file;
static uint64_t ticks;

static int remove_entry(const char *path, const struct stat *s, int type, struct FTW *f)
{
	(void)s, (void)type, (void)f;
	return remove(path);
}

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

static void set_stats(int overrun, int dropped)
{
	char text[128];
	int fd = open(path_of("per_cpu/cpu0/stats"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	snprintf(text, sizeof text,
		 "entries: 0\noverrun: %d\ncommit overrun: 0\ndropped events: %d\n", overrun,
		 dropped);
	is(io_write(fd, text, strlen(text)), 0);
	close(fd);
}

static void setup(void)
{
	static struct kernel_format f;
	struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	struct ctf_writer_options o = { .domain = "kernel", .clock = &clock };
	char trace[128];

	const char *tmp = getenv("TMPDIR");

	snprintf(directory, sizeof directory, "%s/duet-drain-XXXXXX", tmp ? tmp : "/tmp");
	ok(mkdtemp(directory));
	is(io_make_dirs(path_of("per_cpu/cpu0")), 0);
	pipe_file = open(path_of("per_cpu/cpu0/trace_pipe_raw"), O_RDWR | O_CREAT, 0600);
	set_stats(0, 0);
	drain = (struct kernel_drain){ .clock = clock, .page_size = PAGE, .buffer_pages = 16 };
	drain.instance = open(directory, O_RDONLY | O_DIRECTORY);
	drain.page = malloc(PAGE);
	is(kernel_classes_init(&drain.classes, PAGE), 0);
	is(kernel_format_parse(&f,
			       "name: plain\nID: 10\nfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;",
			       "test", NULL),
	   0);
	is(kernel_classes_add(&drain.classes, &f, "x", "plain"), 0);
	snprintf(trace, sizeof trace, "%s", path_of("trace"));
	o.path = trace;
	is(ctf_writer_open(&drain.sink, &o, NULL), 0);
	is(kernel_cpu_open(&cpu, &drain, 0, NULL), 0);
	losses = (struct kernel_losses){ 0 };
	cpu.losses = &losses;
	ticks = 1000;
	why.text[0] = 0;
}

static void tear_down(void)
{
	kernel_cpu_close(&cpu);
	ctf_writer_close(&drain.sink);
	kernel_classes_fini(&drain.classes);
	free(drain.page);
	close(drain.instance);
	close(pipe_file);
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Appends a page of @n records to the readable pages. */
static void put_page(int n, uint64_t flags)
{
	uint8_t page[PAGE] = { 0 };
	uint64_t commit = (uint64_t)n * RECORD | flags;

	memcpy(page, &ticks, 8);
	memcpy(page + 8, &commit, 8);
	for (int i = 0; i < n; i++) {
		uint32_t record[4] = { 3 | 1u << 5, PLAIN, 777, (uint32_t)i };

		memcpy(page + KERNEL_PAGE_HEADER + i * RECORD, record, sizeof record);
	}
	ticks += (uint64_t)n;
	is(pwrite(pipe_file, page, PAGE, lseek(pipe_file, 0, SEEK_END)), PAGE);
}

/* The last packet of the stream; @n_packets if not NULL. */
static struct abi_ctf_packet last_packet(int *n_packets)
{
	struct abi_ctf_packet p = { 0 };
	int fd = open(path_of("trace/kernel_0"), O_RDONLY), n = 0;
	off_t at = 0;

	while (pread(fd, &p, sizeof p, at) == sizeof p) {
		at += (off_t)(p.packet_bits / 8);
		n++;
	}
	close(fd);
	if (n_packets)
		*n_packets = n;
	return p;
}

static void pages_become_packets(void)
{
	int n;

	setup();
	put_page(FULL, 0);
	put_page(3, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(drain.n_events, FULL + 3);
	is(last_packet(&n).content_bits / 8, sizeof(struct abi_ctf_packet) + 3 * RECORD);
	is(n, 2);
	is(last_packet(NULL).sequence, 1);
	is(kernel_cpu_lost(&cpu), 0);
	is_text(why.text, "");
	tear_down();
}

/* What the last entry of the index says of births. */
static uint64_t last_note(void)
{
	struct abi_ctf_index_entry e = { 0 };
	int fd = open(path_of("trace/index/kernel_0.idx"), O_RDONLY);

	is(pread(fd, &e, sizeof e, lseek(fd, 0, SEEK_END) - (off_t)sizeof e), sizeof e);
	close(fd);
	return be64toh(e.stream_instance_id) & ~ABI_CTF_INDEX_INSTANCE;
}

static void if_births_are_missed_the_index_says_nothing_of_them(void)
{
	setup();
	put_page(FULL, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(last_note(), ABI_CTF_INDEX_NO_BIRTHS);
	tear_down();
	setup();
	drain.misses_births = true;
	put_page(FULL, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(last_note(), 0);
	tear_down();
}

static void live_drain_stops_at_a_page_that_is_not_full(void)
{
	setup();
	put_page(FULL, 0);
	put_page(3, 0);
	put_page(FULL, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LIVE, &why), 0);
	is(drain.n_events, FULL + 3);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LIVE, &why), 0);
	is(drain.n_events, 2 * FULL + 3);
	tear_down();
}

static void idle_cpu_has_no_file(void)
{
	setup();
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(access(path_of("trace/kernel_0"), F_OK), -1);
	tear_down();
}

static void losses_reach_the_next_packet_or_an_empty_one(void)
{
	int n;

	setup();
	put_page(3, 1u << 31);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LIVE, &why), 0);
	is(last_packet(NULL).discarded, 1);
	set_stats(5, 10);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(last_packet(&n).discarded, 15);
	is(n, 2);
	is(last_packet(NULL).content_bits / 8, sizeof(struct abi_ctf_packet));
	ok(last_packet(NULL).begin_ns >= ticks);
	is(kernel_cpu_lost(&cpu), 15);
	tear_down();
}

static void full_ring_makes_a_live_drain_ask_for_losses(void)
{
	setup();
	set_stats(0, 9);
	for (int i = 0; i < 12; i++)
		put_page(FULL, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LIVE, &why), 0);
	is(last_packet(NULL).discarded, 9);
	tear_down();
}

static void put_noise(void)
{
	uint8_t page[PAGE];

	memset(page, 0xff, sizeof page);
	is(pwrite(pipe_file, page, PAGE, lseek(pipe_file, 0, SEEK_END)), PAGE);
}

static void malformed_pages_are_skipped_counted_and_reported_once(void)
{
	setup();
	put_page(FULL, 0);
	put_noise();
	put_noise();
	put_page(3, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(drain.n_malformed, 2);
	is(drain.n_events, FULL + 3);
	ok(kernel_cpu_lost(&cpu) >= 2);
	ok(strstr(why.text, "cpu 0"));
	is(last_packet(NULL).discarded, kernel_cpu_lost(&cpu));
	tear_down();
}

static void unwritten_events_are_lost_and_reported_with_the_next_write(void)
{
	struct rlimit old, little;

	setup();
	getrlimit(RLIMIT_FSIZE, &old);
	little = old;
	little.rlim_cur = 8000;
	signal(SIGXFSZ, SIG_IGN);
	put_page(FULL, 0);
	put_page(FULL, 0);
	setrlimit(RLIMIT_FSIZE, &little);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LIVE, &why), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	is(drain.n_events, FULL);
	is(kernel_cpu_lost(&cpu), FULL);
	put_page(3, 0);
	is(kernel_cpu_drain(&cpu, &drain, KERNEL_DRAIN_LAST, &why), 0);
	is(drain.n_events, FULL + 3);
	is(last_packet(NULL).discarded, FULL);
	tear_down();
}

int main(void)
{
	run(pages_become_packets);
	run(if_births_are_missed_the_index_says_nothing_of_them);
	run(live_drain_stops_at_a_page_that_is_not_full);
	run(idle_cpu_has_no_file);
	run(losses_reach_the_next_packet_or_an_empty_one);
	run(full_ring_makes_a_live_drain_ask_for_losses);
	run(malformed_pages_are_skipped_counted_and_reported_once);
	run(unwritten_events_are_lost_and_reported_with_the_next_write);
	return test_status();
}
