/* SPDX-License-Identifier: MIT */
/*
 * collect/command.h - the command a recording runs.
 *
 * It is made before the kernel is told whom to record and let go after: from its exec on, nothing
 * of it is missed.
 */
#ifndef COLLECT_COMMAND_H
#define COLLECT_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/diag.h"

struct command {
	pid_t pid;  /* -1: none */
	int go;	    /* writing end of the pipe it waits on; -1 */
	int report; /* reading end: errno of a failed exec; -1 */
	int status; /* as waitpid gives it, once it has ended */
	bool ended;
};

struct command_options {
	char *const *argv;
	const char *session;		   /* added to DUET_SESSION */
	const char *library;		   /* DUET_LIBRARY, or NULL */
	const char *preload;		   /* put in front of LD_PRELOAD, or NULL */
	const sigset_t *mask;		   /* its signal mask */
	const struct rlimit *files;	   /* its RLIMIT_NOFILE */
	const struct sigaction *file_size; /* what it does on SIGXFSZ */
};

/* command_prepare - fork; the child waits before its exec. */
int command_prepare(struct command *c, const struct command_options *o, struct diag *d);
/* command_release - let it exec.  -ENOENT and the like if that fails, after its end. */
int command_release(struct command *c, struct diag *d);
/* command_has_ended - collect its status if it has ended. */
bool command_has_ended(struct command *c);
/* command_abandon - forget it: one that still waits ends, one that runs runs on. */
void command_abandon(struct command *c);

#endif
