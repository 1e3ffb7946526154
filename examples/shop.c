/* SPDX-License-Identifier: MIT */
/*
 * examples/shop.c - typed events, a marker and all kinds of fields.
 *
 *	cc -o shop shop.c $(pkg-config --cflags duet)
 *	duet record -- ./shop
 */
#include <duet/duet.h>

#include <stdio.h>
#include <unistd.h>

enum state { OPEN, PAID = 5, SENT };

DUET_EVENT(shop, order, (i32, id), (str, item), (enumeration(u8, OPEN, PAID = 5, SENT), state));
DUET_EVENT_LEVEL(shop, DUET_INFO, basket, (i32, id), (seq(i32), articles), (f64, total));

int main(void)
{
	static const char *const items[] = { "tea", "bread", "honey" };
	int articles[] = { 17, 4, 99 };

	for (int id = 0; id < 3; id++) {
		trace_shop_order(id, items[id], OPEN);
		if (write(STDOUT_FILENO, items[id], 3) < 0 || write(STDOUT_FILENO, "\n", 1) < 0)
			return 1;
		trace_shop_basket(id, articles, (size_t)id + 1, 3.5 * id);
		trace_mark(shop, paid, "id %d by %s", id, id ? "card" : "cash");
	}
	return 0;
}
