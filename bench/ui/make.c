/* SPDX-License-Identifier: MIT */
/*
 * bench/ui/make.c - a large recording, as duet writes them: make DIRECTORY EVENTS.
 *
 * Eight CPUs run 160 threads of 20 processes, an event a microsecond each.  Of a hundred events 60 are
 * entries and exits of system calls, 30 are an application's, 7 switches and 3 wakeups.
 */
#include <endian.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CPUS = 8, THREADS = 160, PER_PROCESS = 8, PACKET = 256 << 10, ROOM = 512, HEAD = 84 };

enum kernel_event { SWITCH, WAKING, ENTRY_READ, EXIT_READ, ENTRY_FUTEX, EXIT_FUTEX };
enum app_event { ORDER_BEGIN, ORDER_END, STEP };

struct stream {
	FILE *file, *index;
	uint64_t offset;
	uint8_t packet[PACKET];
	size_t size;
	uint32_t cpu;
	uint64_t begin, sequence;
};

struct thread {
	char name[16];
	int32_t tid, pid;
	uint32_t step; /* of its work */
	int in_order;
};

static struct stream kernel[CPUS], app[CPUS];
static struct thread threads[THREADS];
static uint32_t asleep[THREADS], n_asleep, ready[THREADS], n_ready;
static uint64_t n_events, seed = 1;
static uint32_t id;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

/* ---------------------------------------------------------------- packets */

static void put(struct stream *s, const void *bytes, size_t size)
{
	memcpy(s->packet + s->size, bytes, size);
	s->size += size;
}

static void put32(struct stream *s, uint32_t v)
{
	put(s, &v, sizeof v);
}

static void put64(struct stream *s, uint64_t v)
{
	put(s, &v, sizeof v);
}

static void put16(struct stream *s, uint32_t v)
{
	uint16_t low = (uint16_t)v;

	put(s, &low, sizeof low);
}

static void put_index(struct stream *s, const uint64_t entry[9])
{
	for (int i = 0; i < 9; i++) {
		uint64_t big = htobe64(entry[i]);

		fwrite(&big, 1, sizeof big, s->index);
	}
}

static void end_packet(struct stream *s, uint64_t end)
{
	size_t size = s->size;
	static const uint8_t uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

	s->size = 0;
	put32(s, 0xC1FC1FC1);
	put(s, uuid, sizeof uuid);
	put32(s, 0);
	put64(s, s->cpu);
	put64(s, s->begin);
	put64(s, end);
	put64(s, size * 8);
	put64(s, size * 8);
	put64(s, s->sequence++);
	put64(s, 0);
	put32(s, s->cpu);
	fwrite(s->packet, 1, size, s->file);
	put_index(s, (const uint64_t[]){ s->offset, size * 8, size * 8, s->begin, end, 0, 0, s->cpu,
					 s->sequence - 1 });
	s->offset += size;
	s->size = HEAD;
}

static struct stream *begin_event(struct stream *s, uint64_t now)
{
	if (s->size > PACKET - ROOM)
		end_packet(s, now);
	if (s->size == HEAD)
		s->begin = now;
	n_events++;
	return s;
}

static struct stream *kernel_event(uint32_t cpu, uint64_t now, const struct thread *t,
				   enum kernel_event event)
{
	struct stream *s = begin_event(&kernel[cpu], now);

	put32(s, (uint32_t)now);
	put16(s, event);
	put16(s, 0);
	put32(s, t ? (uint32_t)t->tid : 0);
	return s;
}

static void app_event(uint32_t cpu, uint64_t now, const struct thread *t, enum app_event event)
{
	struct stream *s = begin_event(&app[cpu], now);

	put16(s, event);
	put32(s, (uint32_t)now);
	put32(s, (uint32_t)t->pid);
	put32(s, (uint32_t)t->tid);
	put32(s, id++);
}

/* ---------------------------------------------------------------- work */

static void put_name(struct stream *s, const struct thread *t)
{
	static const char idle[16] = "swapper";

	put(s, t ? t->name : idle, 16);
	put32(s, t ? (uint32_t)t->tid : 0);
	put32(s, 20);
}

static struct thread *switch_to(uint32_t cpu, uint64_t now, struct thread *prev, int sleeps)
{
	struct thread *next = n_ready ? &threads[ready[0]] : NULL;
	struct stream *s = kernel_event(cpu, now, prev, SWITCH);

	if (next)
		memmove(ready, ready + 1, --n_ready * sizeof *ready);
	put_name(s, prev);
	put64(s, prev ? (uint64_t)sleeps : 0);
	put_name(s, next);
	if (prev && sleeps)
		asleep[n_asleep++] = (uint32_t)(prev - threads);
	else if (prev)
		ready[n_ready++] = (uint32_t)(prev - threads);
	return next;
}

static void wake(uint32_t cpu, uint64_t now, const struct thread *by)
{
	uint32_t i = dice(n_asleep), woken = asleep[i];
	struct stream *s = kernel_event(cpu, now, by, WAKING);

	asleep[i] = asleep[--n_asleep];
	ready[n_ready++] = woken;
	put_name(s, &threads[woken]);
	put32(s, cpu);
}

static void call(uint32_t cpu, uint64_t now, const struct thread *t, int is_futex)
{
	struct stream *s = kernel_event(cpu, now, t, is_futex ? ENTRY_FUTEX : ENTRY_READ);

	put32(s, 3);
	put64(s, 0x7f0000000000 + id);
	put64(s, 4096);
}

static void leave(uint32_t cpu, uint64_t now, const struct thread *t, int is_futex)
{
	put64(kernel_event(cpu, now, t, is_futex ? EXIT_FUTEX : EXIT_READ), 4096);
}

/* A turn of @t: one event of its circle.  Returns the thread that is on the CPU then. */
static struct thread *turn(uint32_t cpu, uint64_t now, struct thread *t)
{
	static const char circle[] = "BcrcrscrcwrsFXGscrcrscPrscrscrE";

	switch (circle[t->step++ % (sizeof circle - 1)]) {
	case 'B':
		app_event(cpu, now, t, ORDER_BEGIN);
		break;
	case 'E':
		app_event(cpu, now, t, ORDER_END);
		break;
	case 's':
		app_event(cpu, now, t, STEP);
		break;
	case 'c':
		call(cpu, now, t, 0);
		break;
	case 'r':
		leave(cpu, now, t, 0);
		break;
	case 'F':
		call(cpu, now, t, 1);
		break;
	case 'G':
		leave(cpu, now, t, 1);
		break;
	case 'w':
		if (n_asleep)
			wake(cpu, now, t);
		break;
	case 'X':
		return n_asleep < THREADS / 2 ? switch_to(cpu, now, t, 1) : t;
	case 'P':
		return n_ready ? switch_to(cpu, now, t, 0) : t;
	}
	return t;
}

static void run(uint64_t most)
{
	struct thread *on[CPUS] = { 0 };
	uint64_t now[CPUS];
	uint32_t cpu = 0;

	for (uint32_t i = 0; i < CPUS; i++)
		now[i] = 1000000 + i;
	while (n_events < most) {
		for (uint32_t i = 0; i < CPUS; i++)
			if (now[i] < now[cpu])
				cpu = i;
		if (!on[cpu] && n_ready)
			on[cpu] = switch_to(cpu, now[cpu], NULL, 0);
		else if (on[cpu])
			on[cpu] = turn(cpu, now[cpu], on[cpu]);
		else if (n_asleep)
			wake(cpu, now[cpu], NULL);
		now[cpu] += 200 + dice(1600);
	}
	for (uint32_t i = 0; i < CPUS; i++) {
		end_packet(&kernel[i], now[i]);
		end_packet(&app[i], now[i]);
		fclose(kernel[i].file);
		fclose(kernel[i].index);
		fclose(app[i].file);
		fclose(app[i].index);
	}
}

/* ---------------------------------------------------------------- metadata */

static const char head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"trace { major = 1; minor = 8; uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"; byte_order "
	"= le;\n"
	"  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id;\n"
	"    uint64_t stream_instance_id; }; };\n"
	"env { domain = \"%s\"; hostname = \"bench\"; %s};\n"
	"clock { name = \"monotonic\"; freq = 1000000000; offset = 1764000000000000000; };\n"
	"typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } "
	":= time32;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } "
	":= time64;\n"
	"struct packet_context { time64 timestamp_begin; time64 timestamp_end; uint64_t "
	"content_size;\n"
	"  uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t "
	"cpu_id; };\n";

static const char kernel_stream[] =
	"stream { id = 0; packet.context := struct packet_context;\n"
	"  event.header := struct { time32 timestamp; uint16_t id; };\n"
	"  event.context := struct { uint8_t _flags; uint8_t _preempt; int32_t _tid; }; };\n";

static const char app_stream[] =
	"struct event_header_large { enum : uint16_t { compact = 0 ... 65534, extended = 65535 } "
	"id;\n"
	"  variant <id> { struct { time32 timestamp; } compact;\n"
	"    struct { uint32_t id; time64 timestamp; } extended; } v; } align(8);\n"
	"stream { id = 0; event.header := struct event_header_large;\n"
	"  packet.context := struct packet_context;\n"
	"  event.context := struct { int32_t _vpid; int32_t _vtid; }; };\n";

#define COMM(name)                                                                                 \
	"integer { size = 8; align = 8; signed = false; encoding = UTF8; } " name "[16]; "
#define CALL                                                                                       \
	"uint32_t _fd; integer { size = 64; align = 8; signed = false; base = 16; } _buf; "        \
	"uint64_t _count; "

static const struct {
	const char *name, *fields;
} kernel_classes[] = {
	[SWITCH] = { "sched_switch",
		     COMM("_prev_comm") "int32_t _prev_tid; int32_t _prev_prio; int64_t _prev_state; " COMM(
			     "_next_comm") "int32_t _next_tid; int32_t _next_prio; " },
	[WAKING] = { "sched_waking",
		     COMM("_comm") "int32_t _tid; int32_t _prio; int32_t _target_cpu; " },
	[ENTRY_READ] = { "syscall_entry_read", CALL },
	[EXIT_READ] = { "syscall_exit_read", "int64_t _ret; " },
	[ENTRY_FUTEX] = { "syscall_entry_futex", CALL },
	[EXIT_FUTEX] = { "syscall_exit_futex", "int64_t _ret; " },
}, app_classes[] = {
	[ORDER_BEGIN] = { "shop:order_begin", "int32_t _id; " },
	[ORDER_END] = { "shop:order_end", "int32_t _id; " },
	[STEP] = { "shop:step", "int32_t _id; " },
};

static FILE *create(const char *directory, const char *name)
{
	char path[PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof path, "%s/%.40s", directory, name);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static FILE *create_index(const char *directory, const char *stream)
{
	const uint32_t first[] = { htobe32(0xC1F1DCC1), htobe32(1), htobe32(1), htobe32(72) };
	char name[48];
	FILE *f;

	snprintf(name, sizeof name, "index/%.32s.idx", stream);
	f = create(directory, name);
	fwrite(first, 1, sizeof first, f);
	return f;
}

static void open_all(const char *directory)
{
	char part[2][PATH_MAX], name[PATH_MAX];
	FILE *f;

	mkdir(directory, 0700);
	for (int i = 0; i < 2; i++) {
		snprintf(part[i], sizeof part[i], "%s/%s", directory, i ? "ust" : "kernel");
		mkdir(part[i], 0700);
		snprintf(name, sizeof name, "%.*s/index", PATH_MAX - 8, part[i]);
		mkdir(name, 0700);
	}
	for (uint32_t i = 0; i < CPUS; i++) {
		snprintf(name, sizeof name, "cpu_%u", i);
		kernel[i].file = create(part[0], name);
		app[i].file = create(part[1], name);
		kernel[i].index = create_index(part[0], name);
		app[i].index = create_index(part[1], name);
		kernel[i].cpu = app[i].cpu = i;
		kernel[i].size = app[i].size = HEAD;
	}
	f = create(part[0], "metadata");
	fprintf(f, head, "kernel", "duet_scope = \"machine\"; ");
	fputs(kernel_stream, f);
	for (size_t i = 0; i < sizeof kernel_classes / sizeof *kernel_classes; i++)
		fprintf(f,
			"event { name = \"%s\"; id = %zu; stream_id = 0; fields := struct { %s}; "
			"};\n",
			kernel_classes[i].name, i, kernel_classes[i].fields);
	fclose(f);
	f = create(part[1], "metadata");
	fprintf(f, head, "ust",
		"tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 13; ");
	fputs(app_stream, f);
	for (size_t i = 0; i < sizeof app_classes / sizeof *app_classes; i++)
		fprintf(f,
			"event { name = \"%s\"; id = %zu; stream_id = 0; fields := struct { %s}; "
			"};\n",
			app_classes[i].name, i, app_classes[i].fields);
	fclose(f);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i].tid = (int32_t)(1000 + i);
		threads[i].pid = (int32_t)(1000 + i / PER_PROCESS * PER_PROCESS);
		threads[i].step = dice(31);
		snprintf(threads[i].name, sizeof threads[i].name, "worker-%u", i / PER_PROCESS);
		ready[n_ready++] = i;
	}
	open_all(argv[1]);
	run(strtoull(argv[2], NULL, 0));
	return 0;
}
