/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/actions.c - run the actions of triggers that fired: commands, snapshots,
 * rotation, messages to watchers.
 *
 * trigger_actions_step never waits.  An action that cannot run yet returns false and is tried again
 * in the next step; the firing then stays in the queue (triggers.firings).
 */
#include "collect/trigger/actions.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/trigger/watch.h"
#include "base/json_line.h"
#include "collect/drain/files.h"
#include "collect/trigger/rules.h"

enum { ENVIRONMENT = 12, VARIABLE_BYTES = TRIGGER_TEXT_BYTES + 64, SNAPSHOT_BYTES = PATH_MAX + 16 };
enum { USUAL_N_FILES = 1024 };

extern char **environ;

static const char *text_of(const struct trigger_watch *w, const struct firing *f)
{
	return w->set.at[f->slot]->trigger.text;
}

/* Time since the Epoch, as in the recording's events. */
static uint64_t time_of(const struct trigger_watch *w, const struct firing *f)
{
	return f->facts.time_ns + w->snapshot->clock_offset_ns;
}

/* Notes the error with the trigger and with the session, because the trigger may be removed. */
static void note_error(struct trigger_watch *w, uint32_t number, const struct diag *d)
{
	triggers_note(&w->set, number, d->text);
	w->ops->note(w->ops_arg, d);
}

/* ---------------------------------------------------------------- commands */

static void reap(struct trigger_runner *a)
{
	for (int i = 0; i < TRIGGER_COMMANDS; i++)
		if (a->commands[i] && waitpid(a->commands[i], NULL, WNOHANG))
			a->commands[i] = 0;
}

/*
 * The facts, and the collector's environment, in one allocation; NULL without memory.  A command for
 * another user's program runs with little more than that user's rights: root's environment may hold
 * what that user must not read.
 */
static char **make_environment(const struct trigger_watch *w, const struct firing *f)
{
	char *variable, **env, whole[PATH_MAX];
	size_t n = 0, room = (ENVIRONMENT - 1) * VARIABLE_BYTES + SNAPSHOT_BYTES;
	int i = 0;

	while (!w->o->tenant && environ[n])
		n++;
	env = malloc((n + ENVIRONMENT + 1) * sizeof *env + room);
	if (!env)
		return NULL;
	variable = (char *)(env + n + ENVIRONMENT + 1);
#define ADD(...)                                                                                   \
	do {                                                                                       \
		int used_ = snprintf(variable, VARIABLE_BYTES, __VA_ARGS__);                       \
		env[i++] = variable;                                                               \
		variable += used_ < VARIABLE_BYTES ? used_ + 1 : VARIABLE_BYTES;                   \
	} while (0)
	ADD("DUET_TRIGGER=%u", f->number);
	ADD("DUET_TRIGGER_TEXT=%s", text_of(w, f));
	ADD("DUET_FIRED=%" PRIu64, f->fired);
	ADD("DUET_TIME_NS=%" PRIu64, time_of(w, f));
	ADD("DUET_VALUE=%" PRIu64, f->facts.value);
	ADD("DUET_EVENT=%s", f->facts.event ? f->facts.event : "");
	ADD("DUET_PID=%u", f->facts.vpid);
	ADD("DUET_TID=%u", f->facts.vtid);
	ADD("DUET_PROGRAM=%s", f->facts.program);
	ADD("DUET_RECORDED_SESSION=%s", w->session->asked_as);
	ADD("DUET_RECORDING=%s", files_whole(w->o->path, whole));
#undef ADD
	if (f->snapshot) {
		snprintf(variable, SNAPSHOT_BYTES, "DUET_SNAPSHOT=%s", f->snapshot);
		env[i++] = variable;
	}
	memcpy(env + i, environ, n * sizeof *env);
	env[i + n] = NULL;
	return env;
}

/* Starts the command with default signal handling and limits, not the collector's. */
static int spawn(pid_t *pid, char *const *argv, char **env)
{
	struct rlimit ours, lowered;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, ignored;
	int err;

	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGXFSZ);
	sigaddset(&ignored, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &ignored);
	posix_spawnattr_setpgroup(&attributes, 0); /* a terminal's Ctrl-C does not reach it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	getrlimit(RLIMIT_NOFILE, &ours);
	lowered = (struct rlimit){ ours.rlim_max < USUAL_N_FILES ? ours.rlim_max : USUAL_N_FILES,
				   ours.rlim_max };
	setrlimit(RLIMIT_NOFILE,
		  &lowered); /* it is inherited, and many programs close every descriptor up to
			      * this limit */
	err = posix_spawnp(pid, argv[0], &files, &attributes, argv, env);
	setrlimit(RLIMIT_NOFILE, &ours);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

/* False: all slots for commands are in use. */
static bool run(struct trigger_watch *w, struct firing *f, const struct trigger_action *action)
{
	struct trigger_runner *a = &w->runner;
	struct diag d = { "" };
	char **env;
	int i = 0, err;

	reap(a);
	while (i < TRIGGER_COMMANDS && a->commands[i])
		i++;
	if (i == TRIGGER_COMMANDS)
		return false;
	env = make_environment(w, f);
	err = env ? spawn(&a->commands[i], action->argv, env) : -ENOMEM;
	free(env);
	if (err) {
		a->commands[i] = 0;
		diag_fail(&d, err, "trigger %u: cannot run %s: %s", f->number, action->argv[0],
			  strerror(-err));
		note_error(w, f->number, &d);
	}
	return true;
}

/* ---------------------------------------------------------------- snapshots */

/* Finds the firing by its flag: the queue may have moved and the trigger may be removed. */
static void snapshot_ended(void *arg, const char *path, const char *why)
{
	struct trigger_watch *w = arg;
	struct diag d = { "" };

	if (!path)
		diag_fail(&d, -EIO, "a trigger's snapshot failed: %s", why);
	for (struct firing *f = w->set.firings; f < w->set.firings + w->set.n_firings; f++) {
		if (!f->waits)
			continue;
		f->waits = false;
		f->snapshot = path ? strdup(path) : NULL;
		if (!path)
			note_error(w, f->number, &d);
	}
}

/* False: another snapshot is being written. */
static bool snapshot(struct trigger_watch *w, struct firing *f, const struct trigger_action *action)
{
	struct json_line line = { .n = 0 };
	char text[64];

	if (snapshot_is_open(w->snapshot))
		return false;
	snprintf(text, sizeof text, "{\"last_ns\":%" PRIu64 "}", action->last_ns);
	if (action->last_ns)
		json_line_parse(&line, text, strlen(text));
	f->waits = true;
	w->snapshot->ended = snapshot_ended;
	w->snapshot->ended_arg = w;
	snapshot_begin(w->snapshot, &line, -1, -1);
	return true;
}

/* ---------------------------------------------------------------- watchers */

bool trigger_actions_watch(struct trigger_runner *a, int fd)
{
	assert(fd >= 0);
	if (a->n_watchers == TRIGGER_WATCHERS)
		return false;
	a->watchers[a->n_watchers].missed = 0;
	a->watchers[a->n_watchers++].fd = fd;
	return true;
}

static void disconnect(struct trigger_runner *a, int i)
{
	assert(i >= 0 && i < a->n_watchers);
	close(a->watchers[i].fd);
	a->watchers[i] = a->watchers[--a->n_watchers];
}

/* A watcher sends nothing: readable means end of file or unexpected input. */
void trigger_actions_poll(struct trigger_runner *a)
{
	char byte;

	for (int i = a->n_watchers - 1; i >= 0; i--)
		if (recv(a->watchers[i].fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
			disconnect(a, i);
	reap(a);
}

void trigger_actions_end(struct trigger_runner *a)
{
	while (a->n_watchers)
		disconnect(a, 0);
}

static void notify(struct trigger_watch *w, const struct firing *f)
{
	struct trigger_runner *a = &w->runner;

	for (int i = a->n_watchers - 1; i >= 0; i--) {
		struct text t = { 0 };
		int err;

		json_line_add_text(&t, "session", w->session->asked_as);
		json_line_add_number(&t, "trigger", f->number);
		json_line_add_number(&t, "fired", f->fired);
		json_line_add_number(&t, "time_ns", time_of(w, f));
		json_line_add_number(&t, "value", f->facts.value);
		if (f->facts.event) {
			json_line_add_text(&t, "event", f->facts.event);
			json_line_add_number(&t, "pid", f->facts.vpid);
			json_line_add_number(&t, "tid", f->facts.vtid);
			json_line_add_text(&t, "program", f->facts.program);
		}
		if (f->snapshot)
			json_line_add_text(&t, "snapshot", f->snapshot);
		if (a->watchers[i].missed)
			json_line_add_number(&t, "missed", a->watchers[i].missed);
		json_line_add_text(&t, "text", text_of(w, f));
		err = json_line_send(a->watchers[i].fd, &t, -1);
		text_fini(&t);
		if (!err)
			a->watchers[i].missed = 0;
		else if (err == -EAGAIN || err == -ENOMEM)
			a->watchers[i].missed++;
		else
			disconnect(a, i);
	}
}

/* ---------------------------------------------------------------- all actions */

/* False: a snapshot is being written. */
static bool rotate(struct trigger_watch *w, const struct firing *f)
{
	struct diag d = { "" };
	int err = w->ops->rotate(w->ops_arg, &d);

	if (err && err != -EBUSY)
		note_error(w, f->number, &d);
	return err != -EBUSY;
}

/* False: try it again later. */
static bool act(struct trigger_watch *w, struct firing *f, const struct trigger_action *action)
{
	switch (action->act) {
	case TRIGGER_START:
		trigger_rules_pause(w, false);
		return true;
	case TRIGGER_STOP:
		trigger_rules_pause(w, true);
		return true;
	case TRIGGER_END:
		w->ops->end(w->ops_arg);
		return true;
	case TRIGGER_SNAPSHOT:
		return snapshot(w, f, action);
	case TRIGGER_RUN:
		return run(w, f, action);
	case TRIGGER_NOTIFY:
		notify(w, f);
		return true;
	case TRIGGER_ROTATE:
		return rotate(w, f);
	}
	return true;
}

/* Records the firing first, so that a snapshot that it takes includes it. */
static void note(struct trigger_watch *w, struct firing *f)
{
	const struct procnames_firing event = { .number = f->number,
						.vpid = f->facts.vpid,
						.vtid = f->facts.vtid,
						.fired = f->fired,
						.value = f->facts.value,
						.text = text_of(w, f) };

	streams_fired(*w->streams, clock_now_ns(&w->session->clock), &event);
	f->is_noted = true;
}

void trigger_actions_step(struct trigger_watch *w)
{
	struct triggers *t = &w->set;

	for (int i = 0; i < t->n_firings;) {
		struct firing *f = &t->firings[i];
		const struct trigger *trigger = &t->at[f->slot]->trigger;

		if (!f->is_noted)
			note(w, f);
		while (f->next < trigger->n_actions && !f->waits &&
		       act(w, f, &trigger->actions[f->next]))
			f->next++;
		if (f->next == trigger->n_actions && !f->waits)
			triggers_done(t, i);
		else
			i++;
	}
}
