/* SPDX-License-Identifier: MIT */
/* says: redefinition of .*trace_shop_order */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id));
DUET_EVENT(shop, order, (i32, id));
