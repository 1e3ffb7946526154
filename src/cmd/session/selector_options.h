/* SPDX-License-Identifier: MIT */
/* cmd/session/selector_options.h - which programs and levels: options that record, collect, start,
 * enable and disable share. */
#ifndef CMD_SESSION_SELECTOR_OPTIONS_H
#define CMD_SESSION_SELECTOR_OPTIONS_H

#include <getopt.h>

#include "collect/session/selectors.h"

/* Values for getopt_long, in the order of enum selector_kind; cmd/remote/send.h begins at 512. */
enum { WHOM_FIRST = 448, WHOM_END = WHOM_FIRST + N_SELECTOR_KINDS };

#define WHOM_OPTIONS                                                                               \
	{ "program", required_argument, NULL, WHOM_FIRST + SELECTOR_PROGRAM },                     \
		{ "uid", required_argument, NULL, WHOM_FIRST + SELECTOR_UID },                     \
		{ "container", required_argument, NULL, WHOM_FIRST + SELECTOR_CONTAINER },         \
		{ "cgroup", required_argument, NULL, WHOM_FIRST + SELECTOR_CGROUP },               \
	{                                                                                          \
		"level", required_argument, NULL, WHOM_FIRST + SELECTOR_LEVEL                      \
	}

#define WHOM_HELP                                                                                  \
	"      --program GLOB    only programs called so; \"!GLOB\" excludes; repeatable, or "     \
	"with commas\n"                                                                            \
	"      --uid USER        only programs of this user (name or number); \"!USER\" "          \
	"excludes\n"                                                                               \
	"      --container NAME  only programs in this container: id, name or host name; "         \
	"\"!NAME\" excludes\n"                                                                     \
	"      --cgroup PATH     only programs in this cgroup (version 2) or below; \"!PATH\" "    \
	"excludes\n"

#endif
