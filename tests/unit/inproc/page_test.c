/* SPDX-License-Identifier: MIT */
/* Lines and texts of a control page, from the first to where it is full, and in a copy. */
#include <sys/mman.h>
#include <unistd.h>

#include "inproc/page.h"
#include "test.h"

struct process process;

bool runtime_file(char *path, size_t size, const char *name)
{
	(void)path;
	(void)size;
	(void)name;
	return false;
}

static struct abi_control *new_page(void)
{
	int fd = memfd_create("page", MFD_CLOEXEC);
	struct abi_control *c;

	if (fd < 0 || ftruncate(fd, ABI_CONTROL_BYTES))
		exit(3);
	c = mmap(NULL, ABI_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		exit(3);
	c->text_end = offsetof(struct abi_control, text);
	return c;
}

/* The schema of event @i: its number, and so much more that texts of all sizes meet all borders. */
static size_t schema_of(uint32_t i, uint32_t most, char *schema)
{
	size_t n = 8 + i * 37 % (most - 8);

	memset(schema, 'a' + (int)(i % 26), n);
	memcpy(schema, &i, sizeof i);
	return n;
}

static uint32_t fill(struct abi_control *c, uint32_t most)
{
	char schema[ABI_SCHEMA_MAX_BYTES];
	uint32_t i = 0;

	while (page_add_event(c, schema, schema_of(i, most, schema)) == (int)i)
		i++;
	return i;
}

static bool holds(struct abi_control *c, uint32_t n, uint32_t most)
{
	char schema[ABI_SCHEMA_MAX_BYTES];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t size;
		const char *its = page_schema(c, page_event(c, i), &size);

		if (!its || size != schema_of(i, most, schema) || memcmp(its, schema, size))
			return false;
	}
	return true;
}

static void a_page_has_room_for_all_lines_and_their_texts(void)
{
	struct abi_control *c = new_page();

	is(fill(c, 100), ABI_EVENTS);
	ok(holds(c, ABI_EVENTS, 100));
}

static void long_texts_fill_it_before(void)
{
	struct abi_control *c = new_page();
	uint32_t n = fill(c, ABI_SCHEMA_MAX_BYTES);

	ok(n > 100 && n < ABI_EVENTS);
	ok(holds(c, n, ABI_SCHEMA_MAX_BYTES));
	ok(c->text_end <= ABI_CONTROL_BYTES);
}

static void a_known_event_keeps_its_line(void)
{
	struct abi_control *c = new_page();

	is(page_add_event(c, "one", 3), 0);
	is(page_add_event(c, "two", 3), 1);
	is(page_add_event(c, "one", 3), 0);
	is(c->n_events, 2);
}

static void a_copy_says_the_same(void)
{
	static const uint32_t counts[] = {
		0, 1, ABI_FIRST_EVENTS - 1, ABI_FIRST_EVENTS, ABI_FIRST_EVENTS + 1, 300, ABI_EVENTS
	};
	char schema[100];

	for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++) {
		struct abi_control *from = new_page(), *to = new_page();

		for (uint32_t i = 0; i < counts[k]; i++)
			page_add_event(from, schema, schema_of(i, sizeof schema, schema));
		if (counts[k])
			page_event(from, counts[k] - 1)->enabled = 7;
		ok(page_copy(to, from));
		is(to->n_events, counts[k]);
		ok(holds(to, counts[k], sizeof schema));
		if (counts[k])
			is(page_event(to, counts[k] - 1)->enabled, 7);
		munmap(from, ABI_CONTROL_BYTES);
		munmap(to, ABI_CONTROL_BYTES);
	}
}

static void unsound_numbers_lead_nowhere(void)
{
	struct abi_control *c = new_page(), *to = new_page();
	uint32_t size;

	page_add_event(c, "one", 3);
	page_event(c, 0)->schema = ABI_CONTROL_BYTES - 2;
	ok(!page_schema(c, page_event(c, 0), &size));
	c->text_end = UINT32_MAX;
	is(page_add_event(c, "two", 3), -1);
	ok(!page_copy(to, c));
	c->text_end = 0;
	is(page_add_event(c, "two", 3), -1);
	ok(!page_copy(to, c));
}

int main(void)
{
	run(a_page_has_room_for_all_lines_and_their_texts);
	run(long_texts_fill_it_before);
	run(a_known_event_keeps_its_line);
	run(a_copy_says_the_same);
	run(unsound_numbers_lead_nowhere);
	return test_status();
}
