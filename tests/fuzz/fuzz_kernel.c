/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_kernel.c - libFuzzer's entry to the parsers of data from the kernel and programs:
 * see README.md beside it.
 *
 * FUZZ=format: a `format` file, and the layouts made of it.
 * FUZZ=page: up to the first NUL, a `format` file, of an event beside some fixed ones; then a
 * sub-buffer, whose events are converted in their place, and with contexts.
 * FUZZ=btf: the kernel's description of its types.
 * FUZZ=usdt: a program on disk, with its functions and markers, and the probe arguments made of
 * their operands.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/btf.h"
#include "elf/probe_points.h"
#include "symbol/each.h"
#include "kernel/threads/event_contexts.h"
#include "kernel/probe/fetch.h"
#include "kernel/tracefs/format.h"
#include "kernel/convert/layout.h"
#include "kernel/convert/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { PAGE_MAX = 16384, ROOM = 4 * PAGE_MAX, OURS = 99, IDS_MAX = 30000 };

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

static bool parse(struct kernel_format *f, const uint8_t *bytes, size_t size)
{
	char *text = strndup((const char *)bytes, size);
	struct diag d;
	int err = kernel_format_parse(f, text, "fuzz", &d);

	free(text);
	must(err <= 0 && (err || f->n_fields <= KERNEL_FIELDS_MAX));
	return !err;
}

static void format_of(const uint8_t *bytes, size_t size)
{
	static const char *const systems[] = { "sched", "x", "duet_1_2_3" };
	struct kernel_format f;
	struct kernel_layout l;

	if (!parse(&f, bytes, size))
		return;
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
		must(!kernel_layout_event(&l, &f, systems[i]));
		kernel_layout_fini(&l);
	}
	must(!kernel_layout_syscall_entry(&l, &f, kernel_layout_texts(&f), NULL));
	kernel_layout_fini(&l);
}

/* ---------------------------------------------------------------- pages */

static const struct abi_clock clock_1ns = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
static struct kernel_classes classes;

static void add_fixed(int id, const char *name, const char *fields)
{
	struct kernel_format f;
	char text[512];
	int n = snprintf(text, sizeof text, "name: %s\nID: %d\nformat:\n%s", name, id, fields);

	must(parse(&f, (const uint8_t *)text, (size_t)n));
	if (!strncmp(name, "sys_", 4))
		must(!kernel_classes_add_syscalls(&classes, &f, !strcmp(name, "sys_enter"), NULL));
	else
		must(!kernel_classes_add(&classes, &f, "x", name));
}

static void set_up_page(void)
{
	must(!kernel_classes_init(&classes, PAGE_MAX));
	add_fixed(10, "plain", "field:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n");
	add_fixed(11, "text", "field:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:0;\n");
	add_fixed(12, "sys_enter",
		  "field:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n");
	add_fixed(13, "sys_exit",
		  "field:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		  "field:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
}

/* As many bytes as there may be. */
size_t kernel_contexts_put(struct kernel_contexts *c, uint8_t *event, size_t size, uint64_t ns)
{
	(void)ns;
	if (!c)
		return size;
	memmove(event + KERNEL_EVENT_HEADER + KERNEL_CONTEXTS_BYTES_MAX,
		event + KERNEL_EVENT_HEADER, size - KERNEL_EVENT_HEADER);
	memset(event + KERNEL_EVENT_HEADER, 0xc0, KERNEL_CONTEXTS_BYTES_MAX);
	return size + KERNEL_CONTEXTS_BYTES_MAX;
}

/* With @room its events get contexts.  Returns how many there are. */
static uint64_t convert(const uint8_t *bytes, size_t size, uint8_t *room)
{
	uint8_t *page = malloc(size), *begin = room ? room : page,
		*end = room ? room + ROOM : page + size;
	uint64_t last_ns = 0, n_events = 0;
	struct kernel_page p;
	struct kernel_packet k;

	memcpy(page, bytes, size);
	kernel_page_open(&p, &classes, &clock_1ns, page, size, 0, UINT64_MAX >> 2);
	if (room)
		kernel_page_widen(&p, (struct kernel_contexts *)&classes, room, ROOM);
	while (kernel_page_next(&p, &k)) {
		must(k.events >= begin && k.events + k.size <= end &&
		     k.size >= k.n_events * (size_t)KERNEL_EVENT_HEADER);
		must(k.begin_ns >= last_ns && k.end_ns >= k.begin_ns);
		last_ns = k.end_ns;
		n_events += k.n_events;
	}
	free(page);
	classes.tsdl.size = 0;
	if (classes.n_described > IDS_MAX) /* costs more than the rest */
		kernel_classes_restart(&classes, 0);
	return n_events;
}

static void convert_both(const uint8_t *bytes, size_t size)
{
	uint8_t *room = malloc(ROOM);

	must(convert(bytes, size, NULL) == convert(bytes, size, room));
	free(room);
}

static void page_of(const uint8_t *bytes, size_t size)
{
	const uint8_t *nul = memchr(bytes, 0, size);
	size_t n = nul ? (size_t)(nul - bytes) : size;
	struct kernel_class ours = { .plain_length = KERNEL_NOT_PLAIN, .name = "ours" };
	struct kernel_format f;

	if (!classes.by_kernel_id)
		set_up_page();
	if (!nul || size - n - 1 > PAGE_MAX)
		return;
	if (parse(&f, bytes, n)) {
		must(!kernel_layout_event(&ours.layout, &f, "sched"));
		ours.n_fixes = ours.layout.n_fixes;
		memcpy(ours.fixes, ours.layout.fixes, sizeof ours.fixes);
		classes.by_kernel_id[OURS] = &ours;
	}
	convert_both(nul + 1, size - n - 1);
	classes.by_kernel_id[OURS] = &classes.unknown;
	kernel_layout_fini(&ours.layout);
}

/* ---------------------------------------------------------------- types and programs */

static void btf_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct diag d;
	struct btf b;

	memcpy(copy, bytes, size);
	if (btf_take(&b, copy, size, &d))
		return;
	must(btf_tracepoint(&b, "sched_switch") != 0);
	btf_member(&b, "task_struct", "pid");
	btf_close(&b);
}

static int on_function(void *arg, const struct each_function *f)
{
	*(size_t *)arg += strlen(f->name) + each_function_is(f, "m*n");
	return 0;
}

static int on_marker(void *arg, const struct elf_marker *m)
{
	struct text t = { 0 };
	struct diag d;

	*(size_t *)arg += strlen(m->provider) + strlen(m->name);
	kernel_fetch_operands(m->arguments, "id item:str", false, &t, &d);
	kernel_fetch_argument(m->arguments, strlen(m->arguments), true, &t, &d);
	text_fini(&t);
	return 0;
}

static void usdt_of(const uint8_t *bytes, size_t size)
{
	static int fd = -1;
	char path[64];
	size_t sum = 0;
	struct diag d;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(!ftruncate(fd, (off_t)size) && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(each_function(path, on_function, &sum, &d) <= 0);
	must(elf_markers(path, on_marker, &sum, &d) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct {
		const char *name;
		void (*of)(const uint8_t *, size_t);
	} connections[] = {
		{ "format", format_of }, { "page", page_of }, { "btf", btf_of }, { "usdt", usdt_of }
	};
	const char *which = getenv("FUZZ");

	for (size_t i = 0; which && i < sizeof connections / sizeof *connections; i++)
		if (!strcmp(which, connections[i].name))
			connections[i].of(bytes, size);
	return 0;
}
