/* SPDX-License-Identifier: MIT */
/* unit/helpers.c - the signatures of the helpers, from helpers.def. */
#include "script/unit/unit.h"

const struct script_helper script_helper_table[SCRIPT_HELPERS_N] = {
#define HELPER(name, signature, may_fail) [SCRIPT_HELPER_##name] = { #name, signature, may_fail },
#include "script/unit/helpers.def"
#undef HELPER
};
