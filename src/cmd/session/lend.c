/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/lend.c - duet lend: let the members of a group record the kernel.
 *
 * kernel/tracefs/broker.h does it; this file makes the socket, which only root and the group may
 * use.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/service.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "kernel/tracefs/public.h"

static const char help[] =
	"usage: duet lend [OPTIONS]\n"
	"\n"
	"Lets the members of a group record kernel events without being root: makes tracefs "
	"instances for them,\n"
	"and removes each when its recorder has ended.  Needs root; systemd should run it "
	"(duet-lend.socket).\n"
	"\n"
	"      --socket PATH   of the socket for requests (default: " BROKER_SOCKET ")\n"
	"      --group NAME    whose members may record (default: tracing)\n"
	"      --own-processes lend the user's own processes alone, not the whole machine\n"
	"      --idle SECONDS  end after so long without a borrower, if the socket is systemd's\n"
	"                      (default: 30)\n";

struct arguments {
	const char *path, *group;
	bool own_only;
	int idle_s;
};

enum { STEP_MS = 1000, BACKLOG = 16 };
static volatile sig_atomic_t is_asked_to_stop;

static void on_signal(int s)
{
	(void)s;
	is_asked_to_stop = 1;
}

/* Bind so that at no moment anyone but root and the group may connect. */
static int bind_for(const struct arguments *a, int fd, const struct group *g)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask = umask(0177);
	int err = 0;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", a->path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address))
		err = -errno;
	umask(mask);
	if (!err && (lchown(a->path, 0, g->gr_gid) || chmod(a->path, 0660) || listen(fd, BACKLOG)))
		err = -errno;
	return err;
}

/* Remove the socket of a broker that ended; leave that of one that runs. */
static bool is_in_use(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_alive;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	is_alive = fd < 0 || !connect(fd, (const struct sockaddr *)&address, sizeof address);
	if (fd >= 0)
		close(fd);
	return is_alive;
}

static void make_parent(const char *path)
{
	char parent[sizeof((struct sockaddr_un *)0)->sun_path];
	char *slash;

	snprintf(parent, sizeof parent, "%s", path);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = 0;
		mkdir(parent, 0755);
	}
}

/* Returns the descriptor, or -CMD_FAILED after it printed why. */
static int open_socket(const struct arguments *a, const struct group *g)
{
	int fd, err;

	if (!g)
		return -cmd_error("lend", "--group %s: no such group (groupadd -r %s)", a->group,
				  a->group);
	if (strlen(a->path) >= sizeof((struct sockaddr_un *)0)->sun_path)
		return -cmd_error("lend", "--socket %s: the path is too long", a->path);
	if (is_in_use(a->path))
		return -cmd_error("lend", "%s: another one lends there already", a->path);
	make_parent(a->path);
	unlink(a->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : bind_for(a, fd, g);
	return err ? -cmd_error("lend", "cannot listen on %s: %s", a->path, strerror(-err)) : fd;
}

/* The group of systemd's socket is that of its unit. */
static gid_t group_of_socket(int fd, const struct group *g)
{
	struct sockaddr_un address = { 0 };
	socklen_t size = sizeof address - 1;
	struct stat s;

	if (!getsockname(fd, (struct sockaddr *)&address, &size) && !stat(address.sun_path, &s))
		return s.st_gid;
	return g ? g->gr_gid : 0;
}

/* Prints when more or fewer instances are kept, and for systemd always. */
static void report(const struct broker_state *s, int *n_kept)
{
	char text[160];

	snprintf(text, sizeof text, "STATUS=%d borrowers, %d returned instances kept open",
		 s->n_borrowers, s->n_kept);
	service_notify(text);
	if (s->n_kept > *n_kept)
		print_err("duet lend: %d returned instances cannot be removed: processes (of user "
			  "%u) keep their files open\n"
			  "  they record nothing and count against the user's %d loans; removal is "
			  "tried again\n",
			  s->n_kept, (unsigned)s->kept_by, BROKER_LOANS_OF_ONE);
	*n_kept = s->n_kept;
}

static bool is_changed(const struct broker_state *a, const struct broker_state *b)
{
	return a->n_borrowers != b->n_borrowers || a->n_kept != b->n_kept;
}

static int run(const struct arguments *a, struct broker_server *l, bool is_systemds)
{
	struct broker_state now = { 0 }, before = { 0 };
	struct diag d = { "" };
	int n_kept = 0;
	time_t used;

	service_notify("READY=1");
	used = time(NULL);
	while (!is_asked_to_stop && (!is_systemds || time(NULL) - used < a->idle_s)) {
		if (broker_server_step(l, STEP_MS, &now, &d))
			return cmd_error("lend", "%s", d.text);
		if (now.n_borrowers || now.n_kept)
			used = time(NULL);
		if (is_changed(&now, &before))
			report(&now, &n_kept);
		before = now;
	}
	service_notify("STOPPING=1");
	return 0;
}

static int serve(const struct arguments *a, int fd, const struct group *g, bool is_systemds)
{
	const struct broker_policy policy = { .own_only = a->own_only,
					      .group = group_of_socket(fd, g) };
	struct broker_server *l;
	struct diag d = { "" };
	int status = broker_server_open(&l, fd, &policy, &d) ? cmd_error("lend", "%s", d.text)
							     : run(a, l, is_systemds);

	broker_server_close(l);
	return status;
}

static int lend(const struct arguments *a)
{
	const struct sigaction end = { .sa_handler = on_signal };
	const struct group *g = getgrnam(a->group);
	int fd = service_listener(), status;
	bool is_systemds = fd >= 0;

	if (fd < 0 && fd != -ENOENT)
		return cmd_error("lend",
				 "one listening socket expected from systemd (LISTEN_FDS): %s",
				 strerror(-fd));
	if (geteuid())
		return cmd_error("lend", "only root may lend tracefs instances");
	if (!is_systemds)
		fd = open_socket(a, g);
	if (fd < 0)
		return CMD_FAILED;
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	status = serve(a, fd, g, is_systemds);
	if (!is_systemds)
		unlink(a->path);
	close(fd);
	return status;
}

enum { SOCKET = 256, GROUP, OWN, IDLE };

int cmd_lend(int argc, char **argv)
{
	static const struct option options[] = { { "socket", required_argument, NULL, SOCKET },
						 { "group", required_argument, NULL, GROUP },
						 { "own-processes", no_argument, NULL, OWN },
						 { "idle", required_argument, NULL, IDLE },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { .path = BROKER_SOCKET, .group = "tracing", .idle_s = 30 };
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("lend", c, options, argv);
		if (c == 'h')
			return print_own(help);
		if (c == SOCKET)
			a.path = optarg;
		else if (c == GROUP)
			a.group = optarg;
		else if (c == OWN)
			a.own_only = true;
		else if ((a.idle_s = (int)strtol(optarg, &end, 10)) < 1 || *end || a.idle_s > 86400)
			return cmd_error("lend", "--idle %s: seconds, 1 to 86400", optarg);
	}
	if (optind < argc)
		return cmd_usage("lend", "no argument expected");
	return lend(&a);
}
