/* SPDX-License-Identifier: MIT */
/* Events of three levels, again and again, until SIGTERM; begins anew, by exec, at SIGUSR1. */
#include <duet/duet.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

DUET_EVENT_LEVEL(rules, DUET_ERR, failed, (i32, n));
DUET_EVENT_LEVEL(rules, DUET_INFO, done, (i32, n));
DUET_EVENT_LEVEL(rules, DUET_DEBUG, step, (i32, n));

static volatile sig_atomic_t stop;

static void on_signal(int s)
{
	stop = s;
}

int main(int argc, char **argv)
{
	sigset_t none;

	(void)argc;
	sigemptyset(&none); /* exec keeps the signals that the handler had blocked */
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	/* The first is registered before any command can enable it from outside. */
	trace_rules_failed(0);
	trace_rules_done(0);
	trace_rules_step(0);
	printf("ready\n");
	fflush(stdout);
	for (int n = 1; !stop; n++) {
		trace_rules_failed(n);
		trace_rules_done(n);
		trace_rules_step(n);
		usleep(1000);
	}
	if (stop == SIGUSR1)
		execv(argv[0], argv);
	return stop == SIGUSR1;
}
