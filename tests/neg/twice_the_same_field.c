/* SPDX-License-Identifier: MIT */
/* says: redefinition of parameter .id.|conflicting .*id. */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id), (str, id));
