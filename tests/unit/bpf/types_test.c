/* SPDX-License-Identifier: MIT */
/* Members are found through unnamed structures, with their bits; rings of types and damage do no harm. */
#include <errno.h>
#include <linux/btf.h>

#include "bpf/types.h"
#include "test.h"

static const char strings[] = "\0task\0pid\0comm\0char\0int\0flags\0up\0ring";
enum { TASK = 1, PID = 6, COMM = 10, CHAR = 15, INT = 20, FLAGS = 24, UP = 30, RING = 33 };

struct image {
	struct btf_header header;
	uint32_t types[96];
	char strings[sizeof strings];
};

static size_t n;

static void words(struct image *i, uint32_t a, uint32_t b, uint32_t c)
{
	i->types[n++] = a;
	i->types[n++] = b;
	i->types[n++] = c;
}

static struct image image(void)
{
	struct image i = { .header = {
				   .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof i.header } };

	n = 0;
	words(&i, CHAR, BTF_KIND_INT << 24, 1); /* 1: char */
	i.types[n++] = BTF_INT_SIGNED << 24 | 8;
	words(&i, INT, BTF_KIND_INT << 24, 4); /* 2: int */
	i.types[n++] = BTF_INT_SIGNED << 24 | 32;
	words(&i, 0, BTF_KIND_ARRAY << 24, 0); /* 3: char[16] */
	words(&i, 1, 2, 16);
	words(&i, 0, BTF_KIND_STRUCT << 24 | 2, 24); /* 4: an unnamed structure */
	words(&i, PID, 2, 0);
	words(&i, COMM, 3, 32);
	words(&i, TASK, 1u << 31 | BTF_KIND_STRUCT << 24 | 3, 40); /* 5: with bit-fields */
	words(&i, 0, 4, 64);
	words(&i, FLAGS, 2, 3u << 24 | 5);
	words(&i, UP, 6, 256);
	words(&i, 0, BTF_KIND_PTR << 24, 5);	    /* 6: to the task */
	words(&i, RING, BTF_KIND_TYPEDEF << 24, 8); /* 7, 8: a ring */
	words(&i, RING, BTF_KIND_CONST << 24, 7);
	i.header.type_len = (uint32_t)n * 4;
	i.header.str_off = sizeof i.types;
	i.header.str_len = sizeof strings;
	memcpy(i.strings, strings, sizeof strings);
	return i;
}

static int take(struct btf_types *t, const struct image *i, size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	return btf_types_take(t, memcpy(bytes, i, size), size, NULL);
}

static void members_of_unnamed_structures_are_found(void)
{
	struct image i = image();
	struct btf_types t;
	struct btf_place p;
	uint32_t task;

	is(take(&t, &i, sizeof i), 0);
	task = btf_find_type(&t, "struct task");
	is(task, 5);
	is(btf_find_type(&t, "task"), 5);
	is(btf_find_type(&t, "tusk"), 0);
	ok(btf_place_of(&t, task, "pid", &p));
	is(p.bit, 64);
	ok(btf_place_of(&t, task, "comm", &p));
	is(p.bit, 96);
	is(btf_size(&t, p.type), 16);
	ok(btf_is_char(&t, btf_pointed(&t, p.type)));
	ok(btf_place_of(&t, task, "flags", &p));
	is(p.bit, 5);
	is(p.bit_size, 3);
	ok(btf_place_of(&t, task, "up", &p));
	is(btf_pointed(&t, p.type), 5);
	ok(!btf_place_of(&t, task, "down", &p));
	btf_types_close(&t);
}

static void rings_and_damage_do_no_harm(void)
{
	struct image good = image(), bad;
	struct btf_types t;
	struct btf_place p;

	is(take(&t, &good, sizeof good), 0);
	is(btf_kind(&t, 7), 0);
	is(btf_size(&t, 8), 0);
	is(btf_kind(&t, 4000), 0);
	btf_types_close(&t);
	for (size_t word = 0; word < n; word++)
		for (uint32_t bit = 0; bit < 32; bit++) {
			bad = good;
			bad.types[word] ^= 1u << bit;
			if (take(&t, &bad, sizeof bad))
				continue;
			for (uint32_t id = 0; id < t.n; id++) {
				btf_place_of(&t, id, "none", &p);
				btf_size(&t, id);
				btf_kind(&t, btf_pointed(&t, id));
			}
			btf_types_close(&t);
		}
}

int main(void)
{
	run(members_of_unnamed_structures_are_found);
	run(rings_and_damage_do_no_harm);
	return test_status();
}
