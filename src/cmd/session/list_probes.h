/* SPDX-License-Identifier: MIT */
/* cmd/session/list_probes.h - see list_probes.c. */
#ifndef CMD_SESSION_LIST_PROBES_H
#define CMD_SESSION_LIST_PROBES_H

#include <stdbool.h>

/* list_probes - the functions, or markers, of @file; the exit status. */
int list_probes(const char *file, bool is_usdt);

#endif
