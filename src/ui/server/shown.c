/* SPDX-License-Identifier: MIT */
/*
 * ui/server/shown.c - the recordings that the server answers about.
 *
 * Another one may be opened while queries run on those before: the last query closes them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "ui/server/internal.h"
#include "ui/sessions/sessions.h"

static bool is_there(const char *path)
{
	struct stat st;

	return strchr(path, '/') || !stat(path, &st);
}

/* A name without a slash that is no file is a session. */
static int resolve(struct shown *w, const char *path, bool is_session, struct diag *d)
{
	char found[PATH_MAX];
	int err = 0;

	if (is_session || !is_there(path)) {
		err = ui_session_find(path, found, d);
		if (err == -ENOENT)
			return diag_fail(
				d, err, "%s: no such recording, and no session of this name", path);
		snprintf(w->session, sizeof w->session, "%s", path);
		path = found;
	}
	if (!err)
		w->paths[w->subject.n_paths] = strdup(path);
	if (!err && !w->paths[w->subject.n_paths])
		return diag_fail(d, -ENOMEM, "no memory");
	w->subject.n_paths += !err;
	return err;
}

static int open_index(struct ui_server *s, struct shown *w, struct diag *d)
{
	struct ui_index_options o = { .paths = w->paths,
				      .n_paths = w->subject.n_paths,
				      .no_cache = s->o.no_cache,
				      .most_bytes = s->o.most_bytes };

	for (int i = 0; i < o.n_paths; i++) {
		struct progress p;

		progress_read(w->paths[i], &p);
		o.follows |= p.state == PROGRESS_GROWS;
	}
	w->subject.is_live = o.follows;
	return o.n_paths ? ui_index_open(&w->subject.index, &o, d) : 0;
}

static void show(struct ui_server *s, struct shown *w)
{
	struct shown *before;

	pthread_mutex_lock(&s->shown_lock);
	before = s->shown;
	s->shown = w;
	pthread_mutex_unlock(&s->shown_lock);
	if (before)
		shown_release(before);
}

int shown_open(struct ui_server *s, const char *const *paths, int n, bool are_sessions,
	       struct diag *d)
{
	struct shown *w = calloc(1, sizeof *w);
	int err = 0;

	if (w)
		w->paths = calloc((size_t)n + 1, sizeof *w->paths);
	if (!w || !w->paths) {
		free(w);
		return diag_fail(d, -ENOMEM, "no memory");
	}
	w->n_users = 1;
	w->subject.self = s->o.self;
	w->subject.paths = w->paths;
	for (int i = 0; i < n && !err; i++)
		err = resolve(w, paths[i], are_sessions, d);
	if (!err)
		err = open_index(s, w, d);
	if (err)
		shown_release(w);
	else
		show(s, w);
	return err;
}

struct shown *shown_use(struct ui_server *s)
{
	struct shown *w;

	pthread_mutex_lock(&s->shown_lock);
	w = s->shown;
	atomic_fetch_add(&w->n_users, 1);
	pthread_mutex_unlock(&s->shown_lock);
	return w;
}

void shown_release(struct shown *w)
{
	if (atomic_fetch_sub(&w->n_users, 1) > 1)
		return;
	ui_index_close(w->subject.index);
	for (int i = 0; i < w->subject.n_paths; i++)
		free((char *)w->paths[i]);
	free(w->paths);
	free(w);
}
