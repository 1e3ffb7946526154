/* SPDX-License-Identifier: MIT */
/* tests/cmd/read/sample_tp.h - an LTTng-UST provider with every kind of field it can write. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sample
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./sample_tp.h"
#if !defined(SAMPLE_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SAMPLE_TP_H
#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(
	sample, colour,
	LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("red", 0) lttng_ust_field_enum_value(
		"green \"one\"", 1) lttng_ust_field_enum_range("warm", 10, 20)
					 lttng_ust_field_enum_value("negative", -3)
						 lttng_ust_field_enum_auto("after")))

LTTNG_UST_TRACEPOINT_ENUM(
	sample, wide,
	LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("zero", 0)
					 lttng_ust_field_enum_value("huge", 0xfffffffffffffff0ULL)))

LTTNG_UST_TRACEPOINT_EVENT(sample, empty, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(
	sample, integers, LTTNG_UST_TP_ARGS(uint64_t, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, i8, (int8_t)v) lttng_ust_field_integer(
			uint8_t, u8, (uint8_t)v) lttng_ust_field_integer(int16_t, i16, (int16_t)v)
			lttng_ust_field_integer(uint16_t, u16, (uint16_t)v) lttng_ust_field_integer(
				int32_t, i32, (int32_t)v) lttng_ust_field_integer(uint32_t, u32,
										  (uint32_t)v)
				lttng_ust_field_integer(
					int64_t, i64, (int64_t)v) lttng_ust_field_integer(uint64_t,
											  u64, v)
					lttng_ust_field_integer_hex(
						uint32_t, hex32,
						(uint32_t)v) lttng_ust_field_integer_hex(int64_t,
											 hex64,
											 (int64_t)v)
						lttng_ust_field_integer_network(uint16_t, net16,
										(uint16_t)v)
							lttng_ust_field_integer_network(int32_t,
											net32,
											(int32_t)v)
								lttng_ust_field_integer_network_hex(
									uint64_t, net64, v)))

LTTNG_UST_TRACEPOINT_EVENT(sample, floats, LTTNG_UST_TP_ARGS(double, d),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_float(float, f, (float)d)
						       lttng_ust_field_float(double, d, d)))

LTTNG_UST_TRACEPOINT_EVENT(
	sample, texts, LTTNG_UST_TP_ARGS(const char *, s, size_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(s, s) lttng_ust_field_array_text(char, fixed, s,
										    8)
				    lttng_ust_field_sequence_text(char, counted, s, size_t, n)
					    lttng_ust_field_integer(int, after, 42)))

LTTNG_UST_TRACEPOINT_EVENT(
	sample, arrays, LTTNG_UST_TP_ARGS(const int32_t *, a, size_t, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(int32_t, three, a, 3) lttng_ust_field_array_hex(
			int16_t, hex, (const int16_t *)a,
			4) lttng_ust_field_array_network(int32_t, net, a, 2)
			lttng_ust_field_sequence(int32_t, seq, a, size_t, n)
				lttng_ust_field_sequence_hex(uint8_t, bytes, (const uint8_t *)a,
							     uint8_t, (uint8_t)n)
					lttng_ust_field_sequence(int64_t, longs, (const int64_t *)a,
								 uint16_t, n / 2)
						lttng_ust_field_sequence_network_hex(
							uint32_t, nets, (const uint32_t *)a,
							unsigned int, n)
							lttng_ust_field_integer(int, after, 7)))

LTTNG_UST_TRACEPOINT_EVENT(
	sample, enums, LTTNG_UST_TP_ARGS(int, c, uint64_t, w),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_enum(sample, colour, int, c, c)
				    lttng_ust_field_enum(sample, colour, int8_t, c8, (int8_t)c)
					    lttng_ust_field_enum(sample, wide, uint64_t, w, w)))

#define SAMPLE_TINY(name)                                                                          \
	LTTNG_UST_TRACEPOINT_EVENT(sample, name, LTTNG_UST_TP_ARGS(int, x),                        \
				   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, x, x)))
/* More than 31 classes, so that some ids need the extended header. */
/* Each run of clang-format would move one more to a line of its own. */
/* clang-format off */
SAMPLE_TINY(t00) SAMPLE_TINY(t01) SAMPLE_TINY(t02) SAMPLE_TINY(t03) SAMPLE_TINY(t04)
SAMPLE_TINY(t05) SAMPLE_TINY(t06) SAMPLE_TINY(t07) SAMPLE_TINY(t08) SAMPLE_TINY(t09)
SAMPLE_TINY(t10) SAMPLE_TINY(t11) SAMPLE_TINY(t12) SAMPLE_TINY(t13) SAMPLE_TINY(t14)
SAMPLE_TINY(t15) SAMPLE_TINY(t16) SAMPLE_TINY(t17) SAMPLE_TINY(t18) SAMPLE_TINY(t19)
SAMPLE_TINY(t20) SAMPLE_TINY(t21) SAMPLE_TINY(t22) SAMPLE_TINY(t23) SAMPLE_TINY(t24)
SAMPLE_TINY(t25) SAMPLE_TINY(t26) SAMPLE_TINY(t27) SAMPLE_TINY(t28) SAMPLE_TINY(t29)
/* clang-format on */
#endif
#include <lttng/tracepoint-event.h>
