/* SPDX-License-Identifier: MIT */
/*
 * bench/filter/cost.c - the cost of a filter per event, compared with the same test in C, and with
 * an empty loop.
 *
 * Medians of many turns, each shorter than a time slice, in one run.  The C test is called through
 * a pointer, as a filter in another object is, so neither is inlined into the loop.  Comparisons
 * (filter/direct.h) are called through one too: libduet has them inlined.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter/compile.h"
#include "filter/direct.h"
#include "filter/payload.h"

enum { TURNS = 401, EVENTS = 1 << 14, PAYLOADS = 1024 };

static const char schema[] =
	"13 b:e u64 size i32 fd str name u32 code enum(u8:IDLE, BUSY, DONE) state";

struct compressed_file {
	uint8_t bytes[64];
	size_t size;
};
static struct compressed_file payloads[PAYLOADS];

static uint64_t size_of(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static int32_t fd_of(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p + 8, sizeof v);
	return v;
}

static bool c_nothing(const void *p, size_t size)
{
	(void)p;
	return size > 0;
}

static bool c_size(const void *p, size_t size)
{
	return size >= 8 && size_of(p) > 4096;
}

static bool c_both(const void *p, size_t size)
{
	return size >= 12 && size_of(p) > 4096 && fd_of(p) == 3;
}

static bool c_name(const void *p, size_t size)
{
	const char *name = (const char *)p + 12, *end = memchr(name, 0, size - 12);

	return end && end - name == 8 && !memcmp(name, "tmp/file", 8);
}

static bool c_code(const void *p, size_t size)
{
	const char *end = memchr((const char *)p + 12, 0, size - 12);
	uint32_t v;

	if (!end)
		return false;
	memcpy(&v, end + 1, sizeof v);
	return v == 5;
}

static bool c_state(const void *p, size_t size)
{
	const char *end = memchr((const char *)p + 12, 0, size - 12);

	return end && end[5] == 2;
}

static bool c_vpid(const void *p, size_t size)
{
	static volatile uint32_t vpid = 4711;

	(void)p;
	return size > 0 && vpid == 4711;
}

static const struct {
	const char *text;
	bool (*c)(const void *, size_t);
} cases[] = {
	{ NULL, c_nothing },
	{ "size > 4096", c_size },
	{ "size > 4096 && fd == 3", c_both },
	{ "code == 5", c_code },
	{ "name == \"tmp/file\"", c_name },
	{ "name ~ \"tmp*\"", c_name },
	{ "state == \"DONE\"", c_state },
	{ "size * 2 - 1 > 8191", c_size },
	{ "$vpid == 4711", c_vpid },
};
enum { CASES = sizeof cases / sizeof *cases };

static void fill(void)
{
	for (int i = 0; i < PAYLOADS; i++) {
		uint8_t *p = payloads[i].bytes;
		uint64_t size = (uint64_t)(i * 37 % 8192);
		int32_t fd = i % 5;
		uint32_t code = (uint32_t)i % 7;

		memcpy(p, &size, 8);
		memcpy(p + 8, &fd, 4);
		memcpy(p + 12, "tmp/file", 9);
		memcpy(p + 21, &code, 4);
		p[25] = (uint8_t)(i % 3);
		payloads[i].size = 26;
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool give(const struct filter_source *s, uint32_t which, struct filter_value *v)
{
	static volatile uint32_t vpid = 4711;

	(void)s;
	*v = (struct filter_value){ .bits = vpid };
	return which == FILTER_VPID;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static volatile uint64_t n_wanted;

static double turn_c(bool (*volatile *test)(const void *, size_t))
{
	double begin = now_ns();
	uint64_t n = 0;

	for (int i = 0; i < EVENTS; i++)
		n += (*test)(payloads[i % PAYLOADS].bytes, payloads[i % PAYLOADS].size);
	n_wanted = n;
	return (now_ns() - begin) / EVENTS;
}

static double turn_filter(const struct filter *f)
{
	static const struct filter_source source = { give };
	double begin = now_ns();
	uint64_t n = 0;

	for (int i = 0; i < EVENTS; i++)
		n += filter_run(f, payloads[i % PAYLOADS].bytes, payloads[i % PAYLOADS].size,
				&source);
	n_wanted = n;
	return (now_ns() - begin) / EVENTS;
}

static const struct filter_direct *direct;
static const struct filter *direct_filter;

static bool run_direct(const void *p, size_t size)
{
	bool passes = !direct->decisive;

	if (size < direct->size)
		return false;
	if (direct->n)
		passes = filter_compares_integers(direct, p);
	if (direct->has_text && passes != direct->decisive)
		passes = filter_compares_text(direct, direct_filter, p, size);
	return passes;
}

static const struct filter *link_one(const char *text, void *room)
{
	struct filter_code code;
	struct filter_problem problem;
	struct diag d = { "cannot be linked" };

	if (!filter_compile(text, &code, &d) &&
	    filter_payload_link(room, FILTER_LINKED_BYTES_MAX, code.bytes, code.size, schema,
				sizeof schema - 1, 1 << FILTER_VPID, &problem))
		return room;
	fprintf(stderr, "%s: %s\n", text, d.text);
	exit(2);
}

static void prove(const char *text, uint64_t n)
{
	if (n == n_wanted)
		return;
	fprintf(stderr, "%s: not proved: %llu events pass, %llu in C\n", text,
		(unsigned long long)n_wanted, (unsigned long long)n);
	exit(1);
}

static double median(double v[TURNS])
{
	qsort(v, TURNS, sizeof *v, by_value);
	return v[TURNS / 2];
}

static void measure(int i)
{
	static uint64_t room[FILTER_LINKED_BYTES_MAX / 8];
	const struct filter *f = cases[i].text ? link_one(cases[i].text, room) : NULL;
	bool (*volatile test)(const void *, size_t) = cases[i].c,
					    (*volatile compare)(const void *, size_t) = run_direct;
	double c[TURNS], own[TURNS], compared[TURNS] = { 0 };
	struct filter_direct d;
	bool is_direct = f && filter_make_direct(&d, f, 12);
	uint64_t n;

	direct = &d;
	direct_filter = f;
	for (int t = 0; t < TURNS; t++) {
		c[t] = turn_c(&test);
		n = n_wanted;
		own[t] = f ? turn_filter(f) : 0;
		prove(cases[i].text, n);
		if (is_direct) {
			compared[t] = turn_c(&compare);
			prove(cases[i].text, n);
		}
	}
	printf("%-26s %7.2f", f ? cases[i].text : "(a call)", median(c));
	if (f)
		printf(" %9.2f %6.2f .. %5.2f %7.1f %6u", median(own), own[TURNS / 10],
		       own[TURNS - 1 - TURNS / 10], own[TURNS / 2] / c[TURNS / 2], f->size);
	if (is_direct)
		printf(" %11.2f", median(compared));
	putchar('\n');
}

int main(void)
{
	fill();
	printf("%-26s %7s %9s %15s %7s %6s %11s\n", "ns per event", "C", "filter", "spread",
	       "ratio", "bytes", "comparisons");
	for (int i = 0; i < CASES; i++)
		measure(i);
	return 0;
}
