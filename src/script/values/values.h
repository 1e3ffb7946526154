/* SPDX-License-Identifier: MIT */
/*
 * script/values/values.h - the values of a running script: strings, arrays, statistics, iterations.
 *
 * Nothing here knows the machine: functions return 0 or an error of enum values_error, and the
 * helpers (script/library) raise it.  All memory is counted against the limit.
 *
 * A string that is replaced or deleted, and every temporary one, stays until values_end_handler():
 * so no register of the machine ever holds a dead string.
 */
#ifndef SCRIPT_VALUES_VALUES_H
#define SCRIPT_VALUES_VALUES_H

#include "script/unit/unit.h"

struct script_values;

enum values_error {
	VALUES_FINE,
	VALUES_FULL,	  /* the array has its most entries */
	VALUES_NO_MEMORY, /* or the limit of memory */
	VALUES_ITERATED,  /* the array is being iterated over */
	VALUES_EMPTY,	  /* a statistic of nothing */
	VALUES_NO_HANDLE, /* the iteration is not open */
	VALUES_TOO_MANY,  /* iterations */
	VALUES_NO_BUCKET, /* the histogram has no bucket of this number */
};

/* script_values_open - for the arrays and globals of @unit.  NULL: no memory. */
struct script_values *script_values_open(const struct script_unit *unit,
					 const struct script_limits *l);
void script_values_close(struct script_values *v);
void values_end_handler(struct script_values *v);
/* values_is_dirty - where it says whether values_end_handler() has anything to do. */
const bool *values_is_dirty(const struct script_values *v);

/* values_string - a temporary string; cut to MAXSTRINGLEN - 1 bytes.  Never NULL: without memory it
 * is "". */
const struct script_string *values_string(struct script_values *v, const char *bytes, size_t size);
/* values_new_string - one whose bytes the caller writes at once; perhaps shorter.  NULL: no memory. */
struct script_string *values_new_string(struct script_values *v, size_t size);
/* values_long_string - a temporary string that is not cut, for what is only printed. */
const struct script_string *values_long_string(struct script_values *v, const char *bytes,
					       size_t size);
/* values_compare - less than, equal to or greater than 0; by bytes. */
int values_compare(const struct script_string *a, const struct script_string *b);
/* values_library - a place for what the library keeps; @fini is called at the end. */
void **values_library(struct script_values *v, void (*fini)(void *));

/* values_globals - the cells of the globals; strings in them are never NULL. */
union script_cell *values_globals(struct script_values *v);
enum values_error values_set_global(struct script_values *v, uint32_t global,
				    const struct script_string *s);

/* Arrays.  @keys: n_keys cells. */
enum values_error values_get(struct script_values *v, uint32_t array, const union script_cell *keys,
			     union script_cell *value);
enum values_error values_set(struct script_values *v, uint32_t array, const union script_cell *keys,
			     union script_cell value);
/* @sum: becomes the new value. */
enum values_error values_add(struct script_values *v, uint32_t array, const union script_cell *keys,
			     int64_t delta, int64_t *sum);
bool values_has(struct script_values *v, uint32_t array, const union script_cell *keys,
		uint32_t wild);
enum values_error values_delete(struct script_values *v, uint32_t array,
				const union script_cell *keys, uint32_t wild);
enum values_error values_clear(struct script_values *v, uint32_t array);
/* values_direct - a faster function than that of @helper for @array, and what it takes as R1; NULL:
 * there is none. */
script_help *values_direct(struct script_values *v, uint32_t helper, uint32_t array, uint64_t *r1);
uint32_t values_count(const struct script_values *v, uint32_t array);

/*
 * Statistics.
 *
 * Buckets of HIST_LOG: 64 is zero, 65 + i is [2^i, 2^(i+1)), 63 - i the negatives of those.  Of
 * HIST_LINEAR: 0 is below `low`; then one for each `width`; the last is above `high`.
 */
enum { VALUES_LOG_BUCKETS = 128, VALUES_LINEAR_MOST = 1024, VALUES_LABEL = 44 };
/* values_n_buckets - 0: the array has no histogram, or one that cannot be. */
uint32_t values_n_buckets(const struct script_array_code *code);
uint32_t values_bucket_of(const struct script_array_code *code, int64_t value);
void values_bucket_label(const struct script_array_code *code, uint32_t bucket,
			 char label[VALUES_LABEL]);
enum values_error values_collect(struct script_values *v, uint32_t array,
				 const union script_cell *keys, int64_t value);
struct script_stats_delta {
	uint64_t n;
	int64_t sum, min, max;
	const uint64_t *buckets; /* of the array's histogram, n_buckets; NULL: none */
	uint32_t n_buckets;
};
/* values_collect_many - what was collected elsewhere.  Not for arrays with variance or quantiles. */
enum values_error values_collect_many(struct script_values *v, uint32_t array,
				      const union script_cell *keys,
				      const struct script_stats_delta *delta);
enum values_error values_statistic(struct script_values *v, uint32_t array,
				   const union script_cell *keys, enum script_statistic which,
				   int64_t parameter, int64_t *value);
/* values_buckets - all buckets of an element; NULL: it has none. */
const uint64_t *values_buckets(const struct script_values *v, uint32_t array,
			       const union script_cell *keys);
enum values_error values_bucket(struct script_values *v, uint32_t array,
				const union script_cell *keys, int64_t bucket, int64_t *value);
/* values_histogram - the histogram as lines of text: value, bar, count. */
enum values_error values_histogram(struct script_values *v, uint32_t array,
				   const union script_cell *keys, struct text *to);

/* Iterations, by handle.  While one is open its array cannot change.  A handle is a number of the
 * script, so any may come: a key or value that does not exist, or not as @type, is NO_HANDLE. */
enum values_error values_iterate(struct script_values *v, const struct script_iteration *how,
				 const union script_cell *keys, int64_t limit, int64_t *handle);
bool values_next(struct script_values *v, int64_t handle);
enum values_error values_key(struct script_values *v, int64_t handle, uint32_t key,
			     enum script_type type, union script_cell *cell);
enum values_error values_value(struct script_values *v, int64_t handle, enum script_type type,
			       union script_cell *cell);
/* values_iterated_statistic - of the element at which the iteration is. */
enum values_error values_iterated_statistic(struct script_values *v, int64_t handle,
					    enum script_statistic which, int64_t parameter,
					    int64_t *value);
/* values_iterated - how many elements or buckets the iteration visits.  values_rewind - begin again. */
uint32_t values_iterated(const struct script_values *v, int64_t handle);
void values_rewind(struct script_values *v, int64_t handle);
void values_end(struct script_values *v, int64_t handle);
int64_t values_depth(const struct script_values *v);
void values_unwind(struct script_values *v, int64_t depth);

/* values_each - each element of @array in order of insertion, for printing and for the kernel's
 * counts; a result other than 0 ends it and is returned.  keys[n_keys] is the value, unless that is
 * a statistic. */
int values_each(struct script_values *v, uint32_t array,
		int (*visit)(void *context, const union script_cell *keys, uint32_t element),
		void *context);

#endif
