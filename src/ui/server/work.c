/* SPDX-License-Identifier: MIT */
/*
 * ui/server/work.c - threads that answer: some for short queries, some for those that read recordings.
 *
 * So a picture never waits behind a search or an export.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "ui/server/internal.h"

enum { QUICK_THREADS = 2, SLOW_THREADS = LANE_THREADS_MAX, QUICK_MAX = 256, SLOW_MAX = 64 };

static struct call *take(struct lane *l)
{
	struct call *call;

	pthread_mutex_lock(&l->lock);
	while (!l->first && !l->ends)
		pthread_cond_wait(&l->more, &l->lock);
	call = l->first;
	if (call) {
		l->first = call->next;
		l->n--;
		if (!l->first)
			l->last = &l->first;
	}
	pthread_mutex_unlock(&l->lock);
	return call;
}

static void answer(struct call *call)
{
	if (ui_is_cancelled(&call->request))
		ui_refuse(&call->answer, 503, "nobody waits for this answer any more");
	else
		route_answer(call);
	call->state = CALL_DONE;
	MHD_resume_connection(call->connection);
}

static void *run(void *lane)
{
	struct call *call;

	while ((call = take(lane)))
		answer(call);
	return NULL;
}

static int lane_open(struct lane *l, int n_threads, int most, struct diag *d)
{
	sigset_t all, before;
	int err = 0;

	*l = (struct lane){ .lock = PTHREAD_MUTEX_INITIALIZER,
			    .more = PTHREAD_COND_INITIALIZER,
			    .most = most };
	l->last = &l->first;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* of files that are cut: handled where it occurs, or by nobody */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (l->n_threads < n_threads && !err) {
		err = pthread_create(&l->threads[l->n_threads], NULL, run, l);
		l->n_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? diag_fail(d, -err, "cannot start a thread: %s", strerror(err)) : 0;
}

static void lane_end(struct lane *l)
{
	if (!l->last)
		return;
	pthread_mutex_lock(&l->lock);
	l->ends = true;
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
}

static void lane_close(struct lane *l)
{
	while (l->n_threads)
		pthread_join(l->threads[--l->n_threads], NULL);
}

int work_open(struct ui_server *s, struct diag *d)
{
	int err = lane_open(&s->quick, QUICK_THREADS, QUICK_MAX, d);

	return err ? err : lane_open(&s->slow, SLOW_THREADS, SLOW_MAX, d);
}

bool work_add(struct ui_server *s, struct call *call)
{
	struct lane *l = call->route->is_slow ? &s->slow : &s->quick;
	bool has_room;

	pthread_mutex_lock(&l->lock);
	has_room = l->n < l->most && !l->ends;
	if (has_room) {
		call->state = CALL_WORKS;
		call->next = NULL;
		*l->last = call;
		l->last = &call->next;
		l->n++;
		link_works(&s->links, call->fd, &call->is_cancelled);
		MHD_suspend_connection(call->connection);
		pthread_cond_signal(&l->more);
	}
	pthread_mutex_unlock(&l->lock);
	return has_room;
}

/* No call is added any more when those that are there are cancelled: so none goes on for minutes. */
void work_close(struct ui_server *s)
{
	lane_end(&s->quick);
	lane_end(&s->slow);
	links_end(&s->links);
	lane_close(&s->quick);
	lane_close(&s->slow);
}
