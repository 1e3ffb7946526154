/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/file.h - the program's calls file: abi/calls.h.
 */
#ifndef INPROC_CALLS_FILE_H
#define INPROC_CALLS_FILE_H

#include "abi/calls.h"
#include "inproc/process.h"

enum {
	CALLS_FILE_BYTES = ABI_CALLS_THREADS_AT + ABI_CALLS_THREADS * ABI_CALLS_THREAD_BYTES,
	CALLS_FILE_NAME_BYTES = ABI_PAGE_NAME_BYTES + 8,
};

/*
 * calls_file_make - make and map this process's calls file; its head is zero.
 *
 * @dir: the runtime directory.
 * @name: receives the file's name.  A file of that name that a program before exec left gets its
 * registered_ns as a suffix.
 *
 * NULL if that fails; then no file of ours is left.  The collector removes the file, once it has
 * copied it.  Async-signal-safe.
 */
struct abi_calls *calls_file_make(int dir, char name[CALLS_FILE_NAME_BYTES]) HIDDEN;

/*
 * calls_file_inherit - in a forked child: make a file of its own at the address of @old, its
 * parent's, with the parent's objects and functions, and no threads.
 *
 * The head is copied and names this process; the objects' numbers stay.  False: @old stays as it
 * is.
 */
bool calls_file_inherit(struct abi_calls *old, int dir, char name[CALLS_FILE_NAME_BYTES]) HIDDEN;

#endif
