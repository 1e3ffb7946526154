/* SPDX-License-Identifier: MIT */
/*
 * filter/number.h - the numbers of filters.
 *
 * An integer is any number from -2^63 to 2^64 - 1: the signed and unsigned fields of 64 bits in one
 * type, so that no comparison and no difference of two fields has a wrong sign.  It is stored as
 * its low 64 bits and whether it is negative: two's complement of 65 bits.  A result outside is
 * taken modulo 2^64.  Division by 0 is 0, and so is its remainder.
 */
#ifndef FILTER_NUMBER_H
#define FILTER_NUMBER_H

#include "filter/filter.h"

static inline struct filter_value number_signed(int64_t i)
{
	return (struct filter_value){ .bits = (uint64_t)i, .more = i < 0 };
}

static inline struct filter_value number_unsigned(uint64_t u)
{
	return (struct filter_value){ .bits = u };
}

static inline bool number_is_less(struct filter_value a, struct filter_value b)
{
	return a.more != b.more ? a.more > b.more : a.bits < b.bits;
}

static inline bool number_is_same(struct filter_value a, struct filter_value b)
{
	return a.bits == b.bits && a.more == b.more;
}

/* @high * 2^64 + @low. */
static inline struct filter_value number_from(int high, uint64_t low)
{
	return (struct filter_value){ .bits = low, .more = high == -1 && low >> 63 };
}

static inline struct filter_value number_add(struct filter_value a, struct filter_value b)
{
	uint64_t low = a.bits + b.bits;

	return number_from((low < a.bits) - (int)a.more - (int)b.more, low);
}

static inline struct filter_value number_subtract(struct filter_value a, struct filter_value b)
{
	return number_from((int)b.more - (int)a.more - (a.bits < b.bits), a.bits - b.bits);
}

static inline uint64_t number_size(struct filter_value a)
{
	return a.more ? -a.bits : a.bits;
}

/* The number of that magnitude and sign, modulo 2^64 if it is too large. */
static inline struct filter_value number_of_size(bool is_negative, uint64_t size)
{
	if (!is_negative)
		return number_unsigned(size);
	return (struct filter_value){ .bits = -size, .more = size && size <= 1ull << 63 };
}

static inline struct filter_value number_multiply(struct filter_value a, struct filter_value b)
{
	uint64_t size;

	if (__builtin_mul_overflow(number_size(a), number_size(b), &size))
		return number_unsigned(a.bits * b.bits);
	return number_of_size(a.more != b.more, size);
}

/* Towards zero, as C does. */
static inline struct filter_value number_divide(struct filter_value a, struct filter_value b)
{
	if (!b.bits)
		return number_unsigned(0);
	return number_of_size(a.more != b.more, number_size(a) / number_size(b));
}

static inline struct filter_value number_remainder(struct filter_value a, struct filter_value b)
{
	if (!b.bits)
		return number_unsigned(0);
	return number_of_size(a.more, number_size(a) % number_size(b));
}

/* A shift by less than 0 is 0.  To the right the sign is shifted in. */
static inline struct filter_value number_shift_left(struct filter_value a, struct filter_value n)
{
	uint64_t bits;

	if (n.bits > 63) /* less than 0 too */
		return number_unsigned(0);
	bits = a.bits << n.bits;
	return (struct filter_value){
		.bits = bits,
		.more = a.more && (uint64_t)((int64_t)bits >> n.bits) == a.bits,
	};
}

static inline struct filter_value number_shift_right(struct filter_value a, struct filter_value n)
{
	if (n.more)
		return number_unsigned(0);
	if (a.more)
		return number_signed((int64_t)a.bits >> (n.bits > 63 ? 63 : n.bits));
	return number_unsigned(n.bits > 63 ? 0 : a.bits >> n.bits);
}

static inline struct filter_value number_compute(enum abi_filter_op op, struct filter_value a,
						 struct filter_value b)
{
	switch (op) {
	case ABI_FILTER_AND:
		return number_from(-(int)(a.more & b.more), a.bits & b.bits);
	case ABI_FILTER_OR:
		return number_from(-(int)(a.more | b.more), a.bits | b.bits);
	case ABI_FILTER_XOR:
		return number_from(-(int)(a.more ^ b.more), a.bits ^ b.bits);
	case ABI_FILTER_SHIFT_LEFT:
		return number_shift_left(a, b);
	case ABI_FILTER_SHIFT_RIGHT:
		return number_shift_right(a, b);
	case ABI_FILTER_ADD:
		return number_add(a, b);
	case ABI_FILTER_SUB:
		return number_subtract(a, b);
	case ABI_FILTER_MUL:
		return number_multiply(a, b);
	case ABI_FILTER_DIV:
		return number_divide(a, b);
	default:
		return number_remainder(a, b);
	}
}

static inline double number_to_real(struct filter_value a)
{
	return a.more ? (double)(int64_t)a.bits : (double)a.bits;
}

/* A real has no remainder; division by 0 is 0 here too. */
static inline double real_compute(enum abi_filter_op op, double a, double b)
{
	switch (op) {
	case ABI_FILTER_ADD:
		return a + b;
	case ABI_FILTER_SUB:
		return a - b;
	case ABI_FILTER_MUL:
		return a * b;
	default:
		return b != 0 ? a / b : 0;
	}
}

/* -1, 0, 1: @a is smaller, equal, larger; 2: @b is not a number.  Exact, also where a double cannot
 * hold all digits of @a. */
static inline int number_against_real(struct filter_value a, double b)
{
	struct filter_value whole;

	if (b != b)
		return 2;
	if (b >= 18446744073709551616.0)
		return -1;
	if (b < -9223372036854775808.0)
		return 1;
	whole = b < 0 ? number_signed((int64_t)b) : number_unsigned((uint64_t)b); /* towards zero */
	if (!number_is_same(a, whole))
		return number_is_less(a, whole) ? -1 : 1;
	return number_to_real(whole) < b ? -1 : number_to_real(whole) > b;
}

/* The result of a comparison from an order of -1, 0, 1, or 2 (unordered: only != is true). */
static inline bool number_order_is(enum abi_filter_op op, int order)
{
	switch (op) {
	case ABI_FILTER_EQ:
		return order == 0;
	case ABI_FILTER_NE:
		return order != 0;
	case ABI_FILTER_LT:
		return order == -1;
	case ABI_FILTER_LE:
		return order == -1 || order == 0;
	case ABI_FILTER_GT:
		return order == 1;
	default:
		return order == 1 || order == 0;
	}
}

#endif
