/* SPDX-License-Identifier: MIT */
/*
 * cmd/remote/live_at.c - duet live --at HOST: show recordings that a relay on another host
 * receives.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "cmd/view/live.h"
#include "cmd/view/view.h"
#include "net/follow/replica.h"
#include "trace/public.h"

enum { MIRRORS_MAX = 16 };

struct following {
	struct replica *replica[MIRRORS_MAX];
	enum replica_state reported[MIRRORS_MAX];
	int n;
};

/* Free the local copy of packets that were shown. */
static void give_back(const struct following *f, const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const char *path = trace_stream(t, i)->path;

		for (int k = 0; k < f->n; k++)
			if (!strncmp(path, replica_path(f->replica[k]),
				     strlen(replica_path(f->replica[k]))))
				replica_read(f->replica[k], i, path, trace_read_bytes(t, i));
	}
}

/* Report once that the link is cut, and once that it is there again. */
static int report_link(struct following *f, int i, struct diag *d)
{
	enum replica_state now = replica_state(f->replica[i], d), before = f->reported[i];

	if (now == REPLICA_FAILED)
		return -1;
	if (now == REPLICA_CUT && before != REPLICA_CUT)
		cmd_error("live", "%s: the link is cut: %s; it is made again",
			  replica_name(f->replica[i]), d->text);
	else if (now != REPLICA_CUT && before == REPLICA_CUT)
		print_err("duet live: %s: goes on\n", replica_name(f->replica[i]));
	f->reported[i] = now;
	return 0;
}

static int on_round(void *context, const struct trace *t, bool starves, struct diag *d)
{
	struct following *f = context;
	int err = 0;

	give_back(f, t);
	for (int i = 0; i < f->n && !err; i++) {
		if (starves)
			replica_starve(f->replica[i]);
		err = report_link(f, i, d);
	}
	return err;
}

static int open_all(struct following *f, struct replica_options *o, char *const *names, int n)
{
	struct diag d = { "" };

	for (; f->n < (n ? n : 1); f->n++) {
		o->wanted = n ? names[f->n] : "";
		if (replica_open(&f->replica[f->n], o, &d))
			return cmd_error("live", "%s", d.text);
		f->reported[f->n] = REPLICA_RECEIVES;
	}
	return 0;
}

int live_at(struct live_at *at, char *const *names, int n, bool begin, int argc, char **argv)
{
	struct replica_options o = { .keys = at->keys.o.keys,
				     .from_begin = begin,
				     .most_bytes = at->most_bytes };
	struct following f = { .n = 0 };
	struct reader confined = { .verb = "live" };
	const struct view_hook hook = { &confined, on_round, &f };
	char parent[PATH_MAX];
	const char *paths[MIRRORS_MAX];
	struct diag d = { "" };
	int status;

	if (n > MIRRORS_MAX)
		return cmd_error("live", "more than %d recordings", MIRRORS_MAX);
	if (endpoint_parse(&o.from, at->host, &d) || !*o.from.host)
		return cmd_error("live", "--at %s", *d.text ? d.text : "which host?");
	status = open_all(&f, &o, names, n);
	for (int i = 0; i < f.n && !status; i++) {
		paths[i] = replica_path(f.replica[i]);
		begin |= !replica_grew(f.replica[i]);
		confined.writes[i] = replica_directory(f.replica[i]);
		*confined.directories = reader_parent(confined.writes[i], parent);
	}
	if (!status)
		status = view_follow("live", paths, f.n, !begin, &hook, argc, argv);
	for (int i = 0; i < f.n; i++)
		replica_close(f.replica[i]);
	return status;
}
