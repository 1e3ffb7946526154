/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/read/contexts.c - writes traces with contexts, with libduet's code in one process.
 *
 *	contexts DIRECTORY NAMES...		one trace DIRECTORY/NAMES for each
 *
 * Each has two events, test:one { i = 1 } and test:one { i = 2 }.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "ctf/write/context.h"
#include "ctf/write/schema.h"
#include "ctf/write/writer.h"
#include "inproc/context.h"
#include "inproc/process.h"

struct process process; /* inproc/context.c expects it from libduet */
__thread uint64_t thread_context;

bool process_is_sandboxed(void)
{
	return false;
}

static void fail(const char *why)
{
	fprintf(stderr, "contexts: %s\n", why);
	exit(1);
}

static void describe(struct ctf_writer *s, uint64_t mask)
{
	static const char schema[] = "13 test:one i32 i";
	struct diag d;
	struct text t = { 0 };

	text_addf(&t, "struct event_header_large {\n"
		      "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
		      "\tvariant <id> {\n"
		      "\t\tstruct { uint32_clock_monotonic_t timestamp; } compact;\n"
		      "\t\tstruct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;\n"
		      "\t} v;\n} align(8);\n\n"
		      "stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
		      "\tpacket.context := struct packet_context;\n"
		      "\tevent.context := struct {\n"
		      "\t\tinteger { size = 32; align = 8; signed = true; } _vpid;\n"
		      "\t\tinteger { size = 32; align = 8; signed = true; } _vtid;\n");
	context_to_tsdl(&t, mask);
	text_addf(&t, "\t};\n};\n\n");
	schema_to_tsdl(&t, schema, strlen(schema), 0, 1);
	if (t.failed || ctf_writer_describe(s, t.bytes, t.size, &d))
		fail(t.failed ? "no memory" : d.text);
	text_fini(&t);
}

static __attribute__((noinline)) char *put_event(char *p, uint64_t mask, int32_t i,
						 uint64_t time_ns)
{
	struct {
		uint16_t extended;
		uint32_t id;
		uint64_t time_ns;
	} __attribute__((packed)) header = { 65535, 1, time_ns };
	int32_t ids[2] = { getpid(), getpid() };

	p = mempcpy(p, &header, sizeof header);
	p = mempcpy(p, ids, sizeof ids);
	p = context_put(mask, p, __builtin_return_address(0), __builtin_frame_address(0));
	return mempcpy(p, &i, sizeof i);
}

static void write_trace(const char *directory, const char *names)
{
	struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	char path[512], body[2 * (ABI_CONTEXT_MAX_BYTES + 64)], *p = body;
	struct ctf_writer_options o = { .path = path, .domain = "ust", .clock = &clock };
	struct ctf_packet packet = { .begin_ns = 1000, .end_ns = 2000, .cpu = 3, .n_body = 1 };
	struct ctf_writer sink;
	struct ctf_stream stream;
	struct iovec v = { .iov_base = body };
	struct diag d;
	uint64_t mask = 0;

	snprintf(path, sizeof path, "%s/%s", directory, names);
	if (context_parse(names, &mask, &d) || ctf_writer_open(&sink, &o, &d))
		fail(d.text);
	describe(&sink, mask);
	p = put_event(p, mask, 1, 1000);
	p = put_event(p, mask, 2, 2000);
	v.iov_len = (size_t)(p - body);
	packet.body = &v;
	if (ctf_stream_open(&stream, &sink, "cpu_3", &d) || ctf_stream_append(&stream, &packet, &d))
		fail(d.text);
	ctf_stream_close(&stream);
	ctf_writer_close(&sink);
}

int main(int argc, char **argv)
{
	static const unsigned char trace_id[16] = {
		0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
		0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36
	};

	prctl(PR_SET_NAME, "of many contexts");
	context_set(trace_id);
	for (int i = 2; i < argc; i++)
		write_trace(argv[1], argv[i]);
	return 0;
}
