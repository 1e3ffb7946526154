/* SPDX-License-Identifier: MIT */
/* A sequence has elements of one size. says: DUET_I_ELEMENT_string|expected parameter declarator */
#include <duet/duet.h>
DUET_EVENT(shop, order, (seq(str), items));
