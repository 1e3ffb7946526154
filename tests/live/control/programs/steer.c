/* SPDX-License-Identifier: MIT */
/*
 * tests/live/control/programs/steer.c - calls duet/control.h as its arguments request, and prints each
 * result:
 *
 *	-s NAME        the session that the following calls mean; "" is none by name
 *	-l MS          their limit
 *	events N       records steer:event N times, numbered on
 *	handler VERB   the same in a signal handler
 *	VERB           flush, snapshot, rotate, status, sessions, enable=P, disable=P, request=LINE,
 *	               stop, start=DIR, start-alone=DIR
 *
 * "VERB RESULT [MORE] [why]", the result 0 or the errno's name.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <duet/control.h>
#include <duet/duet.h>

DUET_EVENT(steer, event, (i32, number));

static struct duet_control control = { .size = sizeof control };
static char more[DUET_PATH_BYTES + 64];
static int result;
static const char *in_handler;

static int report(void *arg, const char *session)
{
	(void)arg;
	strcat(strcat(more, session), ",");
	return 0;
}

static int switch_events(int (*call)(struct duet_control *, const struct duet_events *,
				     struct duet_switched *),
			 const char *pattern)
{
	struct duet_events e = { .size = sizeof e, .pattern = pattern };
	struct duet_switched s = { 0, 0, 0 };
	int err = call(&control, &e, &s);

	sprintf(more, "%d events", (int)s.events);
	return err;
}

static int status(void)
{
	struct duet_session_status s = { .size = sizeof s };
	int err = duet_status(&control, &s);

	snprintf(more, sizeof more, "%s %.3000s programs=%d", s.session, s.path, (int)s.programs);
	return err;
}

static int start(const char *directory, int alone)
{
	struct duet_start_options o = { .size = sizeof o,
					.output = directory,
					.only_this_process = alone };
	static const char *const events[] = { "steer:*", NULL };

	o.events = events;
	return duet_start(&control, &o);
}

static void call(const char *verb)
{
	const char *value = strchr(verb, '=');
	size_t n = value ? (size_t)(value++ - verb) : strlen(verb);

	more[0] = 0;
	if (!strcmp(verb, "flush"))
		result = duet_flush(&control);
	else if (!strcmp(verb, "snapshot"))
		result = duet_snapshot(&control, NULL, more, sizeof more);
	else if (!strcmp(verb, "rotate"))
		result = duet_rotate(&control);
	else if (!strcmp(verb, "status"))
		result = status();
	else if (!strcmp(verb, "sessions"))
		result = duet_sessions(&control, report, NULL);
	else if (!strncmp(verb, "enable", n))
		result = switch_events(duet_enable, value);
	else if (!strncmp(verb, "disable", n))
		result = switch_events(duet_disable, value);
	else if (!strncmp(verb, "request", n))
		result = duet_request(&control, value, more, 40);
	else if (!strncmp(verb, "start", n))
		result = start(value, 0);
	else if (!strncmp(verb, "start-alone", n))
		result = start(value, 1);
	else if (!strcmp(verb, "stop"))
		result = duet_stop(&control);
	else
		abort();
}

static volatile int n_children;

static void child_ended(int signal)
{
	(void)signal;
	n_children++;
}

static void handler(int signal)
{
	(void)signal;
	call(in_handler);
}

static void print(const char *verb)
{
	more[strcspn(more, "\n")] = 0;
	printf("%s %s %s %s\n", verb, result < 0 ? strerrorname_np(-result) : "0", more,
	       control.why);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int number = 0;

	signal(SIGCHLD, child_ended);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-s")) {
			control.session = *argv[++i] ? argv[i] : NULL;
		} else if (!strcmp(argv[i], "-l")) {
			control.limit_ns = strtoull(argv[++i], NULL, 10) * 1000000;
		} else if (!strcmp(argv[i], "events")) {
			for (int n = atoi(argv[++i]); n; n--)
				trace_steer_event(number++);
		} else if (!strcmp(argv[i], "wait")) {
			getchar();
		} else if (!strcmp(argv[i], "handler")) {
			in_handler = argv[++i];
			signal(SIGUSR1, handler);
			errno = 4242;
			raise(SIGUSR1);
			if (errno != 4242)
				printf("errno is changed\n");
			print(in_handler);
		} else {
			call(argv[i]);
			print(argv[i]);
		}
	}
	if (n_children)
		printf("noticed %d children\n", n_children);
	return 0;
}
