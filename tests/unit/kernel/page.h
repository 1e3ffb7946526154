/* SPDX-License-Identifier: MIT */
/* Pages built by hand, for page_test.c and page_damage_test.c. */
#ifndef TESTS_UNIT_KERNEL_PAGE_H
#define TESTS_UNIT_KERNEL_PAGE_H

#include "kernel/convert/page.h"

#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "kernel/tracefs/format.h"
#include "test.h"

enum {
	PLAIN = 10,
	TEXT = 11,
	ENTER = 12,
	EXIT = 13,
	SWITCH = 14,
	LIST = 15,
	NEWTASK = 16,
	FORK = 17,
	BLOCK = 18,
	NOBODY = 99
};
enum { T0 = 1000, FAR = 1 << 30 };

/* One tick is one nanosecond, so times can be compared as they stand. */
static const struct abi_clock clock_1ns = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
static struct kernel_classes classes;

static uint8_t bytes[8192];
static size_t n_bytes;
static struct kernel_page page;
static struct kernel_packet packet;

static inline void add_class(int id, const char *name, const char *system, const char *fields)
{
	static struct kernel_format f;
	char text[1024];

	snprintf(text, sizeof text, "name: %s\nID: %d\nformat:\n%s", name, id, fields);
	is(kernel_format_parse(&f, text, name, NULL), 0);
	if (id == ENTER || id == EXIT)
		is(kernel_classes_add_syscalls(&classes, &f, id == ENTER, NULL), 0);
	else
		is(kernel_classes_add(&classes, &f, system, name), 0);
}

static inline void setup(void)
{
	is(kernel_classes_init(&classes, sizeof bytes), 0);
	add_class(PLAIN, "plain", "x",
		  "field:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
		  "field:u32 b;\toffset:12;\tsize:4;\tsigned:0;\n");
	add_class(TEXT, "text", "x",
		  "field:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:0;\n"
		  "field:int v;\toffset:12;\tsize:4;\tsigned:1;\n");
	add_class(LIST, "list", "x", "field:__rel_loc u32[] l;\toffset:8;\tsize:4;\tsigned:0;\n");
	add_class(ENTER, "sys_enter", "raw_syscalls",
		  "field:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n");
	add_class(EXIT, "sys_exit", "raw_syscalls",
		  "field:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "field:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
	add_class(SWITCH, "sched_switch", "sched",
		  "field:int prev_prio;\toffset:8;\tsize:4;\tsigned:1;\n"
		  "field:pid_t prev_pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		  "field:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n");
	add_class(NEWTASK, "task_newtask", "task",
		  "field:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		  "field:unsigned long clone_flags;\toffset:16;\tsize:8;\tsigned:0;\n");
	add_class(FORK, "sched_process_fork", "sched",
		  "field:pid_t parent_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		  "field:pid_t child_pid;\toffset:12;\tsize:4;\tsigned:1;\n");
	add_class(BLOCK, "block_rq_issue", "block",
		  "field:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
		  "field:char rwbs[10];\toffset:12;\tsize:10;\tsigned:0;\n");
}

static inline void tear_down(void)
{
	kernel_classes_fini(&classes);
}

static inline void put(const void *p, size_t size)
{
	memcpy(bytes + n_bytes, p, size);
	n_bytes += size;
}

static inline void put32(uint32_t v)
{
	put(&v, sizeof v);
}

static inline void put64(uint64_t v)
{
	put(&v, sizeof v);
}

static inline void begin_page(uint64_t ticks)
{
	memset(bytes, 0xee, sizeof bytes);
	n_bytes = 0;
	put64(ticks);
	put64(0);
}

/* Sets the size of the data in `commit`. */
static inline void end_page(void)
{
	uint64_t commit = n_bytes - KERNEL_PAGE_HEADER;

	memcpy(bytes + 8, &commit, sizeof commit);
}

static inline void put_common(int id)
{
	put32((uint32_t)id | 5u << 16 | 6u << 24); /* flags 5, preempt count 6 */
	put32(777);				   /* tid */
}

static inline void put_plain(uint32_t delta, uint32_t a)
{
	put32(4 | delta << 5);
	put_common(PLAIN);
	put32(a);
	put32(~a);
}

static inline bool next(void)
{
	return kernel_page_next(&page, &packet);
}

static inline void open_page(void)
{
	kernel_page_open(&page, &classes, &clock_1ns, bytes, n_bytes, 0, 1ull << 60);
}

static inline uint32_t at32(size_t offset)
{
	uint32_t v;

	memcpy(&v, packet.events + offset, sizeof v);
	return v;
}

static inline uint16_t at16(size_t offset)
{
	return (uint16_t)at32(offset);
}

/* The event at @offset is plain, of that time and value. */
static inline void is_plain(size_t offset, uint64_t ns, uint32_t a)
{
	is(at32(offset), (uint32_t)ns);
	is(packet.events[offset + 6], 5);
	is(packet.events[offset + 7], 6);
	is(at32(offset + 8), 777);
	is(at32(offset + 12), a);
	is(at32(offset + 16), ~a);
}

static inline void put_enter(int64_t nr)
{
	put32(16);
	put_common(ENTER);
	put64((uint64_t)nr);
	for (uint64_t i = 0; i < 6; i++)
		put64(0x1111111100000000 + i);
}

static inline void put_exit(int64_t nr, int64_t ret)
{
	put32(6);
	put_common(EXIT);
	put64((uint64_t)nr);
	put64((uint64_t)ret);
}

#endif
