/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/plan.h - a plan (abi/plan.h), mapped and checked.
 */
#ifndef INPROC_CALLS_PLAN_H
#define INPROC_CALLS_PLAN_H

#include "abi/plan.h"
#include "inproc/process.h"

struct plan {
	const struct abi_plan *head; /* NULL: no plan */
	const struct abi_plan_site *sites;
	const struct abi_plan_fixup *fixups;
	const struct abi_plan_operand *operands;
	const uint8_t *code;
	const char *text;
	size_t size; /* bytes, whole mapping */
};

/*
 * plan_check - whether the @size bytes at @bytes are a sound plan.
 *
 * After that every offset and number in it may be used: tables lie in the file, names end, a site's
 * code, fixups and operands are in their tables, sites ascend and do not overlap.  @bytes is aligned
 * to 8.  Fills *@p, which points into @bytes.
 */
bool plan_check(struct plan *p, const void *bytes, size_t size) HIDDEN;

/*
 * plan_open - map the plan of the file with this build ID from directory @dir, and check it.
 *
 * 0; -ENOENT: there is none; -EPERM: it is not ours or root's alone; -EPROTO: it is damaged, or of
 * another build ID.  plan_close unmaps it.
 */
int plan_open(struct plan *p, int dir, const uint8_t *build_id, uint32_t build_id_bytes) HIDDEN;
void plan_close(struct plan *p) HIDDEN;

/* plan_name - the name of a plan's file; @name has PLAN_NAME_BYTES. */
enum { PLAN_NAME_BYTES = 2 * ABI_BUILD_ID_BYTES + 1 };
void plan_name(char *name, const uint8_t *build_id, uint32_t build_id_bytes) HIDDEN;

#endif
