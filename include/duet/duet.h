/* SPDX-License-Identifier: MIT */
/*
 * duet/duet.h - trace events in C and C++ programs.
 *
 *	#include <duet/duet.h>
 *
 *	DUET_EVENT(shop, order, (i32, id), (str, item));	once, in a header or a source file
 *	...
 *	trace_shop_order(42, "tea");				typed event
 *	trace_mark(shop, paid, "id %d by %s", 42, user);	one line, no declaration
 *
 * A disabled site costs one load and one branch; trace_mark() does not evaluate its arguments then.
 * `duet record` and `duet enable` enable events.  An enabled event is written to shared memory,
 * from any thread or signal handler, without a system call, a lock or an allocation.
 *
 * The program links with nothing.  When a program or a shared library is loaded its first site
 * looks for libduet.  Without libduet all sites stay dormant.
 *
 * C99 and later, C++11 and later; gcc and clang.  Field types: duet/types.h.  Manual: duet(3).
 */
#ifndef DUET_DUET_H
#define DUET_DUET_H

#include <duet/check.h>
#include <duet/map.h>
#include <duet/mistake.h>
#include <duet/site.h>
#include <duet/types.h>

#ifdef __cplusplus
#define DUET_I_EXTERN_C extern "C"
#else
#define DUET_I_EXTERN_C
#endif

/* Levels, numbered as in syslog and LTTng.  The default is DUET_DEBUG_LINE. */
#define DUET_EMERG 0
#define DUET_ALERT 1
#define DUET_CRIT 2
#define DUET_ERR 3
#define DUET_WARNING 4
#define DUET_NOTICE 5
#define DUET_INFO 6
#define DUET_DEBUG_SYSTEM 7
#define DUET_DEBUG_PROGRAM 8
#define DUET_DEBUG_PROCESS 9
#define DUET_DEBUG_MODULE 10
#define DUET_DEBUG_UNIT 11
#define DUET_DEBUG_FUNCTION 12
#define DUET_DEBUG_LINE 13
#define DUET_DEBUG 14

/*
 * trace_mark - an event in one line, without a declaration.
 *
 * @channel, @name: identifiers; the event is "channel:name".
 * @format: a string literal in the language of printf.  Each conversion is a field.  The word
 * before it is the field's name.  %s copies the string, up to a precision, and NULL is allowed; %ls
 * and %lc are copied in UTF-8; %m is the number in errno.  A `*` makes a field "width".  %n, arguments
 * by position (%1$d) and decimal floating point do not compile.
 *
 * An event without arguments is trace_mark(channel, name, "").  Any thread or signal handler.
 * Since 0.1.
 */
#define trace_mark(channel, name, ...) trace_mark_level(channel, name, DUET_DEBUG_LINE, __VA_ARGS__)

/* trace_mark_level - trace_mark() with a level, DUET_EMERG .. DUET_DEBUG.  Since 0.1. */
#define trace_mark_level(channel, name, level, ...)                                                \
	do {                                                                                       \
		DUET_I_CHECK_FORMAT("" DUET_I_HEAD(__VA_ARGS__));                                  \
		struct duet_i_site *duet_i_site_;                                                  \
		DUET_I_SITE(duet_i_site_, #channel ":" #name, DUET_I_HEAD(__VA_ARGS__), level,     \
			    DUET_I_MARK, 0);                                                       \
		if (duet_i_is_enabled(duet_i_site_))                                               \
			duet_i_api->mark(duet_i_site_, " " __VA_ARGS__);                           \
	} while (0)

/*
 * DUET_EVENT - declare a typed event and its function trace_<channel>_<name>().
 *
 *	DUET_EVENT(channel, name, (type, field), ...);		up to 40 fields, or none
 *
 * Use it at file or namespace scope, in every file that traces the event; a header is the place for
 * it.  The function takes the fields in order; a seq(T) takes a pointer and a number of elements.
 * trace_<channel>_<name>_enabled() returns whether the event is enabled, for arguments that are
 * costly to compute.  Any thread or signal handler.  Since 0.1.
 */
#define DUET_EVENT(channel, ...) DUET_EVENT_LEVEL(channel, DUET_DEBUG_LINE, __VA_ARGS__)

/* DUET_EVENT_LEVEL(channel, level, name, (type, field), ...); - DUET_EVENT() with a level.  Since
 * 0.1. */
#define DUET_EVENT_LEVEL(channel, level, ...)                                                      \
	DUET_I_EVENT(channel, level, DUET_I_HEAD(__VA_ARGS__), __VA_ARGS__)

/* An address in the function that traces: the address here, or the return address of
 * duet_i_put_... */
#ifndef DUET_I_HERE
#define DUET_I_HERE duet_i_here()
#endif
#define DUET_I_IP __builtin_return_address(0)

/*
 * The functions of an event.  On the stack, varying fields end within DUET_I_SPACE or are cut to 4
 * bytes; DUET_I_BEHIND is room for the fields of fixed size after them.
 */
#define DUET_I_EVENT(channel, level, name, ...)                                                    \
	DUET_I_EVENT_IF(DUET_I_FIND(name, __VA_ARGS__), channel, level, name, __VA_ARGS__)
#define DUET_I_EVENT_IF(...) DUET_I_EVENT_IF_(__VA_ARGS__)
#define DUET_I_EVENT_IF_(mistake, t, field, rest, ...) DUET_I_EVENT_##mistake(t, field, __VA_ARGS__)
#define DUET_I_EVENT_0(t, field, channel, level, name, ...)                                        \
	DUET_I_CHECK_NAMES(channel, name, __VA_ARGS__)                                             \
	enum { duet_i_event_##channel##_##name##_is_declared_twice };                              \
	static inline __attribute__((always_inline, unused)) char *duet_i_pack_##channel##_##name( \
		char *duet_i_p, char *duet_i_end,                                                  \
		int *duet_i_cut DUET_I_TAIL(DUET_I_PARAM, __VA_ARGS__))                            \
	{                                                                                          \
		(void)duet_i_end;                                                                  \
		(void)duet_i_cut;                                                                  \
		DUET_I_MAP(DUET_I_PACK, __VA_ARGS__)                                               \
		return duet_i_p;                                                                   \
	}                                                                                          \
	static __attribute__((noinline, unused)) void duet_i_put_##channel##_##name(               \
		struct duet_i_site *duet_i_site_ DUET_I_TAIL(DUET_I_PARAM, __VA_ARGS__))           \
	{                                                                                          \
		enum {                                                                             \
			DUET_I_FIXED_SIZE = 0 DUET_I_MAP(DUET_I_FIXED, __VA_ARGS__),               \
			DUET_I_VARYING = 0 DUET_I_MAP(DUET_I_VARIES, __VA_ARGS__),                 \
			DUET_I_SPACE = DUET_I_VARYING ? 512 : 0,                                   \
			DUET_I_BEHIND = DUET_I_FIXED_SIZE + 4 * DUET_I_VARYING                     \
		};                                                                                 \
		char duet_i_b[DUET_I_SPACE + DUET_I_BEHIND + 8];                                   \
		int duet_i_cut = 0;                                                                \
		duet_i_b[0] = 0;                                                                   \
		char *duet_i_e = duet_i_pack_##channel##_##name(                                   \
			duet_i_b, duet_i_b + DUET_I_SPACE,                                         \
			&duet_i_cut DUET_I_TAIL(DUET_I_ARG, __VA_ARGS__));                         \
		if (__builtin_expect(!duet_i_cut, 1)) {                                            \
			duet_i_api->emit(duet_i_site_, duet_i_b, (size_t)(duet_i_e - duet_i_b),    \
					 DUET_I_IP);                                               \
			return;                                                                    \
		}                                                                                  \
		struct duet_i_open duet_i_o;                                                       \
		size_t duet_i_n = DUET_I_FIXED_SIZE DUET_I_MAP(DUET_I_SIZE, __VA_ARGS__);          \
		char *duet_i_at = (char *)duet_i_api->open(duet_i_site_, &duet_i_o,                \
							   duet_i_n + DUET_I_BEHIND, DUET_I_IP);   \
		if (duet_i_at)                                                                     \
			duet_i_api->commit(&duet_i_o, duet_i_pack_##channel##_##name(              \
							      duet_i_at, duet_i_at + duet_i_n,     \
							      &duet_i_cut DUET_I_TAIL(             \
								      DUET_I_ARG, __VA_ARGS__)));  \
	}                                                                                          \
	static inline __attribute__((always_inline, unused)) void trace_##channel##_##name(        \
		DUET_I_LIST(DUET_I_PARAM, void, __VA_ARGS__))                                      \
	{                                                                                          \
		struct duet_i_site *duet_i_site_;                                                  \
		DUET_I_SITE(duet_i_site_, #channel ":" #name,                                      \
			    "" DUET_I_MAP(DUET_I_WORDS, __VA_ARGS__), level, DUET_I_TYPED,         \
			    0 DUET_I_MAP(DUET_I_FIXED, __VA_ARGS__));                              \
		if (!duet_i_is_enabled(duet_i_site_))                                              \
			return;                                                                    \
		enum {                                                                             \
			DUET_I_FIXED_SIZE = 0 DUET_I_MAP(DUET_I_FIXED, __VA_ARGS__),               \
			DUET_I_VARYING = 0 DUET_I_MAP(DUET_I_VARIES, __VA_ARGS__),                 \
			DUET_I_BLOCKS = 0 DUET_I_MAP(DUET_I_BLOCK, __VA_ARGS__),                   \
			DUET_I_LAST_STRING = 0 DUET_I_MAP(DUET_I_LAST, __VA_ARGS__),               \
			DUET_I_IS_WORDS = DUET_I_BLOCKS == 0 && DUET_I_VARYING == 0 &&             \
					  DUET_I_FIXED_SIZE <= 32,                                 \
			DUET_I_IS_TEXT = DUET_I_BLOCKS == 0 && DUET_I_VARYING == 1 &&              \
					 DUET_I_LAST_STRING == 1 && DUET_I_FIXED_SIZE <= 16        \
		};                                                                                 \
		/* Numbers alone, or with one string after them, are passed in registers. */       \
		uint64_t duet_i_w[DUET_I_FIXED_SIZE / 8 + 4] = { 0 };                              \
		const char *duet_i_text = 0;                                                       \
		unsigned duet_i_size = 0;                                                          \
		DUET_I_MAP(DUET_I_GATHER, __VA_ARGS__)                                             \
		(void)duet_i_size;                                                                 \
		if (DUET_I_IS_WORDS == 1)                                                          \
			duet_i_api->words(duet_i_site_, DUET_I_HERE, duet_i_w[0], duet_i_w[1],     \
					  duet_i_w[2], duet_i_w[3]);                               \
		else if (DUET_I_IS_TEXT == 1)                                                      \
			duet_i_api->text(duet_i_site_, DUET_I_HERE, duet_i_text, duet_i_w[0],      \
					 duet_i_w[1]);                                             \
		else                                                                               \
			duet_i_put_##channel##_##name(                                             \
				duet_i_site_ DUET_I_TAIL(DUET_I_ARG, __VA_ARGS__));                \
	}                                                                                          \
	static inline __attribute__((always_inline,                                                \
				     unused)) int trace_##channel##_##name##_enabled(void)         \
	{                                                                                          \
		struct duet_i_site *duet_i_site_;                                                  \
		DUET_I_SITE(duet_i_site_, #channel ":" #name,                                      \
			    "" DUET_I_MAP(DUET_I_WORDS, __VA_ARGS__), level, DUET_I_TYPED,         \
			    0 DUET_I_MAP(DUET_I_FIXED, __VA_ARGS__));                              \
		return duet_i_is_enabled(duet_i_site_);                                            \
	}                                                                                          \
	struct duet_i_event_##channel##_##name /* takes the semicolon */

#endif
