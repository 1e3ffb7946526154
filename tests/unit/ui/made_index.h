/* SPDX-License-Identifier: MIT */
/*
 * unit/ui/made_index.h - an index without a recording: rows and tracks are added by hand.
 *
 * And requests of it, as the server makes them.
 */
#ifndef TESTS_MADE_INDEX_H
#define TESTS_MADE_INDEX_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/index/internal.h"
#include "ui/query/query.h"

static inline struct ui_index *made_index(int64_t end_ns)
{
	struct ui_index *x = calloc(1, sizeof *x);

	if (!x)
		abort();
	pthread_rwlock_init(&x->lock, NULL);
	pthread_mutex_init(&x->keeping, NULL);
	x->status = (struct ui_index_status){ .begin_ns = 1700000000000000000,
					      .end_ns = end_ns,
					      .ready_ns = end_ns,
					      .is_done = true };
	x->known_ns = end_ns;
	return x;
}

static inline uint32_t made_row(struct ui_index *x, uint8_t kind, uint32_t parent, const char *name,
				int64_t pid, int64_t tid)
{
	struct ui_row row = {
		.kind = kind, .parent = parent, .name = name, .pid = pid, .tid = tid, .cpu = -1
	};

	return (uint32_t)index_add_row(x, &row);
}

static inline uint32_t made_track(struct ui_index *x, uint32_t row, uint8_t kind, uint8_t depth)
{
	return (uint32_t)index_add_track(x, row, kind, depth);
}

static inline uint32_t made_name(struct ui_index *x, const char *name)
{
	return (uint32_t)index_name(x, name, strlen(name));
}

/* The answer's body, to be freed; *@status.  @text: "/api/name?parameter=value&..". */
static inline char *ask_made(struct ui_index *x, const char *text, int *status)
{
	static const char *const paths[] = { "/nowhere/made" };
	const struct ui_subject s = { .index = x, .paths = paths, .n_paths = 1 };
	struct ui_query_params params[16];
	char *copy = strdup(text), *p = strchr(copy, '?'), *save = NULL;
	struct ui_request q = { .method = "GET", .path = copy, .params = params, .body = "" };
	struct ui_answer a = { .status = 200, .body_fd = -1 };

	if (p)
		*p++ = 0;
	for (p = p ? strtok_r(p, "&", &save) : NULL; p && q.n_params < 16;
	     p = strtok_r(NULL, "&", &save)) {
		char *value = strchr(p, '=');

		if (value)
			*value++ = 0;
		params[q.n_params++] = (struct ui_query_params){ p, value ? value : "" };
	}
	a.status = 404;
	for (int i = 0; i < ui_query_n_routes; i++)
		if (!strcmp(ui_query_routes[i].path, copy)) {
			a.status = 200;
			ui_query_routes[i].answer(&s, &q, &a);
		}
	free(copy);
	*status = a.status;
	return a.body.bytes;
}

#endif
