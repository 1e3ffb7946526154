/* SPDX-License-Identifier: MIT */
/*
 * duet/map.h - apply a macro to each of up to 40 (type, field) pairs, in one pass.
 *
 * DUET_I_MAP(m, name, a, b) is `m a m b`.  DUET_I_LIST(m, none, name, a, b) is `m a, m b`, or
 * `none` without pairs.  DUET_I_TAIL is `, m a, m b`.  The name in front keeps the lists from being
 * empty, which C99 forbids.  tools/map.py generates the lines; more fields need more lines.
 */
#ifndef DUET_MAP_H
#define DUET_MAP_H

#define DUET_I_HEAD(...) DUET_I_HEAD_(__VA_ARGS__, ~)
#define DUET_I_HEAD_(name, ...) name
#define DUET_I_PASTE_(a, b) a##b
#define DUET_I_PASTE(a, b) DUET_I_PASTE_(a, b)
#define DUET_I_MAP(m, ...) DUET_I_PASTE(DUET_I_MAP_, DUET_I_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define DUET_I_TAIL(m, ...) DUET_I_PASTE(DUET_I_TAIL_, DUET_I_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define DUET_I_LIST(m, none, ...)                                                                  \
	DUET_I_PASTE(DUET_I_LIST_, DUET_I_COUNT(__VA_ARGS__))(m, none, __VA_ARGS__)

/* The number of pairs after the name. */
#define DUET_I_COUNT(...)                                                                          \
	DUET_I_COUNT_(__VA_ARGS__, more_than_40_fields, more_than_40_fields, more_than_40_fields,  \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields,               \
		      more_than_40_fields, more_than_40_fields, more_than_40_fields, 40, 39, 38,   \
		      37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19,  \
		      18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define DUET_I_COUNT_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,   \
		      a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31,   \
		      a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46,   \
		      a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61,   \
		      a62, a63, a64, n, ...)                                                       \
	n

#define DUET_I_MAP_0(m, name)
#define DUET_I_TAIL_0(m, name)
#define DUET_I_LIST_0(m, none, name) none
#define DUET_I_MAP_1(m, name, a) m a
#define DUET_I_TAIL_1(m, name, a) , m a
#define DUET_I_LIST_1(m, none, name, a) m a
#define DUET_I_MAP_2(m, name, a, ...) m a DUET_I_MAP_1(m, name, __VA_ARGS__)
#define DUET_I_TAIL_2(m, name, a, ...) , m a DUET_I_TAIL_1(m, name, __VA_ARGS__)
#define DUET_I_LIST_2(m, none, name, a, ...) m a DUET_I_TAIL_1(m, name, __VA_ARGS__)
#define DUET_I_MAP_3(m, name, a, ...) m a DUET_I_MAP_2(m, name, __VA_ARGS__)
#define DUET_I_TAIL_3(m, name, a, ...) , m a DUET_I_TAIL_2(m, name, __VA_ARGS__)
#define DUET_I_LIST_3(m, none, name, a, ...) m a DUET_I_TAIL_2(m, name, __VA_ARGS__)
#define DUET_I_MAP_4(m, name, a, ...) m a DUET_I_MAP_3(m, name, __VA_ARGS__)
#define DUET_I_TAIL_4(m, name, a, ...) , m a DUET_I_TAIL_3(m, name, __VA_ARGS__)
#define DUET_I_LIST_4(m, none, name, a, ...) m a DUET_I_TAIL_3(m, name, __VA_ARGS__)
#define DUET_I_MAP_5(m, name, a, ...) m a DUET_I_MAP_4(m, name, __VA_ARGS__)
#define DUET_I_TAIL_5(m, name, a, ...) , m a DUET_I_TAIL_4(m, name, __VA_ARGS__)
#define DUET_I_LIST_5(m, none, name, a, ...) m a DUET_I_TAIL_4(m, name, __VA_ARGS__)
#define DUET_I_MAP_6(m, name, a, ...) m a DUET_I_MAP_5(m, name, __VA_ARGS__)
#define DUET_I_TAIL_6(m, name, a, ...) , m a DUET_I_TAIL_5(m, name, __VA_ARGS__)
#define DUET_I_LIST_6(m, none, name, a, ...) m a DUET_I_TAIL_5(m, name, __VA_ARGS__)
#define DUET_I_MAP_7(m, name, a, ...) m a DUET_I_MAP_6(m, name, __VA_ARGS__)
#define DUET_I_TAIL_7(m, name, a, ...) , m a DUET_I_TAIL_6(m, name, __VA_ARGS__)
#define DUET_I_LIST_7(m, none, name, a, ...) m a DUET_I_TAIL_6(m, name, __VA_ARGS__)
#define DUET_I_MAP_8(m, name, a, ...) m a DUET_I_MAP_7(m, name, __VA_ARGS__)
#define DUET_I_TAIL_8(m, name, a, ...) , m a DUET_I_TAIL_7(m, name, __VA_ARGS__)
#define DUET_I_LIST_8(m, none, name, a, ...) m a DUET_I_TAIL_7(m, name, __VA_ARGS__)
#define DUET_I_MAP_9(m, name, a, ...) m a DUET_I_MAP_8(m, name, __VA_ARGS__)
#define DUET_I_TAIL_9(m, name, a, ...) , m a DUET_I_TAIL_8(m, name, __VA_ARGS__)
#define DUET_I_LIST_9(m, none, name, a, ...) m a DUET_I_TAIL_8(m, name, __VA_ARGS__)
#define DUET_I_MAP_10(m, name, a, ...) m a DUET_I_MAP_9(m, name, __VA_ARGS__)
#define DUET_I_TAIL_10(m, name, a, ...) , m a DUET_I_TAIL_9(m, name, __VA_ARGS__)
#define DUET_I_LIST_10(m, none, name, a, ...) m a DUET_I_TAIL_9(m, name, __VA_ARGS__)
#define DUET_I_MAP_11(m, name, a, ...) m a DUET_I_MAP_10(m, name, __VA_ARGS__)
#define DUET_I_TAIL_11(m, name, a, ...) , m a DUET_I_TAIL_10(m, name, __VA_ARGS__)
#define DUET_I_LIST_11(m, none, name, a, ...) m a DUET_I_TAIL_10(m, name, __VA_ARGS__)
#define DUET_I_MAP_12(m, name, a, ...) m a DUET_I_MAP_11(m, name, __VA_ARGS__)
#define DUET_I_TAIL_12(m, name, a, ...) , m a DUET_I_TAIL_11(m, name, __VA_ARGS__)
#define DUET_I_LIST_12(m, none, name, a, ...) m a DUET_I_TAIL_11(m, name, __VA_ARGS__)
#define DUET_I_MAP_13(m, name, a, ...) m a DUET_I_MAP_12(m, name, __VA_ARGS__)
#define DUET_I_TAIL_13(m, name, a, ...) , m a DUET_I_TAIL_12(m, name, __VA_ARGS__)
#define DUET_I_LIST_13(m, none, name, a, ...) m a DUET_I_TAIL_12(m, name, __VA_ARGS__)
#define DUET_I_MAP_14(m, name, a, ...) m a DUET_I_MAP_13(m, name, __VA_ARGS__)
#define DUET_I_TAIL_14(m, name, a, ...) , m a DUET_I_TAIL_13(m, name, __VA_ARGS__)
#define DUET_I_LIST_14(m, none, name, a, ...) m a DUET_I_TAIL_13(m, name, __VA_ARGS__)
#define DUET_I_MAP_15(m, name, a, ...) m a DUET_I_MAP_14(m, name, __VA_ARGS__)
#define DUET_I_TAIL_15(m, name, a, ...) , m a DUET_I_TAIL_14(m, name, __VA_ARGS__)
#define DUET_I_LIST_15(m, none, name, a, ...) m a DUET_I_TAIL_14(m, name, __VA_ARGS__)
#define DUET_I_MAP_16(m, name, a, ...) m a DUET_I_MAP_15(m, name, __VA_ARGS__)
#define DUET_I_TAIL_16(m, name, a, ...) , m a DUET_I_TAIL_15(m, name, __VA_ARGS__)
#define DUET_I_LIST_16(m, none, name, a, ...) m a DUET_I_TAIL_15(m, name, __VA_ARGS__)
#define DUET_I_MAP_17(m, name, a, ...) m a DUET_I_MAP_16(m, name, __VA_ARGS__)
#define DUET_I_TAIL_17(m, name, a, ...) , m a DUET_I_TAIL_16(m, name, __VA_ARGS__)
#define DUET_I_LIST_17(m, none, name, a, ...) m a DUET_I_TAIL_16(m, name, __VA_ARGS__)
#define DUET_I_MAP_18(m, name, a, ...) m a DUET_I_MAP_17(m, name, __VA_ARGS__)
#define DUET_I_TAIL_18(m, name, a, ...) , m a DUET_I_TAIL_17(m, name, __VA_ARGS__)
#define DUET_I_LIST_18(m, none, name, a, ...) m a DUET_I_TAIL_17(m, name, __VA_ARGS__)
#define DUET_I_MAP_19(m, name, a, ...) m a DUET_I_MAP_18(m, name, __VA_ARGS__)
#define DUET_I_TAIL_19(m, name, a, ...) , m a DUET_I_TAIL_18(m, name, __VA_ARGS__)
#define DUET_I_LIST_19(m, none, name, a, ...) m a DUET_I_TAIL_18(m, name, __VA_ARGS__)
#define DUET_I_MAP_20(m, name, a, ...) m a DUET_I_MAP_19(m, name, __VA_ARGS__)
#define DUET_I_TAIL_20(m, name, a, ...) , m a DUET_I_TAIL_19(m, name, __VA_ARGS__)
#define DUET_I_LIST_20(m, none, name, a, ...) m a DUET_I_TAIL_19(m, name, __VA_ARGS__)
#define DUET_I_MAP_21(m, name, a, ...) m a DUET_I_MAP_20(m, name, __VA_ARGS__)
#define DUET_I_TAIL_21(m, name, a, ...) , m a DUET_I_TAIL_20(m, name, __VA_ARGS__)
#define DUET_I_LIST_21(m, none, name, a, ...) m a DUET_I_TAIL_20(m, name, __VA_ARGS__)
#define DUET_I_MAP_22(m, name, a, ...) m a DUET_I_MAP_21(m, name, __VA_ARGS__)
#define DUET_I_TAIL_22(m, name, a, ...) , m a DUET_I_TAIL_21(m, name, __VA_ARGS__)
#define DUET_I_LIST_22(m, none, name, a, ...) m a DUET_I_TAIL_21(m, name, __VA_ARGS__)
#define DUET_I_MAP_23(m, name, a, ...) m a DUET_I_MAP_22(m, name, __VA_ARGS__)
#define DUET_I_TAIL_23(m, name, a, ...) , m a DUET_I_TAIL_22(m, name, __VA_ARGS__)
#define DUET_I_LIST_23(m, none, name, a, ...) m a DUET_I_TAIL_22(m, name, __VA_ARGS__)
#define DUET_I_MAP_24(m, name, a, ...) m a DUET_I_MAP_23(m, name, __VA_ARGS__)
#define DUET_I_TAIL_24(m, name, a, ...) , m a DUET_I_TAIL_23(m, name, __VA_ARGS__)
#define DUET_I_LIST_24(m, none, name, a, ...) m a DUET_I_TAIL_23(m, name, __VA_ARGS__)
#define DUET_I_MAP_25(m, name, a, ...) m a DUET_I_MAP_24(m, name, __VA_ARGS__)
#define DUET_I_TAIL_25(m, name, a, ...) , m a DUET_I_TAIL_24(m, name, __VA_ARGS__)
#define DUET_I_LIST_25(m, none, name, a, ...) m a DUET_I_TAIL_24(m, name, __VA_ARGS__)
#define DUET_I_MAP_26(m, name, a, ...) m a DUET_I_MAP_25(m, name, __VA_ARGS__)
#define DUET_I_TAIL_26(m, name, a, ...) , m a DUET_I_TAIL_25(m, name, __VA_ARGS__)
#define DUET_I_LIST_26(m, none, name, a, ...) m a DUET_I_TAIL_25(m, name, __VA_ARGS__)
#define DUET_I_MAP_27(m, name, a, ...) m a DUET_I_MAP_26(m, name, __VA_ARGS__)
#define DUET_I_TAIL_27(m, name, a, ...) , m a DUET_I_TAIL_26(m, name, __VA_ARGS__)
#define DUET_I_LIST_27(m, none, name, a, ...) m a DUET_I_TAIL_26(m, name, __VA_ARGS__)
#define DUET_I_MAP_28(m, name, a, ...) m a DUET_I_MAP_27(m, name, __VA_ARGS__)
#define DUET_I_TAIL_28(m, name, a, ...) , m a DUET_I_TAIL_27(m, name, __VA_ARGS__)
#define DUET_I_LIST_28(m, none, name, a, ...) m a DUET_I_TAIL_27(m, name, __VA_ARGS__)
#define DUET_I_MAP_29(m, name, a, ...) m a DUET_I_MAP_28(m, name, __VA_ARGS__)
#define DUET_I_TAIL_29(m, name, a, ...) , m a DUET_I_TAIL_28(m, name, __VA_ARGS__)
#define DUET_I_LIST_29(m, none, name, a, ...) m a DUET_I_TAIL_28(m, name, __VA_ARGS__)
#define DUET_I_MAP_30(m, name, a, ...) m a DUET_I_MAP_29(m, name, __VA_ARGS__)
#define DUET_I_TAIL_30(m, name, a, ...) , m a DUET_I_TAIL_29(m, name, __VA_ARGS__)
#define DUET_I_LIST_30(m, none, name, a, ...) m a DUET_I_TAIL_29(m, name, __VA_ARGS__)
#define DUET_I_MAP_31(m, name, a, ...) m a DUET_I_MAP_30(m, name, __VA_ARGS__)
#define DUET_I_TAIL_31(m, name, a, ...) , m a DUET_I_TAIL_30(m, name, __VA_ARGS__)
#define DUET_I_LIST_31(m, none, name, a, ...) m a DUET_I_TAIL_30(m, name, __VA_ARGS__)
#define DUET_I_MAP_32(m, name, a, ...) m a DUET_I_MAP_31(m, name, __VA_ARGS__)
#define DUET_I_TAIL_32(m, name, a, ...) , m a DUET_I_TAIL_31(m, name, __VA_ARGS__)
#define DUET_I_LIST_32(m, none, name, a, ...) m a DUET_I_TAIL_31(m, name, __VA_ARGS__)
#define DUET_I_MAP_33(m, name, a, ...) m a DUET_I_MAP_32(m, name, __VA_ARGS__)
#define DUET_I_TAIL_33(m, name, a, ...) , m a DUET_I_TAIL_32(m, name, __VA_ARGS__)
#define DUET_I_LIST_33(m, none, name, a, ...) m a DUET_I_TAIL_32(m, name, __VA_ARGS__)
#define DUET_I_MAP_34(m, name, a, ...) m a DUET_I_MAP_33(m, name, __VA_ARGS__)
#define DUET_I_TAIL_34(m, name, a, ...) , m a DUET_I_TAIL_33(m, name, __VA_ARGS__)
#define DUET_I_LIST_34(m, none, name, a, ...) m a DUET_I_TAIL_33(m, name, __VA_ARGS__)
#define DUET_I_MAP_35(m, name, a, ...) m a DUET_I_MAP_34(m, name, __VA_ARGS__)
#define DUET_I_TAIL_35(m, name, a, ...) , m a DUET_I_TAIL_34(m, name, __VA_ARGS__)
#define DUET_I_LIST_35(m, none, name, a, ...) m a DUET_I_TAIL_34(m, name, __VA_ARGS__)
#define DUET_I_MAP_36(m, name, a, ...) m a DUET_I_MAP_35(m, name, __VA_ARGS__)
#define DUET_I_TAIL_36(m, name, a, ...) , m a DUET_I_TAIL_35(m, name, __VA_ARGS__)
#define DUET_I_LIST_36(m, none, name, a, ...) m a DUET_I_TAIL_35(m, name, __VA_ARGS__)
#define DUET_I_MAP_37(m, name, a, ...) m a DUET_I_MAP_36(m, name, __VA_ARGS__)
#define DUET_I_TAIL_37(m, name, a, ...) , m a DUET_I_TAIL_36(m, name, __VA_ARGS__)
#define DUET_I_LIST_37(m, none, name, a, ...) m a DUET_I_TAIL_36(m, name, __VA_ARGS__)
#define DUET_I_MAP_38(m, name, a, ...) m a DUET_I_MAP_37(m, name, __VA_ARGS__)
#define DUET_I_TAIL_38(m, name, a, ...) , m a DUET_I_TAIL_37(m, name, __VA_ARGS__)
#define DUET_I_LIST_38(m, none, name, a, ...) m a DUET_I_TAIL_37(m, name, __VA_ARGS__)
#define DUET_I_MAP_39(m, name, a, ...) m a DUET_I_MAP_38(m, name, __VA_ARGS__)
#define DUET_I_TAIL_39(m, name, a, ...) , m a DUET_I_TAIL_38(m, name, __VA_ARGS__)
#define DUET_I_LIST_39(m, none, name, a, ...) m a DUET_I_TAIL_38(m, name, __VA_ARGS__)
#define DUET_I_MAP_40(m, name, a, ...) m a DUET_I_MAP_39(m, name, __VA_ARGS__)
#define DUET_I_TAIL_40(m, name, a, ...) , m a DUET_I_TAIL_39(m, name, __VA_ARGS__)
#define DUET_I_LIST_40(m, none, name, a, ...) m a DUET_I_TAIL_39(m, name, __VA_ARGS__)

#endif
