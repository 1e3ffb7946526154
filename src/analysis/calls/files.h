/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/files.h - calls files and plans of a recording, mapped and checked.
 *
 * Files: DIR/.duet/calls/<pid>-<proc> and DIR/.duet/plans/<build ID>[-<generation>], layouts in
 * abi/calls.h and abi/plan.h.  They come from programs and are untrusted:
 *
 *   (1) a file is used only if its magic and version are right and its tables lie within it
 *   (2) numbers inside are checked where they are used; texts end within their room
 *   (3) a plan is a copy: it does not change after it was checked.  A calls file is a map; its
 *       numbers are checked each time
 *   (4) of several copies of one program's file the newest is used: trace chunks and snapshots have
 *       copies of their own
 */
#ifndef ANALYSIS_CALLS_FILES_H
#define ANALYSIS_CALLS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/calls.h"
#include "base/diag.h"

struct calls_file {
	char name[96]; /* <pid>-<proc>[.<registered_ns>] */
	uint32_t root; /* index in `roots` */
	const struct abi_calls *head;
	const struct abi_calls_object *objects;
	const struct abi_calls_function *functions;
	const uint8_t *threads;			    /* areas of ABI_CALLS_THREAD_BYTES */
	uint32_t n_objects, n_functions, n_threads; /* that the file holds whole */
	size_t size;
	uint32_t *plan_of; /* by object: index plus 1 of its plan; 0: none */
};

struct plan_file {
	const struct abi_plan *head;
	const struct abi_plan_site *sites;
	const char *text;
	char build_id[2 * ABI_BUILD_ID_BYTES + 1]; /* of the name */
	bool has_generation;			   /* in the name */
	size_t size;
	uint32_t n_sites, text_bytes;
};

struct calls_files {
	char **roots; /* directories of recordings: DIR */
	uint32_t n_roots, n_root_rooms;
	struct calls_file *files;
	uint32_t n_files, n_file_rooms;
	struct plan_file *plans;
	uint32_t n_plans, n_plan_rooms;
	uint32_t n_refused;	 /* files that are no calls files or plans */
	uint32_t n_without_plan; /* objects */
};

/* calls_files_add - read the files of recording @root.  A recording without them is no error.
 * Returns 0 or -ENOMEM. */
int calls_files_add(struct calls_files *f, const char *root);
/* calls_files_link - after the last root: find the plan of each object.  0 or -ENOMEM. */
int calls_files_link(struct calls_files *f);
void calls_files_fini(struct calls_files *f);

/* calls_file_thread - area @i, i < n_threads. */
static inline const struct abi_calls_thread *calls_file_thread(const struct calls_file *f,
							       uint32_t i)
{
	return (const struct abi_calls_thread *)(f->threads + (size_t)i * ABI_CALLS_THREAD_BYTES);
}

/* calls_file_site - the plan and site of function @number; NULL: none. */
const struct abi_plan_site *calls_file_site(const struct calls_files *f,
					    const struct calls_file *file, uint32_t number,
					    const struct plan_file **plan,
					    const struct abi_calls_object **object);
/* plan_text - the text at @offset; "" if it does not end within the plan. */
const char *plan_text(const struct plan_file *p, uint32_t offset);

/* calls_file_check, plan_file_check - whether @size bytes at @bytes are such a file; fills the
 * pointers, which are into @bytes. */
bool calls_file_check(struct calls_file *f, const void *bytes, size_t size);
bool plan_file_check(struct plan_file *p, const void *bytes, size_t size);

#endif
