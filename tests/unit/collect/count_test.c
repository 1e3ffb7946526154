/* SPDX-License-Identifier: MIT */
/* Unit tests of counts: events in bytes by their lengths, and sums of traces across kills. */
#include "collect/drain/count.h"
#include "collect/handover/counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi/context.h"
#include "abi/ctf.h"
#include "test.h"

static uint8_t bytes[4096];
static size_t size;
static bool has_no_memory;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return has_no_memory ? NULL : __real_malloc(n);
}

static void put(const void *p, size_t n)
{
	memcpy(bytes + size, p, n);
	size += n;
}

static void put_zeros(size_t n)
{
	memset(bytes + size, 0, n);
	size += n;
}

static void put_u32(uint32_t n)
{
	put(&n, sizeof n);
}

static void put_ids(void)
{
	put_zeros(sizeof(struct abi_ctf_ids));
}

static void begin_event_at(uint32_t id, uint64_t ns)
{
	put_u32(ABI_CTF_HEAD(id, ns));
	put_ids();
}

static void begin_wide_event_at(uint16_t id, uint64_t ns)
{
	struct abi_ctf_event_wide header = { ABI_CTF_HEAD(ABI_CTF_WIDE, ns), id };

	put(&header, sizeof header);
	put_ids();
}

static void begin_long_event_at(uint32_t id, uint64_t ns)
{
	struct abi_ctf_event_extended header = { ABI_CTF_EXTENDED, id, ns };

	put(&header, sizeof header);
	put_ids();
}

static void begin_event(uint32_t id)
{
	begin_event_at(id, 0);
}

static void describe(struct counter *c, uint32_t id, const char *schema)
{
	is(counter_describe(c, id, schema, strlen(schema)), 0);
}

static void events_of_all_types_are_counted(void)
{
	struct counter *c = counter_open(0, true);

	size = 0;
	describe(c, 1,
		 "13 a:fixed i8 a u16 b x32 c p64 d f32 e f64 f chr[5] g u16[3] h enum(u8:A,B) i");
	describe(c, 2, "13 a:texts str a u32 b str c");
	describe(c, 3, "13 a:sequences u16[] a u8 b i64[] c");
	describe(c, 4, "13 a:nothing");
	describe(c, 5, "13 a:unsound nosuch a");
	for (int i = 0; i < 3; i++) {
		begin_event(1);
		put_zeros(1 + 2 + 4 + 8 + 4 + 8 + 5 + 6 + 1);
		begin_long_event_at(2, 0);
		put("shop", 5);
		put_u32(65535);
		put("", 1);
		begin_event(3);
		put_u32(2);
		put_zeros(4 + 1);
		put_u32(1);
		put_zeros(8);
		begin_event(4);
		begin_event(5);
	}
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 15);
	counter_close(c);
}

static void contexts_have_their_place(void)
{
	struct counter *c = counter_open(ABI_CONTEXT_ALL, true);

	size = 0;
	describe(c, 1, "13 a:b u32 n");
	for (int i = 0; i < 4; i++) {
		begin_event(1);
		put_zeros(ABI_PROCNAME_BYTES + 5 * 4 + 8 * 4 + 8);
		put_u32((uint32_t)i); /* addresses */
		put_zeros((size_t)i * 8 + ABI_SLOT_BYTES + 4 * 8);
		put_u32(1);
	}
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 4);
	counter_close(c);
}

static void the_count_ends_where_the_bytes_do(void)
{
	struct counter *c = counter_open(0, true);
	size_t one;

	size = 0;
	describe(c, 1, "13 a:b u32 n");
	describe(c, 2, "13 a:c str n");
	describe(c, 3, "13 a:d u64[] n");
	describe(c, 4, "13 a:e u64[1048576] n");
	begin_event(1);
	put_u32(1);
	one = size;
	for (size_t n = 0; n < size; n++)
		is(counter_count(c, bytes, n, 0, UINT64_MAX).events, 0);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	begin_event(2);
	put("xyz", 3); /* no NUL */
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = one;
	begin_event(3);
	put_u32(UINT32_MAX);
	put_zeros(64);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = one;
	begin_event(4);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = one;
	begin_event(7); /* not described */
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = one;
	begin_wide_event_at(77, 0);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = one;
	begin_long_event_at(UINT32_MAX, 0);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	counter_close(c);
}

static void the_count_ends_where_time_goes_back_or_ahead(void)
{
	const uint64_t gap = ABI_CTF_GAP_NS, begin = 6 * gap - 16;
	struct counter *c = counter_open(0, true);
	struct counted n;
	size_t good;

	size = 0;
	describe(c, 1, "13 a:nothing");
	describe(c, 300, "13 a:nothing");
	begin_event_at(1, begin + 8);
	begin_wide_event_at(300, 6 * gap + 4); /* the low bits begin anew */
	begin_long_event_at(1, 9 * gap);
	begin_event_at(1, 9 * gap + 7);
	good = size;
	n = counter_count(c, bytes, size, begin, UINT64_MAX);
	is(n.events, 4);
	is(n.bytes, good);
	is(n.last_ns, 9 * gap + 7);
	is(counter_count(c, bytes, size, begin, 9 * gap).events, 3);
	is(counter_count(c, bytes, size, begin, 6 * gap).events, 1);
	begin_long_event_at(1, 8 * gap);
	n = counter_count(c, bytes, size, begin, UINT64_MAX);
	is(n.events, 4);
	is(n.bytes, good);
	size = good;
	begin_event_at(1, 6); /* stands for the next time with these bits */
	is(counter_count(c, bytes, size, begin, 9 * gap + 1000).events, 4);
	is(counter_count(c, bytes, size, begin, 10 * gap + 6).events, 5);
	size = good;
	begin_long_event_at(1, UINT64_MAX);
	is(counter_count(c, bytes, size, begin, 9 * gap + 1000).events, 4);
	counter_close(c);
}

static void events_without_ids_may_be_nothing_but_a_header(void)
{
	struct counter *c = counter_open(0, false);
	uint32_t head = ABI_CTF_HEAD(1, 10);

	size = 0;
	describe(c, 1, "13 a:nothing");
	describe(c, 2, "13 a:b u8 n");
	put_u32(head);
	put_u32(head);
	put_u32(ABI_CTF_HEAD(2, 10));
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 2);
	put_zeros(1);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 3);
	put_u32(ABI_CTF_HEAD(3, 10)); /* not described */
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 3);
	counter_close(c);
}

/* Else all its events would count as bytes that are no events. */
static void a_class_without_memory_is_described_again(void)
{
	const char *texts = "13 a:texts str a u32 b str c";
	struct counter *c = counter_open(0, true);

	size = 0;
	begin_event(1);
	put_zeros(1 + 4 + 1);
	has_no_memory = true;
	is(counter_describe(c, 1, texts, strlen(texts)), -ENOMEM);
	has_no_memory = false;
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 0);
	describe(c, 1, texts);
	has_no_memory = true;
	is(counter_describe(c, 1, texts, strlen(texts)), -ENOMEM); /* it stays as it was */
	has_no_memory = false;
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	counter_close(c);
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

/* A header of one of the three forms, mostly the shortest; its size. */
static size_t put_header(uint8_t *p, uint16_t id, uint64_t ns)
{
	const struct abi_ctf_event_wide wide = { ABI_CTF_HEAD(ABI_CTF_WIDE, ns), id };
	const struct abi_ctf_event_extended extended = { ABI_CTF_EXTENDED, id, ns };
	const uint32_t head = ABI_CTF_HEAD(id, ns);
	uint32_t form = draw(200);

	if (!form) {
		memcpy(p, &extended, sizeof extended);
		return sizeof extended;
	}
	if (form < 3 || id >= ABI_CTF_WIDE) {
		memcpy(p, &wide, sizeof wide);
		return sizeof wide;
	}
	memcpy(p, &head, sizeof head);
	return sizeof head;
}

/* One event of class @id: 1 to 4 have one length, 40 has a text. */
static size_t put_event(uint8_t *p, uint16_t id, uint64_t ns)
{
	static const uint8_t lengths[] = { 0, 4, 4, 16, 30 };
	size_t n = id < 5 ? lengths[id] : draw(40), at = put_header(p, id, ns);

	n += sizeof(struct abi_ctf_ids);
	for (size_t i = 0; i < n; i++)
		p[at + i] = (uint8_t)(1 + draw(255));
	if (id == 40)
		p[at + n++] = 0;
	return at + n;
}

enum { EVENTS = 3000, SPOILT_WAYS = 5 };

/* Makes the event at @p, @n bytes, one that no reader accepts; returns its end. */
static size_t spoil(uint8_t *p, size_t n, uint64_t *most_ns, uint64_t last_ns)
{
	const struct abi_ctf_event_wide wide = { ABI_CTF_HEAD(ABI_CTF_WIDE, last_ns), 60000 };
	uint32_t head = ABI_CTF_HEAD(draw(2) ? 0 : 7, last_ns);

	switch (draw(SPOILT_WAYS)) {
	case 0: /* not described */
		if (draw(2))
			memcpy(p, &head, sizeof head);
		else
			memcpy(p, &wide, sizeof wide);
		return n;
	case 1: /* beyond the packet */
		return n - 1;
	case 2: /* no whole header */
		return draw(4);
	case 3: /* later than the packet */
		*most_ns = last_ns;
		return n;
	default: /* back in time stands for almost a whole gap later */
		*most_ns = last_ns + ABI_CTF_GAP_NS - 100;
		head = ABI_CTF_HEAD(1, last_ns - 1 - draw(50));
		memcpy(p, &head, sizeof head);
		return n;
	}
}

static void is_counted(struct counted found, uint64_t events, size_t n_bytes, uint64_t last_ns)
{
	is(found.events, events);
	is(found.bytes, n_bytes);
	is(found.last_ns, last_ns);
}

/* All runs of lengths: the same, two in turn, at random; with texts between them; to a bad event. */
static void a_count_is_right_whatever_lengths_follow_each_other(void)
{
	static uint8_t packet[EVENTS * 64 + 20000], copy[sizeof packet], next[COUNTER_AHEAD_MOST];
	struct counter *c = counter_open(0, true);

	describe(c, 1, "13 a:b u32 n");
	describe(c, 2, "13 a:c i32 n");
	describe(c, 3, "13 a:d u64 n u64 m");
	describe(c, 4, "13 a:e u8[30] n");
	describe(c, 40, "13 a:f str n");
	for (int run = 0; run < 400; run++) {
		const uint64_t begin = (uint64_t)draw(1000) << 30;
		uint64_t ns = begin, last_ns = begin, most_ns = UINT64_MAX;
		uint32_t n = 1 + draw(EVENTS - 1), kinds = 1 + draw(5), turn = 1 + draw(40),
			 gap = 1u << (10 + draw(17)), /* up to half of what a header holds */
			rare = draw(2) ? 1 : 1 + draw(200);
		size_t at = 0, good = 0;
		struct counted found;

		for (uint32_t i = 0; i < n; i++) {
			uint16_t id = (uint16_t)(1 + (kinds < 3 ? i % kinds : draw(kinds)));

			id = id == 5 || (run % 3 == 0 && !draw(turn)) ? 40 : id;
			good = at;
			last_ns = ns;
			ns += 1 + draw(draw(rare) ? 100 : gap);
			at += put_event(packet + at, id, ns);
		}
		found = counter_count(c, packet, at, begin, draw(2) ? ns : UINT64_MAX);
		is_counted(found, n, at, ns);
		found = counter_copy(c, copy, packet, at, draw(2) ? next : NULL, begin,
				     draw(2) ? ns : UINT64_MAX);
		is_counted(found, n, at, ns);
		ok(!memcmp(copy, packet, at));
		at = good + spoil(packet + good, at - good, &most_ns, last_ns);
		found = counter_count(c, packet, at, begin, most_ns);
		is_counted(found, n - 1, good, last_ns);
		/* The bytes behind are copied too. */
		at += draw(2) ? draw(20000) : 0;
		memset(copy, 0, at);
		found = counter_copy(c, copy, packet, at, NULL, begin, most_ns);
		ok(found.events >= n - 1 && found.bytes >= good);
		ok(!memcmp(copy, packet, at));
	}
	counter_close(c);
}

static void write_packet(struct counts *c, uint64_t events, uint64_t n)
{
	ctf_ledger_begin(&c->ledger, &(struct ctf_sum){ events, n }, 1);
	ctf_ledger_end(&c->ledger);
}

static void is_sum(struct ctf_sum sum, uint64_t events, uint64_t n)
{
	is(sum.events, events);
	is(sum.bytes, n);
}

static void a_packet_that_a_killed_writer_wrote_counts_once(void)
{
	struct counts c = { .marks[0].number = 0 };

	counts_begin(&c, 1);
	write_packet(&c, 10, 1000);
	ctf_ledger_begin(&c.ledger, &(struct ctf_sum){ 3, 300 }, 1); /* in the file, and killed */
	counts_settle(&c, 1, 1300);
	counts_settle(&c, 1, 1300);
	is_sum(counts_of(&c, 1), 13, 1300);
	counts_begin(&c, 2);
	ctf_ledger_begin(&c.ledger, &(struct ctf_sum){ 5, 500 },
			 1); /* killed before it was in the file */
	counts_settle(&c, 2, 0);
	is_sum(counts_of(&c, 2), 0, 0);
	is_sum(ctf_ledger_read(&c.ledger), 13, 1300);
}

/* One write has several packets; a kill leaves the first of them in the index. */
static void of_several_packets_the_first_count(void)
{
	const struct ctf_sum each[] = { { 3, 300 }, { 5, 500 }, { 7, 700 } };
	static const uint64_t events[] = { 10, 13, 18, 25 }, n[] = { 1000, 1300, 1800, 2500 };

	for (int found = 0; found < 4; found++) {
		struct counts c = { .marks[0].number = 0 };

		counts_begin(&c, 1);
		write_packet(&c, 10, 1000);
		ctf_ledger_begin(&c.ledger, each, 3);
		counts_settle(&c, 1, n[found]);
		counts_settle(&c, 1, n[found]);
		is_sum(counts_of(&c, 1), events[found], n[found]);
	}
}

static void a_collector_without_packets_changes_no_sum(void)
{
	struct counts c = { .marks[0].number = 0 };

	counts_begin(&c, 1);
	write_packet(&c, 10, 1000);
	ctf_ledger_begin(&c.ledger, &(struct ctf_sum){ 3, 300 }, 1);
	counts_begin(&c, 2); /* killed before it recovered trace 1 */
	counts_settle(&c, 2, 0);
	counts_settle(&c, 1, 1300);
	is_sum(counts_of(&c, 1), 13, 1300);
	is_sum(counts_of(&c, 2), 0, 0);
	write_packet(&c, 1, 100);
	is_sum(counts_of(&c, 1), 13, 1300);
	is_sum(counts_of(&c, 2), 1, 100);
}

static void each_trace_has_its_own_sum(void)
{
	struct counts c = { .marks[0].number = 0 };

	for (uint32_t i = 1; i <= 20; i++) {
		counts_begin(&c, i);
		write_packet(&c, i, 10 * i);
		is_sum(counts_of(&c, i), i, 10 * i);
		if (i > 1)
			is_sum(counts_of(&c, i - 1), i - 1, 10 * (i - 1));
	}
	is_sum(counts_of(&c, 1), 0, 0); /* finished long ago */
	is_sum(ctf_ledger_read(&c.ledger), 210, 2100);
}

int main(void)
{
	run(events_of_all_types_are_counted);
	run(contexts_have_their_place);
	run(the_count_ends_where_the_bytes_do);
	run(the_count_ends_where_time_goes_back_or_ahead);
	run(a_class_without_memory_is_described_again);
	run(a_count_is_right_whatever_lengths_follow_each_other);
	run(events_without_ids_may_be_nothing_but_a_header);
	run(a_packet_that_a_killed_writer_wrote_counts_once);
	run(of_several_packets_the_first_count);
	run(a_collector_without_packets_changes_no_sum);
	run(each_trace_has_its_own_sum);
	return test_status();
}
