/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/recording.h - what duet record, collect and start share: options, defaults, the run.
 *
 * A verb takes its options by recording_take, settles what is its own in `o`, and calls
 * recording_run.
 */
#ifndef CMD_RECORD_RECORDING_H
#define CMD_RECORD_RECORDING_H

#include <getopt.h>
#include <limits.h>

#include "cmd/record/channels.h"
#include "cmd/cmd.h"
#include "cmd/record/chunk_options.h"
#include "cmd/remote/send.h"
#include "cmd/session/selector_options.h"
#include "collect/recorder.h"

/* Values for getopt_long, beside characters; those of cmd/remote/send.h begin at 512. */
enum {
	RECORDING_NO_KERNEL = 256,
	RECORDING_ALL_KERNEL,
	RECORDING_KERNEL_BUFFER,
	RECORDING_KERNEL_BACKEND,
	RECORDING_KERNEL_CONTEXT,
	RECORDING_CAPTURE,
	RECORDING_OVERWRITE,
	RECORDING_CLOCK,
	RECORDING_CHANNEL,
	RECORDING_ALL_USERS,
	RECORDING_CONTAINERS,
	RECORDING_TRIGGER,
	RECORDING_USDT,
	RECORDING_KPROBE,
	RECORDING_FPROBE,
	RECORDING_GRAPH,
	RECORDING_GRAPH_OVER,
	RECORDING_GRAPH_DEPTH,
	RECORDING_GRAPH_ARGS,
	RECORDING_HELP,
};

/* Letters "o:e:f:c:k:u:b:q" go with them. */
#define RECORDING_OPTIONS                                                                          \
	{ "output", required_argument, NULL, 'o' }, { "event", required_argument, NULL, 'e' },     \
		{ "filter", required_argument, NULL, 'f' },                                        \
		{ "context", required_argument, NULL, 'c' },                                       \
		{ "uprobe", required_argument, NULL, 'u' },                                        \
		{ "usdt", required_argument, NULL, RECORDING_USDT },                               \
		{ "kprobe", required_argument, NULL, RECORDING_KPROBE },                           \
		{ "fprobe", required_argument, NULL, RECORDING_FPROBE },                           \
		{ "graph", required_argument, NULL, RECORDING_GRAPH },                             \
		{ "graph-args", no_argument, NULL, RECORDING_GRAPH_ARGS },                         \
		{ "graph-over", required_argument, NULL, RECORDING_GRAPH_OVER },                   \
		{ "graph-depth", required_argument, NULL, RECORDING_GRAPH_DEPTH },                 \
		{ "kernel", required_argument, NULL, 'k' },                                        \
		{ "buffer", required_argument, NULL, 'b' },                                        \
		{ "kernel-buffer", required_argument, NULL, RECORDING_KERNEL_BUFFER },             \
		{ "kernel-backend", required_argument, NULL, RECORDING_KERNEL_BACKEND },           \
		{ "kernel-context", required_argument, NULL, RECORDING_KERNEL_CONTEXT },           \
		{ "capture", required_argument, NULL, RECORDING_CAPTURE },                         \
		{ "overwrite", no_argument, NULL, RECORDING_OVERWRITE },                           \
		{ "clock", required_argument, NULL, RECORDING_CLOCK },                             \
		{ "channel", required_argument, NULL, RECORDING_CHANNEL },                         \
		{ "all-users", no_argument, NULL, RECORDING_ALL_USERS },                           \
		{ "containers", no_argument, NULL, RECORDING_CONTAINERS },                         \
		{ "trigger", required_argument, NULL, RECORDING_TRIGGER },                         \
		{ "quiet", no_argument, NULL, 'q' },                                               \
		{ "help", no_argument, NULL, RECORDING_HELP }, WHOM_OPTIONS, SEND_OPTIONS,         \
		TRACE_CHUNKS_OPTIONS

#define RECORDING_UPROBES_HELP                                                                     \
	"  -u, --uprobe 'FILE:FUNCTION [NAME=arg1:s32]...'  as root: calls of a function of any "  \
	"program or\n"                                                                             \
	"                        library; FUNCTION%return: its returns, with NAME=retval (duet "   \
	"list -u FILE)\n"                                                                          \
	"      --usdt 'FILE:PROVIDER:NAME [NAMES]'  markers of sys/sdt.h (duet list --usdt "       \
	"FILE)\n"                                                                                  \
	"      --kprobe 'FUNCTION[%return] [NAME=arg1:str]...'  as root: calls of a function of "  \
	"the kernel's\n"                                                                           \
	"      --fprobe 'FUNCTION[%return] [NAMES]'  the same, another way (6.5)\n"                \
	"      --graph 'FUNCTIONS'   calls of the kernel's functions with their durations: "       \
	"ext4_*,mod:xfs,@FILE\n"                                                                   \
	"      --graph-over TIME     only those that last longer: 100us\n"                         \
	"      --graph-depth N       with what they call, N levels\n"                              \
	"      --graph-args          with arguments, also of -k function:F, where the kernel has " \
	"them (6.15)\n"

#define RECORDING_KERNEL_CONTEXT_HELP                                                              \
	"      --kernel-context NAMES  with each kernel event: pid, ppid, procname, prio, uid, "   \
	"cgroup, namespaces, ...\n"

#define RECORDING_TENANTS_HELP                                                                     \
	"      --all-users       as root: the programs of all users, each user's in a buffer of "  \
	"his own\n"                                                                                \
	"      --containers      as root: programs in containers, with nothing mounted into "      \
	"them\n"

struct recording {
	const char *verb;
	bool quiet, verbose; /* verbose: of record and collect alone */
	char default_path[64];
	char session[64];
	char library[PATH_MAX], preload[PATH_MAX];
	struct cmd_strings kernel_events, kernel_filters; /* of each a filter, or NULL */
	struct cmd_strings graph;
	struct cmd_strings cgroups; /* directories */
	struct kernel_uprobe *uprobes;
	int n_uprobes;
	bool last_uprobe; /* a probe was the last of -e, -k and probes */
	int last_kernel;  /* first pattern of the last -k; -1: an -e came last */
	struct cmd_strings triggers;
	struct recorder_event *events;
	int n_events;
	struct cmd_channels channels;
	uint64_t buffer_bytes, contexts;
	struct cmd_pids pids;
	struct text selector; /* rules/selector.h */
	struct send send;
	struct recorder_options o;
};

/* recording_backend - an enum kernel_backend by its name.  Prints why not and returns false. */
bool recording_backend(const char *verb, const char *name, uint32_t *backend);

/* recording_begin - defaults. */
void recording_begin(struct recording *a, const char *verb);
/* recording_take - option @c with optarg.  -1 to go on, else the exit status. */
int recording_take(struct recording *a, int c, const char *help);
/* recording_name - @name for the session; false, having said why not. */
bool recording_name(struct recording *a, const char *option, const char *name);
/* recording_resolve - after the last option and before anything in `o` is the verb's own: defaults.
 * 0, or CMD_FAILED having said why. */
int recording_resolve(struct recording *a);
/* recording_run - record, until its end; the exit status. */
int recording_run(struct recording *a);

#endif
