/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/cut_test.c - a trace of 1 MiB, cut at every byte, and every bit of its headers
 * flipped.
 *
 * trace_cut_test [STEP [MOST [LEAST]]]: every STEP-th cut (997), of all packets if STEP is up to 8; 1
 * takes some minutes.  With MOST, cuts alone, to sizes from that down to LEAST (0).
 *
 * A cut costs exactly the events that it reaches: of the packet that is cut and the one before;
 * every 997th time of the whole trace, for the others a cut does not concern.  A flipped bit of a
 * packet's header may cost that packet's events, and changes what its times or losses are said to
 * be; all other packets' events are read, once and in order.  So do bytes that are gone from within
 * a packet.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "unit/trace/make_trace.h"

enum {
	PACKET_BYTES = 16384,
	PACKETS = 64,
	EVENTS_MAX = PACKET_BYTES * PACKETS / 24,
	WHOLE_EVERY = 997
};

#define META                                                                                       \
	HEAD("le")                                                                                 \
	"stream { id = 0; " CONTEXT "event.header := struct { t32 timestamp; u16 id; }; };\n"      \
	"event { name = \"number\"; id = 1; stream_id = 0; fields := struct { u64 n; u64 check; "  \
	"}; };\n"                                                                                  \
	"event { name = \"text\"; id = 2; stream_id = 0; fields := struct { u64 n; string s; u64 " \
	"check; }; };\n"

static uint64_t event_end[EVENTS_MAX + 1]; /* of event n, in the file */
static uint32_t event_packet[EVENTS_MAX + 1];
static uint32_t first_event[PACKETS + 1]; /* of packet n */
static uint32_t n_events;
static uint32_t n_misread;
static uint8_t seen[EVENTS_MAX];
static uint64_t step = 997, most = (uint64_t)PACKET_BYTES * PACKETS, least;
static const char *directory;
static int fd;

static void put_event(struct bytes *b, uint32_t packet, uint64_t time)
{
	put(b, time, 4);
	put(b, n_events % 3 ? 1 : 2, 2);
	put(b, n_events, 8);
	if (n_events % 3 == 0)
		put_text(b, "some words, so that events differ in size" + n_events % 17);
	put(b, ~(uint64_t)n_events, 8);
	event_packet[n_events] = packet;
	event_end[n_events++] = (uint64_t)packet * PACKET_BYTES + b->n;
}

/* Each packet is full but for some bytes that are no event. */
static void make(void)
{
	char path[256];

	directory = make_directory();
	write_file(directory, "metadata", META, strlen(META));
	snprintf(path, sizeof path, "%s/s0", directory);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		exit(1);
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct bytes b = { .n = 0 };
		uint64_t time = 1000000000ull * (i + 1);
		size_t at = begin_packet(&b, time, i, 0);

		first_event[i] = n_events;
		while (b.n + 80 < PACKET_BYTES)
			put_event(&b, i, time += 1000);
		end_packet(&b, at);
		put_at(&b, AT_PACKET, PACKET_BYTES * 8, 8);
		if (pwrite(fd, b.at, PACKET_BYTES, (off_t)i * PACKET_BYTES) != PACKET_BYTES)
			exit(1);
	}
}

static void note(const struct trace_event *e)
{
	struct ctf_value v;
	struct ctf_walk w;
	uint64_t n = 0, check = 0;

	ctf_walk_event(&w, e->ctf, CTF_PAYLOAD);
	while (ctf_walk_next(&w, &v) != CTF_WALK_END) {
		if (v.name && *v.name == 'n')
			n = v.u;
		if (v.name && *v.name == 'c')
			check = v.u;
	}
	if (check != ~n || n >= n_events || seen[n])
		n_misread++;
	else
		seen[n] = 1;
}

/* The number of events from packet @first on. n_misread: how many differ from those written. */
static uint32_t read_from(uint32_t first)
{
	struct trace_event e;
	struct trace *t;
	struct diag d;
	uint32_t n = 0;
	int item;

	memset(seen, 0, n_events);
	n_misread = 0;
	if (trace_open(&t, &directory, 1, NULL, &d))
		return 0;
	if (first) /* packet n ends at second n + 2 */
		trace_skip_to(t, 1000000000ll * (first + 1) + 1, 0);
	while ((item = trace_next(t, &e, &d)) > 0) {
		if (item != TRACE_EVENT)
			continue;
		note(&e);
		n++;
	}
	trace_close(t);
	return n;
}

static uint32_t read_all(void)
{
	return read_from(0);
}

static void a_cut_costs_only_the_events_it_reaches(void)
{
	uint32_t left = n_events, n_cuts = 0;

	for (uint64_t size = most; size > step && size >= least; size -= step) {
		uint32_t cut = (uint32_t)(size / PACKET_BYTES),
			 first = n_cuts++ % WHOLE_EVERY && cut ? cut - 1 : 0;

		if (ftruncate(fd, (off_t)size))
			exit(1);
		while (left && event_end[left - 1] > size)
			left--;
		if (!is(read_from(first), left - first_event[first]) || !is(n_misread, 0)) {
			printf("# cut at %llu\n", (unsigned long long)size);
			return;
		}
		if (step == 1 && n_cuts % 65536 == 0) {
			printf("# %u cuts, down to %llu\n", n_cuts, (unsigned long long)size);
			fflush(stdout);
		}
	}
	printf("# %u cuts\n", n_cuts);
}

static bool others_are_whole(uint32_t packet)
{
	for (uint32_t n = 0; n < n_events; n++)
		if (!seen[n] && event_packet[n] != packet)
			return false;
	return n_misread == 0;
}

static void a_flipped_bit_of_a_header_costs_no_other_packet(void)
{
	uint64_t n_kept = 0, n_flips = 0;

	for (uint32_t i = 0; i<PACKETS; i += step> 8 ? 31 : 1) {
		for (uint32_t bit = 0; bit < PACKET_HEAD * 8; bit++) {
			off_t at = (off_t)i * PACKET_BYTES + bit / 8;
			uint8_t byte, changed;

			if (pread(fd, &byte, 1, at) != 1)
				exit(1);
			changed = byte ^ (uint8_t)(1 << bit % 8);
			if (pwrite(fd, &changed, 1, at) != 1)
				exit(1);
			n_kept += read_all();
			n_flips++;
			if (pwrite(fd, &byte, 1, at) != 1)
				exit(1);
			if (!ok(others_are_whole(i))) {
				printf("# packet %u, bit %u of its header, %u misread\n", i, bit,
				       n_misread);
				return;
			}
		}
	}
	printf("# of a packet with a flipped bit in its header %.0f %% is read\n",
	       100 * ((double)n_kept / (double)n_flips - n_events * (PACKETS - 1.0) / PACKETS) /
		       (1.0 * n_events / PACKETS));
}

/* The bytes behind the packet come earlier than it says, even before the end of its content. */
static void bytes_gone_from_a_packet_cost_no_other(void)
{
	static uint8_t all[PACKET_BYTES * PACKETS];
	const size_t gone[] = { 1, 7, 100, 5000 };

	if (pread(fd, all, sizeof all, 0) != sizeof all)
		exit(1);
	for (uint32_t i = 0; i < PACKETS - 1; i += 9) {
		size_t n = gone[i % 4], from = (size_t)i * PACKET_BYTES + PACKET_BYTES / 2,
		       to = from + n;

		if (pwrite(fd, all + to, sizeof all - to, (off_t)from) !=
			    (ssize_t)(sizeof all - to) ||
		    ftruncate(fd, (off_t)(sizeof all - n)))
			exit(1);
		read_all();
		n_misread = 0; /* of the packet itself there may be anything */
		ok(others_are_whole(i));
		if (pwrite(fd, all, sizeof all, 0) != sizeof all)
			exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		step = strtoull(argv[1], NULL, 10);
	make();
	is(read_all(), n_events);
	is(n_misread, 0);
	if (argc > 2)
		most = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		least = strtoull(argv[3], NULL, 10);
	if (argc < 3) {
		run(a_flipped_bit_of_a_header_costs_no_other_packet);
		run(bytes_gone_from_a_packet_cost_no_other);
	}
	run(a_cut_costs_only_the_events_it_reaches);
	close(fd);
	remove_directory(directory);
	return test_status();
}
