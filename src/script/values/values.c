/* SPDX-License-Identifier: MIT */
/* values/values.c - the values of a unit opened and closed, its globals, and the end of a handler. */
#include "script/values/values.h"

#include <stdlib.h>
#include <sys/random.h>

#include "script/values/internal.h"

enum { DEFAULT_STRING_BYTES = 512, DEFAULT_ENTRIES = 65536 };
static const uint64_t default_memory = 1ull << 30;

static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed = (uint64_t)(uintptr_t)&seed * 0x9e3779b97f4a7c15u;
	return seed;
}

static bool init_globals(struct script_values *v)
{
	for (uint32_t i = 0; i < v->unit->n_globals; i++) {
		const struct script_global_code *g = &v->unit->globals[i];
		const struct script_string *s;

		if (g->type != SCRIPT_STRING) {
			v->globals[i].number = g->number;
			continue;
		}
		v->globals[i].text = values_nothing;
		s = g->text ? values_string(v, g->text, strlen(g->text)) : values_nothing;
		if (values_set_global(v, i, s))
			return false;
	}
	return true;
}

struct script_values *script_values_open(const struct script_unit *unit,
					 const struct script_limits *l)
{
	struct script_values *v = calloc(1, sizeof *v);
	uint32_t entries = l->entries ? l->entries : DEFAULT_ENTRIES;

	if (!v)
		return NULL;
	v->unit = unit;
	v->string_bytes = l->string_bytes > 1 ? l->string_bytes : DEFAULT_STRING_BYTES;
	v->most = l->memory ? l->memory : default_memory;
	v->arrays = calloc(unit->n_arrays + 1, sizeof *v->arrays);
	v->globals = calloc(unit->n_globals + 1, sizeof *v->globals);
	v->iterations = calloc(MOST_ITERATIONS, sizeof *v->iterations);
	if (!v->arrays || !v->globals || !v->iterations) {
		script_values_close(v);
		return NULL;
	}
	for (uint32_t i = 0; i < unit->n_arrays; i++) {
		array_init(&v->arrays[i], &unit->arrays[i], entries, random_seed());
		v->arrays[i].number = i;
	}
	for (uint32_t i = 0; i < unit->n_globals; i++)
		v->globals[i].text = unit->globals[i].type == SCRIPT_STRING ? values_nothing : NULL;
	if (!init_globals(v)) {
		script_values_close(v);
		return NULL;
	}
	values_end_handler(v);
	return v;
}

void script_values_close(struct script_values *v)
{
	if (!v)
		return;
	if (v->library_fini)
		v->library_fini(v->library);
	values_unwind(v, 0);
	for (uint32_t i = 0; v->arrays && i < v->unit->n_arrays; i++)
		array_fini(v, &v->arrays[i]);
	for (uint32_t i = 0; v->globals && i < v->unit->n_globals; i++)
		if (v->unit->globals[i].type == SCRIPT_STRING && v->globals[i].text)
			values_drop(v, v->globals[i].text);
	values_free_dead(v);
	values_fini_texts(v);
	free(v->arrays);
	free(v->globals);
	free(v->iterations);
	free(v);
}

const bool *values_is_dirty(const struct script_values *v)
{
	return &v->is_dirty;
}

void values_end_handler(struct script_values *v)
{
	if (!v->is_dirty)
		return;
	values_unwind(v, 0);
	values_free_dead(v);
	values_free_texts(v);
	v->is_dirty = false;
}

union script_cell *values_globals(struct script_values *v)
{
	return v->globals;
}

enum values_error values_set_global(struct script_values *v, uint32_t global,
				    const struct script_string *s)
{
	const struct script_string *kept;

	if (same_text(v->globals[global].text, s))
		return VALUES_FINE;
	kept = values_keep(v, s);
	if (!kept)
		return VALUES_NO_MEMORY;
	values_drop(v, v->globals[global].text);
	v->globals[global].text = kept;
	return VALUES_FINE;
}

void **values_library(struct script_values *v, void (*fini)(void *))
{
	v->library_fini = fini;
	return &v->library;
}
