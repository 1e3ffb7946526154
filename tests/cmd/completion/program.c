/* SPDX-License-Identifier: MIT */
/* tests/cmd/completion/program.c - registers two events and waits until it is killed. */
#include <duet/duet.h>
#include <unistd.h>

DUET_EVENT(shop, order, (i32, id));
DUET_EVENT(shop, paid, (i32, id));

int main(void)
{
	for (int i = 0;; i++) {
		trace_shop_order(i);
		trace_shop_paid(i);
		usleep(10000);
	}
}
