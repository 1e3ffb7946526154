/* SPDX-License-Identifier: MIT */
/*
 * abi/plan.h - which functions and marks of one ELF file are patched, and with which code.
 *
 * duet makes a plan outside the traced program (src/patch), for one session and one file.  libduet
 * applies it (src/inproc/calls).  A plan is a file in the runtime directory:
 *
 *   $RUNTIME/calls-<session>/<build ID in hexadecimal>   0600, replaced as a whole by rename
 *
 *   0             struct abi_plan
 *   sites         struct abi_plan_site[n_sites], ascending by address
 *   fixups        struct abi_plan_fixup[n_fixups]
 *   operands      struct abi_plan_operand[n_operands]
 *   code          code_bytes: displaced instructions of all sites
 *   text          text_bytes: names, each with its NUL
 *
 * All offsets are from the beginning of the file.  Addresses are those of the ELF file's own
 * numbering (st_value); the program adds the load bias.
 *
 *   (1) a site is applied only if the bytes in memory are the expected ones
 *   (2) no branch of the file leads into the replaced bytes, except to the first
 *   (3) displaced code does the same at any address within 2 GiB of the file, once its fixups are
 *       applied
 *
 * libduet trusts a plan as it trusts its own user, but checks every offset and size.
 */
#ifndef ABI_PLAN_H
#define ABI_PLAN_H

#include <stdint.h>

#define ABI_PLAN_MAGIC 0x6e616c7074656475ull /* "udetplan" */
#define ABI_PLAN_VERSION 1u

enum {
	ABI_PLAN_SITES = 1 << 18,
	ABI_PLAN_MOST_BYTES = 64 << 20,
	ABI_PLAN_WINDOW_MAX = 16, /* replaced bytes */
	ABI_PLAN_OPERANDS_MAX = 12,
	ABI_PLAN_ISLAND_AT = 8,	 /* the window of such a site is shorter */
	ABI_BUILD_ID_BYTES = 20, /* longer ones are cut */
};

/* How calls are recorded. */
enum abi_calls_mode {
	ABI_CALLS_GOVERNED = 0, /* exact, but functions that are too short are unpatched */
	ABI_CALLS_EXACT = 1,
	ABI_CALLS_OVER = 2,    /* only calls of at least threshold_ns */
	ABI_CALLS_PROFILE = 3, /* counts of each call path, sampled time */
};

struct abi_plan {
	uint64_t magic;
	uint32_t version;
	uint32_t size_bytes; /* of the whole file */
	uint64_t generation; /* grows with each change of the session's selection */
	uint8_t build_id[ABI_BUILD_ID_BYTES];
	uint32_t build_id_bytes;
	uint32_t mode;		 /* enum abi_calls_mode */
	uint32_t depth;		 /* calls at this depth and deeper are not recorded; 0: all are */
	uint64_t threshold_ns;	 /* ABI_CALLS_OVER */
	uint32_t elide_under_ns; /* ABI_CALLS_GOVERNED: mean duration of an elided function */
	uint32_t elide_after_calls; /* ABI_CALLS_GOVERNED: calls before the decision */
	uint32_t flags;		    /* ABI_PLAN_WITHIN */
	uint32_t n_sites, sites;    /* number, offset */
	uint32_t n_fixups, fixups;
	uint32_t n_operands, operands;
	uint32_t code_bytes, code;
	uint32_t text_bytes, text;
	uint32_t path; /* offset in the text: the file's path when the plan was made */
	uint32_t pad;
};
_Static_assert(sizeof(struct abi_plan) == 128, "layout both sides agree on");

/* Calls are recorded only while a function with ABI_SITE_SWITCH runs in the same thread. */
#define ABI_PLAN_WITHIN 1u

enum abi_site_kind {
	ABI_SITE_NOP5 = 1,     /* one 5-byte nop, or bytes that are never executed in between */
	ABI_SITE_NOPS = 2,     /* several nops; made one before the first toggle */
	ABI_SITE_SLED = 3,     /* XRay entry sled: a 2-byte jump over nops */
	ABI_SITE_PROLOGUE = 4, /* instructions, displaced into the stub */
	ABI_SITE_MARK = 5,     /* USDT mark in the middle of a function */
	ABI_SITE_ISLAND = 6, /* instructions, displaced, of 2 bytes or more: a jump of 2 bytes leads
				  to the island, 5 bytes of padding that hold `jmp stub` */
};

/* flags of a site */
#define ABI_SITE_SWITCH 1u     /* recording is on while this function runs: ABI_PLAN_WITHIN */
#define ABI_SITE_ALWAYS 2u     /* not governed */
#define ABI_SITE_DLOPEN 4u     /* dlopen, dlclose: objects are looked at again when it returns */
#define ABI_SITE_HIDDEN 8u     /* its calls are not recorded: it is patched for another flag only */
#define ABI_SITE_LONGJMP 16u   /* does not return; its caller's frames end */
#define ABI_SITE_ARGUMENTS 32u /* operands are recorded as an event of their own at entry */
#define ABI_SITE_RESULT 64u    /* the result is recorded at exit; its operand is the last one */

struct abi_plan_site {
	uint64_t address;	 /* of the first replaced byte */
	uint64_t function_begin; /* of the function that holds it, for names */
	uint32_t function_bytes;
	uint32_t name;	     /* offset in the text; the linker's name, or "" */
	uint32_t code;	     /* offset in the code: the displaced instructions */
	uint32_t fixup;	     /* the first of n_fixups */
	uint32_t operand;    /* the first of n_operands */
	uint32_t schema;     /* offset in the text: "LEVEL CHANNEL:NAME TYPE FIELD ..." of a mark or
				of arguments, the result's field last; 0: none */
	uint64_t semaphore;  /* address of a mark's 16-bit counter; 0: none */
	uint32_t flags;	     /* ABI_SITE_... */
	uint16_t code_bytes; /* 0: nothing is displaced */
	uint16_t n_fixups;
	uint16_t stack_bytes; /* of arguments that the function reads from the stack; copied */
	uint8_t kind;	      /* enum abi_site_kind */
	uint8_t window;	      /* replaced bytes, whole instructions: 5 to ABI_PLAN_WINDOW_MAX; for
				 ABI_SITE_ISLAND 2 to ABI_PLAN_ISLAND_AT */
	uint8_t n_operands;
	uint8_t lead;  /* ABI_SITE_MARK: bytes of the displaced code that run before the mark */
	int8_t island; /* ABI_SITE_ISLAND: from the end of the jump of 2 bytes to the padding */
	uint8_t pad[5];
	uint8_t expected[ABI_PLAN_WINDOW_MAX]; /* the bytes in the file; those of an island are at
						  ABI_PLAN_ISLAND_AT */
};
_Static_assert(sizeof(struct abi_plan_site) == 88, "layout both sides agree on");

/* A 32-bit field of displaced code that is relative to the instruction's end. */
struct abi_plan_fixup {
	uint64_t target; /* address in the file's numbering */
	uint16_t at;	 /* of the field, from the beginning of the site's code */
	uint16_t end;	 /* of the instruction, likewise */
	uint32_t pad;
};
_Static_assert(sizeof(struct abi_plan_fixup) == 16, "layout both sides agree on");

enum abi_operand_place {
	ABI_OPERAND_CONSTANT = 1, /* value */
	ABI_OPERAND_REGISTER = 2, /* the low `bytes` of reg */
	ABI_OPERAND_MEMORY = 3,	  /* at reg + (index << scale) + value; reg ABI_OPERAND_RIP: the
				     address `value` of the file */
	ABI_OPERAND_VECTOR = 4,	  /* xmm<reg> */
};

/* Registers have the processor's numbers: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi,
 * 8..15 r8..r15. */
#define ABI_OPERAND_NONE 0xffu
#define ABI_OPERAND_RIP 0xfeu

struct abi_plan_operand {
	int64_t value;
	uint8_t place; /* enum abi_operand_place */
	uint8_t reg, index, scale;
	uint8_t bytes;	   /* 1, 2, 4, 8 */
	uint8_t is_signed; /* extended so to 8 bytes */
	uint8_t is_high;   /* ah, ch, dh, bh */
	uint8_t is_text;   /* the value is the address of a NUL-terminated string */
};
_Static_assert(sizeof(struct abi_plan_operand) == 16, "layout both sides agree on");

#endif
