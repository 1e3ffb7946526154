/* SPDX-License-Identifier: MIT */
/*
 * bench/reading/shapes.c - a recording as duet writes them, of one shape of event:
 * `shapes DIRECTORY EVENTS int|text|doubles|floats|array|sequence`.
 *
 * Headers are the compact ones, with vpid and vtid of 24 bits; one stream, packets of 256 KiB, and
 * its index.
 */
#include <endian.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKET = 256 << 10, ROOM = 512, HEAD = 84, ELEMENTS = 8 };

static struct {
	FILE *file, *index;
	uint8_t bytes[PACKET];
	size_t size;
	uint64_t begin, sequence, offset;
} packet;

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 5; align = 1; signed = false; } := u5;\n"
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 24; align = 8; signed = true; } := s24;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
	"typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;\n"
	"trace { major = 1; minor = 8; uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"; byte_order "
	"= le;\n"
	"  packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u64 "
	"stream_instance_id; }; };\n"
	"env { domain = \"ust\"; hostname = \"bench\"; tracer_name = \"lttng-ust\"; };\n"
	"clock { name = \"monotonic\"; freq = 1000000000; offset = 1764000000000000000; };\n"
	"typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } "
	":= t27;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } "
	":= t64;\n"
	"stream { id = 0;\n"
	"  packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size;\n"
	"    u64 packet_size; u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };\n"
	"  event.header := struct { enum : u5 { compact = 0 ... 29, wide = 30, extended = 31 } "
	"id;\n"
	"    variant <id> { struct { t27 timestamp; } compact; struct { t27 timestamp; integer {\n"
	"      size = 16; align = 1; signed = false; } id; } wide; struct { u32 id; t64 "
	"timestamp;\n"
	"      } extended; } v; } align(8);\n"
	"  event.context := struct { s24 _vpid; s24 _vtid; }; };\n"
	"event { name = \"shapes:%s\"; id = 1; stream_id = 0; fields := struct { %s}; };\n";

static const struct shape {
	const char *name, *fields;
} shapes[] = {
	{ "int", "u32 _n; " },
	{ "text", "u32 _n; string _text; " },
	{ "doubles", "f64 _exact; f64 _measured; f64 _random; " },
	{ "floats", "f32 _exact; f32 _measured; f32 _random; " },
	{ "array", "u32 _n; s32 _values[8]; " },
	{ "sequence", "u32 _n; u16 __values_length; u64 _values[__values_length]; " },
};

static void put(const void *bytes, size_t size)
{
	memcpy(packet.bytes + packet.size, bytes, size);
	packet.size += size;
}

static void put_number(uint64_t v, size_t size)
{
	put(&v, size);
}

static void put_real(double v, int is_single)
{
	float f = (float)v;

	put(is_single ? (void *)&f : (void *)&v, is_single ? sizeof f : sizeof v);
}

static void end_packet(uint64_t end)
{
	static const uint8_t uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	size_t size = packet.size;
	const uint64_t entry[9] = { packet.offset,  size * 8, size * 8, packet.begin, end, 0, 0, 0,
				    packet.sequence };

	packet.size = 0;
	put_number(0xC1FC1FC1, 4);
	put(uuid, sizeof uuid);
	put_number(0, 4);
	put_number(0, 8);
	put_number(packet.begin, 8);
	put_number(end, 8);
	put_number(size * 8, 8);
	put_number(size * 8, 8);
	put_number(packet.sequence++, 8);
	put_number(0, 8);
	put_number(0, 4);
	fwrite(packet.bytes, 1, size, packet.file);
	for (int i = 0; i < 9; i++) {
		uint64_t big = htobe64(entry[i]);

		fwrite(&big, 1, sizeof big, packet.index);
	}
	packet.offset += size;
	packet.size = HEAD;
}

static uint64_t dice(void)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 11;
}

static void put_fields(const char *shape, uint32_t n)
{
	int is_single = !strcmp(shape, "floats");

	if (is_single || !strcmp(shape, "doubles")) {
		put_real(n % 1000, is_single);		    /* "12.0" */
		put_real(n % 100000 / 100.0, is_single);    /* "123.45" */
		put_real((double)dice() * 1e-9, is_single); /* all digits */
		return;
	}
	put_number(n, 4);
	if (!strcmp(shape, "text"))
		put("sixteen letters!", 17);
	if (!strcmp(shape, "sequence"))
		put_number(ELEMENTS, 2);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		if (!strcmp(shape, "array"))
			put_number(i % 2 ? -n : n + i, 4);
		else if (!strcmp(shape, "sequence"))
			put_number(n * 1000ull + i, 8);
	}
}

static FILE *create(const char *directory, const char *name)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void open_all(const char *directory, const struct shape *s)
{
	const uint32_t head[] = { htobe32(0xC1F1DCC1), htobe32(1), htobe32(1), htobe32(72) };
	char index[PATH_MAX];
	FILE *f;

	snprintf(index, sizeof index, "%s/index", directory);
	mkdir(directory, 0700);
	mkdir(index, 0700);
	f = create(directory, "metadata");
	fprintf(f, metadata, s->name, s->fields);
	fclose(f);
	packet.file = create(directory, "stream_0");
	packet.index = create(directory, "index/stream_0.idx");
	fwrite(head, 1, sizeof head, packet.index);
}

int main(int argc, char **argv)
{
	const struct shape *s = shapes, *end = shapes + sizeof shapes / sizeof *shapes;
	uint64_t now = 1000000;

	if (argc != 4)
		return 2;
	while (s < end && strcmp(s->name, argv[3]))
		s++;
	if (s == end)
		return 2;
	open_all(argv[1], s);
	packet.size = HEAD;
	for (uint32_t i = 0; i < strtoul(argv[2], NULL, 0); i++) {
		now += 1000;
		if (packet.size > PACKET - ROOM)
			end_packet(now);
		if (packet.size == HEAD)
			packet.begin = now;
		put_number((uint32_t)now << 5 | 1, 4);
		put_number(1234, 3);
		put_number(1234, 3);
		put_fields(s->name, i);
	}
	end_packet(now);
	return fclose(packet.file) || fclose(packet.index);
}
