/* SPDX-License-Identifier: MIT */
/* Pages that are cut, changed, or noise, and records of any format: nothing beside them is read. */
#include "page.h"

/* All kinds of records in one page. */
static void build_mixed(void)
{
	begin_page(T0);
	put_plain(0, 1);
	put_enter(SYS_close);
	put32(30 | 9 << 5);
	put32(1);
	put32(6 | 1 << 5);
	put_common(TEXT);
	put32(16 | 6u << 16);
	put32(42);
	put("hello\0\0\0", 8);
	put32(0 | 5 << 5);
	put32(4 + 16);
	put_common(PLAIN);
	put64(3);
	put32(29 | 4 << 5);
	put32(8);
	put32(0xdeadbeef);
	put_plain(1, 2);
	put32(29);
	end_page();
}

/* Converts @size bytes, alone on the heap so that a sanitizer reports an access beside them, and
 * checks the invariants that hold for any bytes. */
static void convert_anything(const uint8_t *from, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1), *last_end = copy;
	uint64_t last_ns = 0;
	int n = 0;

	memcpy(copy, from, size);
	kernel_page_open(&page, &classes, &clock_1ns, copy, size, T0, T0 + FAR);
	while (next()) {
		ok(packet.events >= last_end && packet.events + packet.size <= copy + size);
		ok(packet.size >= KERNEL_EVENT_HEADER * packet.n_events);
		ok(packet.begin_ns >= last_ns && packet.end_ns >= packet.begin_ns);
		ok(packet.end_ns <= T0 + FAR);
		last_end = packet.events + packet.size;
		last_ns = packet.end_ns;
		ok(n++ < 1000);
	}
	ok(page.ticks >= last_ns && page.ticks <= T0 + FAR);
	free(copy);
}

static void page_cut_anywhere_is_survived(void)
{
	build_mixed();
	for (size_t size = 0; size <= n_bytes; size++) {
		uint64_t commit = size < KERNEL_PAGE_HEADER ? 0 : size - KERNEL_PAGE_HEADER;
		uint64_t whole;

		convert_anything(bytes, size);
		memcpy(&whole, bytes + 8, 8);
		memcpy(bytes + 8, &commit, 8);
		convert_anything(bytes, size);
		memcpy(bytes + 8, &whole, 8);
	}
}

static void page_changed_anywhere_is_survived(void)
{
	build_mixed();
	for (size_t i = 0; i < n_bytes; i++) {
		uint8_t was = bytes[i];

		for (int v = 0; v < 256; v++) {
			bytes[i] = (uint8_t)v;
			convert_anything(bytes, n_bytes);
		}
		bytes[i] = was;
	}
}

static uint64_t seed = 88172645463325252ull; /* xorshift64, Marsaglia 2003 */

static uint32_t noise(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

static void page_of_noise_is_survived(void)
{
	for (int round = 0; round < 20000; round++) {
		build_mixed();
		for (int i = 0; i < 1 + round % 40; i++)
			bytes[KERNEL_PAGE_HEADER + noise((uint32_t)n_bytes - KERNEL_PAGE_HEADER)] =
				(uint8_t)noise(256);
		convert_anything(bytes, n_bytes);
	}
}

/* Fields that overlap, repeat their names, lie anywhere. */
static void random_format(struct kernel_format *f, unsigned id)
{
	static const char *const decl[] = { "int a",
					    "u64 b",
					    "char c[16]",
					    "__data_loc char[] d",
					    "__rel_loc u16[] a",
					    "struct x y",
					    "__data_loc u64[] _b",
					    "u8 _b_length",
					    "const char * p",
					    "int prio",
					    "u64 calltime",
					    "u64 rettime",
					    "unsigned long func" };
	static const unsigned sizes[] = { 4, 8, 16, 4, 4, 12, 4, 1, 8, 4, 8, 8, 8 };
	char text[4096];
	int n = snprintf(text, sizeof text, "name: noise%u\nID: %u\n", id, id);

	for (unsigned i = 0, k; i < 1 + noise(12); i++) {
		k = noise(sizeof sizes / sizeof *sizes);
		n += snprintf(text + n, sizeof text - (size_t)n,
			      "field:%s;\toffset:%u;\tsize:%u;\tsigned:1;\n", decl[k],
			      8 + noise(48), sizes[k]);
	}
	is(kernel_format_parse(f, text, "noise", NULL), 0);
}

/* Identifiers in a struct: the last word of each line, less its index. */
static void identifiers_differ(const char *fields)
{
	char copy[4096], *words[64], *save, *line;
	int n = 0;

	snprintf(copy, sizeof copy, "%s", fields ? fields : "");
	for (line = strtok_r(copy, "\n", &save); line && n < 64;
	     line = strtok_r(NULL, "\n", &save)) {
		words[n] = strrchr(line, ' ') + 1;
		words[n][strcspn(words[n], "[;")] = 0;
		for (int i = 0; i < n; i++)
			ok(strcmp(words[i], words[n]) != 0);
		ok(words[n++][0] == '_');
	}
}

static void records_of_any_format_are_survived(void)
{
	static const char *const systems[] = { "sched", "x", "ftrace" };
	static struct kernel_format f;

	for (unsigned id = 1000; id < 3000; id++) {
		random_format(&f, id);
		is(kernel_classes_add(&classes, &f, systems[id % 3], f.name), 0);
		identifiers_differ(classes.by_kernel_id[id]->layout.fields.bytes);
		for (int round = 0; round < 30; round++) {
			size_t length = 8 + 4 * noise(26), size;
			uint8_t *record = malloc(4 + length);

			for (size_t i = 4; i < 4 + length; i++)
				record[i] = (uint8_t)noise(noise(2) ? 256 : 32);
			record[4] = (uint8_t)id;
			record[5] = (uint8_t)(id >> 8);
			size = kernel_class_convert(&classes, record, record + 4, length, 1);
			ok(size <= 4 + length);
			free(record);
		}
	}
}

int main(void)
{
	setup();
	run(page_cut_anywhere_is_survived);
	run(page_changed_anywhere_is_survived);
	run(page_of_noise_is_survived);
	run(records_of_any_format_are_survived);
	tear_down();
	return test_status();
}
