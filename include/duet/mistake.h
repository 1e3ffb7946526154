/* SPDX-License-Identifier: MIT */
/*
 * duet/mistake.h - a mistake in DUET_EVENT is one error that names it.  Not for users.
 *
 * The preprocessor checks every field before anything is declared.  The first mistake becomes one
 * #pragma error at the place of DUET_EVENT, because a compiler shows a static assertion at the place
 * in this header.  The event then has functions that take any arguments, so its calls add no errors.
 *
 * DUET_I_FIND is `number, type, field, rest`, with the number of a macro DUET_I_EVENT_<number>:
 *
 *   0 no mistake      1 type      2 name of a field      3 no parentheses      4 no pair
 *   5 too many fields             6 no name of the event
 *
 * A name with other characters is no business of the preprocessor: DUET_I_CHECK_NAMES asserts it.
 */
#ifndef DUET_MISTAKE_H
#define DUET_MISTAKE_H

#include <duet/check.h>
#include <duet/map.h>
#include <duet/types.h>

#define DUET_I_2ND(...) DUET_I_2ND_(__VA_ARGS__, ~, ~)
#define DUET_I_2ND_(a, b, ...) b
#define DUET_I_JOIN2(a, b, c) DUET_I_JOIN2_(a, b, c)
#define DUET_I_JOIN2_(a, b, c) a##b##c
/* 1 if @x is something in parentheses, else 0. */
#define DUET_I_IS_PAREN(x) DUET_I_2ND(DUET_I_PAREN x, 0)
#define DUET_I_PAREN(...) ~, 1

#define DUET_I_FIND(name, ...)                                                                     \
	DUET_I_JOIN2(DUET_I_FIND_, DUET_I_IS_PAREN(name),                                          \
		     DUET_I_IS_PAREN(DUET_I_COUNT(__VA_ARGS__)))                                   \
	(__VA_ARGS__)
#define DUET_I_FIND_00(...)                                                                        \
	DUET_I_FOUND(DUET_I_FOUND_, DUET_I_MAP(DUET_I_FAULT, __VA_ARGS__) DUET_I_NONE)
#define DUET_I_FIND_01(...) 5, ~, ~, ~
#define DUET_I_FIND_10(...) 6, ~, ~, ~
#define DUET_I_FIND_11(...) 6, ~, ~, ~
#define DUET_I_FOUND(a, b) DUET_I_FOUND_(a, b)
#define DUET_I_FOUND_(a, b) a##b
/* The first word that the fields left behind. */
#define DUET_I_FOUND_DUET_I_NONE 0, ~, ~, ~
#define DUET_I_FOUND_DUET_I_TYPE(t, field) 1, t, field,
#define DUET_I_FOUND_DUET_I_NAME(t, field) 2, t, field,
#define DUET_I_FOUND_DUET_I_FAULT 3, ~, ~,
#define DUET_I_FOUND_DUET_I_PAIR(pair) 4, pair, ~,
#define DUET_I_FOUND_DUET_I_MANY 5, ~, ~,
#define DUET_I_MAP_more_than_40_fields(...) DUET_I_MANY

/* Nothing, or one of the words above. */
#define DUET_I_FAULT(...)                                                                          \
	DUET_I_FAULT_OF(DUET_I_ARITY(__VA_ARGS__, 3, 3, 3, 3, 3, 3, 2, 1, ~), __VA_ARGS__)
#define DUET_I_ARITY(a, b, c, d, e, f, g, h, n, ...) n
#define DUET_I_FAULT_OF(n, ...) DUET_I_FAULT_OF_(n, __VA_ARGS__)
#define DUET_I_FAULT_OF_(n, ...) DUET_I_FAULT_##n(__VA_ARGS__)
#define DUET_I_FAULT_1(...) DUET_I_PAIR((__VA_ARGS__))
#define DUET_I_FAULT_3(...) DUET_I_PAIR((__VA_ARGS__))
#define DUET_I_FAULT_2(t, field)                                                                   \
	DUET_I_SAY(DUET_I_BAD_INNER(DUET_I_2ND(DUET_I_INNER_##t, i8)),                             \
		   DUET_I_BAD(DUET_I_T_##t, ~, ~, ~, ~), DUET_I_2ND(DUET_I_KEYWORD_##field, 0), t, \
		   field)
#define DUET_I_SAY(...) DUET_I_SAY_(__VA_ARGS__)
#define DUET_I_SAY_(inner, outer, name, t, field) DUET_I_SAY_##inner##outer##name(t, field)
#define DUET_I_SAY_000(t, field)
#define DUET_I_SAY_001(t, field) DUET_I_NAME(t, field)
#define DUET_I_SAY_010(t, field) DUET_I_TYPE(t, field)
#define DUET_I_SAY_011(t, field) DUET_I_TYPE(t, field)
#define DUET_I_SAY_100(t, field) DUET_I_TYPE(t, field)
#define DUET_I_SAY_101(t, field) DUET_I_TYPE(t, field)
#define DUET_I_SAY_110(t, field) DUET_I_TYPE(t, field)
#define DUET_I_SAY_111(t, field) DUET_I_TYPE(t, field)

/* The T in array(T, N) and similar types. */
#define DUET_I_INNER_array(t, ...) ~, t
#define DUET_I_INNER_seq(t) ~, t
#define DUET_I_INNER_enumeration(t, ...) ~, t
#define DUET_I_BAD_INNER(t) DUET_I_BAD_INNER_(t)
#define DUET_I_BAD_INNER_(t) DUET_I_BAD_ELEMENT(DUET_I_T_##t, ~, ~, ~, ~)
#define DUET_I_BAD_ELEMENT(...) DUET_I_BAD_ELEMENT_(__VA_ARGS__)
#define DUET_I_BAD_ELEMENT_(kind, type, schema, n, ...) DUET_I_2ND(DUET_I_ELEMENT_IS_##kind(n), 1)
#define DUET_I_ELEMENT_IS_scalar(n) DUET_I_ALONE_##n()
#define DUET_I_ELEMENT_IS_pointer(n) DUET_I_ALONE_##n()
#define DUET_I_BAD(...) DUET_I_BAD_(__VA_ARGS__)
#define DUET_I_BAD_(kind, type, schema, n, ...) DUET_I_2ND(DUET_I_IS_##kind(n), 1)
#define DUET_I_IS_scalar(n) DUET_I_ALONE_##n()
#define DUET_I_IS_pointer(n) DUET_I_ALONE_##n()
#define DUET_I_IS_string(n) DUET_I_ALONE_##n()
#define DUET_I_IS_text(n) ~, 0
#define DUET_I_IS_array(n) ~, 0
#define DUET_I_IS_sequence(n) DUET_I_ALONE_##n()
/* In `char *` or `unsigned long` a second word follows the 1 of the first: no parenthesis does. */
#define DUET_I_ALONE_1() ~, 0

#define DUET_I_KEYWORD_ ~, 1
#define DUET_I_KEYWORD_auto ~, 1
#define DUET_I_KEYWORD_break ~, 1
#define DUET_I_KEYWORD_case ~, 1
#define DUET_I_KEYWORD_char ~, 1
#define DUET_I_KEYWORD_const ~, 1
#define DUET_I_KEYWORD_continue ~, 1
#define DUET_I_KEYWORD_default ~, 1
#define DUET_I_KEYWORD_do ~, 1
#define DUET_I_KEYWORD_double ~, 1
#define DUET_I_KEYWORD_else ~, 1
#define DUET_I_KEYWORD_enum ~, 1
#define DUET_I_KEYWORD_extern ~, 1
#define DUET_I_KEYWORD_float ~, 1
#define DUET_I_KEYWORD_for ~, 1
#define DUET_I_KEYWORD_goto ~, 1
#define DUET_I_KEYWORD_if ~, 1
#define DUET_I_KEYWORD_inline ~, 1
#define DUET_I_KEYWORD_int ~, 1
#define DUET_I_KEYWORD_long ~, 1
#define DUET_I_KEYWORD_register ~, 1
#define DUET_I_KEYWORD_return ~, 1
#define DUET_I_KEYWORD_short ~, 1
#define DUET_I_KEYWORD_signed ~, 1
#define DUET_I_KEYWORD_sizeof ~, 1
#define DUET_I_KEYWORD_static ~, 1
#define DUET_I_KEYWORD_struct ~, 1
#define DUET_I_KEYWORD_switch ~, 1
#define DUET_I_KEYWORD_typedef ~, 1
#define DUET_I_KEYWORD_union ~, 1
#define DUET_I_KEYWORD_unsigned ~, 1
#define DUET_I_KEYWORD_void ~, 1
#define DUET_I_KEYWORD_volatile ~, 1
#define DUET_I_KEYWORD_while ~, 1
#define DUET_I_KEYWORD__Bool ~, 1
#ifdef __cplusplus
#define DUET_I_KEYWORD_alignas ~, 1
#define DUET_I_KEYWORD_alignof ~, 1
#define DUET_I_KEYWORD_asm ~, 1
#define DUET_I_KEYWORD_bool ~, 1
#define DUET_I_KEYWORD_catch ~, 1
#define DUET_I_KEYWORD_class ~, 1
#define DUET_I_KEYWORD_const_cast ~, 1
#define DUET_I_KEYWORD_constexpr ~, 1
#define DUET_I_KEYWORD_decltype ~, 1
#define DUET_I_KEYWORD_delete ~, 1
#define DUET_I_KEYWORD_dynamic_cast ~, 1
#define DUET_I_KEYWORD_explicit ~, 1
#define DUET_I_KEYWORD_export ~, 1
#define DUET_I_KEYWORD_false ~, 1
#define DUET_I_KEYWORD_friend ~, 1
#define DUET_I_KEYWORD_mutable ~, 1
#define DUET_I_KEYWORD_namespace ~, 1
#define DUET_I_KEYWORD_new ~, 1
#define DUET_I_KEYWORD_noexcept ~, 1
#define DUET_I_KEYWORD_nullptr ~, 1
#define DUET_I_KEYWORD_operator ~, 1
#define DUET_I_KEYWORD_private ~, 1
#define DUET_I_KEYWORD_protected ~, 1
#define DUET_I_KEYWORD_public ~, 1
#define DUET_I_KEYWORD_reinterpret_cast ~, 1
#define DUET_I_KEYWORD_static_assert ~, 1
#define DUET_I_KEYWORD_static_cast ~, 1
#define DUET_I_KEYWORD_template ~, 1
#define DUET_I_KEYWORD_this ~, 1
#define DUET_I_KEYWORD_thread_local ~, 1
#define DUET_I_KEYWORD_throw ~, 1
#define DUET_I_KEYWORD_true ~, 1
#define DUET_I_KEYWORD_try ~, 1
#define DUET_I_KEYWORD_typeid ~, 1
#define DUET_I_KEYWORD_typename ~, 1
#define DUET_I_KEYWORD_using ~, 1
#define DUET_I_KEYWORD_virtual ~, 1
#define DUET_I_KEYWORD_wchar_t ~, 1
#else
#define DUET_I_KEYWORD_restrict ~, 1
#endif

/* The messages.  The parameters have names that no text has. */
#define DUET_I_ERROR(text) DUET_I_PRAGMA(GCC error text)
#define DUET_I_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define DUET_I_QUOTE(...) #__VA_ARGS__
/* (These are words, not code.) */
/* clang-format off */
#define DUET_I_EVENT_1(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, n_): field f_ has the unknown type t_; known: \
		i8 i16 i32 i64, u8..u64, x8..x64, f32 f64, char short int long unsigned size_t bool float double, \
		ptr, str, text(N), array(T, N), seq(T), enumeration(T, A, B...); T is a number or ptr)) \
	DUET_I_ANY(c_, n_)
#define DUET_I_EVENT_2(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, n_): a field needs a name that is no keyword: (t_, f_))) \
	DUET_I_ANY(c_, n_)
#define DUET_I_EVENT_3(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, __VA_ARGS__): each field stands in parentheses: (type, name))) \
	DUET_I_ANY(c_, n_)
#define DUET_I_EVENT_4(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, n_): a field is (type, name), not t_)) \
	DUET_I_ANY(c_, n_)
#define DUET_I_EVENT_5(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, n_): an event has at most 40 fields)) \
	DUET_I_ANY(c_, n_)
#define DUET_I_EVENT_6(t_, f_, c_, l_, n_, ...) \
	DUET_I_ERROR(DUET_I_QUOTE(DUET_EVENT(c_, n_): a name of the event is missing before the first field: \
		DUET_EVENT(channel, name, (type, field), ...))) \
	struct duet_i_event_##c_ /* takes the semicolon */
/* clang-format on */

/* Stand-ins, which take any arguments. */
#if defined __cplusplus || __STDC_VERSION__ >= 202311L
#define DUET_I_ANYTHING ...
#else
#define DUET_I_ANYTHING
#endif
#define DUET_I_ANY(channel, name)                                                                  \
	static inline __attribute__((unused)) void trace_##channel##_##name(DUET_I_ANYTHING)       \
	{                                                                                          \
	}                                                                                          \
	static inline __attribute__((unused)) int trace_##channel##_##name##_enabled(void)         \
	{                                                                                          \
		return 0;                                                                          \
	}                                                                                          \
	struct duet_i_event_##channel##_##name /* takes the semicolon */

/* Whether the names of an event are identifiers.  In C some other characters are searched. */
#ifdef __cplusplus
constexpr bool duet_i_is_letter(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' || (c & 128) != 0;
}
constexpr bool duet_i_is_name(const char *s, char before)
{
	return !*s || ((duet_i_is_letter(*s) || (*s >= '0' && *s <= '9' && before != ' ')) &&
		       duet_i_is_name(s + 1, *s));
}
/* Name by name: a compiler limits the depth. */
#define DUET_I_AND_NAME(t, field) &&duet_i_is_name(#field, ' ')
#define DUET_I_IS_EVENT(channel, name, ...)                                                        \
	(duet_i_is_name(#channel, ' ') && duet_i_is_name(#name, ' ')                               \
						  DUET_I_MAP(DUET_I_AND_NAME, __VA_ARGS__))
#else
#define DUET_I_NAME_TEXT(t, field) " " #field
#define DUET_I_IS_EVENT(channel, name, ...)                                                        \
	DUET_I_IS_NAMES(#channel " " #name DUET_I_MAP(DUET_I_NAME_TEXT, __VA_ARGS__))
#ifdef __clang__
#define DUET_I_HAS_NO(text, c) (__builtin_memchr(text, c, sizeof(text) - 1) == 0)
/* The condition of ?: makes clang fold what is no constant by the letter of C. */
#define DUET_I_IS_NAMES(text)                                                                      \
	(__builtin_constant_p(DUET_I_IS_NAMES_(text)) ? DUET_I_IS_NAMES_(text) : 1)
#define DUET_I_IS_NAMES_(text)                                                                     \
	(DUET_I_HAS_NO(text, '-') && DUET_I_HAS_NO(text, '.') && DUET_I_HAS_NO(text, ':') &&       \
	 DUET_I_HAS_NO(text, '*') && DUET_I_HAS_NO(text, '['))
#else
#define DUET_I_IS_NAMES(text) (__builtin_strcspn(text, "-.:*[") == sizeof(text) - 1)
#endif
#endif
#define DUET_I_CHECK_NAMES(channel, name, ...)                                                     \
	DUET_I_ASSERT(DUET_I_IS_EVENT(channel, name, __VA_ARGS__),                                 \
		      "DUET_EVENT(" #channel ", " #name                                            \
		      "): channel, event and fields are identifiers (letters, digits, _)");

#endif
