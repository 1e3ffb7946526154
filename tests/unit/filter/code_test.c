/* SPDX-License-Identifier: MIT */
/* tests/unit/filter/code_test.c - byte code written by hand: filter_link() accepts sound code
 * and refuses the rest. */
#include "make_filter.h"

static const char schema[] = "13 t:c u32 n str s f64 r enum(u8:A, B) e";

/* Operations, as in abi/filter.h; offsets in the data are those of names below. */
static const char data[] = "nsrex*";
#define N ABI_FILTER_FIELD, 0, 0, 1
#define S ABI_FILTER_FIELD, 1, 0, 1
#define R ABI_FILTER_FIELD, 2, 0, 1
#define E ABI_FILTER_FIELD, 3, 0, 1
#define X ABI_FILTER_TEXT, 4, 0, 1, 0
#define ONE ABI_FILTER_SMALL, 1
#define AND(n) ABI_FILTER_AND_THEN, n, 0
#define OR(n) ABI_FILTER_OR_ELSE, n, 0
#define END ABI_FILTER_END

struct code {
	size_t size;
	uint8_t bytes[128];
};
#define CODE(...)                                                                                  \
	{                                                                                          \
		sizeof((uint8_t[]){ __VA_ARGS__ }),                                                \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static size_t put_together(const struct code *c, uint8_t *out)
{
	struct abi_filter head = {
		.magic = ABI_FILTER_MAGIC,
		.size = (uint16_t)(sizeof head + c->size + strlen(data)),
		.code_size = (uint16_t)c->size,
	};

	memcpy(out, &head, sizeof head);
	memcpy(out + sizeof head, c->bytes, c->size);
	memcpy(out + sizeof head + c->size, data, strlen(data));
	return head.size;
}

static bool links(const void *bytes, size_t size, struct filter_problem *problem)
{
	struct linked l;

	return filter_payload_link(&l.f, sizeof l, bytes, size, schema, strlen(schema),
				   ALL_CONTEXTS, problem);
}

static const struct code sound[] = {
	CODE(ONE, END),
	CODE(N, END),
	CODE(N, ONE, ABI_FILTER_EQ, END),
	CODE(N, ABI_FILTER_TRUTH, AND(3), ONE, ABI_FILTER_TRUTH, END),
	CODE(N, AND(2), ONE, END),
	CODE(N, AND(7), ONE, AND(2), ONE, END),
	CODE(N, AND(2), ONE, OR(2), ONE, END),
	CODE(S, X, ABI_FILTER_MATCH, END),
	CODE(R, ONE, ABI_FILTER_ADD, ABI_FILTER_TRUTH, END),
	CODE(ONE, N, AND(2), ONE, ABI_FILTER_ADD, END),
};

static void sound_code_links(void)
{
	struct filter_problem problem;
	uint8_t bytes[256];

	for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
		if (!ok(links(bytes, put_together(&sound[i], bytes), &problem)))
			printf("# sound code %zu: %d\n", i, problem.why);
}

static void malformed_code_is_refused(void)
{
	static const struct code cases[] = {
		/* ends */
		CODE(ONE),
		CODE(N, ONE, ABI_FILTER_EQ),
		CODE(END),
		CODE(END, END),
		CODE(ONE, END, END),
		CODE(ONE, END, ONE, END),
		CODE(ONE, ONE, END),
		{ 0, { 0 } },
		/* operands cut, operations unknown */
		CODE(ABI_FILTER_SMALL),
		CODE(ABI_FILTER_INT, 1, 2, 3, END),
		CODE(ABI_FILTER_FIELD, 0, 0),
		CODE(ONE, ABI_FILTER_OPS, END),
		CODE(ONE, 255, END),
		/* too few values */
		CODE(ABI_FILTER_NOT, END),
		CODE(ABI_FILTER_TRUTH, END),
		CODE(ABI_FILTER_EQ, END),
		CODE(ONE, ABI_FILTER_EQ, END),
		CODE(ONE, ABI_FILTER_ADD, END),
		CODE(S, ABI_FILTER_MATCH, END),
		CODE(AND(2), ONE, END),
		/* jumps: beyond the end, to themselves, into operands, across each other */
		CODE(ONE, AND(200), ONE, END),
		CODE(ONE, ABI_FILTER_AND_THEN, 255, 255, ONE, END),
		CODE(ONE, AND(3), ONE, END),
		CODE(ONE, AND(1), ONE, END),
		CODE(ONE, AND(0), END),
		CODE(ONE, AND(0), ONE, END),
		CODE(ONE, AND(5), ONE, OR(4), ONE, ONE, END),
		CODE(ONE, AND(4), ONE, ONE, END),
		/* two ways to one place with stacks that differ, in depth or type */
		CODE(ONE, AND(8), N, N, END),
		CODE(ONE, AND(4), S, END),
		CODE(ONE, AND(4), R, END),
		CODE(ONE, ONE, AND(3), ABI_FILTER_NOT, ONE, END),
		CODE(ONE, ONE, AND(1), ABI_FILTER_NOT, END),
		CODE(ONE, ONE, AND(5), ONE, ABI_FILTER_ADD, ONE, ABI_FILTER_ADD, END),
		CODE(S, ONE, AND(8), X, ABI_FILTER_MATCH, ONE, ABI_FILTER_ADD, END),
		/* the result at the end, or before a jump, is no number */
		CODE(S, END),
		CODE(R, END),
		CODE(S, AND(2), ONE, END),
		CODE(R, AND(2), ONE, END),
		/* names and texts outside the data, empty, or odd */
		CODE(ABI_FILTER_FIELD, 6, 0, 1, END),
		CODE(ABI_FILTER_FIELD, 255, 255, 1, END),
		CODE(ABI_FILTER_FIELD, 0, 0, 200, END),
		CODE(ABI_FILTER_FIELD, 0, 0, 0, END),
		CODE(ABI_FILTER_CONTEXT, 6, 0, 1, END),
		CODE(S, ABI_FILTER_TEXT, 0, 0, 7, 0, ABI_FILTER_EQ, END),
		CODE(S, ABI_FILTER_TEXT, 7, 0, 0, 0, ABI_FILTER_EQ, END),
		CODE(S, ABI_FILTER_TEXT, 255, 255, 255, 255, ABI_FILTER_EQ, END),
		/* a pattern that is no constant; a negative number that is none */
		CODE(S, S, ABI_FILTER_MATCH, END),
		CODE(ABI_FILTER_NEGATIVE, 1, 0, 0, 0, 0, 0, 0, 0, END),
	};
	struct filter_problem problem;
	uint8_t bytes[256];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!ok(!links(bytes, put_together(&cases[i], bytes), &problem)))
			printf("# malformed code %zu was linked\n", i);
		else if (!is(problem.why, FILTER_BROKEN))
			printf("# malformed code %zu\n", i);
	}
}

static void a_header_that_lies_is_refused(void)
{
	struct filter_problem problem;
	struct abi_filter head;
	uint8_t bytes[256];
	size_t size = put_together(&sound[2], bytes);

	for (size_t n = 0; n < size; n++) {
		ok(!links(bytes, n, &problem));
		is(problem.why, FILTER_BROKEN);
	}
	ok(!links(bytes, size + 1, &problem));
	memcpy(&head, bytes, sizeof head);
	for (int i = 0; i < 3; i++) {
		struct abi_filter bad = head;

		bad.magic ^= i == 0;
		bad.size = (uint16_t)(bad.size + (i == 1));
		bad.code_size = i == 2 ? UINT16_MAX : bad.code_size;
		memcpy(bytes, &bad, sizeof bad);
		ok(!links(bytes, size, &problem));
	}
}

static void too_many_operations_values_and_jumps_are_refused(void)
{
	static uint8_t bytes[2048];
	struct abi_filter head = { .magic = ABI_FILTER_MAGIC };
	struct filter_problem problem;

	for (int n = 1; n < 40; n++) {
		size_t at = sizeof head;

		for (int i = 0; i < n; i++, at += 2)
			memcpy(bytes + at, (uint8_t[]){ ONE }, 2);
		for (int i = 1; i < n; i++)
			bytes[at++] = ABI_FILTER_ADD;
		bytes[at++] = ABI_FILTER_END;
		head.size = (uint16_t)at;
		head.code_size = (uint16_t)(at - sizeof head);
		memcpy(bytes, &head, sizeof head);
		is(links(bytes, at, &problem), n <= ABI_FILTER_DEPTH_MAX);
	}
	for (int n = 100; n < 200; n++) {
		size_t at = sizeof head + 2;

		memcpy(bytes + sizeof head, (uint8_t[]){ ONE }, 2);
		for (int i = 0; i < n; i++)
			bytes[at++] = ABI_FILTER_NOT;
		bytes[at++] = ABI_FILTER_END;
		head.size = (uint16_t)at;
		head.code_size = (uint16_t)(at - sizeof head);
		memcpy(bytes, &head, sizeof head);
		is(links(bytes, at, &problem), n + 2 <= ABI_FILTER_STEPS_MAX);
	}
	for (int n = 1; n < 40; n++) {
		size_t at = sizeof head;

		for (int i = 0; i < n; i++, at += 5)
			memcpy(bytes + at, (uint8_t[]){ ONE, AND((uint8_t)((n - 1 - i) * 5 + 2)) },
			       5);
		memcpy(bytes + at, (uint8_t[]){ ONE, END }, 3);
		at += 3;
		head.size = (uint16_t)at;
		head.code_size = (uint16_t)(at - sizeof head);
		memcpy(bytes, &head, sizeof head);
		is(links(bytes, at, &problem), n <= ABI_FILTER_DEPTH_MAX);
	}
}

struct scribbler {
	struct filter_names names;
	uint8_t *bytes;
	size_t size;
};

static enum filter_error scribble(const struct filter_names *n, bool is_context, const char *name,
				  size_t size, struct filter_location *place)
{
	const struct scribbler *s = (const struct scribbler *)n;

	(void)is_context, (void)name, (void)size;
	memset(s->bytes, 0xee, s->size);
	*place = (struct filter_location){ .type = FILTER_INTEGER, .from = FILTER_FROM_SOURCE };
	return FILTER_FINE;
}

static void code_that_changes_while_it_is_linked_is_not_seen(void)
{
	struct filter_problem problem;
	struct filter_code code;
	struct scribbler s = { { scribble, NULL }, code.bytes, 0 };
	struct linked l;

	is(filter_compile("a == 4711 && b == 4711 && 4712 != c", &code, NULL), 0);
	s.size = code.size;
	ok(filter_link(&l.f, sizeof l, code.bytes, code.size, &s.names, &problem));
	is(code.bytes[0], 0xee);
	ok(filter_run(&l.f, NULL, 0, &contexts)); /* place 0 is vpid's */
}

static void count_name(void *context, bool is_context, const char *name)
{
	char *seen = context;

	strcat(seen, is_context ? "$" : "");
	strcat(seen, name);
	strcat(seen, " ");
}

static void names_in_code_are_listed(void)
{
	struct filter_code code;
	char seen[128] = "";

	is(filter_compile("a.b[ 03 ] == 1 && $ctx.vpid < size || size ~ \"size\"", &code, NULL), 0);
	filter_each_name(&code, count_name, seen);
	is_text(seen, "a.b[3] $vpid size size ");
}

int main(void)
{
	run(sound_code_links);
	run(malformed_code_is_refused);
	run(a_header_that_lies_is_refused);
	run(too_many_operations_values_and_jumps_are_refused);
	run(code_that_changes_while_it_is_linked_is_not_seen);
	run(names_in_code_are_listed);
	return test_status();
}
