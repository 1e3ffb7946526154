/* SPDX-License-Identifier: MIT */
/* collect/trigger/actions.c - see actions.h. */
#include "collect/trigger/actions.h"

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

#include "collect/collector.h"
#include "base/json_line.h"
#include "collect/files.h"
#include "collect/chunks/rotate.h"
#include "collect/trigger/rules.h"

enum { ENVIRONMENT = 12, VARIABLE_BYTES = TRIGGER_TEXT_BYTES + 64, SNAPSHOT_BYTES = PATH_MAX + 16 };
enum { USUAL_FILES = 1024 };

extern char **environ;

static const char *text_of(const struct collector *c, const struct firing *f)
{
	return c->triggers.at[f->slot]->trigger.text;
}

/* As the recording's events count it: since the Epoch. */
static uint64_t time_of(const struct collector *c, const struct firing *f)
{
	return f->facts.time_ns + c->clock_offset_ns;
}

/* With the trigger, and with the session: it may be removed. */
static void complain(struct collector *c, uint32_t number, const struct diag *d)
{
	triggers_note(&c->triggers, number, d->text);
	collector_note(c, d);
}

/* ---------------------------------------------------------------- commands */

static void reap(struct trigger_acts *a)
{
	for (int i = 0; i < TRIGGER_COMMANDS; i++)
		if (a->commands[i] && waitpid(a->commands[i], NULL, WNOHANG))
			a->commands[i] = 0;
}

/* The collector's environment, and the facts.  Freed as one; NULL without memory. */
static char **make_environment(const struct collector *c, const struct firing *f)
{
	char *variable, **env, whole[PATH_MAX];
	size_t n = 0, room = (ENVIRONMENT - 1) * VARIABLE_BYTES + SNAPSHOT_BYTES;
	int i = 0;

	while (environ[n])
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
	ADD("DUET_TRIGGER_TEXT=%s", text_of(c, f));
	ADD("DUET_FIRED=%" PRIu64, f->fired);
	ADD("DUET_TIME_NS=%" PRIu64, time_of(c, f));
	ADD("DUET_VALUE=%" PRIu64, f->facts.value);
	ADD("DUET_EVENT=%s", f->facts.event ? f->facts.event : "");
	ADD("DUET_PID=%u", f->facts.vpid);
	ADD("DUET_TID=%u", f->facts.vtid);
	ADD("DUET_PROGRAM=%s", f->facts.program);
	ADD("DUET_RECORDED_SESSION=%s", c->session.asked_as);
	ADD("DUET_RECORDING=%s", files_whole(c->o->path, whole));
#undef ADD
	if (f->snapshot) {
		snprintf(variable, SNAPSHOT_BYTES, "DUET_SNAPSHOT=%s", f->snapshot);
		env[i++] = variable;
	}
	memcpy(env + i, environ, (n + 1) * sizeof *env);
	return env;
}

/* With the usual signals and limits, not the collector's. */
static int spawn(pid_t *pid, char *const *argv, char **env)
{
	struct rlimit ours, usual;
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
	posix_spawnattr_setpgroup(&attributes, 0); /* a terminal's Ctrl-C is not for it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	getrlimit(RLIMIT_NOFILE, &ours);
	usual = (struct rlimit){ ours.rlim_max < USUAL_FILES ? ours.rlim_max : USUAL_FILES,
				 ours.rlim_max };
	setrlimit(RLIMIT_NOFILE,
		  &usual); /* inherited: many programs close as many as there may be */
	err = posix_spawnp(pid, argv[0], &files, &attributes, argv, env);
	setrlimit(RLIMIT_NOFILE, &ours);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

/* False: all places are taken. */
static bool run(struct collector *c, struct firing *f, const struct trigger_action *action)
{
	struct trigger_acts *a = &c->acts;
	struct diag d = { "" };
	char **env;
	int i = 0, err;

	reap(a);
	while (i < TRIGGER_COMMANDS && a->commands[i])
		i++;
	if (i == TRIGGER_COMMANDS)
		return false;
	env = make_environment(c, f);
	err = env ? spawn(&a->commands[i], action->argv, env) : -ENOMEM;
	free(env);
	if (err) {
		a->commands[i] = 0;
		diag_fail(&d, err, "trigger %u: cannot run %s: %s", f->number, action->argv[0],
			  strerror(-err));
		complain(c, f->number, &d);
	}
	return true;
}

/* ---------------------------------------------------------------- snapshots */

/* By number: what fires may have moved up meanwhile, and the trigger may be gone. */
static void snapshot_ended(void *arg, const char *path, const char *why)
{
	struct collector *c = arg;
	struct diag d = { "" };

	if (!path)
		diag_fail(&d, -EIO, "a trigger's snapshot failed: %s", why);
	for (struct firing *f = c->triggers.firings;
	     f < c->triggers.firings + c->triggers.n_firings; f++) {
		if (!f->waits)
			continue;
		f->waits = false;
		f->snapshot = path ? strdup(path) : NULL;
		if (!path)
			complain(c, f->number, &d);
	}
}

/* False: another one is being written. */
static bool snapshot(struct collector *c, struct firing *f, const struct trigger_action *action)
{
	struct json_line line = { .n = 0 };
	char text[64];

	if (snapshot_is_open(&c->snapshot))
		return false;
	snprintf(text, sizeof text, "{\"last_ns\":%" PRIu64 "}", action->last_ns);
	if (action->last_ns)
		json_line_parse(&line, text, strlen(text));
	f->waits = true;
	c->snapshot.ended = snapshot_ended;
	c->snapshot.ended_arg = c;
	snapshot_begin(&c->snapshot, &line, -1, -1);
	return true;
}

/* ---------------------------------------------------------------- who watches */

bool trigger_actions_watch(struct trigger_acts *a, int fd)
{
	if (a->n_watchers == TRIGGER_WATCHERS)
		return false;
	a->watchers[a->n_watchers].missed = 0;
	a->watchers[a->n_watchers++].fd = fd;
	return true;
}

static void let_go(struct trigger_acts *a, int i)
{
	close(a->watchers[i].fd);
	a->watchers[i] = a->watchers[--a->n_watchers];
}

/* Whoever watches has nothing more to say: what can be read is the end, or noise. */
void trigger_actions_poll(struct trigger_acts *a)
{
	char byte;

	for (int i = a->n_watchers - 1; i >= 0; i--)
		if (recv(a->watchers[i].fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
			let_go(a, i);
	reap(a);
}

void trigger_actions_end(struct trigger_acts *a)
{
	while (a->n_watchers)
		let_go(a, 0);
}

static void notify(struct collector *c, const struct firing *f)
{
	struct trigger_acts *a = &c->acts;

	for (int i = a->n_watchers - 1; i >= 0; i--) {
		struct text t = { 0 };
		int err;

		json_line_add_text(&t, "session", c->session.asked_as);
		json_line_add_number(&t, "trigger", f->number);
		json_line_add_number(&t, "fired", f->fired);
		json_line_add_number(&t, "time_ns", time_of(c, f));
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
		json_line_add_text(&t, "text", text_of(c, f));
		err = json_line_send(a->watchers[i].fd, &t, -1);
		text_fini(&t);
		if (!err)
			a->watchers[i].missed = 0;
		else if (err == -EAGAIN || err == -ENOMEM)
			a->watchers[i].missed++;
		else
			let_go(a, i);
	}
}

/* ---------------------------------------------------------------- all */

/* False: a snapshot is being written. */
static bool rotate(struct collector *c, const struct firing *f)
{
	struct diag d = { "" };
	int err = rotate_now(c, &d);

	if (err && err != -EBUSY)
		complain(c, f->number, &d);
	return err != -EBUSY;
}

/* False: it is to be tried again. */
static bool act(struct collector *c, struct firing *f, const struct trigger_action *action)
{
	switch (action->act) {
	case TRIGGER_START:
		trigger_rules_pause(c, false);
		return true;
	case TRIGGER_STOP:
		trigger_rules_pause(c, true);
		return true;
	case TRIGGER_END:
		c->stop = true;
		return true;
	case TRIGGER_SNAPSHOT:
		return snapshot(c, f, action);
	case TRIGGER_RUN:
		return run(c, f, action);
	case TRIGGER_NOTIFY:
		notify(c, f);
		return true;
	case TRIGGER_ROTATE:
		return rotate(c, f);
	}
	return true;
}

/* First it is noted: so it is in the snapshot that it may be about to take. */
static void note(struct collector *c, struct firing *f)
{
	const struct procnames_firing reported = { .number = f->number,
						   .vpid = f->facts.vpid,
						   .vtid = f->facts.vtid,
						   .fired = f->fired,
						   .value = f->facts.value,
						   .text = text_of(c, f) };

	streams_fired(c->streams, collector_now_ns(c), &reported);
	f->is_noted = true;
}

void trigger_actions_step(struct collector *c)
{
	struct triggers *t = &c->triggers;

	for (int i = 0; i < t->n_firings;) {
		struct firing *f = &t->firings[i];
		const struct trigger *what = &t->at[f->slot]->trigger;

		if (!f->is_noted)
			note(c, f);
		while (f->next < what->n_actions && !f->waits && act(c, f, &what->actions[f->next]))
			f->next++;
		if (f->next == what->n_actions && !f->waits)
			triggers_done(t, i);
		else
			i++;
	}
}
