/* SPDX-License-Identifier: MIT */
/*
 * patch/patch.h - which functions and marks of an ELF file can be patched, and plans for them.
 *
 *	struct patch_file *f;
 *
 *	if (patch_open(&f, path, NULL, &d))
 *		...
 *	n = patch_make_plan(f, &request, directory, counts, &d);
 *	patch_close(f);
 *
 * A plan (abi/plan.h) is made outside the traced program, from its file alone.  Whatever cannot be
 * proved safe is refused, with a reason for each function.
 *
 *   (1) addresses are those of the file's own numbering (st_value)
 *   (2) a function is refused for exactly one reason, the first that was found
 *   (3) sites of a plan never overlap
 *
 * x86-64 only.  A file is analysed once, at patch_open; the result does not depend on the session.
 * One thread at a time.  Files are untrusted: libelf, libdw and the code here check bounds.
 */
#ifndef PATCH_PATCH_H
#define PATCH_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/plan.h"
#include "base/diag.h"

struct patch_file;
struct symbols; /* symbol/symbol.h */

/* Why a function or a mark is not patched.  patch_reason_text() has them in words. */
enum patch_reason {
	PATCH_PATCHABLE = 0,
	PATCH_SHORT,	 /* fewer than 5 bytes, and no padding behind */
	PATCH_TARGET,	 /* a branch leads into the first bytes */
	PATCH_LOOP,	 /* a loop of its own leads to the first byte */
	PATCH_CALL,	 /* the first bytes hold a call */
	PATCH_RELATIVE,	 /* the first bytes hold an instruction that only works in its place */
	PATCH_UNDECODED, /* bytes that are no known instruction */
	PATCH_NO_UNWIND, /* no unwind information: by hand in assembly */
	PATCH_PART,	 /* a part of another function, never called */
	PATCH_VARIADIC,	 /* variable arguments, or the address of arguments on the stack */
	PATCH_REALIGN,	 /* its frame cannot be followed: the stack is realigned */
	PATCH_ARGUMENTS, /* more than 256 bytes of arguments on the stack */
	PATCH_RETURN,	 /* reads or changes its return address */
	PATCH_POPS,	 /* removes its arguments from the stack */
	PATCH_STACK,	 /* switches stacks */
	PATCH_FLAGS,	 /* returns a result in the processor's flags */
	PATCH_RESOLVER,	 /* resolver of an indirect function */
	PATCH_SIGNAL,	 /* trampoline of signals */
	PATCH_TWICE,	 /* returns twice: setjmp, vfork and the like */
	PATCH_START,	 /* begins a program, a thread or a context */
	PATCH_RSEQ,	 /* holds a restartable sequence */
	PATCH_MARKED,	 /* a USDT mark lies in the first bytes */
	PATCH_OWN,	 /* of libduet, or of the dynamic loader */
	PATCH_UNWINDER,	 /* its file has an unwinder of its own, which does not know stubs */
	PATCH_WINDOW,	 /* mark: no 5 bytes around it can be replaced */
	PATCH_OPERAND,	 /* mark: an operand that is not understood */
	PATCH_REASONS
};

/* patch_reason_text - in words, without a full stop; "patchable" for PATCH_PATCHABLE. */
const char *patch_reason_text(enum patch_reason r);

/* patch_kind_text - a kind of site in one word: "nop", "nops", "sled", "prologue", "mark",
 * "island". */
const char *patch_kind_text(enum abi_site_kind k);

struct patch_function {
	uint64_t address; /* of its first byte */
	uint32_t size;	  /* bytes */
	uint32_t flags;	  /* ABI_SITE_LONGJMP, ABI_SITE_DLOPEN: patched in every plan of the file */
	uint64_t site;	  /* address of the first replaced byte */
	uint16_t stack_bytes; /* of arguments on the stack, copied; a multiple of 16 */
	uint8_t window;	      /* replaced bytes */
	uint8_t kind;	      /* enum abi_site_kind; 0: not patchable */
	uint8_t reason;	      /* enum patch_reason */
	int8_t island;	      /* as abi_plan_site has it */
	uint8_t pad[2];
	const char *name; /* the linker's name; "": none is known */
};

struct patch_mark {
	const char *provider, *name;
	const char *arguments; /* as the note has them: "-4@%edi 8@-16(%rbp)" */
	uint64_t address;      /* of its nop */
	uint64_t semaphore;    /* address of its 16-bit counter; 0: none */
	uint64_t site;	       /* address of the first replaced byte */
	uint8_t window;	       /* replaced bytes */
	uint8_t reason;	       /* enum patch_reason */
	uint8_t n_operands;
	uint8_t kind;	 /* ABI_SITE_MARK; 0: not patchable */
	uint16_t floats; /* bit i: operand i is a floating-point number */
	uint8_t lead;	 /* bytes of the displaced code that run before the mark */
	uint8_t pad;
	struct abi_plan_operand operands[ABI_PLAN_OPERANDS_MAX];
};

/*
 * patch_open - analyse file @path.
 *
 * @symbols: where names and source files are looked up; borrowed until patch_close; NULL: its own.
 *
 * 0: *@f is the caller's until patch_close.  -ENOEXEC: not an ELF file for x86-64, or damaged;
 * -ENODATA: it has no build ID, by which a plan is found; another negative errno.  A file without
 * functions is no error.
 */
int patch_open(struct patch_file **f, const char *path, struct symbols *symbols, struct diag *d);
void patch_close(struct patch_file *f); /* accepts NULL */

/* patch_path - as given to patch_open; patch_build_id - in hexadecimal, as the plan's file is
 * called; patch_soname - DT_SONAME, or "". */
const char *patch_path(const struct patch_file *f);
const char *patch_build_id(const struct patch_file *f);
const char *patch_soname(const struct patch_file *f);

/* patch_functions - all functions, ascending by address.  Returns their number. */
uint32_t patch_functions(const struct patch_file *f, const struct patch_function **functions);
/* patch_marks - all marks, ascending by address.  Returns their number. */
uint32_t patch_marks(const struct patch_file *f, const struct patch_mark **marks);

/*
 * patch_file_is - whether the FILE half of pattern @pattern ("!lua5.4:luaV_*") matches the last
 * component of @path or the name @soname ("" if none).  False if the pattern has no colon.
 */
bool patch_file_is(const char *pattern, const char *path, const char *soname);

/*
 * patch_function_is - whether @pattern matches function @i of the file.
 *
 * FILE:FUNCTION, or a leading `!`.  FUNCTION is a glob on the linker's names and on the names in the
 * source, with and without parameters; `@GLOB` is one on its source file, path or last component.
 */
bool patch_function_is(const struct patch_file *f, uint32_t i, const char *pattern);

/* The finds of one pattern in the file. */
struct patch_count {
	uint32_t matched;		 /* functions or marks */
	uint32_t patched;		 /* of them, in the plan; later patterns may exclude some */
	uint32_t refused[PATCH_REASONS]; /* of them, by reason */
	uint32_t without_arguments; /* of the patched: wanted, but the signature is not known */
};

/* A mark that is wanted. */
struct patch_wanted_mark {
	const char *pattern; /* FILE:PROVIDER:NAME, globs; without `!` */
	const char *names;   /* of fields, divided by blanks or commas; NAME:str is text; NULL or
				behind the last one: arg1, arg2, .. */
};

struct patch_request {
	const char *const
		*patterns; /* FILE:FUNCTION; `!` excludes; the last that matches decides */
	uint32_t n_patterns;
	const char *const *within; /* functions that switch recording on while they run */
	uint32_t n_within;
	const struct patch_wanted_mark *marks;
	uint32_t n_marks;
	enum abi_calls_mode mode;
	uint32_t depth;		    /* 0: all */
	uint64_t threshold_ns;	    /* ABI_CALLS_OVER */
	uint32_t elide_under_ns;    /* ABI_CALLS_GOVERNED */
	uint32_t elide_after_calls; /* ABI_CALLS_GOVERNED; 0: 256 */
	uint64_t generation;
	bool has_arguments; /* of functions, where DWARF has their signatures: events calls:FUNCTION,
			       calls:FUNCTION_return */
};

/*
 * patch_make_plan - write the plan of the file for @r into directory @dir, under its build ID.
 *
 * @dir: a descriptor.  The file appears by rename; its mode is 0600.
 * @counts: an entry for each of patterns, within, marks, in this order; they are added to, so that
 * several files can be counted together.  NULL: not wanted.
 *
 * A function selected by `within` alone is switched on but not recorded.  Functions with flags
 * (longjmp, dlopen) are in every plan.  If nothing of the file is wanted, it gets no plan; if it
 * has an older one there, that one is replaced by an empty plan.
 *
 * Returns the number of sites, 0 if there are none; -E2BIG: more than ABI_PLAN_SITES; another
 * negative errno.
 */
int patch_make_plan(const struct patch_file *f, const struct patch_request *r, int dir,
		    struct patch_count *counts, struct diag *d);

#endif
