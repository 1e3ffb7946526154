/* SPDX-License-Identifier: MIT */
/* says: event_shop_order_is_declared_twice */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id));
DUET_EVENT(shop, order, (i32, id));
