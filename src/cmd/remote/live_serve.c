/* SPDX-License-Identifier: MIT */
/* cmd/remote/live_serve.c - duet live --serve: Babeltrace attaches to recordings here. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "cmd/view/live.h"
#include "net/lttng_live/server.h"
#include "sandbox/sandbox.h"

enum { TICK_MS = 500 };

/* Run until a signal comes, or until no recording grows and no viewer is attached. */
static void run(struct live_server *s, int signals)
{
	struct pollfd p[2] = { { .fd = live_fd(s), .events = POLLIN },
			       { .fd = signals, .events = POLLIN } };
	bool was_growing = false, had_viewers = false;
	struct live_counts c;

	do {
		poll(p, 2, TICK_MS);
		live_work(s);
		live_counts(s, &c);
		was_growing |= c.growing > 0;
		had_viewers |= c.viewers > 0;
	} while (!p[1].revents && (c.growing || c.viewers || !(was_growing || had_viewers)));
	if (c.late)
		cmd_error("live",
			  "%" PRIu64
			  " packets were written too late to be shown in order: they were left out",
			  c.late);
}

int live_serve(const char *const *paths, int n, const char *address, bool anywhere, bool begin)
{
	struct live_options o = {
		.roots = paths, .n_roots = n, .allows_remote = anywhere, .from_begin = begin
	};
	struct reader confined = { .verb = "live", .rights = SANDBOX_ACCEPTS };
	struct diag d = { "" };
	struct live_server *s;
	sigset_t mask;
	int signals;

	if (endpoint_parse(&o.listen, address ? address : ":" LIVE_PORT, &d))
		return cmd_error("live", "--serve: %s", d.text);
	if (address && !strchr(address, ':'))
		strcpy(o.listen.port, LIVE_PORT);
	if (live_open(&s, &o, &d))
		return cmd_error("live", "%s", d.text);
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	/* Recordings are first read below, and nothing else is. */
	confined.reads = paths;
	if (reader_confine(&confined) || live_refuse_sent(paths, n)) {
		live_close(s);
		return CMD_FAILED;
	}
	print_out("listens on port %d: babeltrace2 -i lttng-live net://localhost:%d\n",
		  live_port(s), live_port(s));
	print_flush();
	if (signals >= 0) {
		run(s, signals);
		close(signals);
	}
	live_close(s);
	return 0;
}
