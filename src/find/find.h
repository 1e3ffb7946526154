/* SPDX-License-Identifier: MIT */
/*
 * find/find.h - whether the events of a program can be recorded, and why not.
 *
 * One place decides it, for the messages of all commands and for duet doctor.  It reads /proc, the
 * program's files and its control page, and changes nothing.  A program that was started before libduet was
 * installed, or that belongs to another user, to a container or to another runtime directory, looks
 * the same to a collector: it has no control page there.  Here these cases are told apart.
 *
 * The process may end or change at any time, and its files and page are not trusted.  Names and paths
 * here are as the process gave them: they are printed with text_printable() only.
 */
#ifndef FIND_FIND_H
#define FIND_FIND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/text.h"
#include "elf/program.h"

enum find_state {
	FIND_RECORDABLE,      /* its page lies in our runtime directory */
	FIND_NOT_THERE,	      /* no such process */
	FIND_ZOMBIE,	      /* it has ended */
	FIND_IS_THREAD,	      /* a thread of process `leader` */
	FIND_IS_KERNEL,	      /* a thread of the kernel */
	FIND_HIDDEN,	      /* /proc does not show its files to us */
	FIND_OTHER_PROCESSOR, /* 32-bit, or of another processor */
	FIND_NO_SITES,	      /* not instrumented */
	FIND_ONLY_MARKS,      /* only USDT marks */
	FIND_ONLY_LTTNG,      /* instrumented for LTTng-UST */
	FIND_STATIC,	      /* sites; it is static and cannot load libduet */
	FIND_OTHER_LIBC,      /* sites; its libc is not glibc */
	FIND_NO_LIBRARY,      /* sites; its loader finds no libduet */
	FIND_LIBRARY_IS_NEW, /* sites; its loader would find libduet now, and did not at its start */
	FIND_SECURE,	     /* libduet; set-user-ID or with capabilities, so it is left alone */
	FIND_FILE_LIMIT,     /* libduet; ulimit -f leaves no room for the control page */
	FIND_BAD_DIRECTORY,  /* libduet; its runtime directory cannot be used */
	FIND_NO_PAGE,	     /* libduet; no control page, for another reason */
	FIND_PAGE_REMOVED,   /* its page was removed while it ran */
	FIND_OTHER_LAYOUT,   /* its page has another version than ours */
	FIND_OTHER_USER,     /* it is recordable by another user */
	FIND_CONTAINER,	     /* it has another /dev/shm */
	FIND_OTHER_DIRECTORY, /* it has another runtime directory */
	FIND_SANDBOXED,	      /* dormant by seccomp */
	FIND_NO_CLOCK,	      /* dormant as it may not read the time stamp counter */
	N_FIND_STATES
};

/* The side that asks. */
struct find_by {
	uid_t uid;	      /* effective */
	char directory[512];  /* our runtime directory */
	uint64_t dev, ino;    /* of it; 0, 0: it does not exist yet */
	const char *library;  /* libduet.so.0 of our installation; NULL: none */
	uint64_t most_cpu_ns; /* find_each ends after this time of its thread; 0: no limit */
	bool passes_library; /* programs get `library`, as duet record does: no loader looks for it */
	bool records_kernel; /* it records the kernel's events already: no remedy */
};

/* find_by - ourselves.  @library is borrowed. */
void find_by(struct find_by *by, const char *library);

/* The search of the loader for libduet.so.0. */
struct find_loader {
	char found[PATH_MAX]; /* as the process sees it; "": nowhere */
	struct text looked;   /* where, as words */
	bool is_named;	      /* DUET_LIBRARY names one file, and only that is tried */
};

struct find_process {
	pid_t pid, leader;
	uid_t uid;
	enum find_state state;
	char name[64];	     /* of the process, as the kernel names it */
	char file[PATH_MAX]; /* its program; "" if it is hidden */
	struct elf_program
		program; /* of all its files that are not the system's: sums, the first mark */
	char sites_in[PATH_MAX];      /* the first file with sites */
	char marks_in[PATH_MAX];      /* the first file with marks */
	char library[PATH_MAX];	      /* libduet as it is mapped; "": none */
	bool library_is_removed;      /* that file was replaced or removed since */
	struct find_loader loader;    /* FIND_NO_LIBRARY, FIND_LIBRARY_IS_NEW */
	char directory[512];	      /* its runtime directory; "" unknown */
	char container[32];	      /* if its mount namespace is another one */
	char why[160];		      /* FIND_BAD_DIRECTORY: the reason */
	uint64_t limit;		      /* FIND_FILE_LIMIT: bytes */
	uint32_t n_events, n_refused; /* of its page */
	uint32_t layout;	      /* of its page */
	bool loads_calls;	      /* --graph can put libduet into it */
	struct diag no_calls;	      /* otherwise: why not */
};

/*
 * find_process - look at one process.
 *
 * Any thread.  @cache: of files, for several processes; or NULL.  find_process_fini frees what @p
 * holds.
 */
struct find_cache;
void find_process(struct find_process *p, pid_t pid, const struct find_by *by,
		  struct find_cache *cache);
void find_process_fini(struct find_process *p);

/*
 * find_each - call @visit for each process that has trace sites, libduet or LTTng-UST's tracepoints;
 * not 0 ends the walk and is returned.
 *
 * @uid: only processes of this user; FIND_ALL_USERS: of all that /proc shows.  @names: NULL, or globs
 * between commas: only processes whose name matches one of them, and these also if they have nothing.
 */
#define FIND_ALL_USERS ((uid_t)-1)
int find_each(const struct find_by *by, uid_t uid, const char *names,
	      int (*visit)(void *arg, const struct find_process *p), void *arg);

/* A program or library on disk. */
struct find_file {
	char path[PATH_MAX];
	enum find_state state; /* FIND_RECORDABLE if it is found with the environment of ours */
	struct elf_program program;
	struct find_loader loader;
};

/* find_file - look at @path, or at the command of that name.  Returns 0; -errno with the reason in
 * @d: no such file, or none of ELF; then nothing is to be freed. */
int find_file(struct find_file *f, const char *path, const struct find_by *by, struct diag *d);
void find_file_fini(struct find_file *f);

/*
 * find_process_words - why the process is not recorded, and what to do, each as one line.
 *
 * "has no trace sites: it is not instrumented": what follows "process 7 (name)".  The texts are
 * printable.  The caller frees them (text_fini).
 */
void find_process_words(const struct find_process *p, const struct find_by *by, struct text *why,
			struct text *remedy);
void find_file_words(const struct find_file *f, const struct find_by *by, struct text *why,
		     struct text *remedy);

/* find_command_name - how a command of duet names the file @path: its last part if PATH leads to it. */
const char *find_command_name(const char *path);

/* find_state_name - the state as a word, for programs: "no-sites". */
const char *find_state_name(enum find_state state);

#endif
