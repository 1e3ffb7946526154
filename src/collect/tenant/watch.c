/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/watch.c - the process that finds tenants and runs one collector for each.
 *
 *   struct watch                the tenant supervisor's own state, in its process only
 *   tenant_supervisor_results   shared: the tenant supervisor writes, the recorder reads
 *   tenant_worker_results       shared by one tenant collector and the tenant supervisor
 *
 * Each tenant collector leads a process group, so that it and its supervisor are signalled together
 * and the group ends with its last process.
 */
#include "collect/tenant/watch.h"

#include <assert.h>
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
#include "net/send/public.h"

#define SCAN_NS 1000000000ull
#define RETRY_NS 5000000000ull
/* Scans use at most 1/SCAN_SHARE of a CPU, however often users create directories. */
enum { SCAN_SHARE = 20, GONE_SCANS = 3, REFUSED_PAYERS = 16 };

struct tenant_collector {
	struct tenant tenant; /* its directory is open; dir == -1: a free slot */
	dev_t dev;
	ino_t ino;
	pid_t group;			       /* process group of its collector; 0: none runs */
	struct tenant_worker_results *results; /* written by its collector */
	uint64_t retry_ns;		       /* earliest time of the next start */
	bool has_ended_itself; /* the collector exited with status 0: it is not started
				* again */
	unsigned missed;       /* consecutive scans that did not find it */
};

struct watch {
	struct tenant_supervisor *w;
	struct tenant_collector tenant_collectors[TENANTS_MAX];
	int own; /* our own runtime directory: the recorder's */
	struct stat own_st;
	int inotify, signals;
	struct tenants_cache *cache; /* NULL: no cache; each scan then reads all of /proc */
	uint64_t scan_ns;	     /* when to scan next */
	bool stop;
	struct refused {
		struct tenant payer; /* one of its tenants */
		unsigned n;
	} refused[REFUSED_PAYERS]; /* of this scan; the last entry stands for all others */
	unsigned n_refused, n_refused_payers;
};

/* ---------------------------------------------------------------- results */

static void note_first_trouble(struct watch *all, const struct tenant *t, const char *text)
{
	struct tenant_supervisor_results *r = all->w->results;
	char label[TENANT_LABEL_BYTES];

	if (!*text || r->has_trouble)
		return;
	tenant_label(t, label);
	diag_fail(&r->trouble, 0, "%s: %s", label, text);
	store_release(&r->has_trouble, 1);
}

/* Names the tenant, whatever its collector wrote. */
static void take_disk_losses(struct watch *all, const struct tenant *t,
			     const struct disk_losses *from)
{
	char label[TENANT_LABEL_BYTES];

	tenant_label(t, label);
	for (uint32_t i = 0; i < from->n && i < DISK_LOSSES_MAX; i++)
		disk_losses_add(&all->w->results->disk, label, &from->at[i]);
	all->w->results->disk.more += from->more;
}

/* The first line, which names one program of the tenant. */
static void take_impossible(struct watch *all, const struct tenant *t, struct impossible *from)
{
	struct tenant_supervisor_results *r = all->w->results;
	size_t used = strlen(r->impossible.text);
	size_t left = sizeof r->impossible.text - IMPOSSIBLE_MORE_BYTES - used;
	char label[TENANT_LABEL_BYTES];

	from->text[sizeof from->text - 1] = 0; /* its collector may have written anything */
	if (!*from->text)
		return;
	tenant_label(t, label);
	if ((size_t)snprintf(r->impossible.text + used, left, "%s: %.*s\n", label,
			     (int)strcspn(from->text, "\n"), from->text) < left)
		return;
	r->impossible.text[used] = 0;
	r->more_impossible++;
}

/* Adds the results of a collector after all its processes have ended. */
static void take_results(struct watch *all, struct tenant_collector *w)
{
	struct tenant_worker_results *from = w->results;
	struct tenant_supervisor_results *to = all->w->results;
	uint32_t programs = load(&from->programs);

	assert(from && !w->group);
	fetch_add(&to->app_events, load(&from->app_events));
	fetch_add(&to->app_bytes, load(&from->app_bytes));
	fetch_add(&to->kept.n, load(&from->kept.n));
	fetch_add(&to->kept.events, load(&from->kept.events));
	fetch_add(&to->kept.bytes, load(&from->kept.bytes));
	fetch_add(&to->trace_chunks, load(&from->trace_chunks));
	fetch_add(&to->app_lost, load(&from->app_lost));
	fetch_add(&to->app_unwritten, load(&from->app_unwritten));
	take_disk_losses(all, &w->tenant, &from->disk);
	take_impossible(all, &w->tenant, &from->impossible);
	to->programs += programs;
	to->tenants += programs > 0;
	from->trouble.text[sizeof from->trouble.text - 1] = 0;
	note_first_trouble(all, &w->tenant,
			   from->has_ended
				   ? from->trouble.text
				   : "its collector was killed: events not yet written are lost");
	munmap(from, sizeof *from);
	w->results = NULL;
}

/* Removes the names that the collector itself may not remove (collect/tenant/sandbox.h). */
static void remove_leftovers(const struct watch *all, const struct tenant_collector *w)
{
	char session[ABI_NAME_BYTES], file[ABI_NAME_BYTES + 16], path[PATH_MAX];

	if (tenant_session_name(&w->tenant, all->w->o->session, session, sizeof session)) {
		snprintf(file, sizeof file, "session-%s", session);
		unlinkat(all->own, file, 0);
		snprintf(file, sizeof file, "sock-%s", session);
		unlinkat(all->own, file, 0);
	}
	if (tenant_worker_path(path, all->w->o->path, &w->tenant))
		rmdir(path); /* only if nothing was recorded: the directory is empty */
}

/* ---------------------------------------------------------------- starting a collector */

/* Picks the first label that no tenant of this recording has had. */
static bool pick_label(const struct watch *all, struct tenant *t)
{
	char path[PATH_MAX];

	for (t->turn = 1; t->turn < 10000; t->turn++) {
		if (!tenant_worker_path(path, all->w->o->path, t))
			return false;
		if (!mkdir(path, 0700))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/*
 * Makes the output directory of one tenant and gives it to that user.  Its parent stays closed to
 * the user.  Returns a descriptor, or -1.
 */
static int make_output(const struct watch *all, struct tenant *t)
{
	char path[PATH_MAX];
	int fd = -1;

	if (pick_label(all, t) && tenant_worker_path(path, all->w->o->path, t))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fchown(fd, t->uid, all->w->o->has_group ? all->w->o->group : t->gid) ||
			(all->w->o->has_group && fchmod(fd, 02750)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Closes what belongs to other tenants, to the tenant supervisor and to the main session's sender.
 */
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

/*
 * The collector leads its own process group: a signal to the group arrives, whichever of its
 * processes has died.
 */
static pid_t fork_collector(struct watch *all, struct tenant_collector *w, int directory)
{
	struct tenant_worker p = { .record = all->w->record,
				   .o = all->w->o,
				   .clock = &all->w->clock,
				   .tenant = &w->tenant,
				   .number = (unsigned)(w - all->tenant_collectors),
				   .results = w->results,
				   .directory = directory,
				   .main_handover = all->w->handover };
	pid_t tenant_supervisor = getpid(), pid = fork();

	if (pid > 0)
		setpgid(pid, pid);
	if (pid)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != tenant_supervisor)
		raise(SIGTERM); /* it is blocked here and read later */
	close_others(all, w);
	_exit(tenant_worker_record(&p));
}

static void start_collector(struct watch *all, struct tenant_collector *w)
{
	void *results = mmap(NULL, sizeof *w->results, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int directory = make_output(all, &w->tenant);
	pid_t pid = -1;

	assert(!w->group);
	w->retry_ns = monotonic_ns() + RETRY_NS;
	w->results = results == MAP_FAILED ? NULL : results;
	if (w->results && directory >= 0)
		pid = fork_collector(all, w, directory);
	if (directory >= 0)
		close(directory);
	if (pid > 0) {
		w->group = pid;
		return;
	}
	note_first_trouble(all, &w->tenant, "no memory, process, or directory for a collector");
	if (directory >= 0)
		remove_leftovers(all, w);
	if (w->results)
		munmap(w->results, sizeof *w->results);
	w->results = NULL;
}

/* ---------------------------------------------------------------- finding tenants */

static struct tenant_collector *find(struct watch *all, const struct stat *st)
{
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (w->tenant.dir >= 0 && w->dev == st->st_dev && w->ino == st->st_ino)
			return w;
	}
	return NULL;
}

/* Whether both are at one payer's expense. */
static bool have_one_payer(const struct tenant *a, const struct tenant *b)
{
	if (a->payer || b->payer)
		return a->payer == b->payer;
	if (*a->container || *b->container)
		return !strcmp(a->container, b->container);
	return a->uid == b->uid;
}

static struct tenant_collector *find_free_slot(struct watch *all, const struct tenant *t)
{
	struct tenant_collector *free_slot = NULL;
	unsigned of_payer = 0, n_free = 0;

	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (w->tenant.dir < 0) {
			free_slot = free_slot ? free_slot : w;
			n_free++;
		} else {
			of_payer += have_one_payer(&w->tenant, t);
		}
	}
	if (of_payer >= TENANTS_OF_PAYER ||
	    (of_payer >= TENANTS_GUARANTEED && n_free <= TENANTS_RESERVED))
		return NULL;
	return free_slot;
}

/* ---------------------------------------------------------------- those without room */

static void note_refused(struct watch *all, const struct tenant *t)
{
	unsigned i = 0;

	while (i < all->n_refused_payers && i < REFUSED_PAYERS - 1 &&
	       !have_one_payer(&all->refused[i].payer, t))
		i++;
	if (i == all->n_refused_payers)
		all->refused[all->n_refused_payers++] = (struct refused){ .payer = *t };
	all->refused[i].n++;
	all->n_refused++;
}

static void describe_payer(const struct tenant *t, char *text, size_t size)
{
	if (t->payer == TENANT_PAYER_UNKNOWN)
		snprintf(text, size, "directories without a running program");
	else if (t->payer)
		snprintf(text, size, "user %u", (unsigned)t->payer);
	else if (*t->container)
		snprintf(text, size, "container %s", t->container);
	else
		snprintf(text, size, "user %u", (unsigned)t->uid);
}

static void publish_refused(struct watch *all)
{
	struct tenants_refused *r = &all->w->results->refused;
	const struct refused *most = &all->refused[0];

	for (unsigned i = 1; i < all->n_refused_payers; i++)
		if (all->refused[i].n > most->n)
			most = &all->refused[i];
	if (all->n_refused)
		describe_payer(&most->payer, r->of, sizeof r->of - 1);
	store_release(&r->n, all->n_refused);
	if (all->n_refused > load(&r->most))
		store_release(&r->most, all->n_refused);
	all->n_refused = all->n_refused_payers = 0;
}

static void add_tenant(struct watch *all, const struct tenant *t, const struct stat *st)
{
	struct tenant_collector *w = find_free_slot(all, t);

	if (!w) {
		note_refused(all, t);
		return;
	}
	*w = (struct tenant_collector){ .tenant = *t, .dev = st->st_dev, .ino = st->st_ino };
	w->tenant.dir = fcntl(t->dir, F_DUPFD_CLOEXEC, 0);
}

/* The search was not whole there: whatever it did not find may still exist. */
static void on_incomplete(void *arg, const char *container, uid_t payer)
{
	struct watch *all = arg;

	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (container ? !strcmp(w->tenant.container, container) : w->tenant.payer == payer)
			w->missed = 0;
	}
}

/* Its owner removed the directory, so no scan can find it. */
static bool is_removed(const struct tenant_collector *w)
{
	struct stat st;

	return fstat(w->tenant.dir, &st) || !st.st_nlink;
}

static int on_tenant(void *arg, const struct tenant *t, const struct stat *st)
{
	struct watch *all = arg;
	struct tenant_collector *w = find(all, st);

	if (st->st_dev == all->own_st.st_dev && st->st_ino == all->own_st.st_ino)
		return 0;
	if (!w) {
		add_tenant(all, t, st);
		w = find(all, st);
	}
	if (!w)
		return 0;
	w->missed = 0;
	if (!w->group && !w->has_ended_itself && monotonic_ns() >= w->retry_ns)
		start_collector(all, w);
	return 0;
}

static void release(struct tenant_collector *w)
{
	if (w->group) {
		kill(-w->group, SIGTERM);
		return; /* called again after the group has ended */
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

static void scan(struct watch *all)
{
	const struct tenants_scan l = { .users = all->w->o->all_users,
					.containers = all->w->o->containers,
					.cache = all->cache,
					.inotify = all->inotify,
					.visit = on_tenant,
					.incomplete = on_incomplete,
					.arg = all };
	uint64_t begin_ns = cpu_ns();

	for (int i = 0; i < TENANTS_MAX; i++)
		all->tenant_collectors[i].missed++;
	tenants_each(&l);
	for (int i = 0; i < TENANTS_MAX; i++)
		if (all->tenant_collectors[i].tenant.dir >= 0 &&
		    (all->tenant_collectors[i].missed >= GONE_SCANS ||
		     is_removed(&all->tenant_collectors[i])))
			release(&all->tenant_collectors[i]);
	publish_refused(all);
	all->scan_ns = monotonic_ns() + (cpu_ns() - begin_ns) * SCAN_SHARE;
}

/*
 * We are the subreaper (PR_SET_CHILD_SUBREAPER): children of dead supervisors become ours, and a
 * group ends with its last process.
 */
static void reap(struct watch *all)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < TENANTS_MAX; i++)
			if (all->tenant_collectors[i].group == pid &&
			    all->tenant_collectors[i].missed < GONE_SCANS && WIFEXITED(status) &&
			    !WEXITSTATUS(status))
				all->tenant_collectors[i].has_ended_itself = true;
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant_collector *w = &all->tenant_collectors[i];

		if (!w->group || !kill(-w->group, 0) || errno != ESRCH)
			continue;
		w->group = 0;
		remove_leftovers(all, w);
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

/* How long to sleep, in ms; 0 means scan now. */
static int ms_until_scan(const struct watch *all, bool has_changed)
{
	uint64_t now_ns = monotonic_ns(),
		 at_ns = has_changed ? all->scan_ns : all->scan_ns + SCAN_NS;

	return now_ns >= at_ns ? 0 : (int)((at_ns - now_ns) / 1000000) + 1;
}

static void take_order(struct watch *all)
{
	char order;
	ssize_t n = read(all->w->orders, &order, 1);

	all->stop = n == 0 || (n == 1 && order == TENANT_WATCH_STOP);
}

static void supervise(struct watch *all)
{
	struct pollfd p[] = { { .fd = all->w->orders, .events = POLLIN },
			      { .fd = all->signals, .events = POLLIN },
			      { .fd = all->inotify, .events = POLLIN } };
	bool has_changed = false;
	int ms;

	scan(all);
	while (!all->stop) {
		ms = ms_until_scan(all, has_changed);
		if (!ms) {
			has_changed = false;
			scan(all);
			continue;
		}
		p[2].fd = has_changed ? -1 : all->inotify;
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
			has_changed = true;
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

/* Ignores the terminal's signals: the recorder receives them and sends an order. */
_Noreturn void tenant_watch_run(struct tenant_supervisor *w)
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
	if (all && read(w->orders, &order, 1) == 1 && order == TENANT_WATCH_GO) {
		all->w = w;
		all->cache = tenants_cache_new();
		if (!open_watch(all))
			supervise(all);
		end_all(all);
	}
	store_release(&w->results->has_ended, 1);
	_exit(0);
}
