/* SPDX-License-Identifier: MIT */
/* Records of perf's ring and their parts: whole, damaged, and round the ring's end. */
#include "kernel/perf/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/tracefs/rights.h"

#include "test.h"

enum {
	DATA = 4096,
	TYPES = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR
};

static struct kernel_perf_event events[2];
static struct kernel_perf_ring ring = {
	.events = events, .n_events = 2, .n_counters = 2, .data_bytes = DATA
};
static _Alignas(8) uint8_t record[KERNEL_PERF_RECORD_MAX + 1];

static void put(uint64_t at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring.map[(size_t)sysconf(_SC_PAGESIZE) + (at + i) % DATA] =
			((const char *)bytes)[i];
}

static void put_header(uint64_t at, uint16_t size)
{
	const struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .size = size };

	put(at, &h, sizeof h);
}

static void records_go_round_the_end(void)
{
	const uint64_t last = 0x1122334455667788;

	put_header(DATA - 8, 24);
	put(DATA + 8, &last, sizeof last);
	ok(kernel_perf_record(&ring, DATA - 8, DATA + 16, record));
	ok(!memcmp(record + 16, &last, sizeof last));
}

static void lengths_that_make_no_sense_are_no_records(void)
{
	static const uint16_t sizes[] = { 0, 4, 12, 40, UINT16_MAX };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		put_header(0, sizes[i]);
		ok(!kernel_perf_record(&ring, 0, 32, record));
	}
	put_header(0, 32);
	ok(kernel_perf_record(&ring, 0, 32, record));
	ok(!kernel_perf_record(&ring, 0, 2 * DATA + 8, record)); /* more than the ring holds */
	ok(!kernel_perf_record(&ring, 32, 0, record));
	ok(!kernel_perf_record(&ring, 4, 36, record));
}

static struct {
	struct kernel_perf_sample sample;
	uint64_t words[16];
} s;

static bool parts(uint64_t types, size_t n_words, struct kernel_perf_parts *p)
{
	events[1].sample_type = TYPES | types;
	s.sample.header.size = (uint16_t)(sizeof s.sample + n_words * sizeof *s.words);
	return kernel_perf_parts(&ring, 1, &s.sample, p);
}

static void parts_lie_inside_the_sample(void)
{
	static const uint64_t whole[] = { 3, 11, 22, 33, 2, 0xa, 0xb, 12 | 1ull << 32, 2 };
	const uint64_t all = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	struct kernel_perf_parts p;

	memcpy(s.words, whole, sizeof whole);
	ok(parts(all, 9, &p));
	ok(p.values[0] == 11 && p.values[1] == 22);
	ok(p.n_frames == 2 && p.frames[1] == 0xb);
	is(p.raw_size, 12);
	is(*p.raw, 1);
	for (size_t n = 0; n < 9; n++)
		ok(!parts(all, n, &p));
	s.words[0] = 1; /* fewer values than counters */
	ok(!parts(PERF_SAMPLE_READ, 2, &p));
	s.words[0] = UINT64_MAX;
	ok(!parts(PERF_SAMPLE_READ, 9, &p) && !parts(PERF_SAMPLE_CALLCHAIN, 9, &p) &&
	   !parts(PERF_SAMPLE_RAW, 9, &p));
	ok(parts(0, 0, &p) && !p.values && !p.frames && !p.raw);
}

static void samples_shared_by_recorders_are_identified_by_counter(void)
{
	struct kernel_perf_parts p;
	bool is_shared;

	events[1] = (struct kernel_perf_event){ .id = 7, .has_id = true };
	memcpy(s.words, ((uint64_t[]){ 1000, 7, 1, 0xa }), 32);
	s.sample.id = 7;
	ok(parts(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN, 4, &p) && p.n_frames == 1 &&
	   *p.frames == 0xa && !p.values);
	events[1].has_id = true;
	ok(kernel_perf_number(&ring, &s.sample, &is_shared) == 1 && !is_shared);
	s.sample.id = 99;
	ok(kernel_perf_number(&ring, &s.sample, &is_shared) == 1 && is_shared);
	s.sample.header.size = sizeof s.sample + 8;
	is(kernel_perf_number(&ring, &s.sample, &is_shared), 0);
	ok(!kernel_perf_parts(&ring, 1, &s.sample, &p));
	s.sample.header.size = sizeof s.sample + 32;
	s.words[1] = 8;
	is(kernel_perf_number(&ring, &s.sample, &is_shared), 0);
	events[1].has_id = false;
	s.words[1] = 7;
	is(kernel_perf_number(&ring, &s.sample, &is_shared),
	   0); /* the record there is another one */
}

/* Debian's kernel refuses perf to CAP_PERFMON while kernel.perf_event_paranoid is above 2. */
static void a_refusal_is_explained_by_the_rights_that_are_there(void)
{
	struct diag d = { "" };

	is(kernel_rights_perf("profile", -EACCES, &d), -EACCES);
	if (!geteuid())
		ok(strstr(d.text, "wants CAP_SYS_ADMIN") &&
		   strstr(d.text, "kernel.perf_event_paranoid=2"));
	else
		ok(strstr(d.text, "CAP_PERFMON, or"));
}

int main(void)
{
	ring.map = calloc(1, (size_t)sysconf(_SC_PAGESIZE) + DATA);
	run(records_go_round_the_end);
	run(lengths_that_make_no_sense_are_no_records);
	run(parts_lie_inside_the_sample);
	run(samples_shared_by_recorders_are_identified_by_counter);
	run(a_refusal_is_explained_by_the_rights_that_are_there);
	free(ring.map);
	return test_status();
}
