/* SPDX-License-Identifier: MIT */
/* collect/tenant/supervisor.c - see supervisor.h. */
#include "collect/tenant/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/runtime.h"
#include "clock/clock.h"
#include "collect/session/programs.h"
#include "collect/tenant/discover.h"
#include "collect/tenant/worker.h"
#include "net/send/sender.h"

#define LOOK_NS 1000000000ull
#define TRY_AGAIN_NS 5000000000ull
/* Looks take this part of a CPU at most, however often somebody makes directories. */
enum { LOOK_PART = 20, GONE_LOOKS = 3 };
enum { GO = 'g', STOP = 's' };

/* What the collectors have recorded: the warden's to write, the recorder's to read. */
struct tenant_supervisor_results {
	uint64_t app_bytes, app_lost, app_unwritten;
	uint32_t programs, tenants;
	uint32_t has_ended;   /* the warden, in order */
	uint32_t has_trouble; /* `trouble` is the first */
	struct diag trouble;
};

struct tenant_supervisor {
	const struct recorder_options *o;
	struct handover *handover; /* the recorder's: what it wants by now */
	struct recorder_clock clock;
	struct tenant_supervisor_results *results;
	int orders; /* our end of the pipe: the recorder's to write, the warden's to read */
	int done;   /* the same, the other way; it ends with the last collector */
	pid_t pid;  /* the warden's */
};

struct tenant_collector {
	struct tenant tenant; /* its directory is open; -1: an empty place */
	dev_t dev;
	ino_t ino;
	pid_t group;		      /* its processes; 0: none now */
	struct part_results *results; /* of theirs */
	uint64_t try_ns;	      /* not before */
	bool is_over;		      /* somebody ended it */
	unsigned missed;	      /* looks in which it was not there */
};

struct watch {
	struct tenant_supervisor *w;
	struct tenant_collector tenant_collectors[TENANTS_MAX];
	int own; /* our own runtime directory: the recorder's */
	struct stat own_st;
	int inotify, signals;
	struct tenants_memory *memory; /* NULL: there is none, and looks are dearer */
	uint64_t look_ns;	       /* when to look again */
	bool stop;
};

/* ---------------------------------------------------------------- what is told */

static void note_trouble(struct watch *all, const struct tenant *t, const char *text)
{
	struct tenant_supervisor_results *r = all->w->results;
	char label[TENANT_LABEL_BYTES];

	if (!*text || r->has_trouble)
		return;
	tenant_label(t, label);
	diag_fail(&r->trouble, 0, "%s: %s", label, text);
	store_release(&r->has_trouble, 1);
}

/* Its processes have ended. */
static void take_results(struct watch *all, struct tenant_collector *w)
{
	struct part_results *from = w->results;
	struct tenant_supervisor_results *to = all->w->results;
	uint32_t programs = load(&from->programs);

	fetch_add(&to->app_bytes, load(&from->app_bytes));
	fetch_add(&to->app_lost, load(&from->app_lost));
	fetch_add(&to->app_unwritten, load(&from->app_unwritten));
	to->programs += programs;
	to->tenants += programs > 0;
	from->trouble.text[sizeof from->trouble.text - 1] = 0;
	note_trouble(all, &w->tenant,
		     from->has_ended ? from->trouble.text
				     : "its collector was killed: what it had not written is lost");
	munmap(from, sizeof *from);
	w->results = NULL;
}

/* What it cannot do any more (collect/tenant/sandbox.h). */
static void clear_away(const struct watch *all, const struct tenant_collector *w)
{
	char session[ABI_NAME_BYTES], file[ABI_NAME_BYTES + 16], path[PATH_MAX];

	if (tenant_session_name(&w->tenant, all->w->o->session, session, sizeof session)) {
		snprintf(file, sizeof file, "session-%s", session);
		unlinkat(all->own, file, 0);
		snprintf(file, sizeof file, "sock-%s", session);
		unlinkat(all->own, file, 0);
	}
	if (part_path(path, all->w->o->path, &w->tenant))
		rmdir(path); /* if it did not come to record */
}

/* ---------------------------------------------------------------- starting one */

/* The first name that no other has, or had in this recording. */
static bool name_it(const struct watch *all, struct tenant *t)
{
	char path[PATH_MAX];

	for (t->turn = 1; t->turn < 10000; t->turn++) {
		if (!part_path(path, all->w->o->path, t))
			return false;
		if (!mkdir(path, 0700))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* A directory of its own for what it records, which is its to write to; it is in one that it may
 * not enter. The descriptor, or -1. */
static int make_part(const struct watch *all, struct tenant *t)
{
	char path[PATH_MAX];
	int fd = -1;

	if (name_it(all, t) && part_path(path, all->w->o->path, t))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fchown(fd, t->uid, t->gid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Of other tenants, of the warden, and of the sender of root's own part. */
static void close_others(struct watch *all, const struct tenant_collector *mine)
{
	const struct sender *sent = all->w->o->sent;

	if (sent) {
		close(sent->control);
		munmap(sent->status, sizeof *sent->status);
	}
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (w == mine)
			continue;
		if (w->tenant.dir >= 0)
			close(w->tenant.dir);
		if (w->results)
			munmap(w->results, sizeof *w->results);
	}
	munmap(all->w->results, sizeof *all->w->results);
	close(all->own);
	close(all->inotify);
	close(all->signals);
	close(all->w->orders);
}

/* In a group of its own: so it is reached whichever of its processes has died. */
static pid_t fork_collector(struct watch *all, struct tenant_collector *w, int directory)
{
	struct part p = { .o = all->w->o,
			  .clock = &all->w->clock,
			  .tenant = &w->tenant,
			  .number = (unsigned)(w - all->tenant_collectors),
			  .results = w->results,
			  .directory = directory,
			  .whole = all->w->handover };
	pid_t tenant_supervisor = getpid(), pid = fork();

	if (pid > 0)
		setpgid(pid, pid);
	if (pid)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != tenant_supervisor)
		raise(SIGTERM); /* blocked: read later */
	close_others(all, w);
	_exit(part_record(&p));
}

static void start_collector(struct watch *all, struct tenant_collector *w)
{
	void *results = mmap(NULL, sizeof *w->results, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int directory = make_part(all, &w->tenant);
	pid_t pid = -1;

	w->try_ns = monotonic_ns() + TRY_AGAIN_NS;
	w->results = results == MAP_FAILED ? NULL : results;
	if (w->results && directory >= 0)
		pid = fork_collector(all, w, directory);
	if (directory >= 0)
		close(directory);
	if (pid > 0) {
		w->group = pid;
		return;
	}
	note_trouble(all, &w->tenant, "no memory, process, or directory for a collector");
	if (directory >= 0)
		clear_away(all, w);
	if (w->results)
		munmap(w->results, sizeof *w->results);
	w->results = NULL;
}

/* ---------------------------------------------------------------- who is there */

static struct tenant_collector *find(struct watch *all, const struct stat *st)
{
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (w->tenant.dir >= 0 && w->dev == st->st_dev && w->ino == st->st_ino)
			return w;
	}
	return NULL;
}

static struct tenant_collector *find_room(struct watch *all, const struct tenant *t)
{
	struct tenant_collector *room = NULL;
	unsigned n = 0;

	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (w->tenant.dir < 0)
			room = room ? room : w;
		else
			n += w->tenant.maker && w->tenant.maker == t->maker;
	}
	return t->maker && n >= TENANTS_OF_MAKER ? NULL : room;
}

static void admit(struct watch *all, const struct tenant *t, const struct stat *st)
{
	struct tenant_collector *w = find_room(all, t);

	if (!w) {
		note_trouble(all, t, "too many users and containers: not recorded");
		return;
	}
	*w = (struct tenant_collector){ .tenant = *t, .dev = st->st_dev, .ino = st->st_ino };
	w->tenant.dir = fcntl(t->dir, F_DUPFD_CLOEXEC, 0);
}

static int meet(void *arg, const struct tenant *t, const struct stat *st)
{
	struct watch *all = arg;
	struct tenant_collector *w = find(all, st);

	if (st->st_dev == all->own_st.st_dev && st->st_ino == all->own_st.st_ino)
		return 0;
	if (!w) {
		admit(all, t, st);
		w = find(all, st);
	}
	if (!w)
		return 0;
	w->missed = 0;
	if (!w->group && !w->is_over && monotonic_ns() >= w->try_ns)
		start_collector(all, w);
	return 0;
}

static void part_from(struct tenant_collector *w)
{
	if (w->group) {
		kill(-w->group, SIGTERM);
		return; /* and once more when it has ended */
	}
	close(w->tenant.dir);
	w->tenant.dir = -1;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void look(struct watch *all)
{
	const struct tenants_scan l = { .users = all->w->o->all_users,
					.containers = all->w->o->containers,
					.memory = all->memory,
					.inotify = all->inotify,
					.visit = meet,
					.arg = all };
	uint64_t begin_ns = cpu_ns();

	for (int i = 0; i < TENANTS_MAX; i++)
		all->tenant_collectors[i].missed++;
	tenants_each(&l);
	for (int i = 0; i < TENANTS_MAX; i++)
		if (all->tenant_collectors[i].tenant.dir >= 0 &&
		    all->tenant_collectors[i].missed >= GONE_LOOKS)
			part_from(&all->tenant_collectors[i]);
	all->look_ns = monotonic_ns() + (cpu_ns() - begin_ns) * LOOK_PART;
}

/* Children of dead keepers are ours (PR_SET_CHILD_SUBREAPER): a group ends with its last process.
 */
static void reap(struct watch *all)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < TENANTS_MAX; i++)
			if (all->tenant_collectors[i].group == pid &&
			    all->tenant_collectors[i].missed < GONE_LOOKS && WIFEXITED(status) &&
			    !WEXITSTATUS(status))
				all->tenant_collectors[i].is_over = true;
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (!w->group || !kill(-w->group, 0) || errno != ESRCH)
			continue;
		w->group = 0;
		clear_away(all, w);
		take_results(all, w);
	}
}

static bool any_group(const struct watch *all)
{
	for (int i = 0; i < TENANTS_MAX; i++)
		if (all->tenant_collectors[i].group)
			return true;
	return false;
}

static void drop_input(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof bytes) > 0)
		;
}

/* How long to sleep, in ms; 0 if it is time to look. */
static int ms_until_scan(const struct watch *all, bool reported)
{
	uint64_t now_ns = monotonic_ns(), at_ns = reported ? all->look_ns : all->look_ns + LOOK_NS;

	return now_ns >= at_ns ? 0 : (int)((at_ns - now_ns) / 1000000) + 1;
}

static void take_order(struct watch *all)
{
	char order;
	ssize_t n = read(all->w->orders, &order, 1);

	all->stop = n == 0 || (n == 1 && order == STOP);
}

static void watch_over(struct watch *all)
{
	struct pollfd p[] = { { .fd = all->w->orders, .events = POLLIN },
			      { .fd = all->signals, .events = POLLIN },
			      { .fd = all->inotify, .events = POLLIN } };
	bool reported = false;
	int ms;

	look(all);
	while (!all->stop) {
		ms = ms_until_scan(all, reported);
		if (!ms) {
			reported = false;
			look(all);
			continue;
		}
		p[2].fd = reported ? -1 : all->inotify;
		if (poll(p, 3, ms) <= 0)
			continue;
		if (p[0].revents)
			take_order(all);
		if (p[1].revents) {
			drop_input(all->signals);
			reap(all);
		}
		if (p[2].revents) {
			drop_input(all->inotify);
			reported = true;
		}
	}
}

static void end_all(struct watch *all)
{
	struct pollfd p = { .fd = all->signals, .events = POLLIN };

	for (int i = 0; i < TENANTS_MAX; i++)
		if (all->tenant_collectors[i].group)
			kill(-all->tenant_collectors[i].group, SIGTERM);
	for (reap(all); any_group(all); reap(all)) {
		poll(&p, 1, 100);
		drop_input(all->signals);
	}
}

static int open_watch(struct watch *all)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	all->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	all->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (int i = 0; i < TENANTS_MAX; i++)
		all->tenant_collectors[i].tenant.dir = -1;
	all->own = runtime_dir_open(true);
	return all->own < 0 || fstat(all->own, &all->own_st) || all->signals < 0 || all->inotify < 0
		       ? -1
		       : 0;
}

/* The terminal's signals are the recorder's: it tells us. */
static _Noreturn void be_tenant_supervisor(struct tenant_supervisor *w)
{
	struct watch *all = calloc(1, sizeof *all);
	sigset_t mask;
	char order = 0;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (all && read(w->orders, &order, 1) == 1 && order == GO) {
		all->w = w;
		all->memory = tenants_remember();
		if (!open_watch(all))
			watch_over(all);
		end_all(all);
	}
	store_release(&w->results->has_ended, 1);
	_exit(0);
}

/* ---------------------------------------------------------------- in the recorder's processes */

static int make_parts(struct tenant_supervisor *w, int orders[2], int done[2], struct diag *d)
{
	struct clock_reading now;
	void *p = mmap(NULL, sizeof *w->results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	int err = clock_init_kind(&w->clock.map, w->o->clock_kind, d);

	if (err)
		return err;
	if (p == MAP_FAILED || pipe2(orders, O_CLOEXEC) || pipe2(done, O_CLOEXEC))
		return diag_errno(d, "cannot make what the collectors of other users need");
	w->results = p;
	clock_read(&w->clock.map, &now);
	w->clock.offset_ns = now.realtime_ns - clock_ns(&w->clock.map, now.ticks);
	return 0;
}

int tenant_supervisor_open(struct tenant_supervisor **out, const struct recorder_options *o,
			   struct handover *handover, struct diag *d)
{
	struct tenant_supervisor *w = calloc(1, sizeof *w);
	int orders[2] = { -1, -1 }, done[2] = { -1, -1 }, err;
	pid_t pid;

	*out = NULL;
	if (geteuid()) {
		free(w);
		return diag_fail(d, -EPERM,
				 "other users' programs, and those in containers, are recorded by "
				 "root only");
	}
	if (!w)
		return diag_fail(d, -ENOMEM, "no memory");
	w->o = o;
	w->handover = handover;
	err = make_parts(w, orders, done, d);
	if (err) {
		free(w);
		return err;
	}
	fflush(NULL);
	pid = fork();
	w->orders = orders[pid != 0];
	w->done = done[pid == 0];
	close(orders[pid == 0]);
	close(done[pid != 0]);
	if (!pid)
		be_tenant_supervisor(w);
	w->pid = pid;
	*out = w;
	return pid < 0 ? diag_errno(d, "cannot fork") : 0;
}

const struct recorder_clock *tenant_supervisor_clock(const struct tenant_supervisor *w)
{
	return &w->clock;
}

static void order(struct tenant_supervisor *w, char what)
{
	/* A pipe without a reader is one whose warden was killed: told at the end. */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigaction(SIGPIPE, &ignore, &before);
	(void)!write(w->orders, &what, 1);
	sigaction(SIGPIPE, &before, NULL);
}

void tenant_supervisor_start(struct tenant_supervisor *w)
{
	order(w, GO);
}

static void add_results(const struct tenant_supervisor *w, struct recorder_result *r)
{
	const struct tenant_supervisor_results *from = w->results;

	r->app_bytes += load(&from->app_bytes);
	r->app_lost += load(&from->app_lost);
	r->app_unwritten += load(&from->app_unwritten);
	r->programs += load(&from->programs);
	r->tenants = load(&from->tenants);
	if (r->trouble.text[0])
		return;
	if (load_acquire(&from->has_trouble))
		r->trouble = from->trouble;
	else if (!load_acquire(&from->has_ended))
		diag_fail(&r->trouble, 0,
			  "the process that recorded other users was killed: their programs are "
			  "recorded up to then");
}

/* What the warden would have cleared away. */
static void sweep_own(void)
{
	int own = runtime_dir_open(false);

	if (own >= 0) {
		programs_sweep(own);
		close(own);
	}
}

void tenant_supervisor_end(struct tenant_supervisor *w, struct recorder_result *r)
{
	char byte;

	if (!w)
		return;
	order(w, STOP);
	close(w->orders);
	while (read(w->done, &byte, 1) < 0 && errno == EINTR)
		;
	close(w->done);
	waitpid(w->pid, NULL, 0); /* if we are who forked it */
	if (!load_acquire(&w->results->has_ended))
		sweep_own();
	if (r)
		add_results(w, r);
	munmap(w->results, sizeof *w->results);
	free(w);
}
