/* SPDX-License-Identifier: MIT */
/* A sequence has elements of one size. says: field items has the unknown type seq\(str\) */
#include <duet/duet.h>
DUET_EVENT(shop, order, (seq(str), items));
