/* SPDX-License-Identifier: MIT */
/*
 * cmd/confine/reader.h - the sandbox of verbs that read recordings.
 *
 * A recording may come from anywhere.  Before the first byte of one is read the verb calls
 * reader_confine.  Steps that need more rights come before: the pager (cmd/pager.h), files that are
 * written, and errands (cmd/confine/errand.h).
 *
 * Such a process may read every file: symbols are looked up in programs, in /usr/lib/debug and in
 * caches.  It writes to open files alone, and has threads.
 */
#ifndef CMD_CONFINE_READER_H
#define CMD_CONFINE_READER_H

#include <stdbool.h>

struct reader {
	const char *verb;
	unsigned rights;	  /* more than those of all readers: sandbox/sandbox.h */
	const char *const *reads; /* as there; NULL: every file */
	/* as there; the last of each is NULL */
	const char *writes[20], *directories[4];
};

/* reader_confine - enter the sandbox, unless this process is in one.  Returns 0, or CMD_FAILED after a
 * message. */
int reader_confine(const struct reader *r);

/*
 * reader_trusts - the recording was just made by this process, of its own user's command, and is
 * removed afterwards: reader_confine does nothing.
 */
void reader_trusts(void);

/* reader_parent - the directory that @path is in, in @parent. */
const char *reader_parent(const char *path, char parent[4096]);

#endif
