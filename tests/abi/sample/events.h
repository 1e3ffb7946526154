/* SPDX-License-Identifier: MIT */
/* Events that several files of the sample use. */
#ifndef SAMPLE_EVENTS_H
#define SAMPLE_EVENTS_H

#include <stdbool.h>

#include <duet/duet.h>

#define SAMPLE_ELEMENTS 3

DUET_EVENT(abi, nothing);
DUET_EVENT(abi, one, (i32, number));

DUET_EVENT(abi, numbers, (i8, a), (i16, b), (i32, c), (i64, d), (u8, e), (u16, f), (u32, g),
	   (u64, h), (x8, i), (x16, j), (x32, k), (x64, l), (f32, m), (f64, n));

DUET_EVENT(abi, c_names, (int8_t, a), (int16_t, b), (int32_t, c), (int64_t, d), (uint8_t, e),
	   (uint16_t, f), (uint32_t, g), (uint64_t, h), (short, i), (int, j), (long, k),
	   (unsigned, l), (size_t, m), (bool, n), (float, o), (double, p), (char, q));

DUET_EVENT(abi, texts, (str, s), (str, none), (text(4), full), (text(8), early), (ptr, address));

DUET_EVENT(abi, arrays, (array(i32, 3), numbers), (array(f64, SAMPLE_ELEMENTS), reals),
	   (seq(u16), some), (seq(i64), empty));

DUET_EVENT(abi, names, (enumeration(u8, RED, GREEN = 5, BLUE), colour),
	   (enumeration(i32, MINUS = -1, ZERO), sign));

DUET_EVENT(abi, pointers, (seq(ptr), some), (array(ptr, 2), two), (seq(x8), bytes));

DUET_EVENT(abi, bounds, (enumeration(u64, TOP = 0xffffffffffffffff, SIXTEEN = 0x10u), u),
	   (enumeration(i8, LOW = -128, HIGH = 127), i));

/* Names that meet those of lengths, and each other's after a number is added. */
DUET_EVENT(abi, clash, (seq(u8), x), (u32, _x_length), (u32, x_1));

DUET_EVENT_LEVEL(abi, DUET_WARNING, warned, (str, why));

DUET_EVENT(abi, wide, (i32, f01), (i32, f02), (i32, f03), (i32, f04), (i32, f05), (i32, f06),
	   (i32, f07), (i32, f08), (i32, f09), (i32, f10), (i32, f11), (i32, f12), (i32, f13),
	   (i32, f14), (i32, f15), (i32, f16), (i32, f17), (i32, f18), (i32, f19), (i32, f20),
	   (i32, f21), (i32, f22), (i32, f23), (i32, f24), (i32, f25), (i32, f26), (i32, f27),
	   (i32, f28), (i32, f29), (i32, f30), (i32, f31), (i32, f32), (i32, f33), (i32, f34),
	   (i32, f35), (i32, f36), (i32, f37), (i32, f38), (i32, f39), (i32, f40));

/* A site in a function that every file has its copy of. */
static inline void in_header(int file)
{
	trace_mark(abi, in_header, "file %d", file);
}

#ifdef __cplusplus
extern "C" {
#endif
void second(void);
void archived(void);
void extra(void);
#ifdef __cplusplus
}
#endif

#endif
