/* SPDX-License-Identifier: MIT */
/* Fields of overwritten payloads and schemas: ASan reports a byte read beyond them. */
#include <errno.h>
#include <stdlib.h>

#include "inproc/own_probes.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/probe.h"
#include "test.h"

static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* Both in memory of exactly their size. */
static int field(const char *fields, size_t fields_size, const void *payload, size_t size,
		 const char *name, struct duet_probe_value *v)
{
	char *f = malloc(fields_size + !fields_size), *p = malloc(size + !size);
	struct duet_probe_event e = { .size = sizeof e,
				      .fields = f,
				      .fields_size = fields_size,
				      .payload = p,
				      .payload_size = size };
	volatile uint64_t sum = 0;
	int err;

	memcpy(f, fields, fields_size);
	memcpy(p, payload, size);
	err = probe_field(&e, name, v);
	for (size_t i = 0; !err && v->bytes && i < v->count * v->element_size; i++)
		sum = sum + (unsigned char)v->bytes[i];
	v->bytes = NULL;
	free(f);
	free(p);
	(void)sum;
	return err;
}

static void cut_fields_are_absent(void)
{
	static const char fields[] = "i32 id u8[] some str item f64 last";
	static const char payload[] = "\1\0\0\0\3\0\0\0abctea\0\0\0\0\0\0\0\370?";
	struct duet_probe_value v;

	is(field(fields, sizeof fields - 1, payload, sizeof payload - 1, "last", &v), 0);
	ok(v.real == 1.5);
	for (size_t n = 0; n < sizeof payload - 1; n++) {
		is(field(fields, sizeof fields - 1, payload, n, "last", &v), -ENOENT);
		is(field(fields, sizeof fields - 1, payload, n, "id", &v), n < 4 ? -ENOENT : 0);
		is(field(fields, sizeof fields - 1, payload, n, "some[2]", &v),
		   n < 11 ? -ENOENT : 0);
		is(field(fields, sizeof fields - 1, payload, n, "item", &v), n < 15 ? -ENOENT : 0);
	}
	for (size_t n = 0; n < sizeof fields - 1; n++)
		is(field(fields, n, payload, sizeof payload - 1, "last", &v), -ENOENT);
}

static void garbage_is_survived(void)
{
	static const char *const words[] = {
		"i32",		"str", "u8[]", "f64[4]", "chr[9]", "enum(u8:A, B)", "x", "u64[",
		"i16[1048576]", "(",   " ",    "a",	 "]"
	};
	static const char *const names[] = {
		"a", "x", "a[0]", "a[4294967295]", "", "[", "a[", "a[]"
	};

	for (int i = 0; i < 20000; i++) {
		struct duet_probe_value v;
		char fields[256] = "", payload[64];

		for (uint32_t k = any(10); k; k--) {
			strcat(fields, words[any(sizeof words / sizeof *words)]);
			strcat(fields, any(8) ? " " : "");
		}
		for (unsigned k = 0; k < sizeof payload; k++)
			payload[k] = (char)(any(3) ? any(4) : any(256));
		ok(field(fields, strlen(fields), payload, any(sizeof payload + 1),
			 names[any(sizeof names / sizeof *names)], &v) <= 0);
	}
}

int main(void)
{
	run(cut_fields_are_absent);
	run(garbage_is_survived);
	return test_status();
}
