/* SPDX-License-Identifier: MIT */
/*
 * cmd/confine/errand.h - one change of a file's name, left to a process outside of the sandbox.
 *
 * A verb that removes its unfinished output, or gives it its name at the end, would need the right
 * to remove and make files in a whole directory.  Instead a child is forked before the sandbox: it
 * knows the names, waits for a byte, makes that one change and exits.  If no byte comes, it exits
 * when its pipe is closed.
 */
#ifndef CMD_CONFINE_ERRAND_H
#define CMD_CONFINE_ERRAND_H

#include <sys/types.h>

struct errand {
	int fd; /* -1: none */
	pid_t pid;
};
#define ERRAND_NONE ((struct errand){ .fd = -1 })

/* errand_prepare - @to NULL: remove the file @from; else rename it.  Returns 0 or -errno. */
int errand_prepare(struct errand *e, const char *from, const char *to);
/* errand_run - do it.  Returns 0 or -errno. */
int errand_run(struct errand *e);
/* errand_drop - do nothing; accepts ERRAND_NONE, and one that ran. */
void errand_drop(struct errand *e);

#endif
