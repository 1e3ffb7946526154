/* SPDX-License-Identifier: MIT */
/* Events of three levels, again and again, until SIGTERM. */
#include <duet/duet.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

DUET_EVENT_LEVEL(rules, DUET_ERR, failed, (i32, n));
DUET_EVENT_LEVEL(rules, DUET_INFO, done, (i32, n));
DUET_EVENT_LEVEL(rules, DUET_DEBUG, step, (i32, n));

static volatile sig_atomic_t stop;

static void on_term(int s)
{
	(void)s;
	stop = 1;
}

int main(void)
{
	signal(SIGTERM, on_term);
	/* The first is there before anybody can have switched it on from outside. */
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
	return 0;
}
