/* SPDX-License-Identifier: MIT */
/* cmd/session/list_probes.h - list the functions or markers of a file, for -u and --usdt. */
#ifndef CMD_SESSION_LIST_PROBES_H
#define CMD_SESSION_LIST_PROBES_H

#include <stdbool.h>

/* list_probes - print the functions, or the markers, of @file.  Returns the exit status. */
int list_probes(const char *file, bool is_usdt);

#endif
