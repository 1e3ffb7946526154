/* SPDX-License-Identifier: MIT */
/*
 * find/system/system.h - whether this machine and this user can record, and what to do if not.
 *
 * Everything is tried as a recording would try it, and nothing is left behind: no file, mount,
 * instance of tracefs or program in the kernel.
 */
#ifndef FIND_SYSTEM_SYSTEM_H
#define FIND_SYSTEM_SYSTEM_H

#include "base/text.h"
#include "find/find.h"

enum find_level {
	FIND_FINE,
	FIND_NOTE,    /* recordings work, but something optional or faster does not */
	FIND_FINDING, /* something does not work that most users want */
};

struct find_check {
	const char *group; /* "kernel", "rights", "paths", "versions", "limits", "libraries" */
	const char *name;  /* "tracefs" */
	enum find_level level;
	struct text value;  /* what there is; printable, one line */
	struct text remedy; /* a command or a sentence; empty if it is fine */
};

/*
 * find_system - run all checks; @report is called for each, in the order of the groups, and borrows it.
 *
 * @directory: where recordings are to be written.  Takes some 50 ms.  One thread.
 */
typedef void find_report(void *arg, const struct find_check *c);
void find_system(const struct find_by *by, const char *directory, find_report *report, void *arg);

/* find_process_checks, find_file_checks - the same for one program: by which ways it can be recorded, each with its
 * command. */
void find_process_checks(const struct find_process *p, const struct find_by *by,
			 find_report *report, void *arg);
void find_file_checks(const struct find_file *f, const struct find_by *by, find_report *report,
		      void *arg);

#endif
