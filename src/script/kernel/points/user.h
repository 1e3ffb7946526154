/* SPDX-License-Identifier: MIT */
/* script/kernel/points/user.h - where values of programs are: operands of marks, parameters, members. */
#ifndef SCRIPT_KERNEL_POINTS_USER_H
#define SCRIPT_KERNEL_POINTS_USER_H

#include "script/kernel/points/points.h"

/* kernel_mark_places - the operands of a USDT note, "-4@%edi 8@-16(%rbp)", as fetches.  One that is
 * not understood fetches 0.  0 or -ENOMEM. */
int kernel_mark_places(struct script_kernel *k, const char *operands, struct kernel_fetch **places,
		       uint32_t *n);

/* kernel_user_follow - @f, which fetches parameter e->text at the entry of @p's function, is taken
 * along @e's path.  0; or -errno with the reason in @d. */
int kernel_user_follow(struct script_kernel *k, const struct kernel_point *p,
		       const struct script_expr *e, struct kernel_fetch *f, struct diag *d);

#endif
