/* SPDX-License-Identifier: MIT */
/*
 * program_random_test.c [ROUNDS [SEED]] - random scripts end, or are refused with a message, and
 * interpreter and translation agree about each of them: output, error, place.
 *
 * What the compiler makes must pass the verifier.  A script that is printed as text again (-p1, -m)
 * does the same as before.  Long: 1000000, about an hour; a script that
 * fails is printed, with the seed that makes it again.
 */
#include <inttypes.h>

#include "random_program.h"
#include "run_script.h"
#include "test.h"

static uint64_t n_run, n_refused, n_failed_runs;

static void complain(const char *what, const struct text *script, const struct text *a,
		     const struct text *b)
{
	test_n_failed++;
	printf("# %s\n%s---- %s\n", what, script->bytes, a && a->bytes ? a->bytes : "");
	if (b)
		printf("---- %s\n", b->bytes ? b->bytes : "");
}

/* Without the places of errors. */
static void drop_places(struct text *t)
{
	char *from, *to;

	while (t->bytes && (from = strstr(t->bytes, " near "))) {
		to = strstr(from, "\nERROR");
		memmove(from, to ? to : t->bytes + t->size, to ? strlen(to) + 1 : 1);
		t->size = strlen(t->bytes);
	}
}

static void run_printed(const struct made_script *made, const struct script_limits *limits,
			const struct text *script)
{
	struct text printed = { 0 }, a = { 0 }, b = { 0 };

	script_print_file(&printed, made->file);
	run_made(made, limits, false, &a);
	run_script(printed.bytes, limits, false, &b);
	drop_places(&a);
	drop_places(&b);
	if (a.size != b.size || (a.size && memcmp(a.bytes, b.bytes, a.size)))
		complain("the printed script does something else", script, &a, &b);
	text_fini(&printed);
	text_fini(&a);
	text_fini(&b);
}

static void run_both(const struct made_script *made, const struct script_limits *limits,
		     const struct text *script)
{
	struct text a = { 0 }, b = { 0 };

	run_made(made, limits, false, &a);
#ifdef __x86_64__
	run_made(made, limits, true, &b);
	if (a.size != b.size || (a.size && memcmp(a.bytes, b.bytes, a.size)))
		complain("interpreter and translation differ", script, &a, &b);
#endif
	n_run++;
	n_failed_runs += a.bytes && strstr(a.bytes, "ERROR: ");
	text_fini(&a);
	text_fini(&b);
}

static void one_round(uint64_t *seed)
{
	struct script_limits limits = {
		.string_bytes = 24, .actions = 400, .nesting = 12, .entries = 30
	};
	struct text script = { 0 };
	struct made_script made;

	random_program(&script, seed);
	if (make_script(&made, script.bytes, &limits)) {
		run_both(&made, &limits, &script);
		if (n_run % 4 == 0)
			run_printed(&made, &limits, &script);
	} else {
		n_refused++;
		if (!made.messages.n_errors || !made.messages.text.size ||
		    strstr(made.messages.text.bytes, "NOT VERIFIED"))
			complain("refused for no reason", &script, &made.messages.text, NULL);
	}
	free_script(&made);
	text_fini(&script);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1500;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 88172645463325252u;

	for (long i = 0; i < rounds && test_n_failed < 3; i++) {
		uint64_t first = seed;

		one_round(&seed);
		if (test_n_failed)
			printf("# round %ld, seed %#" PRIx64 "\n", i, first);
	}
	printf("# %" PRIu64 " scripts ran, %" PRIu64 " of them until an error; %" PRIu64
	       " were refused\n",
	       n_run, n_failed_runs, n_refused);
	printf("%s random scripts end, and both machines agree\n", test_n_failed ? "not ok" : "ok");
	return test_status();
}
