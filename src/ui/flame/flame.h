/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/flame.h - where the time of threads went in a part of a recording, as a tree: a flame
 * graph's data.
 *
 * Times are those of the index, exact to the nanosecond; call stacks and objects are read from the
 * recording.  For a tree of times on a CPU and one of times off a CPU:
 *
 *   (1) the totals of all threads are the sums of the index over their states in that time
 *   (2) a node's total is its own time and the totals of its children
 *   (3) a parent's index is lower than its children's
 *
 * Stacks and objects that were not recorded are missing below the thread or the call; totals never
 * change.
 */
#ifndef UI_FLAME_FLAME_H
#define UI_FLAME_FLAME_H

#include "ui/index/index.h"

enum flame_what {
	FLAME_ROOT,
	FLAME_PROCESS,
	FLAME_THREAD,
	FLAME_SPAN,
	FLAME_FUNCTION,
	FLAME_SYSCALL,
	FLAME_OBJECT,
	FLAME_STATE,
	FLAME_KERNEL_FUNCTION,
	FLAME_SMALLER, /* all smaller siblings; made by who prunes */
};

enum flame_source { FLAME_ANY, FLAME_SAMPLES, FLAME_STACKS, FLAME_CALLS };

struct flame_node {
	uint32_t parent; /* the root's is itself */
	uint32_t name;	 /* index in `names` */
	uint32_t row;	 /* of a process or thread, plus 1; else 0 */
	uint8_t what;
	uint64_t self, total; /* ns, or samples */
	uint64_t count;	      /* how often it began; of samples: how many */
};

struct flame_tables;

struct flame {
	struct flame_node *nodes;
	char **names; /* untrusted text */
	uint32_t n_nodes, n_names;
	enum flame_source source;
	bool has_samples, has_stacks; /* sources of this time, besides FLAME_CALLS */
	bool counts_samples;	      /* times are numbers of samples */
	char note[512];		      /* for people: the parts that are missing; or "" */
	struct flame_tables *tables;
};

struct flame_options {
	struct ui_index *index;
	const char *const *paths; /* the recordings, for stacks and objects */
	int n_paths;
	int64_t from, to;
	bool is_on;
	enum flame_source source; /* the wanted one */
	const uint32_t *rows;	  /* with all rows below them; none: all */
	int n_rows;
	const uint32_t *is_cancelled; /* atomic, or NULL */
};

/* flame_make - make the tree.  Returns 0; -ECANCELED; or -errno with the reason in @d. */
int flame_make(struct flame *f, const struct flame_options *o, struct diag *d);
void flame_fini(struct flame *f);

#endif
