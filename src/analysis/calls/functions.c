/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/functions.c - one number for each function of a file, whatever processes call it.
 *
 * A process numbers its functions for itself.  Here a function is its file (by build ID) and its
 * address; a function without a plan is its process and its number there.  Numbers are given out at
 * the first call.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/internal.h"
#include "rules/pattern.h"
#include "symbol/demangle.h"

static uint64_t hash_of(const struct fcalls_function *f)
{
	uint64_t h = f->address * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < f->build_id_bytes; i++)
		h = (h ^ f->build_id[i]) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static bool is_same(const struct fcalls_function *a, const struct fcalls_function *b)
{
	return a->address == b->address && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes) &&
	       (a->build_id_bytes || !strcmp(a->object, b->object));
}

static int grow_table(struct fcalls *c)
{
	uint32_t n = c->n_by_key ? c->n_by_key * 2 : 1024;
	uint32_t *table = calloc(n, sizeof *table);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 1; i <= c->n_functions; i++) {
		uint64_t h = hash_of(c->functions[i]);

		while (table[h & (n - 1)])
			h++;
		table[h & (n - 1)] = i;
	}
	free(c->by_key);
	c->by_key = table;
	c->n_by_key = n;
	return 0;
}

/* The number of @like, which is added if it is new; 0: no memory. */
static uint32_t intern(struct fcalls *c, const struct fcalls_function *like)
{
	struct fcalls_function *f;
	uint64_t h = hash_of(like);

	if (c->n_functions * 2 >= c->n_by_key && grow_table(c))
		return 0;
	for (; c->by_key[h & (c->n_by_key - 1)]; h++)
		if (is_same(c->functions[c->by_key[h & (c->n_by_key - 1)]], like))
			return c->by_key[h & (c->n_by_key - 1)];
	if (pass_grow(&c->functions, &c->n_function_rooms, c->n_functions + 1,
		      sizeof *c->functions))
		return 0;
	f = malloc(sizeof *f);
	if (!f)
		return 0;
	*f = *like;
	c->functions[++c->n_functions] = f;
	c->by_key[h & (c->n_by_key - 1)] = c->n_functions;
	return c->n_functions;
}

const char *fcalls_keep(struct fcalls *c, const char *text)
{
	struct kept_text *k = malloc(sizeof *k + strlen(text) + 1);

	if (!k)
		return "";
	k->next = c->kept;
	c->kept = k;
	return strcpy(k->text, text);
}

/* A function that no plan describes. */
static void describe_unknown(struct fcalls *c, uint32_t process, uint32_t function,
			     const struct abi_calls_object *o, struct fcalls_function *f)
{
	char text[64];

	snprintf(text, sizeof text, "#%u", function);
	f->shown = fcalls_keep(c, text);
	f->address = function;
	if (o) {
		f->object = fcalls_keep(c, o->path);
		f->address = function - o->first;
		return;
	}
	/* numbers of two processes are two functions */
	snprintf(text, sizeof text, "pid %lld", (long long)c->processes[process].public.pid);
	f->object = fcalls_keep(c, text);
}

static void describe(struct fcalls *c, const struct abi_plan_site *site,
		     const struct plan_file *plan, const struct abi_calls_object *o,
		     struct fcalls_function *f)
{
	const char *name = plan_text(plan, site->name);
	char text[DEMANGLED_MAX];

	f->name = name;
	f->object = *o->path ? fcalls_keep(c, o->path) : plan_text(plan, plan->head->path);
	f->address = site->function_begin ? site->function_begin : site->address;
	f->build_id_bytes = plan->head->build_id_bytes < ABI_BUILD_ID_BYTES
				    ? plan->head->build_id_bytes
				    : ABI_BUILD_ID_BYTES;
	memcpy(f->build_id, plan->head->build_id, ABI_BUILD_ID_BYTES);
	f->shown = name;
	if (demangle(name, text, sizeof text))
		f->shown = fcalls_keep(c, text);
	if (!*name) {
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)f->address);
		f->shown = fcalls_keep(c, text);
	}
}

static void add_governed(struct fcalls *c, const struct process *p, uint32_t function,
			 uint32_t number)
{
	const struct abi_calls_function *g;
	struct fcalls_function *f = c->functions[number];
	unsigned __int128 ticks;

	if (!p->file || function >= p->file->n_functions)
		return;
	g = &p->file->functions[function];
	ticks = (unsigned __int128)g->quanta << (p->file->head->shift & 31);
	f->is_elided |= g->state == ABI_FUNCTION_ELIDED;
	f->n_governed += g->calls;
	f->governed_ns += (uint64_t)(ticks * p->file->head->clock.mult >> 32);
}

static int grow_numbers(struct process *p, uint32_t function)
{
	uint32_t n =
		p->file && p->file->n_functions > function ? p->file->n_functions : function + 1;

	assert(function < ABI_CALLS_FUNCTIONS);
	return pass_grow(&p->numbers, &p->n_numbers, n - 1, sizeof *p->numbers);
}

uint32_t fcalls_number_of(struct fcalls *c, uint32_t process, uint32_t function)
{
	struct process *p = &c->processes[process];
	struct fcalls_function f = { .name = "", .shown = "", .object = "", .file = "" };
	const struct abi_calls_object *o = NULL;
	const struct plan_file *plan = NULL;
	const struct abi_plan_site *site = NULL;
	uint32_t number;

	if (!function || function >= ABI_CALLS_FUNCTIONS || grow_numbers(p, function))
		return 0;
	if (p->file)
		site = calls_file_site(&c->files, p->file, function, &plan, &o);
	if (site)
		describe(c, site, plan, o, &f);
	else
		describe_unknown(c, process, function, o, &f);
	number = intern(c, &f);
	if (!number)
		return 0;
	p->numbers[function] = number;
	add_governed(c, p, function, number);
	return number;
}

static char *base_of(const struct fcalls_function *f)
{
	char *slash = strrchr(f->object, '/');

	return slash ? slash + 1 : (char *)f->object;
}

static bool glob(const char *pattern, const char *end, const char *text)
{
	return pattern_glob(pattern, end, text, text + strlen(text));
}

bool fcalls_is_like(const struct fcalls *c, uint32_t number, const char *pattern)
{
	const struct fcalls_function *f = fcalls_function(c, number);
	/* the first colon that is not one of "::" */
	const char *colon = strchr(pattern, ':'), *end = pattern + strlen(pattern);

	if (colon && colon[1] == ':')
		colon = NULL;
	if (colon && !glob(pattern, colon, base_of(f)))
		return false;
	if (colon)
		pattern = colon + 1;
	return glob(pattern, end, f->name) || glob(pattern, end, f->shown);
}

const struct fcalls_function *fcalls_function(const struct fcalls *c, uint32_t number)
{
	static const struct fcalls_function unknown = {
		.name = "", .shown = "?", .object = "", .file = ""
	};

	return number && number <= c->n_functions ? c->functions[number] : &unknown;
}

uint32_t fcalls_n_functions(const struct fcalls *c)
{
	return c->n_functions;
}

int fcalls_add_elided(struct fcalls *c)
{
	for (uint32_t i = 0; i < c->n_processes; i++) {
		const struct calls_file *file = c->processes[i].file;

		for (uint32_t k = 1; file && k < file->n_functions; k++)
			if (file->functions[k].state == ABI_FUNCTION_ELIDED &&
			    !fcalls_number(c, i, k))
				return -ENOMEM;
	}
	return 0;
}

void functions_fini(struct fcalls *c)
{
	struct kept_text *k;

	for (uint32_t i = 1; i <= c->n_functions; i++)
		free(c->functions[i]);
	while ((k = c->kept)) {
		c->kept = k->next;
		free(k);
	}
	free(c->functions);
	free(c->by_key);
}
