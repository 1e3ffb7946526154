/* SPDX-License-Identifier: MIT */
/* analysis/calls/pipe.c - a ring of blocks between two threads: see pipe.h. */
#include "analysis/calls/pipe.h"

#include <assert.h>
#include <signal.h>

static void *use_blocks(void *arg)
{
	struct pipe *p = arg;
	struct pipe_place *place;
	int err;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->n_used == p->n_put && !p->is_over)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->n_used == p->n_put)
			break;
		place = &p->places[p->n_used % PIPE_BLOCKS];
		pthread_mutex_unlock(&p->lock);
		/* the decoder does not touch a block that is put and not used */
		err = p->err ? 0 : p->use(p->context, &place->block, place->thread);
		pthread_mutex_lock(&p->lock);
		if (err)
			p->err = err;
		p->n_used++;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void pipe_open(struct pipe *p, pipe_use *use, void *context, bool is_parallel)
{
	sigset_t all, before;

	*p = (struct pipe){ .use = use, .context = context };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGBUS);		     /* of a file that is cut: not for others */
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the other thread */
	p->has_thread = is_parallel && !pthread_create(&p->thread, NULL, use_blocks, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int pipe_put(void *pipe, struct each *e)
{
	struct pipe *p = pipe;
	struct pipe_place *place;
	struct block empty;
	int err;

	if (!p->has_thread)
		return p->use(p->context, &e->block, e->thread);
	if (!e->block.n && !e->block.n_cuts)
		return 0;
	pthread_mutex_lock(&p->lock);
	while (p->n_put - p->n_used == PIPE_BLOCKS)
		pthread_cond_wait(&p->changed, &p->lock);
	place = &p->places[p->n_put % PIPE_BLOCKS];
	empty = place->block;
	place->block = e->block;
	place->thread = e->thread;
	e->block = empty;
	p->n_put++;
	err = p->err;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return err;
}

int pipe_close(struct pipe *p)
{
	if (p->has_thread) {
		pthread_mutex_lock(&p->lock);
		p->is_over = true;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	for (int i = 0; i < PIPE_BLOCKS; i++)
		block_fini(&p->places[i].block);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	assert(p->n_put == p->n_used);
	return p->err;
}
