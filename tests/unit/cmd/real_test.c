/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/cmd/real_test.c - floating point numbers as text, against printf() and strtod().
 *
 * cmd_real_test [ROUNDS [SEED]] runs longer by hand.
 */
#include <math.h>
#include <stdint.h>

#include "test.h"
#include "trace/text/output.h"

static uint64_t seed = 1, n_rounds = 5000;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545F4914F6CDD1D;
}

/* The text that out_real() must write. */
static void write_plainly(char *text, size_t size, double v, bool is_single)
{
	int digits = is_single ? 6 : 15, most = is_single ? 9 : 17;

	if (fabs(v) < 1e15 && v == (double)(int64_t)v) {
		snprintf(text, size, "%.1f", v);
		return;
	}
	for (; digits <= most; digits++) {
		snprintf(text, size, "%.*g", digits, v);
		if (is_single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
}

static void check_one(double v, bool is_single)
{
	char wanted[64], found[64];
	struct out o = { .at = found };

	if (is_single)
		v = (double)(float)v;
	if (isnan(v) || isinf(v))
		return;
	write_plainly(wanted, sizeof wanted, v, is_single);
	out_real(&o, v, is_single);
	*o.at = 0;
	if (strcmp(wanted, found))
		is_text(found, wanted);
}

static void check(double v)
{
	for (int is_single = 0; is_single < 2; is_single++) {
		check_one(v, is_single);
		check_one(-v, is_single);
	}
}

/* The neighbours, too. */
static void check_around(double v)
{
	check(v);
	check(nextafter(v, 0));
	check(nextafter(v, INFINITY));
	check_one((double)nextafterf((float)v, 0), true);
	check_one((double)nextafterf((float)v, INFINITY), true);
}

static void random_bits_are_written_as_printf_does(void)
{
	for (uint64_t i = 0; i < n_rounds; i++) {
		uint64_t bits = dice();
		uint32_t low = (uint32_t)dice();
		double v;
		float f;

		memcpy(&v, &bits, sizeof v);
		check(v);
		memcpy(&f, &low, sizeof f);
		check_one((double)f, true);
	}
}

static void numbers_of_usual_size_are_written_as_printf_does(void)
{
	for (uint64_t i = 0; i < n_rounds; i++) {
		double fraction = ldexp((double)(dice() >> 11), -53);

		check(fraction * pow(10, (int)(dice() % 45) - 22));
		check((double)(dice() % 1000000000) / pow(10, (double)(dice() % 12)));
		check((double)(dice() % (1ull << 56)) / 8); /* halves: rounded to even */
		check((double)(dice() % (1u << 24)) / (1u << dice() % 24)); /* ties of singles */
	}
}

static void powers_and_their_neighbours_are_written_as_printf_does(void)
{
	char text[32];

	for (int e = -340; e < 310; e++) {
		for (int m = 1; m < 100; m += m < 12 ? 1 : 7) {
			snprintf(text, sizeof text, "%de%d", m, e);
			check_around(strtod(text, NULL));
		}
	}
	for (int e = -1074; e < 1024; e++)
		check_around(ldexp(1, e));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_rounds = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	run(random_bits_are_written_as_printf_does);
	run(numbers_of_usual_size_are_written_as_printf_does);
	run(powers_and_their_neighbours_are_written_as_printf_does);
	return test_status();
}
