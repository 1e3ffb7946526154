/* SPDX-License-Identifier: MIT */
/*
 * tests/live/control/programs/trigger.c - records the events that it reads: "order ID", "paid ID",
 * "noise N", "long BYTES"; prints "done" after each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <duet/duet.h>

DUET_EVENT(shop, order, (i32, id), (str, item));
DUET_EVENT(shop, paid, (i64, id));
DUET_EVENT(shop, noise, (i32, number));
DUET_EVENT(shop, large, (str, text), (i32, id));

static void large(int bytes)
{
	char *text = malloc((size_t)bytes + 1);

	memset(text, 'x', (size_t)bytes);
	text[bytes] = 0;
	trace_shop_large(text, bytes);
	free(text);
}

int main(void)
{
	char line[64];
	int n;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "order %d", &n) == 1)
			trace_shop_order(n, "tea");
		else if (sscanf(line, "paid %d", &n) == 1)
			trace_shop_paid(n);
		else if (sscanf(line, "large %d", &n) == 1)
			large(n);
		else if (sscanf(line, "noise %d", &n) == 1)
			for (int i = 0; i < n; i++)
				trace_shop_noise(i);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
