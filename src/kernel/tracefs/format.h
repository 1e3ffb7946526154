/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/format.h - reading tracefs `format` files: what the bytes of a record mean.
 *
 * Pure: text in, description out.  Believes nothing but bounds nothing against records either; who
 * uses offsets checks them against the record at hand.
 */
#ifndef KERNEL_TRACEFS_FORMAT_H
#define KERNEL_TRACEFS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum { KERNEL_FIELDS_MAX = 64, KERNEL_COMMON_SIZE = 8 };

/* Where a field's bytes are: in the record at `offset`, or at a place which a u32 at `offset`
 * tells: its low half from the record's start (DATA_LOC) or from behind this u32 (REL_LOC), its
 * high half the size in bytes. */
enum kernel_location { KERNEL_IN_RECORD, KERNEL_DATA_LOC, KERNEL_REL_LOC };

struct kernel_field {
	char name[64];
	enum kernel_location place;
	uint16_t offset;   /* in the record, common fields included */
	uint16_t size;	   /* bytes at offset */
	uint8_t element;   /* bytes of one element; of a scalar the whole */
	uint8_t type_size; /* bytes the type's name tells, which a system call's register exceeds; 0
			      unknown */
	bool is_array;
	bool is_text; /* of char */
	bool is_pointer;
	bool is_chars;	     /* a pointer to char */
	bool is_const;	     /* what it points to */
	bool is_signed;	     /* as `format` says */
	bool type_is_signed; /* as the type's name says */
};

struct kernel_format {
	char name[64];
	uint16_t id;
	uint16_t n_fields;    /* the common ones left out */
	uint16_t tail_offset; /* of a last array of 64-bit words, as many as the record has; 0:
				 there is none */
	struct kernel_field fields[KERNEL_FIELDS_MAX];
};

/* kernel_format_parse - read the text of a `format` file; @what names it in diags.
 * Returns 0, -EINVAL if it is malformed, or -E2BIG for more fields than we keep. */
int kernel_format_parse(struct kernel_format *f, const char *text, const char *what,
			struct diag *d);

#endif
