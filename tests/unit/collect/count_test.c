/* SPDX-License-Identifier: MIT */
/* Unit tests of counts: events in bytes by their lengths, and sums of traces across kills. */
#include "collect/drain/count.h"
#include "collect/handover/counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi/context.h"
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

/* Header, vpid and vtid. */
static void begin_event(uint16_t id)
{
	put(&id, sizeof id);
	put_zeros(4 + 8);
}

static void begin_long_event(uint32_t id)
{
	uint16_t extended = 65535;

	put(&extended, sizeof extended);
	put_u32(id);
	put_zeros(8 + 8);
}

static void describe(struct counter *c, uint32_t id, const char *schema)
{
	is(counter_describe(c, id, schema, strlen(schema)), 0);
}

static void events_of_all_types_are_counted(void)
{
	struct counter *c = counter_open(0);

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
		begin_long_event(2);
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
	struct counter *c = counter_open(ABI_CONTEXT_ALL);

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
	struct counter *c = counter_open(0);

	size = 0;
	describe(c, 1, "13 a:b u32 n");
	describe(c, 2, "13 a:c str n");
	describe(c, 3, "13 a:d u64[] n");
	describe(c, 4, "13 a:e u64[1048576] n");
	begin_event(1);
	put_u32(1);
	for (size_t n = 0; n < size; n++)
		is(counter_count(c, bytes, n, 0, UINT64_MAX).events, 0);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	begin_event(2);
	put("xyz", 3); /* no NUL */
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = 18;
	begin_event(3);
	put_u32(UINT32_MAX);
	put_zeros(64);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = 18;
	begin_event(4);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = 18;
	begin_event(77); /* not described */
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	size = 18;
	begin_long_event(UINT32_MAX);
	is(counter_count(c, bytes, size, 0, UINT64_MAX).events, 1);
	counter_close(c);
}

static void begin_event_at(uint16_t id, uint32_t low)
{
	put(&id, sizeof id);
	put_u32(low);
	put_zeros(8);
}

static void begin_long_event_at(uint32_t id, uint64_t ns)
{
	uint16_t extended = 65535;

	put(&extended, sizeof extended);
	put_u32(id);
	put(&ns, sizeof ns);
	put_zeros(8);
}

static void the_count_ends_where_time_goes_back_or_ahead(void)
{
	const uint64_t begin = 5ull << 32 | 0xfffffff0;
	struct counter *c = counter_open(0);
	struct counted n;
	size_t good;

	size = 0;
	describe(c, 1, "13 a:nothing");
	begin_event_at(1, 0xfffffff8);
	begin_event_at(1, 4); /* the low bits begin anew */
	begin_long_event_at(1, 9ull << 32);
	begin_event_at(1, 7);
	good = size;
	n = counter_count(c, bytes, size, begin, UINT64_MAX);
	is(n.events, 4);
	is(n.bytes, good);
	is(n.last_ns, 9ull << 32 | 7);
	is(counter_count(c, bytes, size, begin, 9ull << 32).events, 3);
	is(counter_count(c, bytes, size, begin, 6ull << 32).events, 1);
	begin_long_event_at(1, 8ull << 32);
	n = counter_count(c, bytes, size, begin, UINT64_MAX);
	is(n.events, 4);
	is(n.bytes, good);
	size = good;
	begin_event_at(1, 6); /* stands for 2^32 ns later */
	is(counter_count(c, bytes, size, begin, 9ull << 32 | 1000).events, 4);
	size = good;
	begin_long_event_at(1, UINT64_MAX);
	is(counter_count(c, bytes, size, begin, 9ull << 32 | 1000).events, 4);
	counter_close(c);
}

/* Else all its events would count as bytes that are no events. */
static void a_class_without_memory_is_described_again(void)
{
	const char *texts = "13 a:texts str a u32 b str c";
	struct counter *c = counter_open(0);

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

/* One event of class @id: 1 to 4 have one length, 5 has a text. */
static size_t put_event(uint8_t *p, uint16_t id, uint32_t low)
{
	static const uint8_t lengths[] = { 0, 4, 4, 16, 30 };
	size_t n = id < 5 ? lengths[id] : draw(40);

	memcpy(p, &id, sizeof id);
	memcpy(p + 2, &low, sizeof low);
	for (size_t i = 0; i < 8 + n; i++)
		p[6 + i] = (uint8_t)(1 + draw(255));
	if (id == 5)
		p[6 + 8 + n++] = 0;
	return 6 + 8 + n;
}

enum { EVENTS = 3000, SPOILT_WAYS = 5 };

/* Makes the event at @p, @n bytes, one that no reader accepts; returns its end. */
static size_t spoil(uint8_t *p, size_t n, uint64_t *most_ns, uint64_t last_ns)
{
	uint16_t id = draw(2) ? 77 : 60000;
	uint32_t low;

	switch (draw(SPOILT_WAYS)) {
	case 0: /* not described */
		memcpy(p, &id, sizeof id);
		return n;
	case 1: /* beyond the packet */
		return n - 1;
	case 2: /* no whole header */
		return draw(6);
	case 3: /* later than the packet */
		*most_ns = last_ns;
		return n;
	default: /* back in time stands for almost 2^32 ns later */
		*most_ns = last_ns + UINT32_MAX - 100;
		low = (uint32_t)last_ns - 1 - draw(50);
		memcpy(p + 2, &low, sizeof low);
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
	static uint8_t packet[EVENTS * 64 + 20000], copy[sizeof packet];
	struct counter *c = counter_open(0);

	describe(c, 1, "13 a:b u32 n");
	describe(c, 2, "13 a:c i32 n");
	describe(c, 3, "13 a:d u64 n u64 m");
	describe(c, 4, "13 a:e u8[30] n");
	describe(c, 5, "13 a:f str n");
	for (int run = 0; run < 400; run++) {
		const uint64_t begin = (uint64_t)draw(1000) << 30;
		uint64_t ns = begin, last_ns = begin, most_ns = UINT64_MAX;
		uint32_t n = 1 + draw(EVENTS - 1), kinds = 1 + draw(5), turn = 1 + draw(40);
		size_t at = 0, good = 0;
		struct counted found;

		for (uint32_t i = 0; i < n; i++) {
			uint16_t id = (uint16_t)(1 + (kinds < 3 ? i % kinds : draw(kinds)));

			id = run % 3 == 0 && !draw(turn) ? 5 : id;
			good = at;
			last_ns = ns;
			ns += 1 + draw(1 << 20);
			at += put_event(packet + at, id, (uint32_t)ns);
		}
		found = counter_count(c, packet, at, begin, draw(2) ? ns : UINT64_MAX);
		is_counted(found, n, at, ns);
		found = counter_copy(c, copy, packet, at, begin, draw(2) ? ns : UINT64_MAX);
		is_counted(found, n, at, ns);
		ok(!memcmp(copy, packet, at));
		at = good + spoil(packet + good, at - good, &most_ns, last_ns);
		found = counter_count(c, packet, at, begin, most_ns);
		is_counted(found, n - 1, good, last_ns);
		/* The bytes behind are copied too. */
		at += draw(2) ? draw(20000) : 0;
		memset(copy, 0, at);
		found = counter_copy(c, copy, packet, at, begin, most_ns);
		ok(found.events >= n - 1 && found.bytes >= good);
		ok(!memcmp(copy, packet, at));
	}
	counter_close(c);
}

static void write_packet(struct counts *c, uint64_t events, uint64_t n)
{
	ctf_ledger_begin(&c->ledger, events, n);
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
	ctf_ledger_begin(&c.ledger, 3, 300); /* in the file, and killed */
	counts_settle(&c, 1, 1300);
	counts_settle(&c, 1, 1300);
	is_sum(counts_of(&c, 1), 13, 1300);
	counts_begin(&c, 2);
	ctf_ledger_begin(&c.ledger, 5, 500); /* killed before it was in the file */
	counts_settle(&c, 2, 0);
	is_sum(counts_of(&c, 2), 0, 0);
	is_sum(ctf_ledger_read(&c.ledger), 13, 1300);
}

static void a_collector_without_packets_changes_no_sum(void)
{
	struct counts c = { .marks[0].number = 0 };

	counts_begin(&c, 1);
	write_packet(&c, 10, 1000);
	ctf_ledger_begin(&c.ledger, 3, 300);
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
	run(a_packet_that_a_killed_writer_wrote_counts_once);
	run(a_collector_without_packets_changes_no_sum);
	run(each_trace_has_its_own_sum);
	return test_status();
}
