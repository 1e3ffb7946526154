/* SPDX-License-Identifier: MIT */
/*
 * collect/command.h - the command that a recording runs.
 *
 * It is forked before the kernel starts to record it and released afterwards, so that nothing is
 * missed from its exec on.
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
	int go;	    /* write end of the pipe that it waits on; -1 */
	int report; /* read end: errno of a failed exec; -1 */
	int status; /* as waitpid returns it, once it has ended */
	bool ended;
};

struct command_options {
	char *const *argv;
	const char *session;		   /* added to DUET_SESSION, or NULL: nothing is */
	const char *library;		   /* DUET_LIBRARY, or NULL */
	const char *preload;		   /* prepended to LD_PRELOAD, or NULL */
	const sigset_t *mask;		   /* its signal mask */
	const struct rlimit *files;	   /* its RLIMIT_NOFILE */
	const struct sigaction *file_size; /* its disposition of SIGXFSZ, */
	const struct sigaction *pipe;	   /* of SIGPIPE */
	mode_t umask;
};

/* command_prepare - fork, and return when the child waits before its exec. */
int command_prepare(struct command *c, const struct command_options *o, struct diag *d);
/* command_release - let it exec.  If that fails: -ENOENT and others, after its end.  0 too if a
 * signal has ended it: command_has_ended() reports that. */
int command_release(struct command *c, struct diag *d);
/* command_has_ended - reap it if it has ended. */
bool command_has_ended(struct command *c);
/* command_abandon - release it: a waiting child ends, a running one continues. */
void command_abandon(struct command *c);

#endif
