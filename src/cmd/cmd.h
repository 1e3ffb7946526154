/* SPDX-License-Identifier: MIT */
/*
 * cmd/cmd.h - the verbs of `duet`, and their common helpers.
 *
 * A verb returns the exit status: 0 done, 1 done with a finding worth a status, 2 not done.  A
 * failure is one line on standard error: the failure, the object, and the remedy.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

enum { CMD_FAILED = 2, CMD_NOT_WHOLE = 1 };

int cmd_collect(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_disable(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_enable(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_lend(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_live(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_relay(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_rotate(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_send(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_strace(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trigger(int argc, char **argv);
int cmd_ui(int argc, char **argv);
int cmd_view(int argc, char **argv);

/* cmd_error - print "duet VERB: ..." and return CMD_FAILED. */
int cmd_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * cmd_written - a text that was printed but not written is a failure: print why, return CMD_FAILED.
 * Else return @status.  A reader that went away (head, a pager) is none.
 */
int cmd_written(const char *verb, int status);

/* cmd_usage - print @what and a hint to --help.  Returns CMD_FAILED. */
int cmd_usage(const char *verb, const char *what);

/* Lists that grow, for repeated options. */
struct cmd_strings {
	const char **at;
	int n;
};
struct cmd_pids {
	pid_t *at;
	int n;
};
/* cmd_grow - make room for one more than @n.  Without memory it prints that and exits. */
void *cmd_grow(void *at, int n, size_t size);
void cmd_add_string(struct cmd_strings *s, const char *text);
/*
 * cmd_add_pid - parse a pid and check that the process exists.  Returns false after it printed why
 * not.
 */
bool cmd_add_pid(const char *verb, struct cmd_pids *p, const char *text);
/* cmd_parse_size - parse "64M", "64MB", "64MiB", "1G", "512K" or bytes; K, M and G are powers of 1024.  Returns false after it printed why not. */
bool cmd_parse_size(const char *verb, const char *text, uint64_t *bytes);

/*
 * cmd_parse_time - parse "500ms", "5s", "2m" or "2min", "1h", "7d".  Returns false after it printed
 * why not.
 */
bool cmd_parse_time(const char *verb, const char *text, uint64_t *ns);
/*
 * cmd_add_contexts - add contexts, "ip" or "ip,callstack", to @mask.  Returns false after it
 * printed why not.
 */
bool cmd_add_contexts(const char *verb, const char *names, uint64_t *mask);

/*
 * cut_files.c: files that are cut while they are mapped do not end the command.  Recordings and
 * programs are mapped, and their owners may cut them at any time: each access beyond the end raises
 * SIGBUS then, as does a disk that fails.  Instead the lacking pages are read as zeros, which readers
 * take for damage; they are counted, and the command reports them at its end.
 *
 * cut_files_survive - from now on, also in other threads that do not block SIGBUS.
 * cut_files_status - report lacking pages, if there were any.  Returns @status; then at least 1.
 * cut_files_forget - this command has shown the damage in another way.
 */
void cut_files_survive(void);
int cut_files_status(const char *verb, int status);
void cut_files_forget(void);

struct abi_session;
/*
 * cmd_select_session - find session @wanted, or the only one that records if @wanted is NULL.
 *
 * Returns 0; 1 if nothing records; CMD_FAILED, after a message, if @wanted does not record or
 * several sessions do.
 */
int cmd_select_session(const char *verb, int dir, const char *wanted, struct abi_session *session);

/* cmd_list_tenant_sessions - @session and its tenants' parts: "default", "default@1000", ... */
void cmd_list_tenant_sessions(int dir, const char *session, struct cmd_strings *names);
/* cmd_list_sessions - the names of all sessions that record, in order. */
void cmd_list_sessions(int dir, struct cmd_strings *names);

/* cmd_report_hosts - print the text of trace_hosts unless it is empty. */
void cmd_report_hosts(const char *verb, const char *text);

/*
 * cmd_check_command - check that the command exists before any file is made, so that a typing error
 * leaves nothing behind.  Returns 0, or CMD_FAILED after a message.
 */
int cmd_check_command(const char *verb, const char *file);

/* cmd_size_text - "1.5 MB". */
const char *cmd_size_text(uint64_t bytes, char buffer[32]);

/* cmd_count_text - "1 event", "2 events". */
const char *cmd_count_text(uint64_t n, const char *noun, char buffer[64]);
/* cmd_lost_text - "3 events", "3 events and 1 packet", "1 packet". */
const char *cmd_lost_text(uint64_t events, uint64_t packets, char buffer[160]);

/*
 * cmd_find_library - find @file of this installation or build.  Returns its path, in @path, or
 * NULL.
 */
const char *cmd_find_library(const char *file, char *path, size_t size);

#endif
