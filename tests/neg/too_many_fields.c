/* SPDX-License-Identifier: MIT */
/* 41. says: DUET_EVENT\(shop, order\): an event has at most 40 fields */
#include <duet/duet.h>
DUET_EVENT(shop, order, (i8, a), (i8, b), (i8, c), (i8, d), (i8, e), (i8, f), (i8, g), (i8, h),
	   (i8, i), (i8, j), (i8, k), (i8, l), (i8, m), (i8, n), (i8, o), (i8, p), (i8, q), (i8, r),
	   (i8, s), (i8, t), (i8, u), (i8, v), (i8, w), (i8, x), (i8, y), (i8, z), (i8, a2), (i8, b2),
	   (i8, c2), (i8, d2), (i8, e2), (i8, f2), (i8, g2), (i8, h2), (i8, i2), (i8, j2), (i8, k2),
	   (i8, l2), (i8, m2), (i8, n2), (i8, o2));
