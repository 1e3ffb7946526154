/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/format.h - parses tracefs `format` files, which describe the bytes of a record.
 *
 * Pure: text in, description out. The text is checked, but offsets are not compared with any
 * record. The caller must check them against the length of the record it reads.
 */
#ifndef KERNEL_TRACEFS_FORMAT_H
#define KERNEL_TRACEFS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum { KERNEL_FIELDS_MAX = 64, KERNEL_COMMON_SIZE = 8 };

/* The place of a field's bytes. KERNEL_IN_RECORD: at `offset` in the record. DATA_LOC, REL_LOC: a
 * u32 at `offset` locates them; its high half is the size in bytes, its low half the distance from
 * the start of the record (DATA_LOC) or from the end of this u32 (REL_LOC). */
enum kernel_location { KERNEL_IN_RECORD, KERNEL_DATA_LOC, KERNEL_REL_LOC };

struct kernel_field {
	char name[64];
	enum kernel_location place;
	uint16_t offset;   /* in the record, common fields included */
	uint16_t size;	   /* bytes at offset */
	uint8_t element;   /* bytes of one element; for a scalar the whole size */
	uint8_t type_size; /* bytes by the type's name; a system call's register may be larger; 0
			    * unknown */
	bool is_array;
	bool is_text; /* an array of char */
	bool is_pointer;
	bool is_chars;	     /* a pointer to char */
	bool is_const;	     /* the pointed-to type is const */
	bool is_signed;	     /* as `format` states */
	bool type_is_signed; /* as the type's name implies */
};

struct kernel_format {
	char name[64];
	uint16_t id;
	uint16_t n_fields;    /* without the common ones */
	uint16_t tail_offset; /* of a last array of 64-bit words that fills the record; 0: none */
	struct kernel_field fields[KERNEL_FIELDS_MAX];
};

/* kernel_format_parse - parse the text of a `format` file. @what names the file in messages.
 * Returns 0, -EINVAL if the text is malformed, or -E2BIG if it has more than KERNEL_FIELDS_MAX
 * fields. */
int kernel_format_parse(struct kernel_format *f, const char *text, const char *what,
			struct diag *d);

#endif
