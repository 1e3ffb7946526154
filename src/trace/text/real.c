/* SPDX-License-Identifier: MIT */
/*
 * trace/text/real.c - floating point numbers as text: the %.15g, %.16g or %.17g that reads back as the
 * same number, whichever is first; for single precision %.6g to %.9g.
 *
 * printf() and strtod() for each of these took most of the time of a line.  A number is f * 2^e with
 * an integer f.  To D digits it is the integer N nearest to f * 2^e * 10^k, where k depends on its
 * magnitude.  For 0 <= k <= 32 the product f * 5^k fits 128 bits, and what is left is a shift:
 *
 *   (1) N is exact, and rounded to even as printf() does
 *   (2) N * 10^-k reads back as the number if it is closer than half the distance to its neighbour:
 *       |N * 2^s - f * 5^k| < 5^k / 2, with s = -(e + k); the neighbour below a power of two is at
 *       half the distance.  5^k is odd, so a tie is impossible
 *
 * Singles of usual size need no more than doubles for that (`add_single`).  Two decimals of 15 digits never read back as the same double, so one of 15 that does is the right
 * one, however it was found (`first_try`).  Numbers too small or too large for this go by printf().
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "trace/text/output.h"

enum { POWERS = 33, DIGITS_DOUBLE = 15 };

typedef unsigned __int128 u128;

static const double tens[] = { 1e0,  1e1,  1e2,	 1e3,  1e4,  1e5,  1e6,	 1e7,
			       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
			       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
enum { TENS = sizeof tens / sizeof *tens };

static const uint64_t integer_tens[] = { 1ull,
					 10ull,
					 100ull,
					 1000ull,
					 10000ull,
					 100000ull,
					 1000000ull,
					 10000000ull,
					 100000000ull,
					 1000000000ull,
					 10000000000ull,
					 100000000000ull,
					 1000000000000ull,
					 10000000000000ull,
					 100000000000000ull,
					 1000000000000000ull,
					 10000000000000000ull,
					 100000000000000000ull };

/* 5^27 is the largest that fits 64 bits. */
static u128 power_of_five(int k)
{
	static const uint64_t fives[] = { 1ull,
					  5ull,
					  25ull,
					  125ull,
					  625ull,
					  3125ull,
					  15625ull,
					  78125ull,
					  390625ull,
					  1953125ull,
					  9765625ull,
					  48828125ull,
					  244140625ull,
					  1220703125ull,
					  6103515625ull,
					  30517578125ull,
					  152587890625ull,
					  762939453125ull,
					  3814697265625ull,
					  19073486328125ull,
					  95367431640625ull,
					  476837158203125ull,
					  2384185791015625ull,
					  11920928955078125ull,
					  59604644775390625ull,
					  298023223876953125ull,
					  1490116119384765625ull,
					  7450580596923828125ull };

	return k < 28 ? fives[k] : (u128)fives[27] * fives[k - 27];
}

/* A positive number, and its decimal: n * 10^-k. */
struct real {
	uint64_t f;
	int e;
	bool is_power; /* of two: its neighbour below is closer */
	uint64_t n;
	int k;
};

static struct real take_apart(double v, bool is_single)
{
	struct real r = { 0 };
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	r.f = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	r.e = (int)(bits >> 52) - 1075;
	r.is_power = r.f == 1ull << 52;
	if (is_single) { /* a single has 24 bits */
		r.f >>= 29;
		r.e += 29;
	}
	return r;
}

/* The number to @digits digits, if its first digit has the weight 10^@weight.  False: it is beyond
 * 128 bits. */
static bool round_to(struct real *r, int digits, int weight)
{
	int k = digits - 1 - weight, s = -(r->e + k);
	u128 product, rest, half;

	if (k < 0 || k >= POWERS || s < -8 || s > 126)
		return false;
	product = r->f * power_of_five(k);
	if (s < 1) { /* an integer: exact */
		if (product >= integer_tens[17] >> 8)
			return false;
		r->n = (uint64_t)product << -s;
		r->k = k;
		return true;
	}
	half = (u128)1 << (s - 1);
	rest = product & ((half << 1) - 1);
	if (product >> s >= 1000000000000000000u)
		return false;
	r->n = (uint64_t)(product >> s);
	r->n += rest > half || (rest == half && r->n & 1);
	r->k = k;
	return true;
}

/* The same for any weight: @guess is right or one off. */
static bool round_near(struct real *r, int digits, int *guess)
{
	struct real low;

	if (!round_to(r, digits, *guess))
		return false;
	if (r->n >= integer_tens[digits]) /* of a larger weight, or rounded up to it */
		return round_to(r, digits, ++*guess);
	if (r->n > integer_tens[digits - 1])
		return true;
	low = *r;
	if (!round_to(&low, digits, *guess - 1))
		return false;
	if (low.n < integer_tens[digits]) {
		*r = low;
		--*guess;
	}
	return true;
}

static bool reads_back(const struct real *r)
{
	u128 five = power_of_five(r->k), is = r->f * five, read;

	if (r->e + r->k >= 0)
		return true;
	read = (u128)r->n << -(r->e + r->k);
	if (read >= is)
		return (read - is) * 2 < five;
	return (is - read) * (r->is_power ? 4 : 2) < five;
}

/* Most numbers have few digits.  Integer and power of ten are exact in a double, so their quotient
 * is what strtod() reads (Clinger 1990). */
static bool first_try(struct real *r, double v, int weight)
{
	int k = DIGITS_DOUBLE - 1 - weight;
	double n;

	if (k < 0 || k >= TENS)
		return false;
	n = v * tens[k] + 0.5;
	if (n < 1e14 || n >= 1e15)
		return false;
	r->n = (uint64_t)n;
	r->k = k;
	return (double)r->n / tens[k] == v;
}

/* The weight of the first digit, or one more or less.  1233 / 4096 is log10(2). */
static int guess_weight(const struct real *r, double v)
{
	int bits = 63 - __builtin_clzll(r->f) + r->e, weight = (bits * 1233) >> 12;

	if (weight + 1 >= 0 && weight + 1 < TENS)
		return v >= tens[weight + 1] ? weight + 1 : weight;
	if (weight + 1 < 0 && -weight - 1 < TENS)
		return v * tens[-weight - 1] >= 1 ? weight + 1 : weight;
	return weight;
}

/* The most digits are 17: blocks of fixed size need no call. */
enum { TEXT_BLOCK = 24 };

static inline void put_digits(struct out *o, const char *text, int n)
{
	memcpy(o->at, text, TEXT_BLOCK);
	o->at += n;
}

/* 2^@e of a normal double. */
static double ldexp_of(int e)
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Writes as %.@digitsg does; @weight is that of the first digit. */
static void put_real(struct out *o, uint64_t n, int digits, int weight)
{
	char text[2 * TEXT_BLOCK] = "", *at = text;
	int last;

	out_put_u64(text, n);
	for (last = digits; last > 1 && text[last - 1] == '0';)
		last--;
	if (weight < -4 || weight >= digits) {
		out_byte(o, *at++);
		if (last > 1)
			out_byte(o, '.');
		out_bytes(o, at, (size_t)last - 1);
		out_bytes(o, weight < 0 ? "e-" : "e+", 2);
		weight = weight < 0 ? -weight : weight;
		if (weight < 10)
			out_byte(o, '0');
		return out_u64(o, (uint64_t)weight);
	}
	if (weight < 0) {
		out_bytes(o, "0.000", (size_t)(1 - weight));
		return put_digits(o, text, last);
	}
	put_digits(o, text, weight + 1);
	if (last <= weight + 1)
		return out_literal(o, ".0");
	out_byte(o, '.');
	put_digits(o, text + weight + 1, last - weight - 1);
}

/*
 * Single precision, by doubles.  For 0 <= k <= 12 all of this is exact: v has 24 bits and 5^12 has 28, so
 * v * 10^k has 52; the nearest integer n to it, their difference, and half the distance of v to its
 * neighbour times 10^k, a power of two times 5^k.  So (1) and (2) hold.  False: k is another.
 */
static bool add_single(struct out *o, double v, const struct real *r, int weight)
{
	enum { DIGITS = 6, MOST = 9, EXACT = 12 };
	const double to_integer = 0x1p52;
	int digits = weight < DIGITS ? DIGITS : weight + 1;

	for (; digits <= MOST; digits++) {
		int k = digits - 1 - weight;
		double is, n, distance, most;

		if (k < 0 || k > EXACT)
			return false;
		is = v * tens[k];
		n = (is + to_integer) - to_integer; /* to even */
		distance = fabs(n - is);
		most = ldexp_of(r->e - 1) * tens[k];
		if (n < tens[digits - 1])
			return false; /* the weight is another */
		if (distance >= (n < is && r->is_power ? most / 2 : most))
			continue;
		if (n >= tens[digits]) /* rounded up to a larger weight */
			put_real(o, (uint64_t)n / 10, digits, weight + 1);
		else
			put_real(o, (uint64_t)n, digits, weight);
		return true;
	}
	return false;
}

/* False: the number is too small or too large. */
static bool add_exactly(struct out *o, double v, bool is_single)
{
	int digits = is_single ? 6 : DIGITS_DOUBLE, most = is_single ? 9 : 17, weight;
	struct real r = take_apart(v, is_single);

	if (v < 1e-25 || v >= 1e18)
		return false;
	weight = guess_weight(&r, v);
	if (is_single && add_single(o, v, &r, weight))
		return true;
	if (!is_single && first_try(&r, v, weight)) {
		put_real(o, r.n, digits, weight);
		return true;
	}
	if (digits - 1 < weight) { /* these digits are an integer, which is no other number's */
		if (v == (double)(uint64_t)v)
			return false;
		digits = weight + 1;
	}
	for (; digits <= most; digits++) {
		if (!round_near(&r, digits, &weight))
			return false;
		if (reads_back(&r)) {
			put_real(o, r.n, digits, weight);
			return true;
		}
	}
	return false;
}

static void add_by_printf(struct out *o, double v, bool is_single)
{
	int digits = is_single ? 6 : DIGITS_DOUBLE, most = is_single ? 9 : 17;
	char text[40];

	for (; digits <= most; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (is_single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	out_bytes(o, text, strlen(text));
	if (!strpbrk(text, ".e"))
		out_literal(o, ".0");
}

void out_real(struct out *o, double v, bool is_single)
{
	double size = fabs(v);

	if (size < 1e15 && v == (double)(int64_t)v) {
		if (signbit(v))
			out_byte(o, '-');
		out_u64(o, (uint64_t)size);
		return out_literal(o, ".0");
	}
	if (v < 0)
		out_byte(o, '-');
	if (!add_exactly(o, size, is_single))
		add_by_printf(o, size, is_single);
}
