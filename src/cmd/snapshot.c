/* SPDX-License-Identifier: MIT */
/* cmd/snapshot.c - duet snapshot: a running flight recorder writes what it holds. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/runtime.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "collect/apps.h"
#include "collect/session.h"
#include "collect/tenants.h"
#include "trace/summary.h"

static const char help[] =
	"usage: duet snapshot [-s SESSION] [-o DIR] [--last TIME] [--max-size SIZE]\n\n"
	"Asks a flight recorder (`duet record --overwrite`, `duet collect --overwrite`) to write what it\n"
	"holds now into a recording of its own.  The programs and the flight recorder go on.\n\n"
	"  -s, --session SESSION  which (default: the one that is running)\n"
	"  -o, --output DIR       where to; new or empty (default: snapshot-1, snapshot-2, ... in the\n"
	"                         output directory of the session)\n"
	"      --last TIME        only the newest: 500ms, 5s, 2m (whole packets)\n"
	"      --max-size SIZE    only the newest that fit into bytes, or 512K, 64M, 1G (whole packets)\n\n"
	"  duet snapshot --last 5s && duet view duet-20261121-062608/snapshot-1\n";

enum { LAST = 256, MAX_SIZE, BUSY_WAIT_MS = 20 };

struct arguments {
	const char *session;
	const char *output;
	uint64_t last_ns, max_bytes; /* 0: all */
};

/* Ours to make and to open: the collector gets the open directory, and follows no path. */
static int open_output(const char *path, char shown[PATH_MAX])
{
	int err = io_make_dirs(path), fd;

	if (err) {
		cmd_error("snapshot", "cannot make %s: %s", path, strerror(-err));
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !realpath(path, shown)) {
		cmd_error("snapshot", "cannot open %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int ask(const char *session, const struct arguments *a, int directory, const char *shown,
	       struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = directory }; /* it may take long */
	struct text t = { 0 };

	control_add_text(&t, "verb", "snapshot");
	if (directory >= 0)
		control_add_text(&t, "path", shown);
	if (a->last_ns)
		control_add_number(&t, "last_ns", a->last_ns);
	if (a->max_bytes)
		control_add_number(&t, "max_size", a->max_bytes);
	return cmd_ask("snapshot", session, &t, &how, answer);
}

static uint64_t count_domain(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain &&
		    strncmp(s->events[i].name, "lttng_statedump_", 16) &&
		    strncmp(s->events[i].name, "lttng_ust_statedump:", 20))
			n += s->events[i].n;
	return n;
}

/* Where it is and how much it holds; counted by reading it, so that it is known to be readable. */
static int tell(const struct control_line *answer)
{
	const char *paths[1];
	char path[PATH_MAX], size[32];
	uint64_t applications = 0, kernel = 0, n;
	struct summary s;
	struct trace *t;
	struct diag d = { "" };

	if (!control_text(answer, "path", path, sizeof path) ||
	    !control_number(answer, "app_bytes", &applications) ||
	    !control_number(answer, "kernel_bytes", &kernel))
		return cmd_error("snapshot", "the session answered what this duet does not understand");
	paths[0] = path;
	if (trace_open(&t, paths, 1, NULL, &d) || trace_summary(t, &s, &d))
		return cmd_error("snapshot", "cannot read what was written: %s", d.text);
	n = count_domain(&s, TRACE_UST);
	printf("%s: %s, %llu event%s of applications", path, cmd_size_text(applications + kernel, size),
	       (unsigned long long)n, n == 1 ? "" : "s");
	n = count_domain(&s, TRACE_KERNEL);
	if (kernel)
		printf(", %llu of the kernel", (unsigned long long)n);
	if (s.lost_events || s.lost_packets)
		printf(", %llu events and %llu packets LOST", (unsigned long long)s.lost_events,
		       (unsigned long long)s.lost_packets);
	putchar('\n');
	summary_fini(&s);
	trace_close(t);
	return 0;
}

static int request(const char *session, const struct arguments *a, int directory, const char *shown)
{
	struct cmd_answer answer;
	int status = ask(session, a, directory, shown, &answer);

	while (!status && control_is_true(&answer.line, "busy")) {
		usleep(BUSY_WAIT_MS * 1000); /* one at a time */
		status = ask(session, a, directory, shown, &answer);
	}
	if (!status)
		status = cmd_refused("snapshot", session, &answer);
	return status ? status : tell(&answer.line);
}

static int run(const struct arguments *a)
{
	int dir = runtime_dir_open(false), directory = -1, status;
	struct abi_session session;
	char shown[PATH_MAX] = "";

	if (dir < 0)
		return cmd_error("snapshot", dir == -ENOENT ? "nothing records: start `duet record --overwrite` first"
							    : "cannot use the runtime directory");
	tenants_sweep(dir);
	status = cmd_choose_session("snapshot", dir, a->session, &session);
	close(dir);
	if (status == 1)
		return cmd_error("snapshot", "nothing records: start `duet record --overwrite` first");
	if (status)
		return status;
	if (a->output) {
		directory = open_output(a->output, shown);
		if (directory < 0)
			return CMD_FAILED;
	}
	status = request(session.name, a, directory, shown);
	if (directory >= 0)
		close(directory);
	if (status && a->output)
		rmdir(a->output); /* if nothing came to be there */
	return status;
}

int cmd_snapshot(int argc, char **argv)
{
	static const struct option options[] = { { "session", required_argument, NULL, 's' },
						 { "output", required_argument, NULL, 'o' },
						 { "last", required_argument, NULL, LAST },
						 { "max-size", required_argument, NULL, MAX_SIZE },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { 0 };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:o:h", options, NULL)) != -1) {
		if (c == 's')
			a.session = optarg;
		else if (c == 'o')
			a.output = optarg;
		else if (c == LAST && !cmd_parse_time("snapshot", optarg, &a.last_ns))
			return CMD_FAILED;
		else if (c == MAX_SIZE && !cmd_parse_size("snapshot", optarg, &a.max_bytes))
			return CMD_FAILED;
		else if (c == 'h')
			return fputs(help, stdout) < 0;
		else if (c == ':' || c == '?')
			return cmd_usage("snapshot",
					 c == ':' ? "an option lacks its value" : "no such option");
	}
	return optind < argc ? cmd_usage("snapshot", "no argument expected") : run(&a);
}
