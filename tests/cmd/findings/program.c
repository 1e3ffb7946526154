/* SPDX-License-Identifier: MIT */
/* tests/cmd/findings/program.c - has two events, and comes to one of them. */
#include <duet/duet.h>

#include <stdio.h>
#include <unistd.h>

DUET_EVENT(shop, order, (i32, id), (i32, size));
DUET_EVENT_LEVEL(shop, DUET_DEBUG, refund, (i32, id));

int main(int argc, char **argv)
{
	(void)argv;
	trace_shop_order(1, 5);
	if (argc > 5)
		trace_shop_refund(2);
	if (argc == 2) { /* stays, until its standard input ends */
		char c;

		printf("ready\n");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			trace_shop_order(1, 5);
	}
	return 0;
}
