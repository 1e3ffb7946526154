/* SPDX-License-Identifier: MIT */
/*
 * tests/lib/make_calls.h - recordings of calls with known content, made without a traced program.
 *
 * It has the part of the program: frames, batches with announcements, a calls file, a plan.  Batches
 * go through the CTF writer.  One tick is one nanosecond.  It is written after
 * docs/formats/calls.md, not after the library in the program.
 *
 *	struct made m;
 *	made_open(&m, directory, 100);             functions f1 .. f100
 *	made_enter(&m, &m.threads[0], 7, 1000);
 *	made_leave(&m, &m.threads[0], 2000);
 *	made_close(&m);
 */
#ifndef TESTS_LIB_MAKE_CALLS_H
#define TESTS_LIB_MAKE_CALLS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/calls.h"
#include "base/io.h"
#include "base/text.h"
#include "ctf/write/public.h"

enum {
	MADE_THREADS = 8,
	MADE_DEPTH = 512,
	MADE_STACKS = 4,
	MADE_PACKET = 256 << 10,
	MADE_PID = 4242
};

struct made_stack {
	struct {
		uint64_t begin;
		uint32_t function;
		int announced;
	} frames[MADE_DEPTH];
	uint32_t depth;
};

struct made_thread {
	uint32_t tid;
	uint32_t sequence;
	uint32_t lost; /* for the next batch */
	uint64_t base, last;
	uint8_t bytes[8108];
	uint32_t n, limit;
	uint32_t depth; /* of the last record */
	int has_record;
	struct made_stack stacks[MADE_STACKS];
	uint32_t stack, batch_stack;
	struct made_stack *now;
};

struct made {
	char path[512];
	struct ctf_writer writer;
	struct ctf_stream stream;
	uint8_t *packet;
	size_t n_packet;
	uint64_t packet_begin, packet_end;
	uint32_t n_functions, shift;
	struct made_thread threads[MADE_THREADS];
	uint32_t n_threads;
	int (*drops)(struct made *m, struct made_thread *t); /* whether a full batch gets lost */
	int has_file, has_plan;
};

static inline void made_check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static inline void made_write(const char *root, const char *name, const void *bytes, size_t n)
{
	char path[1024];
	int fd;

	snprintf(path, sizeof path, "%s/%s", root, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	made_check(fd >= 0 && !io_write(fd, bytes, n), path);
	close(fd);
}

/* ---------------------------------------------------------------- packets */

static inline void made_flush(struct made *m)
{
	struct iovec body = { m->packet, m->n_packet };
	struct ctf_packet p = { .begin_ns = m->packet_begin,
				.end_ns = m->packet_end,
				.sequence = m->stream.sequence,
				.n_body = 1,
				.body = &body };

	if (m->n_packet)
		made_check(!ctf_stream_append(&m->stream, &p, NULL), "packet");
	m->n_packet = 0;
}

static inline void made_put(struct made *m, const void *bytes, size_t n)
{
	memcpy(m->packet + m->n_packet, bytes, n);
	m->n_packet += n;
}

#define MADE_VALUE(m, type, value)                                                                 \
	do {                                                                                       \
		type made_value = (type)(value);                                                   \
		made_put(m, &made_value, sizeof made_value);                                       \
	} while (0)

static inline void made_event(struct made *m, const struct made_thread *t, uint64_t time,
			      uint32_t flags)
{
	if (m->n_packet + t->n + 128 > MADE_PACKET)
		made_flush(m);
	if (!m->n_packet)
		m->packet_begin = time;
	m->packet_end = time;
	MADE_VALUE(m, uint16_t, 1);
	MADE_VALUE(m, uint64_t, time);
	MADE_VALUE(m, int32_t, MADE_PID);
	MADE_VALUE(m, int32_t, t->tid);
	MADE_VALUE(m, uint32_t, t->sequence);
	MADE_VALUE(m, uint32_t, t->lost);
	MADE_VALUE(m, uint64_t, t->base << m->shift);
	MADE_VALUE(m, uint64_t, (1ull << 32) << m->shift);
	MADE_VALUE(m, uint32_t, m->shift);
	MADE_VALUE(m, uint32_t, flags);
	MADE_VALUE(m, uint32_t, t->n);
	made_put(m, t->bytes, t->n);
}

/* ---------------------------------------------------------------- records */

static inline void made_leb(struct made_thread *t, uint64_t v)
{
	for (; v > 127; v >>= 7)
		t->bytes[t->n++] = (uint8_t)(v | 128);
	t->bytes[t->n++] = (uint8_t)v;
}

static inline void made_note(struct made_thread *t, uint64_t kind, uint64_t value)
{
	made_leb(t, 0);
	made_leb(t, 0);
	made_leb(t, ABI_NOTE_OTHER);
	made_leb(t, kind);
	made_leb(t, value);
}

static inline void made_set_stack(struct made_thread *t, uint32_t stack)
{
	if (stack != t->batch_stack)
		made_note(t, ABI_OTHER_STACK, stack);
	t->batch_stack = stack;
}

static inline void made_announce(struct made_thread *t)
{
	for (uint32_t s = 0; s < MADE_STACKS; s++)
		for (uint32_t i = 0; i < t->stacks[s].depth; i++) {
			int64_t back = (int64_t)(t->last - t->stacks[s].frames[i].begin);

			if (t->stacks[s].frames[i].announced)
				continue;
			made_set_stack(t, s);
			made_leb(t, 0);
			made_leb(t, 0);
			made_leb(t, ABI_NOTE_OPEN);
			made_leb(t, t->stacks[s].frames[i].function);
			made_leb(t, i);
			made_leb(t, (uint64_t)back << 1 ^ (uint64_t)(back >> 63));
			t->stacks[s].frames[i].announced = 1;
		}
}

static inline void made_begin_batch(struct made_thread *t, uint64_t now)
{
	t->n = 0;
	t->has_record = 0;
	t->batch_stack = 0;
	t->base = t->last = now;
}

/* The batch is full, at quantum @now. */
static inline void made_end_batch(struct made *m, struct made_thread *t, uint64_t now,
				  uint32_t flags)
{
	made_announce(t);
	if (!m->drops || !m->drops(m, t))
		made_event(m, t, now << m->shift, flags);
	t->lost = 0;
	t->sequence++;
	made_begin_batch(t, now);
}

static inline void made_enter(struct made *m, struct made_thread *t, uint32_t function,
			      uint64_t time)
{
	struct made_stack *s = t->now;

	made_check(s->depth < MADE_DEPTH, "depth");
	s->frames[s->depth].begin = time >> m->shift;
	s->frames[s->depth].function = function;
	s->frames[s->depth].announced = 0;
	s->depth++;
}

static inline void made_leave(struct made *m, struct made_thread *t, uint64_t time, int is_unwound)
{
	struct made_stack *s = t->now;
	uint64_t now = time >> m->shift;
	uint32_t depth = --s->depth, how = ABI_CALL_DEPTH;

	made_set_stack(t, t->stack);
	if (is_unwound)
		made_note(t, ABI_OTHER_UNWOUND, 0);
	if (t->has_record)
		how = depth == t->depth	      ? ABI_CALL_SAME
		      : depth + 1 == t->depth ? ABI_CALL_PARENT
		      : depth == t->depth + 1 ? ABI_CALL_CHILD
					      : ABI_CALL_DEPTH;
	made_leb(t, now - t->last);
	made_leb(t, now - s->frames[depth].begin);
	made_leb(t, (uint64_t)s->frames[depth].function << 2 | how);
	if (how == ABI_CALL_DEPTH)
		made_leb(t, depth);
	t->last = now;
	t->depth = depth;
	t->has_record = 1;
	if (t->n >= t->limit)
		made_end_batch(m, t, now, 0);
}

static inline void made_switch(struct made_thread *t, uint32_t stack)
{
	t->stack = stack;
	t->now = &t->stacks[stack];
}

/* ---------------------------------------------------------------- files */

static inline void made_plan(struct made *m)
{
	struct text text = { 0 };
	struct abi_plan plan = { .magic = ABI_PLAN_MAGIC,
				 .version = ABI_PLAN_VERSION,
				 .generation = 1,
				 .build_id = { 0xab, 0xcd },
				 .build_id_bytes = 20,
				 .n_sites = m->n_functions,
				 .sites = sizeof plan };
	struct abi_plan_site *sites = calloc(m->n_functions, sizeof *sites);
	uint8_t *all;
	size_t n;

	text_add(&text, "/bin/made", 10);
	for (uint32_t i = 0; i < m->n_functions; i++) {
		sites[i].address = sites[i].function_begin = 0x1000 + i * 64;
		sites[i].name = (uint32_t)text.size;
		text_addf(&text, "f%u", i + 1);
		text_add(&text, "", 1);
	}
	plan.text = (uint32_t)(sizeof plan + m->n_functions * sizeof *sites);
	plan.text_bytes = (uint32_t)text.size;
	plan.size_bytes = (uint32_t)(n = plan.text + text.size);
	all = malloc(n);
	memcpy(all, &plan, sizeof plan);
	memcpy(all + sizeof plan, sites, m->n_functions * sizeof *sites);
	memcpy(all + plan.text, text.bytes, text.size);
	made_write(m->path, ".duet/plans/abcd000000000000000000000000000000000000", all, n);
	free(all);
	free(sites);
	text_fini(&text);
}

static inline void made_area(const struct made *m, const struct made_thread *t,
			     struct abi_calls_thread *area)
{
	struct abi_calls_batch *b = &area->batches[t->sequence & 1];
	const struct made_stack *s = t->now;

	area->tid = t->tid;
	area->sequence = t->sequence;
	area->current = t->sequence & 1;
	area->depth = s->depth;
	b->base_ticks = t->base << m->shift;
	b->word = (t->last - t->base) << 16 | t->n;
	b->header.sequence = t->sequence;
	b->header.base_ns = t->base << m->shift;
	b->header.mult = (1ull << 32) << m->shift;
	b->header.shift = m->shift;
	memcpy(b->bytes, t->bytes, t->n);
	for (uint32_t i = 0; i < s->depth; i++)
		area->frames[i] = (struct abi_calls_frame){ s->frames[i].begin << m->shift,
							    s->frames[i].function,
							    (uint32_t)s->frames[i].announced };
}

static inline void made_file(const struct made *m)
{
	size_t n = ABI_CALLS_THREADS_AT + m->n_threads * (size_t)ABI_CALLS_THREAD_BYTES;
	uint8_t *all = calloc(1, n);
	struct abi_calls *head = (void *)all;
	struct abi_calls_object *o = (void *)(all + ABI_CALLS_OBJECTS_AT);
	char name[64];

	made_check(all != NULL, "memory");
	*head = (struct abi_calls){ .magic = ABI_CALLS_MAGIC,
				    .version = ABI_CALLS_VERSION,
				    .pid = MADE_PID,
				    .generation = 1,
				    .clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 },
				    .shift = m->shift,
				    .n_objects = 1,
				    .n_functions = m->n_functions + 1,
				    .n_threads = m->n_threads,
				    .hook_ticks = 40 << 8,
				    .program = "made" };
	*o = (struct abi_calls_object){ .generation = 1,
					.first = 1,
					.n_sites = m->n_functions,
					.n_patched = m->n_functions,
					.state = ABI_OBJECT_LOADED,
					.build_id_bytes = 20,
					.build_id = { 0xab, 0xcd },
					.path = "/bin/made" };
	for (uint32_t i = 0; i < m->n_threads; i++)
		made_area(
			m, &m->threads[i],
			(void *)(all + ABI_CALLS_THREADS_AT + i * (size_t)ABI_CALLS_THREAD_BYTES));
	snprintf(name, sizeof name, ".duet/calls/%d-1", MADE_PID);
	made_write(m->path, name, all, n);
	free(all);
}

/* ---------------------------------------------------------------- the recording */

static inline void made_describe(struct made *m)
{
	static const char schema[] =
		"6 duet_calls:batch u32 sequence u32 lost u64 base_ns u64 mult "
		"u32 shift u32 flags u8[] calls";
	struct text t = { 0 };

	text_addf(&t, "stream {\n\tid = 0;\n\tevent.header := struct { uint16_t id; "
		      "uint64_clock_monotonic_t timestamp; };\n"
		      "\tpacket.context := struct packet_context;\n"
		      "\tevent.context := struct { int32_t _vpid; int32_t _vtid; };\n};\n\n");
	schema_to_tsdl(&t, schema, strlen(schema), 0, 1);
	made_check(!ctf_writer_describe(&m->writer, t.bytes, t.size, NULL), "metadata");
	text_fini(&t);
}

/* @directory: exists; a recording is made in it. */
static inline void made_open(struct made *m, const char *directory, uint32_t n_functions)
{
	static const struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	char path[600];
	struct ctf_writer_options o = { .path = path, .domain = "ust", .clock = &clock };
	struct diag d = { "" };

	memset(m, 0, sizeof *m);
	snprintf(m->path, sizeof m->path, "%s", directory);
	snprintf(path, sizeof path, "%s/.duet/calls", directory);
	made_check(!io_make_dirs(path), path);
	snprintf(path, sizeof path, "%s/.duet/plans", directory);
	made_check(!io_make_dirs(path), path);
	snprintf(path, sizeof path, "%s/ust/uid/0/64-bit", directory);
	made_check(!ctf_writer_open(&m->writer, &o, &d), d.text);
	made_check(!ctf_stream_open(&m->stream, &m->writer, "calls_0", &d), d.text);
	m->packet = malloc(MADE_PACKET);
	m->n_functions = n_functions;
	m->shift = 3;
	m->has_file = m->has_plan = 1;
	made_describe(m);
}

static inline struct made_thread *made_thread(struct made *m, uint64_t time)
{
	struct made_thread *t = &m->threads[m->n_threads++];

	memset(t, 0, sizeof *t);
	t->tid = MADE_PID + m->n_threads - 1;
	t->limit = 7000;
	made_switch(t, 0);
	made_begin_batch(t, time >> m->shift);
	return t;
}

static inline void made_close(struct made *m)
{
	made_flush(m);
	if (m->has_plan)
		made_plan(m);
	if (m->has_file)
		made_file(m);
	ctf_stream_close(&m->stream);
	ctf_writer_close(&m->writer);
	free(m->packet);
}

#endif
