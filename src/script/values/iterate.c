/* SPDX-License-Identifier: MIT */
/*
 * values/iterate.c - iterations over arrays and over the buckets of a histogram.
 *
 * They form a stack, as loops do: the handle is the number of iterations that were open, plus one.
 * Ending one ends those above it.
 */
#include "script/values/internal.h"

static struct iteration *iteration_of(struct script_values *v, int64_t handle)
{
	return handle > 0 && handle <= v->n_iterations ? &v->iterations[handle - 1] : NULL;
}

static enum values_error list_elements(struct script_values *v, struct iteration *it,
				       const union script_cell *keys, int64_t limit)
{
	const struct array *a = it->array;
	uint32_t all = (1u << a->n_keys) - 1, wild = it->how->wild & all;
	uint32_t most = a->n;

	if (!it->how->sort && limit >= 0 && limit < most)
		most = (uint32_t)limit;
	if (!most)
		return VALUES_FINE;
	it->bytes = (size_t)(it->how->sort || wild != all ? a->n : most) * sizeof *it->at;
	it->at = values_take(v, it->bytes);
	if (!it->at)
		return VALUES_NO_MEMORY;
	for (uint32_t i = a->first; i != NONE && it->n < most; i = element_at(a, i)->next)
		if (wild == all || array_fits(a, element_at(a, i), keys, wild))
			it->at[it->n++] = i;
	return values_sort(v, a, it->how, it->at, &it->n, limit);
}

static enum values_error list_buckets(struct iteration *it, const union script_cell *keys,
				      int64_t limit)
{
	struct element *e = array_find(it->array, keys);

	if (!e || !stat_of(it->array, e)->n || !it->array->n_buckets)
		return VALUES_EMPTY;
	it->stat = stat_of(it->array, e);
	it->n = it->array->n_buckets;
	if (limit >= 0 && limit < it->n)
		it->n = (uint32_t)limit;
	return VALUES_FINE;
}

enum values_error values_iterate(struct script_values *v, const struct script_iteration *how,
				 const union script_cell *keys, int64_t limit, int64_t *handle)
{
	struct iteration *it = &v->iterations[v->n_iterations];
	enum values_error error;

	if (v->n_iterations == MOST_ITERATIONS)
		return VALUES_TOO_MANY;
	*it = (struct iteration){ .how = how, .array = &v->arrays[how->array] };
	error = how->histogram == HIST_NONE ? list_elements(v, it, keys, limit)
					    : list_buckets(it, keys, limit);
	if (error) {
		values_give(v, it->at, it->bytes);
		return error;
	}
	it->array->n_iterations++;
	v->is_dirty = true;
	*handle = ++v->n_iterations;
	return VALUES_FINE;
}

bool values_next(struct script_values *v, int64_t handle)
{
	struct iteration *it = iteration_of(v, handle);

	if (!it)
		return false;
	if (it->i < it->n) {
		it->i++;
		return true;
	}
	values_end(v, handle);
	return false;
}

static enum script_type key_type(const struct iteration *it, uint32_t key)
{
	if (it->stat)
		return key ? SCRIPT_UNKNOWN : SCRIPT_LONG;
	return key < it->array->n_keys ? it->array->code->keys[key] : SCRIPT_UNKNOWN;
}

enum values_error values_key(struct script_values *v, int64_t handle, uint32_t key,
			     enum script_type type, union script_cell *cell)
{
	const struct iteration *it = iteration_of(v, handle);

	if (!it || !it->i || key_type(it, key) != type)
		return VALUES_NO_HANDLE;
	if (it->stat)
		cell->number = it->i - 1;
	else
		*cell = element_at(it->array, it->at[it->i - 1])->cells[key];
	return VALUES_FINE;
}

enum values_error values_value(struct script_values *v, int64_t handle, enum script_type type,
			       union script_cell *cell)
{
	const struct iteration *it = iteration_of(v, handle);

	if (!it || !it->i || type != (it->stat ? SCRIPT_LONG : it->array->code->value))
		return VALUES_NO_HANDLE;
	if (it->stat)
		cell->number = (int64_t)stat_buckets(it->stat)[it->i - 1];
	else
		*cell = *value_of(it->array, element_at(it->array, it->at[it->i - 1]));
	return VALUES_FINE;
}

enum values_error values_iterated_statistic(struct script_values *v, int64_t handle,
					    enum script_statistic which, int64_t parameter,
					    int64_t *value)
{
	const struct iteration *it = iteration_of(v, handle);

	if (!it || !it->i || it->stat || it->array->code->value != SCRIPT_STATS)
		return VALUES_NO_HANDLE;
	return stat_value(it->array, stat_of(it->array, element_at(it->array, it->at[it->i - 1])),
			  which, parameter, value);
}

uint32_t values_iterated(const struct script_values *v, int64_t handle)
{
	return handle > 0 && handle <= v->n_iterations ? v->iterations[handle - 1].n : 0;
}

void values_rewind(struct script_values *v, int64_t handle)
{
	struct iteration *it = iteration_of(v, handle);

	if (it)
		it->i = 0;
}

void values_end(struct script_values *v, int64_t handle)
{
	if (iteration_of(v, handle))
		values_unwind(v, handle - 1);
}

int64_t values_depth(const struct script_values *v)
{
	return v->n_iterations;
}

void values_unwind(struct script_values *v, int64_t depth)
{
	while (v->n_iterations > depth && depth >= 0) {
		struct iteration *it = &v->iterations[--v->n_iterations];

		it->array->n_iterations--;
		values_give(v, it->at, it->bytes);
	}
}
