/* SPDX-License-Identifier: MIT */
/* vm/translate_none.c - processors without a translation: scripts are interpreted. */
#include <errno.h>

#include "script/vm/internal.h"

int vm_translate(struct script_vm *vm)
{
	(void)vm;
	return -ENOTSUP;
}

void vm_translate_undo(struct script_vm *vm)
{
	(void)vm;
}
