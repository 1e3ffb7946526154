/* SPDX-License-Identifier: MIT */
/*
 * vm_random_test.c - what the verifier accepts runs the same in both engines, and touches nothing else.
 *
 * script_vm_random_test [ROUNDS [SEED]].  tests/fuzz/fuzz_unit.c is the same for libFuzzer.
 */
#include "random_unit.h"

static uint64_t seed = 88172645463325252u;

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

static int n_rounds = 3000;

static void accepted_units_run_the_same_in_both_engines(void)
{
	int i;
	uint64_t at;

	make_formats();
	for (i = 0; i < n_rounds; i++) {
		at = seed;
		if (!ok(round_is_good())) {
			printf("# 1 %llu repeats it\n", (unsigned long long)at);
			break;
		}
	}
	printf("# %d units, %llu accepted, %llu runs with an error\n", i,
	       (unsigned long long)n_accepted, (unsigned long long)n_errors);
	ok(n_accepted > (uint64_t)n_rounds / 10);
	script_arena_fini(&arena);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_rounds = atoi(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0);
	run(accepted_units_run_the_same_in_both_engines);
	return test_status();
}
