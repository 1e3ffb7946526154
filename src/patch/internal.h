/* SPDX-License-Identifier: MIT */
/*
 * patch/internal.h - what the files of this room share: code, ranges and the facts about them.
 *
 * An analysis has these steps, each in its file:
 *
 *   code.c     sections with code and data; pointers in data to code
 *   ranges.c   ranges of .eh_frame, each a function or a part of one; cfi.c: rows of one range
 *   names.c    linker's names; facts known by a function's name
 *   scan.c     every instruction once: targets of branches; stack.c: uses of the caller's stack
 *   tables.c   jump tables
 *   settle.c   facts that tail calls and parts hand on
 *   site.c     where each function is patched, or why not; displace.c: code moved elsewhere;
 *              island.c: sites with a jump of two bytes
 *   marks.c    USDT marks; operand.c: their operands
 *
 * Then select.c and plan.c make plans of it, as often as is wanted.
 */
#ifndef PATCH_INTERNAL_H
#define PATCH_INTERNAL_H

#include <Zydis/Zydis.h>
#include <assert.h>
#include <gelf.h>
#include <stddef.h>

#include "elf/file.h"
#include "patch/patch.h"
#include "symbol/symbol.h"

enum {
	PATCH_JUMP_BYTES = 5,	  /* of a jump to anywhere within 2 GiB */
	PATCH_HOP_BYTES = 2,	  /* of a jump to anywhere within 127 bytes */
	PATCH_NEAR = 32,	  /* targets within a range are kept up to here */
	PATCH_SECTIONS = 512,	  /* more are not looked at */
	PATCH_STACK_MOST = 256,	  /* bytes of stack arguments */
	PATCH_STACK_UNKNOWN = 64, /* copied for a callee that is not known */
	PATCH_CODE_MOST = 64,	  /* displaced code of one site */
	PATCH_SITE_FIXUPS = 16,
	PATCH_ROWS_MOST = 1 << 16,
};

/* A section of the file that is in memory. */
struct patch_section {
	uint64_t address, size;
	const uint8_t *bytes; /* NULL: it has none in the file */
	bool is_code, is_plt;
};

/* Why an address is a target. */
enum patch_target_kind {
	PATCH_BY_JUMP = 1, /* where the stack is as at entry: it may be a tail call */
	PATCH_BY_CALL = 2,
	PATCH_BY_FLAGS = 3,   /* a call with its result in the flags */
	PATCH_BY_ADDRESS = 4, /* its address is in data, or is computed */
	PATCH_BY_SYMBOL = 5,
	PATCH_BY_BRANCH = 6, /* another jump: within a function, or to a part of it */
};

struct patch_target {
	uint64_t address;
	uint32_t from; /* range + 1; 0: none */
	uint32_t kind; /* enum patch_target_kind */
};

struct patch_targets {
	struct patch_target *at;
	size_t n, capacity;
};

/* Traits of the code of a range; bits. */
enum patch_trait {
	PATCH_T_UNDECODED = 1,
	PATCH_T_VARIADIC = 2,
	PATCH_T_REALIGN = 4,
	PATCH_T_RETURN = 8,
	PATCH_T_POPS = 16,
	PATCH_T_STACK = 32,
	PATCH_T_TWICE = 64,
	PATCH_T_INDIRECT = 128,	    /* has a jump to an address that it computes */
	PATCH_T_UNKNOWN_TAIL = 256, /* continues in a function that is not known */
	PATCH_T_PART = 512,
	PATCH_T_BACK = 1024,	 /* jumps into the middle of another range */
	PATCH_T_RED_ZONE = 2048, /* uses memory below the stack pointer */
	PATCH_T_ENDS = 4096,	 /* its last instruction never continues behind it */
};

/* A range of .eh_frame. */
struct patch_range {
	uint64_t begin, end;
	uint32_t fde, fde_end; /* offsets in .eh_frame: of its addresses, and its end */
	uint32_t cie;	       /* index */
	uint32_t max_arg;      /* bytes used behind the return address */
	uint32_t traits;       /* enum patch_trait */
	uint32_t is_deep;      /* its CFA is not rsp + 8 at the first byte */
};

struct patch_cie {
	uint64_t offset;
	const uint8_t *initial, *initial_end;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in its FDEs */
	bool has_size;	  /* 'z': an FDE's augmentation has its size before it */
	bool is_signal;
	bool is_known; /* its augmentation is understood */
};

/* The CFA is reg + offset from `address` on. */
struct patch_row {
	uint64_t address;
	int64_t offset;
	uint8_t reg; /* the processor's number */
	bool is_known;
};

/* A name of the file's own tables; a debug file may lack it. */
struct patch_export {
	uint64_t address;
	const char *name; /* without its version; owned */
};

struct patch_edge {
	uint32_t from, to; /* ranges */
	bool is_tail;	   /* to the first byte */
};

struct patch_file {
	struct elf_file elf;
	char *path;
	char soname[128];
	uint8_t id[ABI_BUILD_ID_BYTES];
	char id_hex[2 * ABI_BUILD_ID_BYTES + 1];
	uint32_t id_bytes;
	bool is_own;		   /* of libduet, or the dynamic loader */
	enum patch_reason refused; /* all its functions are; 0: not */
	bool is_fixed;		   /* ET_EXEC: addresses are constants */
	struct patch_section sections[PATCH_SECTIONS];
	int n_sections;
	Elf_Data *cfi;
	uint64_t cfi_address;
	struct patch_cie *cies;
	uint32_t n_cies;
	struct patch_range *ranges; /* ascending, they do not overlap */
	uint32_t n_ranges;
	struct patch_row *rows; /* of the range that is looked at */
	uint32_t n_rows;
	size_t rows_capacity;
	struct symbols *own_symbols; /* NULL: they are the caller's */
	struct symbol_file *names;
	struct patch_export *exports; /* ascending by address */
	uint32_t n_exports;
	uint64_t *resolvers; /* of indirect functions; ascending */
	uint32_t n_resolvers;
	struct patch_targets targets; /* ascending by address */
	uint64_t *near_slots; /* GOT slots of functions that look at their caller; ascending */
	uint32_t n_near_slots;
	struct patch_edge *edges;
	size_t n_edges, edges_capacity;
	uint64_t *restartable; /* addresses within restartable sequences */
	uint32_t n_restartable;
	struct patch_function *functions;
	uint32_t n_functions;
	struct patch_mark *marks;
	uint32_t n_marks;
	ZydisDecoder decoder;
	bool failed; /* no memory */
};

/* Displaced code of one site. */
struct patch_code {
	uint8_t bytes[PATCH_CODE_MOST];
	uint32_t size;
	uint32_t n_fixups;
	uint32_t n_instructions;
	bool ends; /* its last instruction never continues */
	struct abi_plan_fixup fixups[PATCH_SITE_FIXUPS];
};

/* ---------------------------------------------------------------- code.c */

int patch_read_sections(struct patch_file *f, struct diag *d);
/* The bytes at @address up to the end of its section; NULL: none. */
const struct patch_section *patch_section_at(const struct patch_file *f, uint64_t address);
const uint8_t *patch_bytes(const struct patch_file *f, uint64_t address, uint64_t *size);
bool patch_is_code(const struct patch_file *f, uint64_t address);
void patch_add_target(struct patch_file *f, uint64_t address, uint32_t from,
		      enum patch_target_kind kind);
/* The first target at or behind @address; its index. */
size_t patch_target_from(const struct patch_targets *t, uint64_t address);
void patch_sort_targets(struct patch_targets *t);
/* Pointers to code in data and relocations; slots of functions that look at their caller. */
void patch_read_pointers(struct patch_file *f);
void *patch_grow(struct patch_file *f, void *array, size_t *capacity, size_t n, size_t size);

/* ---------------------------------------------------------------- ranges.c, cfi.c */

int patch_read_ranges(struct patch_file *f, struct diag *d);
/* The range that holds @address; NULL: none. */
struct patch_range *patch_range_at(const struct patch_file *f, uint64_t address);
/* Number from .eh_frame; false: it does not fit. */
bool patch_uleb(const uint8_t **p, const uint8_t *end, uint64_t *value);
bool patch_sleb(const uint8_t **p, const uint8_t *end, int64_t *value);
bool patch_encoded(const struct patch_file *f, uint8_t encoding, const uint8_t **p,
		   const uint8_t *end, uint64_t *value);
/* The instructions of a range's FDE, behind its augmentation. False: it is damaged. */
bool patch_fde_program(const struct patch_file *f, const struct patch_range *r, const uint8_t **p,
		       const uint8_t **end);
/* f->rows of @r. False: its instructions are not understood. */
bool patch_read_rows(struct patch_file *f, const struct patch_range *r);

/* ---------------------------------------------------------------- names.c */

/* Names, resolvers, and symbols as targets. */
int patch_read_names(struct patch_file *f, struct symbols *symbols, struct diag *d);
/* The function with names that begins at @address; NULL: none is known. */
const struct symbol_function *patch_named(const struct patch_file *f, uint64_t address);
/* Own names at @address: the first, and their number. */
const struct patch_export *patch_exports(const struct patch_file *f, uint64_t address, uint32_t *n);
void patch_free_names(struct patch_file *f);
/* The linker's name of the function at @address; "": none is known. */
const char *patch_name_of(const struct patch_file *f, uint64_t address);
bool patch_is_resolver(const struct patch_file *f, uint64_t address);
/* A reason, or flags, that a function has by its names. */
enum patch_reason patch_known_reason(const struct patch_file *f, uint64_t address);
uint32_t patch_known_flags(const struct patch_file *f, uint64_t address);
/* "foo.cold": a part of foo. */
bool patch_is_cold(const char *name);
/* Functions that look at their caller's address, or return twice. */
bool patch_looks_at_caller(const char *name);

/* ---------------------------------------------------------------- scan.c, stack.c, tables.c */

/* One instruction while a range is scanned. */
struct patch_step {
	struct patch_range *range;
	uint64_t address;
	const uint8_t *bytes;
	const struct patch_row *row, *next_row; /* here, and behind it; NULL: not known */
	ZydisDecodedInstruction ins;
	ZydisDecoderContext context;
};

bool patch_decode(const struct patch_file *f, const uint8_t *bytes, uint64_t size,
		  ZydisDecodedInstruction *ins, ZydisDecoderContext *context);
void patch_scan(struct patch_file *f);
/* All branch targets of @r within itself, ascending; the caller frees the array.  False: they are not
 * known. */
bool patch_scan_within(struct patch_file *f, const struct patch_range *r, struct patch_targets *t);
bool patch_is_relative_branch(const ZydisDecodedInstruction *ins);
/* The address that a lea or a branch of this file computes; false: none. */
bool patch_rip_target(const ZydisDecodedInstruction *ins, uint64_t address, uint64_t *target);
void patch_look_at_stack(const struct patch_file *f, const struct patch_step *s);
/* Calls @visit for each target within @r of tables at @bases (addresses computed in @r).  False:
 * they are too many. */
bool patch_table_targets(const struct patch_file *f, const struct patch_range *r,
			 const uint64_t *bases, uint32_t n,
			 void (*visit)(void *arg, uint64_t target), void *arg);

/* ---------------------------------------------------------------- settle.c, site.c, displace.c */

void patch_settle(struct patch_file *f);
int patch_find_functions(struct patch_file *f, struct diag *d);
/* A branch or pointer into the window at @site of @r, or a loop to its first byte. */
enum patch_reason patch_check_window(const struct patch_file *f, const struct patch_range *r,
				     uint64_t site, uint32_t window);
/* Padding: bytes from @from to @to that no instruction continues into. */
bool patch_is_padding(const struct patch_file *f, uint64_t from, uint64_t to);
/* Functions without room for a jump get one of two bytes, where padding is near. */
void patch_find_islands(struct patch_file *f);
/* Instructions of @window bytes at @address, to be run elsewhere. */
enum patch_reason patch_displace(const struct patch_file *f, uint64_t address, uint32_t window,
				 struct patch_code *code);

/* ---------------------------------------------------------------- marks.c, operand.c */

int patch_find_marks(struct patch_file *f, struct diag *d);
void patch_free_marks(struct patch_file *f);
/* The code around the nop of @m with a known window. @lead: bytes of it that run before the mark. */
enum patch_reason patch_displace_mark(const struct patch_file *f, const struct patch_mark *m,
				      struct patch_code *code, uint8_t *lead);
/* Parses "-4@%edi"; @size bytes. Symbols are looked up in @f. */
bool patch_operand(const struct patch_file *f, const char *text, size_t size,
		   struct abi_plan_operand *o, bool *is_float);
/* Bytes of the next operand at @text, up to a blank. */
size_t patch_operand_size(const char *text);

/* ---------------------------------------------------------------- select.c, fields.c */

/* The FUNCTION half alone. */
bool patch_selects(const struct patch_file *f, const struct patch_function *fn,
		   const char *pattern);
bool patch_mark_is(const struct patch_file *f, const struct patch_mark *m, const char *pattern);

#endif
