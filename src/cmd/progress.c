/* SPDX-License-Identifier: MIT */
/* cmd/progress.c - see progress.h. */
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "clock/clock.h"
#include "cmd/cmd.h"

enum { FIRST_NS = 1000000000, PERIOD_NS = 200000000 };

static struct {
	const char *verb; /* NULL: nothing is being read */
	uint64_t begin_ns, next_ns;
	uint64_t done, total; /* bytes */
	bool is_shown;
} progress;

static void show(uint64_t now_ns)
{
	uint64_t done = progress.done < progress.total ? progress.done : progress.total;
	uint64_t seconds = (now_ns - progress.begin_ns) / 1000000000;
	char size[32];

	fprintf(stderr, "\r\033[Kduet %s: %d %% of %s, %" PRIu64 " s\r", progress.verb,
		progress.total ? (int)((double)done * 100 / (double)progress.total) : 0,
		cmd_size_text(progress.total, size), seconds);
	fflush(stderr);
	progress.is_shown = true;
	progress.next_ns = now_ns + PERIOD_NS;
}

/* Each packet's; a clock is read a few times a millisecond at most. */
static void advance(void *context, uint64_t bytes)
{
	uint64_t now_ns;

	(void)context;
	progress.done += bytes;
	if (!progress.verb)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns >= progress.next_ns)
		show(now_ns);
}

void progress_hook(struct trace_options *o)
{
	if (isatty(STDERR_FILENO))
		o->progress = advance;
}

void progress_begin(const char *verb, const struct trace *t)
{
	progress.verb = verb;
	progress.begin_ns = clock_monotonic_ns();
	progress.next_ns = progress.begin_ns + FIRST_NS;
	progress.done = progress.total = 0;
	progress_also(t);
}

void progress_also(const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		progress.total += trace_stream(t, i)->size_bytes;
}

void progress_hide(void)
{
	if (!progress.is_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress.is_shown = false;
}

void progress_end(void)
{
	progress_hide();
	progress.verb = NULL;
}
