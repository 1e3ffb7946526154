/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/pipe.h - blocks decoded by one thread and summed by another.
 *
 * The two halves of the work cost about the same.  The decoder hands over its block and goes on with
 * an empty one; blocks arrive in order.  Without a second thread the block is used at once.
 */
#ifndef ANALYSIS_CALLS_PIPE_H
#define ANALYSIS_CALLS_PIPE_H

#include <pthread.h>

#include "analysis/calls/internal.h"

enum { PIPE_BLOCKS = 4 };

typedef int pipe_use(void *context, const struct block *b, uint32_t thread);

struct pipe {
	pipe_use *use;
	void *context;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock: */
	struct pipe_place {
		struct block block;
		uint32_t thread;
	} places[PIPE_BLOCKS];
	uint64_t n_put, n_used;
	bool is_over;
	int err; /* of the other thread; it then uses no more blocks */
};

/* pipe_open - @use receives each block, in another thread if @is_parallel and one can be had. */
void pipe_open(struct pipe *p, pipe_use *use, void *context, bool is_parallel);
/* pipe_put - for struct each: pass its block on.  Returns an earlier result of `use`. */
int pipe_put(void *pipe, struct each *e);
/* pipe_close - wait until all is used.  Returns the first result of `use` that was not 0. */
int pipe_close(struct pipe *p);

#endif
