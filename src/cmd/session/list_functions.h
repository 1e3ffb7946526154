/* SPDX-License-Identifier: MIT */
/* cmd/session/list_functions.h - duet list --functions: which functions and marks can be patched. */
#ifndef CMD_SESSION_LIST_FUNCTIONS_H
#define CMD_SESSION_LIST_FUNCTIONS_H

/* list_functions - print the functions of @target, FILE or FILE:GLOB.  Returns the exit status. */
int list_functions(const char *target);

#endif
