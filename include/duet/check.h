/* SPDX-License-Identifier: MIT */
/*
 * duet/check.h - a format that a mark cannot record is one compile error.  Not for users.
 *
 * A format is checked while it is compiled, at every optimisation level: in C++ by constexpr
 * functions; in C, which has none, by enumerators that the compiler folds from built-in string
 * functions.  In C the first 20 conversions are checked (clang: 12); a mark with a bad one behind
 * them stays dormant, as inproc/mark.c refuses it too.
 *
 * After a percent sign and any of DUET_I_MODIFIERS comes one of DUET_I_CONVERSIONS, or the format
 * is refused: DUET_I_REFUSE.
 */
#ifndef DUET_CHECK_H
#define DUET_CHECK_H

#define DUET_I_MODIFIERS "-+ #0123456789'I*.hlLqjztZw"
#define DUET_I_CONVERSIONS "diouxXbBcCsSpeEfFgGaAm%"

#ifdef __cplusplus
#define DUET_I_ASSERT(condition, text) static_assert(condition, text)
#else
/* glibc hides the keyword behind a macro in strict C99; a macro's name without a parenthesis behind
 * it is none. */
#define DUET_I_ASSERT(condition, text) __extension__ _Static_assert DUET_I_NOTHING(condition, text)
#define DUET_I_NOTHING
#endif

/* One error for the first refused conversion; each argument is whether it is of that kind. */
#define DUET_I_REFUSE(writes, is_positional, is_decimal, is_unknown)                               \
	DUET_I_ASSERT(!(writes), "trace_mark: %n writes to memory, so it cannot be recorded");     \
	DUET_I_ASSERT(!(is_positional),                                                            \
		      "trace_mark: arguments by position (%1$d) cannot be recorded: give them in " \
		      "the order of the format");                                                  \
	DUET_I_ASSERT(!(is_decimal),                                                               \
		      "trace_mark: decimal floating point (%H, %D, %DD) cannot be recorded: "      \
		      "convert it to double");                                                     \
	DUET_I_ASSERT(!(is_unknown),                                                               \
		      "trace_mark: a % in the format is followed by no conversion of printf; a "   \
		      "percent sign is written %%")

#ifdef __cplusplus

#include <stddef.h>

constexpr bool duet_i_is_one_of(const char *set, char c)
{
	return *set && (*set == c || duet_i_is_one_of(set + 1, c));
}

/* The first percent sign in [@begin, @end), else @end.  By halves: a compiler limits the depth. */
constexpr size_t duet_i_percent(const char *format, size_t begin, size_t end);
constexpr size_t duet_i_percent_or(const char *format, size_t left, size_t middle, size_t end)
{
	return left < middle ? left : duet_i_percent(format, middle, end);
}
constexpr size_t duet_i_percent(const char *format, size_t begin, size_t end)
{
	return begin >= end || format[begin] == '%' ? begin
	       : end - begin == 1
		       ? end
		       : duet_i_percent_or(format,
					   duet_i_percent(format, begin, begin + (end - begin) / 2),
					   begin + (end - begin) / 2, end);
}

/* The first letter at @i or behind it that is no modifier. */
constexpr size_t duet_i_letter(const char *format, size_t i)
{
	return duet_i_is_one_of(DUET_I_MODIFIERS, format[i]) ? duet_i_letter(format, i + 1) : i;
}

/* The letter of the first refused conversion, of which @percent or @letter is a part or behind
 * it; behind @end: none. */
constexpr size_t duet_i_refused(const char *format, size_t percent, size_t end);
constexpr size_t duet_i_refused_from(const char *format, size_t letter, size_t end)
{
	return duet_i_is_one_of(DUET_I_CONVERSIONS, format[letter])
		       ? duet_i_refused(format, duet_i_percent(format, letter + 1, end), end)
		       : letter;
}
constexpr size_t duet_i_refused(const char *format, size_t percent, size_t end)
{
	return percent >= end
		       ? end + 1
		       : duet_i_refused_from(format, duet_i_letter(format, percent + 1), end);
}

/* The kind of the refused conversion whose letter is @letter. */
enum duet_i_refusal {
	DUET_I_FINE,
	DUET_I_WRITES,
	DUET_I_POSITIONAL,
	DUET_I_DECIMAL,
	DUET_I_UNKNOWN,
};
constexpr duet_i_refusal duet_i_refusal_of(char letter)
{
	return letter == 'n'			? DUET_I_WRITES
	       : letter == '$'			? DUET_I_POSITIONAL
	       : letter == 'D' || letter == 'H' ? DUET_I_DECIMAL
						: DUET_I_UNKNOWN;
}
constexpr duet_i_refusal duet_i_judge(const char *format, size_t refused, size_t end)
{
	return refused > end ? DUET_I_FINE : duet_i_refusal_of(format[refused]);
}
/* @end: the length of @format. */
constexpr duet_i_refusal duet_i_check(const char *format, size_t end)
{
	return duet_i_judge(format, duet_i_refused(format, duet_i_percent(format, 0, end), end),
			    end);
}

#define DUET_I_CHECK_FORMAT(format)                                                                \
	constexpr duet_i_refusal duet_i_found = duet_i_check(format, sizeof(format) - 1);          \
	DUET_I_REFUSE(duet_i_found == DUET_I_WRITES, duet_i_found == DUET_I_POSITIONAL,            \
		      duet_i_found == DUET_I_DECIMAL, duet_i_found == DUET_I_UNKNOWN)

#else

/*
 * duet_i_o<k>: where the search for conversion k begins; _p<k>: its percent sign, or the end; _q<k>:
 * its letter.  duet_i_r<k>: the letter of the first refused conversion before k; behind the end:
 * none.
 */
#define DUET_I_CHECK_FORMAT(format)                                                                \
	__extension__ enum {                                                                       \
		duet_i_n = __builtin_strlen(format),                                               \
		duet_i_o1 = 0,                                                                     \
		duet_i_r1 = duet_i_n + 1,                                                          \
		DUET_I_STEPS(format),                                                              \
		duet_i_at_n = DUET_I_IS_AT(format, "n"),                                           \
		duet_i_at_position = DUET_I_IS_AT(format, "$"),                                    \
		duet_i_at_decimal = DUET_I_IS_AT(format, "DH"),                                    \
		duet_i_at_other = DUET_I_LAST_R <= duet_i_n && !duet_i_at_n &&                     \
				  !duet_i_at_position && !duet_i_at_decimal                        \
	};                                                                                         \
	DUET_I_REFUSE(duet_i_at_n, duet_i_at_position, duet_i_at_decimal, duet_i_at_other)
/* Whether the refused conversion has one of the letters in @set. */
#define DUET_I_IS_AT(format, set)                                                                  \
	(DUET_I_LAST_R < duet_i_n && DUET_I_IS_ONE_OF(set, format, DUET_I_WITHIN(DUET_I_LAST_R)))
#define DUET_I_BEHIND(k) (duet_i_p##k + (duet_i_p##k < duet_i_n))
#define DUET_I_WITHIN(i) ((i) < duet_i_n ? (i) : 0)
#define DUET_I_STEP_END(k, next, is_good)                                                          \
	duet_i_r##next = duet_i_r##k <= duet_i_n || duet_i_p##k == duet_i_n || (is_good)           \
				 ? duet_i_r##k                                                     \
				 : duet_i_q##k,                                                    \
	duet_i_o##next = duet_i_q##k + (duet_i_q##k < duet_i_n)

#ifdef __clang__

#define DUET_I_LAST_R duet_i_r13
#define DUET_I_IS_ONE_OF(set, format, i) (__builtin_memchr(set, (format)[i], sizeof(set) - 1) != 0)
#define DUET_I_IS_MODIFIER(format, i) DUET_I_IS_ONE_OF(DUET_I_MODIFIERS, format, i)
/* The number of modifiers from @b on, of which there may be 8: more of them are not checked. */
#define DUET_I_SKIP(f, b) (DUET_I_IS_MODIFIER(f, b) ? 1 + DUET_I_SKIP_1(f, b) : 0)
#define DUET_I_SKIP_1(f, b) (DUET_I_IS_MODIFIER(f, b + 1) ? 1 + DUET_I_SKIP_2(f, b) : 0)
#define DUET_I_SKIP_2(f, b) (DUET_I_IS_MODIFIER(f, b + 2) ? 1 + DUET_I_SKIP_3(f, b) : 0)
#define DUET_I_SKIP_3(f, b) (DUET_I_IS_MODIFIER(f, b + 3) ? 1 + DUET_I_SKIP_4(f, b) : 0)
#define DUET_I_SKIP_4(f, b) (DUET_I_IS_MODIFIER(f, b + 4) ? 1 + DUET_I_SKIP_5(f, b) : 0)
#define DUET_I_SKIP_5(f, b) (DUET_I_IS_MODIFIER(f, b + 5) ? 1 + DUET_I_SKIP_6(f, b) : 0)
#define DUET_I_SKIP_6(f, b) (DUET_I_IS_MODIFIER(f, b + 6) ? 1 + DUET_I_SKIP_7(f, b) : 0)
#define DUET_I_SKIP_7(f, b) (DUET_I_IS_MODIFIER(f, b + 7) ? 1 : 0)
#define DUET_I_STEP(format, k, next)                                                               \
	duet_i_p##k = duet_i_n + 1 -                                                               \
		      __builtin_strlen(__builtin_strchr(&(format "%")[duet_i_o##k], '%')),         \
	duet_i_q##k = DUET_I_BEHIND(k) + DUET_I_SKIP(format, DUET_I_BEHIND(k)),                    \
	DUET_I_STEP_END(                                                                           \
		k, next,                                                                           \
		DUET_I_IS_ONE_OF(DUET_I_CONVERSIONS DUET_I_MODIFIERS, format, duet_i_q##k))
#define DUET_I_STEPS(f)                                                                            \
	DUET_I_STEP(f, 1, 2), DUET_I_STEP(f, 2, 3), DUET_I_STEP(f, 3, 4), DUET_I_STEP(f, 4, 5),    \
		DUET_I_STEP(f, 5, 6), DUET_I_STEP(f, 6, 7), DUET_I_STEP(f, 7, 8),                  \
		DUET_I_STEP(f, 8, 9), DUET_I_STEP(f, 9, 10), DUET_I_STEP(f, 10, 11),               \
		DUET_I_STEP(f, 11, 12), DUET_I_STEP(f, 12, 13)

#else

#define DUET_I_LAST_R duet_i_r21
#define DUET_I_IS_ONE_OF(set, format, i) (__builtin_strspn(&(format)[i], set) != 0)
#define DUET_I_STEP(format, k, next)                                                               \
	duet_i_p##k = duet_i_o##k + __builtin_strcspn(&(format)[duet_i_o##k], "%"),                \
	duet_i_q##k = DUET_I_BEHIND(k) +                                                           \
		      __builtin_strspn(&(format)[DUET_I_BEHIND(k)], DUET_I_MODIFIERS),             \
	DUET_I_STEP_END(k, next, DUET_I_IS_ONE_OF(DUET_I_CONVERSIONS, format, duet_i_q##k))
#define DUET_I_STEPS(f)                                                                            \
	DUET_I_STEP(f, 1, 2), DUET_I_STEP(f, 2, 3), DUET_I_STEP(f, 3, 4), DUET_I_STEP(f, 4, 5),    \
		DUET_I_STEP(f, 5, 6), DUET_I_STEP(f, 6, 7), DUET_I_STEP(f, 7, 8),                  \
		DUET_I_STEP(f, 8, 9), DUET_I_STEP(f, 9, 10), DUET_I_STEP(f, 10, 11),               \
		DUET_I_STEP(f, 11, 12), DUET_I_STEP(f, 12, 13), DUET_I_STEP(f, 13, 14),            \
		DUET_I_STEP(f, 14, 15), DUET_I_STEP(f, 15, 16), DUET_I_STEP(f, 16, 17),            \
		DUET_I_STEP(f, 17, 18), DUET_I_STEP(f, 18, 19), DUET_I_STEP(f, 19, 20),            \
		DUET_I_STEP(f, 20, 21)

#endif
#endif

#endif
