/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/plan.h - the values, tests and counts of each handler: sections and sites.
 *
 * Probes of one handler whose fetches are the same share a section.  At a system call one program
 * serves all calls: a table has the probe of each call for each section.
 */
#ifndef SCRIPT_KERNEL_PLAN_H
#define SCRIPT_KERNEL_PLAN_H

#include "bpf/code.h"
#include "script/kernel/kernel.h"
#include "script/kernel/points/points.h"

struct kernel_source;
struct kernel_ring;

struct kernel_capture {
	struct kernel_fetch fetches[FETCHES_MAX];
	uint16_t cell[FETCHES_MAX]; /* the first cell of each in a record */
	uint32_t n, n_cells;
	uint32_t bytes;			/* of a record, at most */
	uint8_t standard[STANDARD_N];	/* a fetch, plus 1; 0: none */
	uint8_t slot[SCRIPT_SLOTS_MAX]; /* the first fetch of each slot, in `map` */
	uint8_t map[2 * FETCHES_MAX + SCRIPT_SLOTS_MAX];
	bool has_texts;
	bool may_fault;
};

/* A global that folded handlers count in. */
struct kernel_count {
	const struct script_variable *variable;
	uint32_t n_keys;
	uint16_t key_at[SCRIPT_KEYS_MAX]; /* bytes from the begin of a key; a text takes 16 */
	uint32_t key_bytes, value_bytes;
	uint32_t n_buckets; /* of its histogram */
	uint32_t n_copies;  /* of a value: one for each CPU if it has no keys, else one */
	uint32_t start_at;  /* in the control map: a value before anything is counted */
	int maps[2];	    /* programs count in the one that `active` of the source says */
	uint32_t full_at;   /* in the control map: additions that found no room */
	uint64_t n_full;    /* reported */
};

/* A slot that is a name is a key by its number: of the probe, whose constant it is, or of the system
 * call.  Such a key has the slot in its last byte, and bytes that no text has before it. */
enum { SLOT_NO_NAME, SLOT_OF_PROBE, SLOT_OF_CALL };
#define KEY_NAME_OF_PROBE 0xfffffffffffffe00ull
/* In place of the slot: standard cell @which of the probe. */
#define KEY_STANDARD(which) (0xc0u | (which))
_Static_assert(STANDARD_N <= 0x40 && SCRIPT_SLOTS_MAX <= 0xc0, "a byte names a slot or a cell");
#define KEY_NAME_OF_CALL 0xffffffffffffff00ull

struct kernel_section {
	const struct script_handler *handler;
	struct kernel_capture capture;
	const struct script_expr *test; /* recorded only if it holds, or .. */
	bool is_test_negated;		/* .. does not; NULL: always */
	bool is_folded;
	int16_t slot_fetch[SCRIPT_SLOTS_MAX]; /* the one fetch of each slot; -1: not one */
	uint8_t slot_name[SCRIPT_SLOTS_MAX];  /* SLOT_...: a text that follows from a number */
	uint32_t *probes;		      /* numbers in the source */
	uint32_t n_probes, n_rooms;
	uint32_t table_at; /* KIND_CALL: in the control map: the probe of each call, plus 1 */
};

enum { SITE_LINKS_MAX = 1024, CALL_TABLE = 512, SITE_SECTIONS_MAX = 60 };

struct kernel_site {
	const struct kernel_point *point;
	bool is_classic; /* the record of a classic tracepoint is needed */
	struct kernel_section **sections;
	uint32_t n, n_rooms;
	uint32_t
		masks_at; /* KIND_CALL: in the control map: the sections of each call, a bit each */
	uint32_t first;	  /* the bit of the first section */
	int program;
	int *links;
	uint32_t n_links;
	bool is_trusted;   /* as it was loaded */
	bool is_exit;	   /* KIND_FUNCTION: at the exit of its trampoline, else a kprobe */
	bool is_left_out;  /* KIND_FUNCTION of a pattern: the kernel refuses it */
	uint64_t n_missed; /* as it was last read: kernel_function_missed() */
	uint64_t missed;   /* reported */
	uint64_t misses;   /* reported */
	uint64_t run_ns;   /* at the last look: guard.c */
};

enum { COUNTS_MAX = 64 };

struct kernel_reader { /* of one CPU's ring: frame.c, source.c */
	struct kernel_ring *ring;
	uint64_t position;
	int64_t time_ns;  /* of the record at `position`, by CLOCK_MONOTONIC; INT64_MAX: none */
	uint64_t last_ns; /* of the record seen last */
};

/* The source.  Programs and this process share one map of one element, `control`; plan.c
 * lays it out: zeroes for new elements first. */
struct kernel_source {
	struct script_source_of source;
	struct script_kernel *k;
	const struct script_program *program;
	const struct script_probe **probes;
	struct kernel_section **of; /* of each probe */
	uint32_t n_probes;
	struct kernel_site **sites;
	uint32_t n_sites, n_site_rooms;
	struct kernel_count counts[COUNTS_MAX];
	uint32_t n_counts;
	uint32_t active_at;   /* in the control map: 0 or 1: which maps are counted in */
	int wait_map, a_map;  /* putting one into the other waits for running programs */
	const char **reasons; /* why each probe is not folded; NULL: it is */

	int rings_map, control_map;
	uint8_t *control;
	uint32_t control_bytes, losses_at;
	uint32_t loss_rooms; /* a power of two */
	uint64_t *lost;	     /* reported, by probe */
	uint8_t *rings;
	size_t ring_stride, ring_bytes;
	struct kernel_reader *readers;
	int n_cpus;
	uint32_t own;

	int64_t offset_ns; /* from CLOCK_MONOTONIC to the session's clock */
	uint64_t now_ns;   /* at the begin of the pass */
	uint64_t until_ns; /* by CLOCK_MONOTONIC: records are complete up to it */
	int64_t last_ns;   /* of the event returned last */
	struct script_frame *frame;
	struct kernel_call_words *words[CALL_TABLE]; /* words.c */
	struct kernel_symbols *symbols;		     /* symbols.c; NULL: not asked yet */
	bool is_started, is_stopped, is_failed, is_in_pass;
	bool is_merged; /* all that was ever counted */
	bool is_final;	/* the pass began after the stop */
	int held;	/* CPU whose record the last event is; -1: none */
	struct diag failure;
	uint32_t next_loss; /* the probe, then the site, to report next */
	uint64_t next_guard_ns, look_ns;
	int statistics; /* descriptor while they are on, or -1 */
	uint32_t n_overloads;
};

/* plan.c */
uint32_t kernel_control_room(struct kernel_source *s,
			     uint32_t bytes); /* an offset; multiple of 8 */
/* Adds a fetch to a capture: its number, or -1: too many. */
int kernel_capture_add(struct kernel_capture *c, const struct kernel_fetch *f);
/* kernel_plan_probe - gives @probe, number @i of the source, a section in one of its sites. */
int kernel_plan_probe(struct kernel_source *s, uint32_t i, struct diag *d);
/* kernel_standard - the fetch for a standard cell, -1: it has none (time, cpu, constants). */
int kernel_standard(struct script_kernel *k, enum script_standard which, struct kernel_fetch *f,
		    struct diag *d);
/* The number of the fetch that gives the value of leaf @x (a slot or a function that reads a cell);
 * -1: it is not one fetch. */
int kernel_leaf(const struct kernel_section *s, const struct script_expr *x);

/* fold.c */
/* kernel_fold - decides which sections are folded, and their tests. */
int kernel_fold(struct kernel_source *s);
/* kernel_probe_name - which text of the probe @x is, as pp() or probefunc(); STANDARD_N: none. */
enum script_standard kernel_probe_name(const struct script_expr *x);
bool kernel_can_express(const struct kernel_section *s, const struct script_expr *x, int depth);
/* The elements that the map of @v has room for. */
uint32_t kernel_count_entries(const struct kernel_source *s, const struct script_variable *v);
const struct kernel_count *kernel_count_of(const struct kernel_source *s,
					   const struct script_variable *v);
/* The element that `x++`, `x += e`, `x <<< e` changes: its variable; *@by: e, NULL for 1. */
const struct script_expr *kernel_counted(const struct script_expr *x, const struct script_expr **by,
					 bool *is_minus);

/* build.c: the program of a site. */
int kernel_build(struct kernel_source *s, const struct kernel_site *site, bool is_trusted,
		 bool is_sleepable, struct bpf_code *c);

#endif
