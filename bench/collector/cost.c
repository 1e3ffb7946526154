/* SPDX-License-Identifier: MIT */
/*
 * bench/collector/cost.c - the collector's work on a chunk, part by part, ns for each event.
 *
 * Chunks of events of one length, of two in turn, of eight at random, and with a text.  "copy" is
 * memcpy() of the chunk; "count" is the step over its events in the copy; "both" is counter_copy(),
 * which the collector calls; "write" is writev() of header and copy into a file of DIRECTORY.
 *
 *	cost [DIRECTORY]	default: /dev/shm; medians of TURNS, and the least
 *
 * Each count must find each event, otherwise there is no figure.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "collect/drain/count.h"

enum { CHUNK = 65536, CHUNKS = 64, TURNS = 41, EVENT_MOST = 64 };
enum { COPY, COUNT, BOTH, WRITE, PARTS };
enum { HEADER = sizeof(uint32_t), IDS = sizeof(struct abi_ctf_ids), TEXT = 9 };

static const char *const names[PARTS] = { "copy", "count", "both", "write" };
static const char *const mixes[] = { "int", "two in turn", "eight at random", "int and text" };
static const char *const schemas[] = {
	"13 a:a i32 n",	   "13 a:b u64 n u64 m", "13 a:c u32[3] n",
	"13 a:d u32[4] n", "13 a:e u32[5] n",	 "13 a:f u32[6] n",
	"13 a:g u32[7] n", "13 a:h u32[8] n",	 "13 a:i i32 n str s"
};
static const uint8_t lengths[] = { 4, 16, 12, 16, 20, 24, 28, 32 };

static uint8_t *chunks;
static size_t sizes[CHUNKS];
static uint64_t n_events, n_bytes;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t put_event(uint8_t *p, uint16_t id, uint32_t time)
{
	size_t n = HEADER + IDS + (id == TEXT ? 4 : lengths[id - 1]);
	uint32_t head = ABI_CTF_HEAD(id, time);

	memset(p, 0, n);
	memcpy(p, &head, sizeof head);
	if (id == TEXT) {
		memcpy(p + n, "sixteen letters!", 17);
		n += 17;
	}
	return n;
}

static void fill(int mix)
{
	uint32_t time = 1000, random = 1;

	n_events = n_bytes = 0;
	for (int i = 0; i < CHUNKS; i++) {
		uint8_t *first = chunks + (size_t)i * CHUNK, *p = first;

		for (; p + EVENT_MOST < first + CHUNK; n_events++) {
			random = random * 1664525u + 1013904223u;
			time += 20;
			p += put_event(p,
				       mix == 0	  ? 1
				       : mix == 1 ? (uint16_t)(1 + n_events % 2)
				       : mix == 2 ? (uint16_t)(1 + (random >> 16) % 8)
						  : TEXT,
				       time);
		}
		sizes[i] = (size_t)(p - first);
		n_bytes += sizes[i];
	}
}

static void prove(const char *part, struct counted n, uint64_t *sum)
{
	*sum += n.events;
	if (n.events)
		return;
	fprintf(stderr, "%s: not proved: no event was found in a chunk\n", part);
	exit(1);
}

static void one_turn(const struct counter *c, const char *directory, double ns[PARTS])
{
	static uint8_t copy[CHUNK];
	char path[256], header[sizeof(struct abi_ctf_packet)] = { 0 };
	uint64_t counted = 0, both = 0;
	int fd;

	snprintf(path, sizeof path, "%s/duet-bench-%d", directory, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || unlink(path)) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < CHUNKS; i++) {
		const uint8_t *from = chunks + (size_t)i * CHUNK;
		struct iovec v[2] = { { header, sizeof header }, { copy, sizes[i] } };
		double at[PARTS + 1];

		at[COPY] = now_ns();
		memcpy(copy, from, sizes[i]);
		at[COUNT] = now_ns();
		prove(names[COUNT], counter_count(c, copy, sizes[i], 0, UINT64_MAX), &counted);
		at[BOTH] = now_ns();
		prove(names[BOTH], counter_copy(c, copy, from, sizes[i], NULL, 0, UINT64_MAX),
		      &both);
		at[WRITE] = now_ns();
		if (writev(fd, v, 2) != (ssize_t)(sizeof header + sizes[i]))
			exit(1);
		at[PARTS] = now_ns();
		for (int k = 0; k < PARTS; k++)
			ns[k] += at[k + 1] - at[k];
	}
	close(fd);
	if (counted != n_events || both != n_events) {
		fprintf(stderr, "not proved: %llu and %llu of %llu events were found\n",
			(unsigned long long)counted, (unsigned long long)both,
			(unsigned long long)n_events);
		exit(1);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct counter *c, int mix, const char *directory)
{
	double ns[PARTS][TURNS], turn[PARTS];

	fill(mix);
	for (int t = 0; t < TURNS; t++) {
		memset(turn, 0, sizeof turn);
		one_turn(c, directory, turn);
		for (int k = 0; k < PARTS; k++)
			ns[k][t] = turn[k] / (double)n_events;
	}
	printf("%-16s %5.1f", mixes[mix], (double)n_bytes / (double)n_events);
	for (int k = 0; k < PARTS; k++) {
		qsort(ns[k], TURNS, sizeof *ns[k], by_value);
		printf("  %6.2f (%5.2f)", ns[k][TURNS / 2], ns[k][0]);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct counter *c = counter_open(0, true);

	chunks = aligned_alloc(4096, (size_t)CHUNK * CHUNKS);
	if (!c || !chunks)
		return 1;
	for (uint32_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
		if (counter_describe(c, i + 1, schemas[i], strlen(schemas[i])))
			return 1;
	printf("%-16s %5s", "ns for an event", "bytes");
	for (int k = 0; k < PARTS; k++)
		printf("  %6s (least)", names[k]);
	putchar('\n');
	for (int mix = 0; mix < 4; mix++)
		measure(c, mix, argc > 1 ? argv[1] : "/dev/shm");
	counter_close(c);
	free(chunks);
	return 0;
}
