/* SPDX-License-Identifier: MIT */
/*
 * collect/session/programs.c - walk over the control pages of a runtime directory: read them,
 * remove unused ones, and release slots of ended sessions.
 */
#include "collect/session/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/session/liveness.h"
#include "collect/session/slots.h"
#include "collect/session/session.h"

enum {
	MAKING_S = 10,	       /* seconds until an incomplete page counts as abandoned */
	NAMES_OF_STEP = 16384, /* names that one call of programs_reap reads */
};

static int open_page(int dir, const char *name)
{
	return openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* False if @fd is not a valid page. */
static bool read_page(int dir, int fd, struct program *a)
{
	struct stat st;

	a->dir = dir;
	a->fd = fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != owner_of(dir) ||
	    pread(fd, &a->page, sizeof a->page, 0) != (ssize_t)sizeof a->page ||
	    a->page.magic != ABI_CONTROL_MAGIC || a->page.version != ABI_CONTROL_VERSION)
		return false;
	a->page.program[sizeof a->page.program - 1] = 0;
	a->page.sessions[sizeof a->page.sessions - 1] = 0;
	return true;
}

/* Removes an old file with a page's name but no valid page: its program died while it made it. */
static void remove_if_abandoned(int dir, const char *name)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && time(NULL) - st.st_mtime > MAKING_S)
		unlinkat(dir, name, 0);
}

bool program_is_of(const struct program *a, const struct abi_session *f)
{
	return a->page.session_slots[f->session_slot].epoch == f->epoch;
}

bool program_event_is_of(const struct program *a, const struct program_event *e,
			 const struct abi_session *f)
{
	return program_is_of(a, f) &&
	       ABI_ENABLED(e->enabled, f->session_slot) == ABI_GENERATION(f->epoch);
}

/*
 * Whether a dead program's page has losses that a live session other than @session must still
 * count.
 */
static bool has_uncounted_losses(const struct program *a, const struct abi_session *session)
{
	struct abi_session_slots s = { 0 };

	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		const struct abi_control_slot *session_slot = &a->page.session_slots[i];

		if (!session_slot->lost || ABI_EPOCH_IS_NONE(session_slot->epoch) ||
		    (session && session_slot->epoch == session->epoch))
			continue;
		if (!s.magic)
			session_slots_read(a->dir, &s);
		if (s.at[i].epoch == session_slot->epoch &&
		    session_is_live(a->dir, s.at[i].session))
			return true;
	}
	return false;
}

/*
 * Whether a collector that lives, other than that of @session, has yet to read the dead program's page:
 * programs_reap.
 */
static bool is_awaited(const struct program *a, const struct abi_session *session)
{
	struct abi_session_slots s;

	session_slots_read(a->dir, &s);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (!ABI_EPOCH_IS_NONE(s.at[i].epoch) && !a->page.seen[i] &&
		    !(session && s.at[i].epoch == session->epoch) &&
		    session_is_live(a->dir, s.at[i].session))
			return true;
	return false;
}

/* Lets the session's collector read the dead program's page, once. */
static void show_page(const struct program *a, const struct abi_session *session,
		      const struct program_reader *last)
{
	const uint8_t seen = 1;

	if (!last || a->page.seen[session->session_slot])
		return;
	last->read(last->arg, a);
	(void)!pwrite(a->fd, &seen, sizeof seen,
		      (off_t)(offsetof(struct abi_control, seen) + session->session_slot));
}

/* Visits the program of page @name if it is in use; otherwise removes the page. */
static int visit_page(int dir, struct liveness *l, const char *name,
		      int (*visit)(void *arg, struct program *a), void *arg)
{
	struct program a;
	int fd = open_page(dir, name), result = 0;

	if (fd < 0 || !read_page(dir, fd, &a)) {
		if (fd < 0 || !liveness_is_used(fd))
			remove_if_abandoned(dir, name);
	} else {
		a.name = name;
		a.liveness = l;
		if (liveness_is_used(fd))
			result = visit(arg, &a);
		else if (!has_uncounted_losses(&a, NULL) && !is_awaited(&a, NULL))
			unlinkat(dir, name, 0);
	}
	if (fd >= 0)
		close(fd);
	return result;
}

static DIR *list_directory(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* The next page in @list; NULL at the end, or when *n_names, the number of names read, reaches
 * @most. */
static const char *next_page(DIR *list, uint32_t *n_names, uint32_t most)
{
	struct page_name n;
	struct dirent *e;

	while (list && *n_names < most && (e = readdir(list))) {
		++*n_names;
		if (page_name_parse(e->d_name, &n))
			return e->d_name;
	}
	return NULL;
}

int programs_each(int dir, pid_t pid, int (*visit)(void *arg, struct program *a), void *arg)
{
	char page[ABI_PAGE_NAME_BYTES];
	struct liveness l;
	uint32_t n_names = 0;
	int result = 0;
	const char *name;
	DIR *list;

	if (!liveness_open(&l, dir))
		return 0;
	if (pid) {
		if (liveness_page_of(&l, pid, page))
			result = visit_page(dir, &l, page, visit, arg);
		liveness_close(&l);
		return result;
	}
	list = list_directory(dir);
	while (!result && (name = next_page(list, &n_names, PROGRAMS_NAMES)))
		result = visit_page(dir, &l, name, visit, arg);
	if (list)
		closedir(list);
	liveness_close(&l);
	return result;
}

/* The losses that the page counts for the session; resets them, so that they are counted once. */
static uint64_t take_losses(const struct program *a, const struct abi_session *f,
			    const struct program_reader *last)
{
	const off_t at = (off_t)(offsetof(struct abi_control, session_slots) +
				 f->session_slot * sizeof(struct abi_control_slot) +
				 offsetof(struct abi_control_slot, lost));
	uint64_t lost, none = 0;

	if (!program_is_of(a, f) || pread(a->fd, &lost, sizeof lost, at) != (ssize_t)sizeof lost ||
	    !lost || pwrite(a->fd, &none, sizeof none, at) != (ssize_t)sizeof none)
		return 0;
	return last ? last->lost(last->arg, a, lost) : lost;
}

/*
 * Removes page @name unless it is in use.  Returns the losses that its program counted for
 * @session.
 */
static uint64_t reap_page(int dir, const char *name, const struct abi_session *session,
			  struct reaping *b, const struct program_reader *last)
{
	int fd = open_page(dir, name);
	uint64_t lost = 0;
	struct program a;

	if (fd < 0 || liveness_is_used(fd)) {
		b->n_in_use++; /* or not a page: programs_each handles those */
	} else if (!read_page(dir, fd, &a)) {
		remove_if_abandoned(dir, name);
	} else {
		show_page(&a, session, last);
		lost = take_losses(&a, session, last);
		if (!has_uncounted_losses(&a, session) && !is_awaited(&a, session))
			unlinkat(dir, name, 0);
	}
	if (fd >= 0)
		close(fd);
	return lost;
}

uint64_t programs_reap(int dir, const struct abi_session *session, struct reaping *b, uint32_t most,
		       const struct program_reader *last)
{
	DIR *list = list_directory(dir);
	uint32_t first = b->n_in_use, n_names = 0;
	const char *name = NULL;
	uint64_t lost = 0;

	if (list && b->at)
		seekdir(list, b->at); /* if pages came and went meanwhile some are missed until
				       * the next walk */
	while (b->n_in_use - first < most && (name = next_page(list, &n_names, NAMES_OF_STEP)))
		lost += reap_page(dir, name, session, b, last);
	b->n_names += n_names;
	if (name || n_names == NAMES_OF_STEP)
		b->at = telldir(list);
	else
		*b = (struct reaping){ .no_program_lives = list && !b->n_in_use,
				       .is_crowded = b->n_names > PROGRAMS_NAMES };
	if (list)
		closedir(list);
	return lost;
}

void programs_joined(struct reaping *b)
{
	b->n_in_use++; /* its page may lie before the position of this walk */
	b->no_program_lives = false;
}

pid_t program_pid(const struct program *a)
{
	return liveness_user_of(a->liveness, a->name, a->page.registered_ns);
}

static off_t event_offset(uint32_t index)
{
	return (off_t)abi_control_event_offset(index);
}

static bool read_line(const struct program *a, uint32_t index, struct abi_control_event *line)
{
	return index < a->page.n_events && index < ABI_EVENTS &&
	       pread(a->fd, line, sizeof *line, event_offset(index)) == (ssize_t)sizeof *line;
}

bool program_event(const struct program *a, uint32_t index, struct program_event *e)
{
	struct abi_control_event raw;
	size_t n;

	if (!read_line(a, index, &raw) || raw.schema > ABI_CONTROL_BYTES ||
	    raw.schema_size > ABI_CONTROL_BYTES - raw.schema)
		return false;
	n = raw.schema_size < sizeof e->schema ? raw.schema_size : sizeof e->schema - 1;
	e->index = index;
	e->enabled = raw.enabled;
	memcpy(e->routing, raw.routing, sizeof e->routing);
	e->schema[n] = 0;
	return pread(a->fd, e->schema, n, (off_t)raw.schema) == (ssize_t)n;
}

/* Writes only the slot's byte; the others belong to other collectors. */
void program_set_enabled(const struct program *a, uint32_t index, uint32_t session_slot,
			 uint8_t byte)
{
	off_t at = event_offset(index) +
		   (off_t)(offsetof(struct abi_control_event, enabled) + session_slot);

	(void)!pwrite(a->fd, &byte, 1, at);
}

struct counting {
	const struct abi_session *session;
	programs_count *count;
	void *arg;
	uint64_t lost;
};

static int count_program(void *arg, struct program *a)
{
	struct counting *c = arg;

	uint64_t n = a->page.session_slots[c->session->session_slot].lost;

	if (n && program_is_of(a, c->session))
		c->lost += c->count(c->arg, a, n);
	return 0;
}

uint64_t programs_lost(int dir, const struct abi_session *session, programs_count *count, void *arg)
{
	struct counting c = { .session = session, .count = count, .arg = arg };

	programs_each(dir, 0, count_program, &c);
	return c.lost;
}

/* Disables all events in the slot: its session has ended. */
static void empty_session_slot(const struct program *a, uint32_t session_slot)
{
	struct abi_control_event line;

	if (!a->page.session_slots[session_slot].epoch)
		return;
	for (uint32_t i = 0; read_line(a, i, &line); i++)
		if (ABI_ENABLED(line.enabled, session_slot))
			program_set_enabled(a, i, session_slot, 0);
}

uint64_t programs_release(int dir, const struct abi_session *session,
			  const struct program_reader *last)
{
	DIR *list = list_directory(dir);
	struct program a;
	struct reaping all = { 0 };
	uint32_t n_names = 0;
	uint64_t lost = 0;
	const char *name;

	/* Writing to dead programs' pages is cheaper than checking which are alive. */
	while ((name = next_page(list, &n_names, PROGRAMS_NAMES))) {
		int fd = open_page(dir, name);

		if (fd >= 0 && read_page(dir, fd, &a)) {
			if (last)
				last->read(last->arg, &a);
			empty_session_slot(&a, session->session_slot);
			lost += take_losses(&a, session, last);
		}
		if (fd >= 0)
			close(fd);
	}
	if (list)
		closedir(list);
	do
		lost += programs_reap(dir, session, &all, UINT32_MAX, NULL);
	while (all.at && all.n_names < PROGRAMS_NAMES);
	return lost;
}

static int visit_nothing(void *arg, struct program *a)
{
	(void)arg;
	(void)a;
	return 0;
}

void programs_remove_plans(int dir, const char *session)
{
	char name[ABI_NAME_BYTES + 16];
	struct dirent *e;
	int plans;
	DIR *list;

	snprintf(name, sizeof name, "calls-%s", session);
	plans = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (plans < 0)
		return;
	list = list_directory(plans);
	while (list && (e = readdir(list)))
		unlinkat(plans, e->d_name, 0);
	if (list)
		closedir(list);
	close(plans);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* Removes the names of a session after its collector was killed, perhaps while it ended. */
static void sweep_names(int dir, const char *name)
{
	char file[ABI_NAME_BYTES + 16];

	if (session_is_live(dir, name))
		return;
	snprintf(file, sizeof file, "session-%s", name);
	unlinkat(dir, file, 0);
	snprintf(file, sizeof file, "sock-%s", name);
	unlinkat(dir, file, 0);
	programs_remove_plans(dir, name);
}

/* Disables the events that it left enabled. */
static void sweep_session_slot(int dir, const struct abi_session_slot *s, uint32_t session_slot)
{
	struct abi_session gone = { .session_slot = session_slot, .epoch = s->epoch };

	if (ABI_EPOCH_IS_NONE(s->epoch) ||
	    (!strchr(s->session, '/') && session_is_live(dir, s->session)))
		return;
	programs_release(dir, &gone, NULL);
	session_slots_leave(dir, session_slot, s->epoch);
}

/* The session file is removed first, so that programs that start do not find it. */
void programs_sweep_sessions(int dir)
{
	DIR *list = list_directory(dir);
	struct abi_session_slots session_slots;
	struct dirent *e;

	while (list && (e = readdir(list))) {
		const char *dash = strchr(e->d_name, '-');

		if ((!strncmp(e->d_name, "session-", 8) || !strncmp(e->d_name, "sock-", 5)) &&
		    strlen(dash + 1) < ABI_NAME_BYTES)
			sweep_names(dir, dash + 1);
	}
	if (list)
		closedir(list);
	session_slots_read(dir, &session_slots);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		sweep_session_slot(dir, &session_slots.at[i], i);
}

void programs_sweep(int dir)
{
	int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* The holder of the lock is starting a session, or sweeps already. */
	if (lock >= 0 && !flock(lock, LOCK_EX | LOCK_NB))
		programs_sweep_sessions(dir);
	if (lock >= 0)
		close(lock);
	programs_each(dir, 0, visit_nothing, NULL);
}
