/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/filter/mutate_test.c - byte code, schemas and payloads damaged at random: no crash, no
 * hang.
 *
 * filter_mutate_test [ROUNDS [SEED]]. Everything lies in memory of exactly its size, for a build
 * with sanitizers.  Code that links in spite of the damage must keep the promises of filter.h.
 */
#include <unistd.h>

#include "make_filter.h"
#include "filter/step.h"

enum { SECONDS_MAX = 60 };

static const char *const texts[] = {
	"a > 4096",
	"s == \"text\" && v[1] < 5 || t ~ \"a*b?c\"",
	"e == \"DONE\" || e !~ \"I*\" && $vpid == 4711",
	"(a + b * 3 - 1) / 2 % 7 == 5 && (a & 0xff | b << 3 ^ b >> 1) != 0 && !(r * 2.5 > -1)",
	"$procname ~ \"sh*\" && (c == \"abc\" || (v[0] && (v[2] || (t < s && -a == b))))",
	"18446744073709551615 >= b && -9223372036854775807 <= b || r == 1.5",
	"p[1] == 7 && last == 3",
};
static const char schema[] =
	"13 t:m u32 a str s i64 b i16[] v chr[5] c enum(i8:IDLE, BUSY, DONE = -7) e "
	"f32 r str t u8[3] p u16 last";

static uint64_t seed = 20240607;
static long n_rounds = 60000, n_linked, n_wanted;

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void fill(struct payload *p)
{
	p->size = 0;
	PUT(p, uint32_t, 5000);
	put_text(p, "text");
	PUT(p, int64_t, -2);
	PUT(p, uint32_t, 3);
	for (int16_t i = 0; i < 3; i++)
		PUT(p, int16_t, i);
	put(p, "abc\0\0", 5);
	PUT(p, int8_t, -7);
	PUT(p, float, 1.5f);
	put_text(p, "aaabxc");
	put(p, "\1\7\2", 3);
	PUT(p, uint16_t, 3);
}

/* A copy, changed here and there, in memory of its own. */
static uint8_t *damaged(const void *bytes, size_t *size, uint64_t n_changes)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t *copy;

	if (n_changes && draw(20) == 0)
		*size = draw(*size + 1);
	copy = malloc(*size ? *size : 1);
	if (!copy)
		exit(1);
	memcpy(copy, bytes, *size);
	for (; n_changes && *size; n_changes--) {
		size_t at = draw(*size);

		switch (draw(5)) {
		case 0:
			copy[at] ^= (uint8_t)(1 << draw(8));
			break;
		case 1:
			copy[at] = (uint8_t)draw(256);
			break;
		case 2:
			copy[at] = odd[draw(sizeof odd)];
			break;
		case 3:
			copy[at] = (uint8_t)draw(ABI_FILTER_OPS);
			break;
		default:
			copy[at] = copy[draw(*size)];
		}
	}
	return copy;
}

/* The header is made right again, so that the linker examines the rest. */
static void mend(uint8_t *code, size_t size, const struct filter_code *from)
{
	struct abi_filter head;

	if (size < sizeof head || draw(10) == 0)
		return;
	memcpy(&head, from->bytes, sizeof head);
	head.size = (uint16_t)size;
	if (draw(10) == 0 || head.code_size > size - sizeof head)
		head.code_size = (uint16_t)draw(size - sizeof head + 1);
	memcpy(code, &head, sizeof head);
}

static void check(const struct filter *f, size_t capacity)
{
	ok(f->size <= capacity);
	ok(f->n_steps > 0 && f->n_steps <= ABI_FILTER_STEPS_MAX);
	is(f->steps[f->n_steps - 1].op, STEP_END);
	for (uint32_t i = 0; i < f->n_steps; i++)
		if (f->steps[i].op == STEP_AND_THEN || f->steps[i].op == STEP_OR_ELSE)
			ok(f->steps[i].offset > i && f->steps[i].offset < f->n_steps);
}

static void one_round(const struct filter_code *from, const struct payload *p)
{
	size_t code_size = from->size, schema_size = strlen(schema), capacity = 512 + 8 * draw(200),
	       size = p->size;
	uint8_t *code = damaged(from->bytes, &code_size, draw(5));
	uint8_t *words = damaged(schema, &schema_size, draw(3) ? 0 : 1 + draw(3));
	uint8_t *payload = damaged(p->bytes, &size, draw(2) ? 0 : 1 + draw(4));
	struct filter *f = malloc(capacity);
	struct filter_problem problem;

	if (!f)
		exit(1);
	mend(code, code_size, from);
	if (filter_payload_link(f, capacity, code, code_size, (char *)words, schema_size,
				ALL_CONTEXTS, &problem)) {
		struct filter *tight = malloc(f->size);

		if (!tight)
			exit(1);
		check(f, capacity);
		memcpy(tight, f, f->size);
		n_wanted += filter_run(tight, payload, size, &contexts);
		n_linked++;
		free(tight);
	} else {
		ok(problem.why != FILTER_FINE && strlen(problem.name) <= ABI_FILTER_NAME_MAX);
	}
	free(code);
	free(words);
	free(payload);
	free(f);
}

static void no_damage_crashes_or_hangs_a_filter(void)
{
	enum { N = sizeof texts / sizeof *texts };
	static struct filter_code codes[N];
	struct payload p;

	fill(&p);
	for (int i = 0; i < N; i++)
		is(filter_compile(texts[i], &codes[i], NULL), 0);
	alarm(n_rounds > 1000000 ? 0 : SECONDS_MAX);
	for (long i = 0; i < n_rounds && !test_n_failed; i++)
		one_round(&codes[draw(N)], &p);
	alarm(0);
	printf("# %ld of %ld linked, %ld wanted the event\n", n_linked, n_rounds, n_wanted);
	ok(n_linked > n_rounds / 10 && n_wanted > n_linked / 10);
}

/* Expressions too: any bytes compile, or are refused. */
static void no_expression_crashes_the_compiler(void)
{
	for (long i = 0; i < n_rounds / 2; i++) {
		const char *from = texts[draw(sizeof texts / sizeof *texts)];
		size_t size = strlen(from);
		uint8_t *copy = damaged(from, &size, draw(4)), *text = malloc(size + 1);
		struct filter_code code;
		struct diag d = { "" };
		struct filter_problem problem;
		struct linked l;

		if (!text)
			exit(1);
		memcpy(text, copy, size);
		text[size] = 0;
		if (filter_compile((char *)text, &code, &d))
			ok(strncmp(d.text, "filter", 6) == 0);
		else if (!filter_payload_link(&l.f, sizeof l, code.bytes, code.size, schema,
					      strlen(schema), ALL_CONTEXTS, &problem) &&
			 !ok(problem.why != FILTER_BROKEN && problem.why != FILTER_TOO_LARGE))
			printf("# %s\n", (char *)text);
		free(copy);
		free(text);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_rounds = atol(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	run(no_damage_crashes_or_hangs_a_filter);
	run(no_expression_crashes_the_compiler);
	return test_status();
}
