/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/snapshot.c - duet snapshot: a running flight recorder writes the events it holds.
 *
 * The command opens the output directory and passes the descriptor: the collector may belong to
 * another user, and follows no path.  A session with tenants writes one snapshot with a part for
 * each.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/runtime.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/session/tenant_sessions.h"
#include "collect/session/public.h"
#include "collect/tenant/public.h"
#include "trace/public.h"

static const char help[] =
	"usage: duet snapshot [SESSION] [-o DIR] [--last TIME] [--max-size SIZE]\n"
	"\n"
	"Asks a flight recorder (`duet record --overwrite`, `duet collect --overwrite`) to write "
	"the events it\n"
	"holds now into a separate recording.  The programs and the flight recorder go on.\n"
	"\n"
	"  -s, --session SESSION  default: the one that is running\n"
	"  -o, --output DIR       where to; new or empty (default: snapshot-1, snapshot-2, ... in "
	"the\n"
	"                         output directory of the session); other users' parts in it, as "
	"tenant-1000\n"
	"      --last TIME        only the newest: 500ms, 5s, 2m (whole packets)\n"
	"      --max-size SIZE    only the newest that fit into bytes, or 512K, 64M, 1G (whole "
	"packets)\n"
	"\n"
	"  duet snapshot --last 5s && duet view duet-20261121-062608/snapshot-1\n";

enum { LAST = 256, MAX_SIZE, BUSY_WAIT_MS = 20 };

struct arguments {
	const char *session;
	const char *output;
	uint64_t last_ns, max_bytes; /* 0: all */
};

/* Make the directory and open it.  The collector gets the descriptor and follows no path. */
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
	const struct cmd_asking how = { .passed = directory,
					.timeout_s = tenant_session_label(session)
							     ? CMD_PART_WRITES_S
							     : 0 };
	struct text t = { 0 };

	json_line_add_text(&t, "verb", "snapshot");
	if (directory >= 0)
		json_line_add_text(&t, "path", shown);
	if (a->last_ns)
		json_line_add_number(&t, "last_ns", a->last_ns);
	if (a->max_bytes)
		json_line_add_number(&t, "max_size", a->max_bytes);
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

/*
 * Print where it is and its size.  Its events are counted by reading it, which shows that it can be
 * read.
 */
static int report(const struct json_line *answer, uint64_t more_bytes)
{
	const char *paths[1];
	char path[PATH_MAX], size[32];
	uint64_t applications = 0, kernel = 0, n;
	struct summary s;
	struct trace *t;
	struct diag d = { "" };

	if (!json_line_text(answer, "path", path, sizeof path) ||
	    !json_line_number(answer, "app_bytes", &applications) ||
	    !json_line_number(answer, "kernel_bytes", &kernel))
		return cmd_error("snapshot",
				 "the session answered what this duet does not understand");
	paths[0] = path;
	if (trace_open(&t, paths, 1, NULL, &d) || trace_summary(t, &s, &d))
		return cmd_error("snapshot", "cannot read what was written: %s", d.text);
	n = count_domain(&s, TRACE_UST);
	print_out("%s: %s, %llu event%s of applications", path,
		  cmd_size_text(applications + more_bytes + kernel, size), (unsigned long long)n,
		  n == 1 ? "" : "s");
	n = count_domain(&s, TRACE_KERNEL);
	if (kernel)
		print_out(", %llu of the kernel", (unsigned long long)n);
	if (s.lost_events || s.lost_packets)
		print_out(", %llu events and %llu packets LOST", (unsigned long long)s.lost_events,
			  (unsigned long long)s.lost_packets);
	print_out("\n");
	summary_fini(&s);
	trace_close(t);
	return 0;
}

/* The answer comes when the snapshot is written.  @directory: where to, or -1. */
static int request(const char *session, const struct arguments *a, int directory, const char *shown,
		   struct cmd_answer *answer)
{
	int status = ask(session, a, directory, shown, answer);

	while (!status && json_line_is_true(&answer->line, "busy")) {
		usleep(BUSY_WAIT_MS * 1000); /* a collector writes one snapshot at a time */
		status = ask(session, a, directory, shown, answer);
	}
	return status ? status : cmd_refused("snapshot", session, answer);
}

/* ---------------------------------------------------------------- tenants */

/* Make directory @path, in which a tenant collector may write as in its part of the recording. */
static int open_for(const char *part, const char *path)
{
	const struct cmd_asking how = { .passed = -1, .timeout_s = CMD_TIMEOUT_S, .may_end = true };
	char recording[PATH_MAX];
	struct cmd_answer answer;
	struct text t = { 0 };
	struct stat st;
	int fd;

	json_line_add_text(&t, "verb", "status");
	if (cmd_ask("snapshot", part, &t, &how, &answer) ||
	    cmd_refused("snapshot", part, &answer) ||
	    !json_line_text(&answer.line, "path", recording, sizeof recording) ||
	    stat(recording, &st))
		return -1;
	if (mkdir(path, 0700)) {
		cmd_error("snapshot", "cannot make %s: %s", path, strerror(errno));
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fchown(fd, st.st_uid, st.st_gid)) {
		cmd_error("snapshot", "cannot give %s to user %u: %s", path, (unsigned)st.st_uid,
			  strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * A tenant's part is written to a hidden directory beside the snapshot, until the main collector
 * has written: it requires an empty directory.
 */
static bool path_beside(char path[PATH_MAX], const char *whole, const char *part)
{
	const char *name = strrchr(whole, '/') + 1; /* an absolute path */

	return snprintf(path, PATH_MAX, "%.*s.%s.%s", (int)(name - whole), whole, name,
			tenant_session_label(part)) < PATH_MAX;
}

struct part {
	pid_t pid;	/* of the process that asks */
	uint64_t bytes; /* that it wrote; in memory shared with that process */
};

/*
 * Remove the directory of a part that failed.  Its collector may still write: root takes the directory
 * back first, so that no file is added meanwhile.
 */
static void remove_part(int directory, const char *path)
{
	if (!geteuid() && (fchown(directory, 0, 0) || fchmod(directory, 0700)))
		cmd_error("snapshot", "cannot take %s back: %s", path, strerror(errno));
	io_remove_tree(path);
	if (!access(path, F_OK))
		cmd_error("snapshot", "%s is not empty and stays: remove it", path);
}

/*
 * Start a process for each tenant, so that all are asked at the same time.  Its messages go to our
 * standard error.
 */
static void begin_part(struct part *p, const struct arguments *a, const char *part,
		       const char *whole)
{
	struct cmd_answer answer;
	char path[PATH_MAX];
	pid_t pid = fork();
	int fd, status;

	if (pid)
		p->pid = pid;
	if (pid)
		return;
	cmd_ask_from_now();
	if (!path_beside(path, whole, part))
		_exit(cmd_error("snapshot", "%s: the path is too long", whole));
	fd = open_for(part, path);
	status = fd < 0 ? CMD_FAILED : request(part, a, fd, path, &answer);
	if (status && fd >= 0)
		remove_part(fd, path);
	if (!status)
		json_line_number(&answer.line, "app_bytes", &p->bytes);
	_exit(status);
}

/* Move the tenant's part into the snapshot. */
static int end_part(pid_t pid, const char *part, const char *whole)
{
	char from[PATH_MAX], to[PATH_MAX];
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return cmd_error("snapshot", "%s: is not in it", part);
	if (!path_beside(from, whole, part) ||
	    snprintf(to, sizeof to, "%s/tenant-%s", whole, tenant_session_label(part)) >=
		    (int)sizeof to ||
	    rename(from, to))
		return cmd_error("snapshot", "%s: stays in %s: %s", part, from, strerror(errno));
	return 0;
}

/* Make one directory for all parts.  Without tenants the collector chooses one itself. */
static int open_whole(const struct arguments *a, const char *session, char shown[PATH_MAX])
{
	const struct cmd_asking how = { .passed = -1, .timeout_s = CMD_TIMEOUT_S };
	char recording[PATH_MAX], path[PATH_MAX];
	struct cmd_answer answer;
	struct text t = { 0 };
	struct stat st;
	int n = 0;

	if (a->output)
		return open_output(a->output, shown);
	json_line_add_text(&t, "verb", "status");
	if (cmd_ask("snapshot", session, &t, &how, &answer) ||
	    cmd_refused("snapshot", session, &answer) ||
	    !json_line_text(&answer.line, "path", recording, sizeof recording))
		return -1;
	do {
		if (snprintf(path, sizeof path, "%s/snapshot-%d", recording, ++n) >=
		    (int)sizeof path) {
			cmd_error("snapshot", "%s: the path is too long", recording);
			return -1;
		}
	} while (mkdir(path, 0777) && errno == EEXIST);
	if (!stat(recording, &st) && (st.st_mode & S_ISGID))
		chmod(path, 02750); /* of the recording's group: duet record --group */
	return open_output(path, shown);
}

/* @bytes: becomes the size that the tenants' parts have. */
static int request_parts(const struct arguments *a, const struct cmd_strings *parts, int directory,
			 const char *shown, struct cmd_answer *answer, uint64_t *bytes)
{
	size_t size = (size_t)parts->n * sizeof(struct part);
	struct part *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, one;

	if (p == MAP_FAILED)
		return cmd_error("snapshot", "no memory");
	fflush(NULL);
	for (int i = 1; i < parts->n; i++)
		begin_part(&p[i], a, parts->at[i], shown);
	status = request(parts->at[0], a, directory, shown, answer);
	for (int i = 1; i < parts->n; i++) {
		one = end_part(p[i].pid, parts->at[i], shown);
		status = one > status ? one : status;
		*bytes += p[i].bytes;
	}
	munmap(p, size);
	return status;
}

static int take(const struct arguments *a, const struct cmd_strings *parts)
{
	bool whole = a->output || parts->n > 1;
	char shown[PATH_MAX] = "";
	int directory = whole ? open_whole(a, parts->at[0], shown) : -1, status, reported;
	struct cmd_answer answer = { .text = "" };
	uint64_t bytes = 0; /* of other parts */

	if (whole && directory < 0)
		return CMD_FAILED;
	status = request_parts(a, parts, directory, shown, &answer, &bytes);
	if (directory >= 0)
		close(directory);
	if (status && whole)
		rmdir(shown); /* if it is empty */
	if (!json_line_is_true(&answer.line, "ok"))
		return status;
	reported = report(&answer.line, bytes);
	return reported > status ? reported : status;
}

static int run(const struct arguments *a)
{
	int dir = runtime_dir_open(false), status;
	struct cmd_strings parts = { 0 };
	struct abi_session session;

	if (dir < 0)
		return cmd_error("snapshot",
				 dir == -ENOENT
					 ? "nothing records: start `duet record --overwrite` first"
					 : "cannot use the runtime directory");
	tenants_sweep(dir);
	status = cmd_select_session("snapshot", dir, a->session, &session);
	if (!status)
		cmd_list_tenant_sessions(dir, session.name, &parts);
	close(dir);
	if (status == 1)
		return cmd_error("snapshot",
				 "nothing records: start `duet record --overwrite` first");
	return status ? status : take(a, &parts);
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
		if (c == ':' || c == '?')
			return options_refuse("snapshot", c, options, argv);
		if (c == 's')
			a.session = optarg;
		else if (c == 'o')
			a.output = optarg;
		else if (c == LAST && !cmd_parse_time("snapshot", optarg, &a.last_ns))
			return CMD_FAILED;
		else if (c == MAX_SIZE && !cmd_parse_size("snapshot", optarg, &a.max_bytes))
			return CMD_FAILED;
		else if (c == 'h')
			return print_own(help);
	}
	if (optind < argc && !a.session)
		a.session = argv[optind++];
	if (optind < argc)
		return cmd_usage("snapshot", "no argument expected");
	umask(0077); /* a snapshot is as private as its recording */
	return run(&a);
}
