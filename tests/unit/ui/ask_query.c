/* SPDX-License-Identifier: MIT */
/*
 * unit/ui/ask_query.c - answers of queries, for query.py: ask_query PATH... -- REQUEST...
 *
 * A request is "/api/name?parameter=value&..."; "%XX" is a byte; one that begins with "!" was cancelled
 * before it began.  Each answer is a line: the status, a
 * space and the body.  The index is complete before the first.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ui/query/query.h"

enum { PARAMS_MOST = 64 };

static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned byte;

		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static int split(char *request, struct ui_query_params *params)
{
	char *p = strchr(request, '?'), *value;
	int n = 0;

	if (!p)
		return 0;
	*p++ = 0;
	for (p = strtok(p, "&"); p && n < PARAMS_MOST; p = strtok(NULL, "&")) {
		value = strchr(p, '=');
		if (value)
			*value++ = 0;
		params[n++] = (struct ui_query_params){ p, value ? value : "" };
		if (value)
			decode(value);
	}
	return n;
}

static void ask(const struct ui_subject *s, char *text)
{
	struct ui_query_params params[PARAMS_MOST];
	struct ui_request q = { .method = "GET", .path = text, .params = params, .body = "" };
	struct ui_answer a = { .status = 200, .body_fd = -1 };
	const uint32_t yes = 1;

	if (*text == '!') {
		q.is_cancelled = &yes;
		q.path = ++text;
	}
	q.n_params = split(text, params);
	for (int i = 0; i < ui_query_n_routes; i++)
		if (!strcmp(ui_query_routes[i].path, text))
			ui_query_routes[i].answer(s, &q, &a);
	printf("%d %s\n", a.status, a.body.bytes ? a.body.bytes : "");
	text_fini(&a.body);
}

static void wait_until_done(struct ui_index *x)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct ui_index_status status;

	for (ui_index_status(x, &status); !status.is_done; ui_index_status(x, &status))
		nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	struct ui_index_options o = { .paths = (const char *const *)argv + 1, .no_cache = true };
	struct ui_subject s = { .paths = o.paths };
	struct diag d = { "" };

	while (1 + o.n_paths < argc && strcmp(argv[1 + o.n_paths], "--") != 0)
		o.n_paths++;
	s.n_paths = o.n_paths;
	if (ui_index_open(&s.index, &o, &d)) {
		fprintf(stderr, "%s\n", d.text);
		return 1;
	}
	wait_until_done(s.index);
	for (int i = o.n_paths + 2; i < argc; i++)
		ask(&s, argv[i]);
	ui_index_close(s.index);
	return 0;
}
