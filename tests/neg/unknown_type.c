/* SPDX-License-Identifier: MIT */
/* says: DUET_I_PARAM_DUET_I_T_i33 */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i33, id));
void f(void);
void f(void)
{
	trace_shop_order(1);
}
