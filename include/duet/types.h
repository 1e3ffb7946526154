/* SPDX-License-Identifier: MIT */
/*
 * duet/types.h - the field types of DUET_EVENT, and how each is packed.
 *
 *   i8 i16 i32 i64  u8 u16 u32 u64     integers; also int8_t ... uint64_t, char, short, int, long,
 *                                      unsigned, size_t, bool
 *   x8 x16 x32 x64                     unsigned, shown in hexadecimal
 *   f32 f64, float, double             floating point
 *   ptr                                an address (any object pointer)
 *   str                                a NUL-terminated string; NULL is shown as "(null)"
 *   text(N)                            exactly N characters, ending early at a NUL
 *   array(T, N)                        N elements of integer or floating type T (N: a number or a
 *                                      macro for one); passed as a pointer to the first
 *   seq(T)                             a sequence; passed as pointer, then number of elements
 *   enumeration(T, A, B = 5, C)        an integer with names for values, counted as in C
 *
 * Each type maps to four tokens: kind, C type of an element, schema text, number of elements.  The
 * other macros select by kind.  Only the type names are for users.
 */
#ifndef DUET_TYPES_H
#define DUET_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DUET_I_T_i8 scalar, int8_t, "i8", 1
#define DUET_I_T_i16 scalar, int16_t, "i16", 1
#define DUET_I_T_i32 scalar, int32_t, "i32", 1
#define DUET_I_T_i64 scalar, int64_t, "i64", 1
#define DUET_I_T_u8 scalar, uint8_t, "u8", 1
#define DUET_I_T_u16 scalar, uint16_t, "u16", 1
#define DUET_I_T_u32 scalar, uint32_t, "u32", 1
#define DUET_I_T_u64 scalar, uint64_t, "u64", 1
#define DUET_I_T_x8 scalar, uint8_t, "x8", 1
#define DUET_I_T_x16 scalar, uint16_t, "x16", 1
#define DUET_I_T_x32 scalar, uint32_t, "x32", 1
#define DUET_I_T_x64 scalar, uint64_t, "x64", 1
#define DUET_I_T_f32 scalar, float, "f32", 1
#define DUET_I_T_f64 scalar, double, "f64", 1
#define DUET_I_T_int8_t DUET_I_T_i8
#define DUET_I_T_int16_t DUET_I_T_i16
#define DUET_I_T_int32_t DUET_I_T_i32
#define DUET_I_T_int64_t DUET_I_T_i64
#define DUET_I_T_uint8_t DUET_I_T_u8
#define DUET_I_T_uint16_t DUET_I_T_u16
#define DUET_I_T_uint32_t DUET_I_T_u32
#define DUET_I_T_uint64_t DUET_I_T_u64
#define DUET_I_T_short DUET_I_T_i16
#define DUET_I_T_int DUET_I_T_i32
#define DUET_I_T_unsigned scalar, unsigned int, "u32", 1
#define DUET_I_T_float DUET_I_T_f32
#define DUET_I_T_double DUET_I_T_f64
#define DUET_I_T_bool DUET_I_T_u8
#define DUET_I_T__Bool DUET_I_T_u8
#ifdef __CHAR_UNSIGNED__
#define DUET_I_T_char scalar, char, "u8", 1
#else
#define DUET_I_T_char scalar, char, "i8", 1
#endif
#if __SIZEOF_LONG__ == 8
#define DUET_I_T_long scalar, long, "i64", 1
#define DUET_I_T_size_t scalar, size_t, "u64", 1
#define DUET_I_T_ptr pointer, const void *, "p64", 1
#else
#define DUET_I_T_long scalar, long, "i32", 1
#define DUET_I_T_size_t scalar, size_t, "u32", 1
#define DUET_I_T_ptr pointer, const void *, "p32", 1
#endif
#define DUET_I_T_str string, char, "str", 1
#define DUET_I_T_text(n) text, char, "chr[" DUET_I_STR(n) "]", n
#define DUET_I_T_array(t, n)                                                                       \
	array, DUET_I_OF_ELEMENT(t), DUET_I_OF_SCHEMA(t) "[" DUET_I_STR(n) "]", n
#define DUET_I_T_seq(t) sequence, DUET_I_OF_ELEMENT(t), DUET_I_OF_SCHEMA(t) "[]", 1
#define DUET_I_T_enumeration(t, ...)                                                               \
	scalar, DUET_I_OF_ELEMENT(t), "enum(" DUET_I_OF_SCHEMA(t) ":" #__VA_ARGS__ ")", 1

#define DUET_I_STR_(x) #x
#define DUET_I_STR(x) DUET_I_STR_(x)
#define DUET_I_CALL(m, ...) m(__VA_ARGS__)
#define DUET_I_3_(a, b, c, ...) c
#define DUET_I_SCHEMA(t) DUET_I_CALL(DUET_I_3_, DUET_I_T_##t, "", "", ~)
/* For the T inside array(T, N) and similar types.  They need names of their own, because a macro
 * does not expand inside itself.  Only a scalar or a pointer can be an element. */
#define DUET_I_OF_CALL(m, ...) m(__VA_ARGS__)
#define DUET_I_OF_2_(a, ...) DUET_I_ELEMENT_##a(__VA_ARGS__)
#define DUET_I_OF_3_(a, b, c, ...) c
#define DUET_I_ELEMENT_scalar(b, ...) b
#define DUET_I_ELEMENT_pointer(b, ...) b
#define DUET_I_OF_ELEMENT(t) DUET_I_OF_CALL(DUET_I_OF_2_, DUET_I_T_##t, ~)
#define DUET_I_OF_SCHEMA(t) DUET_I_OF_CALL(DUET_I_OF_3_, DUET_I_T_##t, "", "", ~)

/* Applies a macro to one (type, field): the first token selects the macro for the kind. */
#define DUET_I_KIND(what, field, kind, ...) what##kind(field, __VA_ARGS__)

/* The parameter of the trace function, ... */
#define DUET_I_PARAM(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_PARAM_, field, DUET_I_T_##t, ~)
#define DUET_I_PARAM_scalar(field, type, schema, n, end) type field
#define DUET_I_PARAM_pointer(field, type, schema, n, end) const void *field
#define DUET_I_PARAM_string(field, type, schema, n, end) const char *field
#define DUET_I_PARAM_text(field, type, schema, n, end) const char *field
#define DUET_I_PARAM_array(field, type, schema, n, end) type const *field
#define DUET_I_PARAM_sequence(field, type, schema, n, end) type const *field, size_t n_##field
/* ... the argument that passes it on, ... */
#define DUET_I_ARG(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_ARG_, field, DUET_I_T_##t, ~)
#define DUET_I_ARG_scalar(field, type, schema, n, end) field
#define DUET_I_ARG_pointer(field, type, schema, n, end) field
#define DUET_I_ARG_string(field, type, schema, n, end) field
#define DUET_I_ARG_text(field, type, schema, n, end) field
#define DUET_I_ARG_array(field, type, schema, n, end) field
#define DUET_I_ARG_sequence(field, type, schema, n, end) field, n_##field
/* ... the words in the schema, ... */
#define DUET_I_WORDS(t, field) " " DUET_I_SCHEMA(t) " " #field
/* ... the bytes known at compile time, ... */
#define DUET_I_FIXED(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_FIXED_, field, DUET_I_T_##t, ~)
#define DUET_I_FIXED_scalar(field, type, schema, n, end) +sizeof(type)
#define DUET_I_FIXED_pointer(field, type, schema, n, end) +sizeof(type)
#define DUET_I_FIXED_string(field, type, schema, n, end) +0
#define DUET_I_FIXED_text(field, type, schema, n, end) +(n)
#define DUET_I_FIXED_array(field, type, schema, n, end) +(n) * sizeof(type)
#define DUET_I_FIXED_sequence(field, type, schema, n, end) +0
/* ... 1 for a field of varying size, ... */
#define DUET_I_VARIES(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_VARIES_, field, DUET_I_T_##t, ~)
#define DUET_I_VARIES_scalar(field, type, schema, n, end)
#define DUET_I_VARIES_pointer(field, type, schema, n, end)
#define DUET_I_VARIES_string(field, type, schema, n, end) +1
#define DUET_I_VARIES_text(field, type, schema, n, end)
#define DUET_I_VARIES_array(field, type, schema, n, end)
#define DUET_I_VARIES_sequence(field, type, schema, n, end) +1
/* ... 1 for a field that is neither one number nor varying, ... */
#define DUET_I_BLOCK(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_BLOCK_, field, DUET_I_T_##t, ~)
#define DUET_I_BLOCK_scalar(field, type, schema, n, end)
#define DUET_I_BLOCK_pointer(field, type, schema, n, end)
#define DUET_I_BLOCK_string(field, type, schema, n, end)
#define DUET_I_BLOCK_text(field, type, schema, n, end) +1
#define DUET_I_BLOCK_array(field, type, schema, n, end) +1
#define DUET_I_BLOCK_sequence(field, type, schema, n, end)
/* ... 1 if the last field is a string: each field cancels the one before it, ... */
#define DUET_I_LAST(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_LAST_, field, DUET_I_T_##t, ~)
#define DUET_I_LAST_scalar(field, type, schema, n, end) *0
#define DUET_I_LAST_pointer(field, type, schema, n, end) *0
#define DUET_I_LAST_string(field, type, schema, n, end) *0 + 1
#define DUET_I_LAST_text(field, type, schema, n, end) *0
#define DUET_I_LAST_array(field, type, schema, n, end) *0
#define DUET_I_LAST_sequence(field, type, schema, n, end) *0
/* ... the packing of numbers into whole words, ... */
#define DUET_I_GATHER(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_GATHER_, field, DUET_I_T_##t, ~)
#define DUET_I_GATHER_scalar(field, type, schema, n, end)                                          \
	duet_i_size = duet_i_gather(duet_i_w, duet_i_size, &field, sizeof(type));
#define DUET_I_GATHER_pointer(field, type, schema, n, end)                                         \
	duet_i_size = duet_i_gather(duet_i_w, duet_i_size, &field, sizeof(type));
#define DUET_I_GATHER_string(field, type, schema, n, end) duet_i_text = field;
#define DUET_I_GATHER_text(field, type, schema, n, end)
#define DUET_I_GATHER_array(field, type, schema, n, end)
#define DUET_I_GATHER_sequence(field, type, schema, n, end)
/* ... the bytes of varying fields in this call, ... */
#define DUET_I_SIZE(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_SIZE_, field, DUET_I_T_##t, ~)
#define DUET_I_SIZE_scalar(field, type, schema, n, end)
#define DUET_I_SIZE_pointer(field, type, schema, n, end)
#define DUET_I_SIZE_string(field, type, schema, n, end) +strlen(field ? field : "(null)") + 1
#define DUET_I_SIZE_text(field, type, schema, n, end)
#define DUET_I_SIZE_array(field, type, schema, n, end)
#define DUET_I_SIZE_sequence(field, type, schema, n, end) +4 + n_##field * sizeof(type)
/* ... and the packing at duet_i_p, where varying fields end before duet_i_end. */
#define DUET_I_PACK(t, field) DUET_I_CALL(DUET_I_KIND, DUET_I_PACK_, field, DUET_I_T_##t, ~)
#define DUET_I_PACK_scalar(field, type, schema, n, end)                                            \
	duet_i_p = duet_i_pack(duet_i_p, &field, sizeof(type));
#define DUET_I_PACK_pointer(field, type, schema, n, end)                                           \
	duet_i_p = duet_i_pack(duet_i_p, &field, sizeof(type));
#define DUET_I_PACK_string(field, type, schema, n, end)                                            \
	duet_i_p = duet_i_pack_string(duet_i_p, duet_i_end, field, duet_i_cut);
#define DUET_I_PACK_text(field, type, schema, n, end)                                              \
	duet_i_p = duet_i_pack_text(duet_i_p, field, n);
#define DUET_I_PACK_array(field, type, schema, n, end)                                             \
	duet_i_p = duet_i_pack(duet_i_p, field, (n) * sizeof(type));
#define DUET_I_PACK_sequence(field, type, schema, n, end)                                          \
	duet_i_p = duet_i_pack_sequence(duet_i_p, duet_i_end, field, n_##field, sizeof(type),      \
					duet_i_cut);

#endif
