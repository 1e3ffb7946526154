/* SPDX-License-Identifier: MIT */
/* Types are found in a BTF description.  A cut or damaged description yields fewer types and does
 * no harm. */
#include <errno.h>
#include <linux/btf.h>

#include "bpf/btf.h"
#include "test.h"

static const char strings[] = "\0task_struct\0pid\0comm\0btf_trace_sys_enter\0other\0flag";
enum { TASK = 1, PID = 13, COMM = 17, SYS_ENTER = 22, OTHER = 42, FLAG = 48 };

struct image {
	struct btf_header header;
	uint32_t types[64];
	char strings[sizeof strings];
};

static size_t n;

static void type(struct image *i, uint32_t name, uint32_t kind, uint32_t n_members, uint32_t size)
{
	i->types[n++] = name;
	i->types[n++] = kind << 24 | n_members;
	i->types[n++] = size;
}

static void member(struct image *i, uint32_t name, uint32_t bits)
{
	i->types[n++] = name;
	i->types[n++] = 1;
	i->types[n++] = bits;
}

static struct image image(void)
{
	struct image i = { .header = {
				   .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof i.header } };

	n = 0;
	type(&i, 0, BTF_KIND_INT, 0, 4); /* 1 */
	i.types[n++] = 32;
	type(&i, OTHER, BTF_KIND_STRUCT, 1, 8); /* 2 */
	member(&i, PID, 8);
	type(&i, TASK, BTF_KIND_STRUCT, 2, 64); /* 3 */
	member(&i, PID, 96);
	member(&i, COMM, 256);
	type(&i, TASK, BTF_KIND_FUNC, 0, 1);	     /* 4 */
	type(&i, SYS_ENTER, BTF_KIND_TYPEDEF, 0, 4); /* 5 */
	type(&i, FLAG, 4 | 128, 1, 4);		     /* 6: a structure with bit fields */
	member(&i, COMM, 1u << 24 | 3);
	i.header.type_len = (uint32_t)n * 4;
	i.header.str_off = sizeof i.types;
	i.header.str_len = sizeof strings;
	memcpy(i.strings, strings, sizeof strings);
	return i;
}

static int take(struct btf *b, const struct image *i, size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	return btf_take(b, memcpy(bytes, i, size), size, NULL);
}

static void tracepoints_and_members_are_found(void)
{
	struct image i = image();
	struct btf b;

	is(take(&b, &i, sizeof i), 0);
	is(btf_tracepoint(&b, "sys_enter"), 5);
	is(btf_tracepoint(&b, "sys_exit"), -ENOENT);
	is(btf_member(&b, "task_struct", "pid"), 12);
	is(btf_member(&b, "task_struct", "comm"), 32);
	is(btf_member(&b, "task_struct", "prio"), -ENOENT);
	is(btf_member(&b, "other", "pid"), 1);
	is(btf_member(&b, "flag", "comm"), -ENOENT); /* not on a byte */
	is(btf_member(&b, "nothing", "pid"), -ENOENT);
	btf_close(&b);
}

static void cut_and_changed_types_do_no_harm(void)
{
	struct image good = image(), bad;
	struct btf b;

	for (size_t size = 0; size < sizeof good; size++)
		if (!take(&b, &good, size)) {
			btf_member(&b, "task_struct", "comm");
			btf_close(&b);
		}
	for (size_t at = 0; at < sizeof good; at++)
		for (int value = 0; value < 256; value += 15) {
			bad = good;
			((uint8_t *)&bad)[at] = (uint8_t)value;
			if (take(&b, &bad, sizeof bad))
				continue;
			btf_member(&b, "task_struct", "comm");
			btf_tracepoint(&b, "sys_enter");
			btf_close(&b);
		}
}

int main(void)
{
	run(tracepoints_and_members_are_found);
	run(cut_and_changed_types_do_no_harm);
	return test_status();
}
