/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/attach/attacher.c - attach to a process many times, or be killed while attaching.
 *
 *   attacher LIBRARY RUNTIME PID TIMES [ERRORS]   attach; at most ERRORS may fail
 *   attacher LIBRARY RUNTIME PID kill TIMES       be killed by SIGKILL at a random moment, TIMES
 *   attacher LIBRARY RUNTIME PID check            is it possible?  Status 2 and the reason if not
 *
 * Prints the length of the stops: median, 99th percentile and longest, in microseconds.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "patch/attach/attach.h"

enum { TIMES_MAX = 100000 };

static uint64_t stops[TIMES_MAX];

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_stops(int n)
{
	qsort(stops, (size_t)n, sizeof *stops, compare);
	if (n)
		printf("stop_us p50 %lu p99 %lu max %lu of %d\n", stops[n / 2] / 1000,
		       stops[n * 99 / 100] / 1000, stops[n - 1] / 1000, n);
}

static int attach_often(pid_t pid, const struct attach_options *o, int times, int errors)
{
	struct attach_result r;
	struct diag d = { "" };
	int n = 0, err;

	for (int i = 0; i < times && errors >= 0; i++) {
		err = attach_apply(pid, o, &r, &d);
		if (!err && r.applied > 0)
			stops[n++] = r.stop_ns;
		else
			errors -= err ? 1 : errors + 1;
		if (errors < 0)
			fprintf(stderr, "attach %d: %d, applied %d: %s\n", i, err, r.applied,
				d.text);
		if (!i && !err)
			printf("loaded %d threads %u load_us %lu\n", r.is_loaded, r.n_threads,
			       r.load_ns / 1000);
	}
	print_stops(n);
	if (*d.text)
		printf("the last that failed: %s\n", d.text);
	return errors < 0;
}

static void die_while_attaching(pid_t pid, const struct attach_options *o, useconds_t after)
{
	struct attach_result r;
	pid_t child = fork();

	if (!child) {
		setpgid(0, 0);
		_exit(attach_apply(pid, o, &r, NULL) ? 1 : 0);
	}
	setpgid(child, child);
	usleep(after);
	kill(-child, SIGKILL);
	waitpid(child, NULL, 0);
	while (!kill(-child, 0))
		usleep(100);
}

static int be_killed(pid_t pid, const struct attach_options *o, int times)
{
	struct attach_result r;
	struct diag d = { "" };
	uint64_t begin = monotonic_ns();
	useconds_t whole;

	for (int i = 0; i < 5; i++)
		if (attach_apply(pid, o, &r, &d)) {
			fprintf(stderr, "%s\n", d.text);
			return 1;
		}
	whole = (useconds_t)((monotonic_ns() - begin) / 5000);
	printf("one attach takes %u us\n", (unsigned)whole);
	for (int i = 0; i < times; i++) {
		die_while_attaching(pid, o, (useconds_t)rand() % (whole * 5 / 4));
		if (kill(pid, 0)) {
			fprintf(stderr, "the process died at kill %d\n", i);
			return 1;
		}
	}
	/* An abandoned call may still run. */
	return attach_often(pid, o, 1, 0);
}

int main(int n, char **v)
{
	struct attach_options o;
	struct diag d = { "" };
	pid_t pid;

	if (n < 5)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	o = (struct attach_options){ .library = v[1], .runtime = v[2], .wait_ms = 5000 };
	pid = (pid_t)atoi(v[3]);
	if (!strcmp(v[4], "check")) {
		int err = attach_check(pid, &o, &d);

		printf("%s%s", d.text, err ? "\n" : "");
		return err ? 2 : 0;
	}
	if (!strcmp(v[4], "kill"))
		return be_killed(pid, &o, n > 5 ? atoi(v[5]) : 10);
	return attach_often(pid, &o, atoi(v[4]) < TIMES_MAX ? atoi(v[4]) : TIMES_MAX,
			    n > 5 ? atoi(v[5]) : 0);
}
