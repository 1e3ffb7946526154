/* SPDX-License-Identifier: MIT */
/* cmd/progress.c - the progress line, and signals that end reading cleanly. */
#include "cmd/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"

enum { FIRST_NS = 1000000000, PERIOD_NS = 200000000 };

static struct {
	const char *verb; /* NULL: no reading is under way */
	uint64_t begin_ns, next_ns;
	uint64_t done, total; /* bytes */
	bool is_shown;
	bool is_seen; /* standard error is a terminal */
} progress;

static void show(uint64_t now_ns)
{
	uint64_t done = progress.done < progress.total ? progress.done : progress.total;
	uint64_t seconds = (now_ns - progress.begin_ns) / 1000000000;
	char size[32];

	print_err("\r\033[Kduet %s: %d %% of %s, %" PRIu64 " s\r", progress.verb,
		  progress.total ? (int)((double)done * 100 / (double)progress.total) : 0,
		  cmd_size_text(progress.total, size), seconds);
	progress.is_shown = true;
	progress.next_ns = now_ns + PERIOD_NS;
}

static volatile sig_atomic_t stopped_by;

static void stop(int signal)
{
	stopped_by = signal;
}

/* Handles the first signal only; the next one has its default effect. */
static void catch (int signal)
{
	struct sigaction act;

	if (sigaction(signal, NULL, &act) || act.sa_handler != SIG_DFL)
		return; /* ignored, as in a background job; or caught already */
	act = (struct sigaction){ .sa_handler = stop, .sa_flags = SA_RESETHAND | SA_RESTART };
	sigaction(signal, &act, NULL);
}

bool progress_made(uint64_t bytes)
{
	uint64_t now_ns;

	progress.done += bytes;
	if (progress.verb && progress.is_seen) {
		now_ns = monotonic_ns();
		if (now_ns >= progress.next_ns)
			show(now_ns);
	}
	return stopped_by;
}

static bool advance(void *context, uint64_t bytes)
{
	(void)context;
	return progress_made(bytes);
}

void progress_catch(void)
{
	progress.is_seen = isatty(STDERR_FILENO);
	catch (SIGINT);
	catch (SIGTERM);
	catch (SIGHUP);
}

void progress_hook(struct trace_options *o)
{
	progress_catch();
	o->progress = advance;
}

bool progress_is_stopped(void)
{
	return stopped_by;
}

int progress_status(int status)
{
	if (!stopped_by)
		return status;
	fflush(NULL);
	signal(stopped_by, SIG_DFL);
	raise(stopped_by);
	return 128 + stopped_by;
}

void progress_begin_bytes(const char *verb, uint64_t bytes)
{
	assert(verb);
	progress.verb = verb;
	progress.begin_ns = monotonic_ns();
	progress.next_ns = progress.begin_ns + FIRST_NS;
	progress.done = 0;
	progress.total = bytes;
}

void progress_begin(const char *verb, const struct trace *t)
{
	progress_begin_bytes(verb, 0);
	progress_also(t);
}

void progress_also(const struct trace *t)
{
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		progress.total += trace_stream(t, i)->size_bytes;
}

void progress_line(const char *text)
{
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	print_err("\r\033[K%s\r", text);
	progress.is_shown = true;
}

void progress_hide(void)
{
	if (!progress.is_shown)
		return;
	print_own_err("\r\033[K");
	progress.is_shown = false;
}

void progress_end(void)
{
	progress_hide();
	assert(!progress.is_shown);
	progress.verb = NULL;
}
