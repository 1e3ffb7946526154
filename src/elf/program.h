/* SPDX-License-Identifier: MIT */
/*
 * elf/program.h - which tracers a program or library on disk is made for, and how it is linked.
 *
 * The file is untrusted, and its owner may change it meanwhile: it is read, never mapped, and each
 * part of it has a limit.
 */
#ifndef ELF_PROGRAM_H
#define ELF_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum { ELF_MARK_BYTES = 128, ELF_SEARCH_BYTES = 1024 };

struct elf_program {
	bool is_64bit;	  /* otherwise nothing below is known */
	bool is_other;	  /* of another processor than this duet's */
	bool is_program;  /* not a library */
	bool is_static;	  /* a program without an interpreter: it loads no library at its start */
	bool has_dlopen;  /* it defines dlopen(3) itself: a static program that can load libduet */
	bool has_symbols; /* the table of all functions: it is not stripped */
	bool is_musl;	  /* its interpreter is musl's */
	uint32_t n_sites; /* trace sites of duet */
	uint32_t n_lttng; /* tracepoints of LTTng-UST */
	bool needs_lttng; /* it is linked with liblttng-ust */
	uint32_t n_marks; /* USDT marks, without those that libc has */
	char mark[ELF_MARK_BYTES]; /* the first one, "PROVIDER:NAME" */
	char rpath[ELF_SEARCH_BYTES], runpath[ELF_SEARCH_BYTES]; /* where it looks for libraries */
};

/*
 * elf_program_read - look into the file open as @fd, which stays open.
 *
 * Returns 0, or -ENOEXEC if it is no regular ELF file.
 */
int elf_program_read(struct elf_program *p, int fd, struct diag *d);

/* elf_program_open - open the regular file @path to read it.  A FIFO, a device or another file is
 * refused before it is opened, which may have an effect.  Returns a descriptor; -errno with the reason
 * in @d. */
int elf_program_open(const char *path, struct diag *d);

#endif
