/* SPDX-License-Identifier: MIT */
/* cmd/session/enable_graph.h - duet enable and disable --graph: functions of programs. */
#ifndef CMD_SESSION_ENABLE_GRAPH_H
#define CMD_SESSION_ENABLE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/options.h"

/* As given; zero and NULL: not given. */
struct graph_change {
	const char *functions; /* patterns with commas */
	const char *mode, *within;
	uint64_t over_ns, elide_under_ns;
	uint32_t depth;
};

/* The rows of both verbs; their part is struct graph_change at @PART. */
enum { GRAPH_PART = 6 };
extern const struct option_table graph_options;

/* enable_graph_has - whether an option was given. */
bool enable_graph_has(const struct graph_change *g);

/*
 * enable_graph - ask the collectors of @session, for process @pid or all (0).
 *
 * Returns the exit status; it printed the result.
 */
int enable_graph(const char *verb, int dir, const char *session, pid_t pid,
		 const struct graph_change *g);

#endif
