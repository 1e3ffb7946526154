/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/recording.h - one recording that a verb makes, from its options to its end.
 *
 * duet record, collect, start and strace share it.  A verb calls recording_begin, parses its options
 * (recording_options_parse, or it sets fields itself), calls recording_resolve, changes `o` for
 * its own purpose, and calls recording_run.
 */
#ifndef CMD_RECORD_RECORDING_H
#define CMD_RECORD_RECORDING_H

#include <limits.h>

#include "cmd/record/channels.h"
#include "cmd/cmd.h"
#include "cmd/record/chunk_options.h"
#include "cmd/remote/send.h"
#include "collect/public.h"
#include "collect/session/public.h"

/* The last of -e, -k and the probes in argv: -f belongs to it. */
enum last_option { LAST_EVENT, LAST_KERNEL, LAST_PROBE };

struct recording {
	const char *verb;
	bool is_strict;	     /* a finding makes the exit status 1 */
	bool shows_progress; /* also with a command: announce_counts */
	bool kernel_records; /* set before on_ready: the kernel may be refused */
	uint32_t n_repeats;  /* only record has it: repeat.h; 0: not given */
	bool quiet, verbose; /* verbose: only record and collect have it */
	char default_path[64];
	char session[64];
	char library[PATH_MAX], preload[PATH_MAX];
	char *preloads;					  /* two of them, with a colon between */
	struct cmd_strings kernel_events, kernel_filters; /* equally many; a filter may be NULL */
	struct cmd_strings graph;			  /* functions of the kernel */
	struct cmd_strings calls;			  /* functions of programs */
	const char *graph_mode;				  /* NULL: not given */
	struct cmd_strings cgroups;			  /* directories */
	struct kernel_uprobe *uprobes;
	int n_uprobes;
	struct calls_mark *marks; /* of --usdt, in programs: cmd/record/marks.h */
	const char *usdt_by;	  /* --usdt-by; NULL: whichever is possible */
	enum last_option last;
	int last_kernel;   /* index of the first pattern of the last -k */
	int last_event;	   /* and of the last -e */
	const char *early; /* -f or --level that stood before every -e and -k; NULL: none */
	struct cmd_strings triggers;
	struct recorder_event *events;
	int n_events;
	struct cmd_channels channels;
	uint64_t buffer_bytes, contexts;
	struct cmd_pids pids;
	struct text selector; /* rules/selector.h */
	const char *programs; /* the last --program; NULL: not given */
	struct send send;
	struct recorder_options o;
};

/* recording_begin - set defaults. */
void recording_begin(struct recording *a, const char *verb);

struct options;
/* recording_options_parse - parse @argv by the rows of recording_options that have the bit of @o.
 *
 * @o: `verb`, `bit` and the help's texts; the rest is filled in.  Returns OPTIONS_GO_ON or the exit
 * status, as options_parse does. */
int recording_options_parse(struct recording *a, struct options *o, int argc, char **argv);

/* recording_add_selector - take --program, --uid, --container or --cgroup; for struct
 * selector_target.  Returns 0, or CMD_FAILED after it printed why not. */
int recording_add_selector(void *recording, enum selector_kind kind, const char *list);
/* recording_backend - find an enum kernel_backend by its name.  If there is none, print that and
 * return false. */
bool recording_backend(const char *verb, const char *name, enum kernel_backend *backend);
/* recording_names_kernel - whether an option asks for events of the kernel. */
bool recording_names_kernel(const struct recording *a);
/* recording_graph_mode - check a mode of --graph-mode; *@mode is a constant.  If there is no such
 * mode, print that and return false. */
bool recording_graph_mode(const char *verb, const char *name, const char **mode);
/* recording_name - set the session's @name.  If it is not valid, print that and return false. */
bool recording_name(struct recording *a, const char *option, const char *name);

/* recording_take_name - the session's name is -s NAME, or the only argument, or "default".
 *
 * @args: the @n arguments behind the options.  Returns 0, or CMD_FAILED after it printed why not. */
int recording_take_name(struct recording *a, int n, char *const *args);

/* recording_resolve - check the options and set the defaults that depend on them.
 *
 * Call it after the last option, before the verb changes `o`.  Returns 0, or CMD_FAILED after it
 * printed why not. */
int recording_resolve(struct recording *a);

/* recording_begin_defaults - begin as recording_begin, with what record, start and collect record where
 * no option says. */
void recording_begin_defaults(struct recording *a, const char *verb);

/*
 * recording_choose_defaults - decide what is recorded where no option says; after recording_resolve.
 *
 * Of applications: all events, of all verbs alike.  Of the kernel: sched and syscalls of the command,
 * the processes of -p or the cgroup; if all programs are recorded, nothing that no option names.
 */
void recording_choose_defaults(struct recording *a);

/* recording_run - record until the end.  Returns the exit status. */
int recording_run(struct recording *a);

#endif
