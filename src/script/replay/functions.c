/* SPDX-License-Identifier: MIT */
/*
 * script/replay/functions.c - calls of functions of programs, from the batches of the function graph.
 *
 * A walk over the recording returns entries and exits between the events, in the order of time.
 * Whether a function is meant by a probe is decided once for each function and probe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"
#include "script/replay/bind.h"

/* ---------------------------------------------------------------- the world */

bool replay_has_calls(const struct replay *r)
{
	return r->trace && trace_n_streams(r->trace) && replay_find(r, "duet_calls:batch");
}

/* ---------------------------------------------------------------- probes at functions */

static bool is_of_functions(const struct replay *r, const struct script_probe *p)
{
	const struct replay_point *at = p->point.data;

	return replay_has(&r->world, &p->point) && !at->known &&
	       (at->at == AT_USER_CALLED || at->at == AT_USER_RETURNED);
}

static int bind_functions(struct functions *f, const struct replay *r,
			  const struct script_program *program)
{
	for (uint32_t i = 0; i < program->n_probes; i++)
		f->n += is_of_functions(r, program->probes[i]);
	f->at = calloc(f->n + (size_t)1, sizeof *f->at);
	f->class.at = f->at;
	if (!f->at)
		return -ENOMEM;
	f->n = 0;
	for (uint32_t i = 0; i < program->n_probes; i++) {
		const struct script_probe *p = program->probes[i];

		if (!is_of_functions(r, p))
			continue;
		f->at[f->n] = (struct bound){ .probe = p,
					      .point = p->point.data,
					      .n_slots = p->handler->n_slots,
					      .call = UINT32_MAX };
		f->at[f->n].slots =
			calloc(p->handler->n_slots + (size_t)1, sizeof(struct bound_slot));
		if (!f->at[f->n].slots)
			return -ENOMEM;
		for (uint32_t k = 0; k < p->handler->n_slots; k++)
			f->at[f->n].slots[k] =
				(struct bound_slot){ .value = p->slots[k].data,
						     .type = p->handler->slots[k].type };
		f->n++;
	}
	f->class.n = f->n;
	return 0;
}

int functions_open(struct functions *f, struct replay *r, const struct script_program *program,
		   struct diag *d)
{
	const struct fcalls_options o = { .range = { INT64_MIN, INT64_MAX },
					  .is_without_kernel = true };
	bool is_wanted = false;
	int err;

	*f = (struct functions){ .class.is_bound = true, .last.cpu = TRACE_CPU_UNKNOWN };
	for (uint32_t i = 0; i < program->n_probes; i++)
		is_wanted |= is_of_functions(r, program->probes[i]);
	if (!is_wanted || !replay_has_calls(r))
		return 0;
	if (bind_functions(f, r, program))
		return diag_fail(d, -ENOMEM, "no memory for calls of functions");
	f->last.stream = trace_stream(r->trace, 0); /* there is one: calls were recorded */
	err = fcalls_open(&f->calls, r->trace, d);
	return err ? err : fcalls_walk_open(&f->walk, f->calls, &o, d);
}

void functions_close(struct functions *f)
{
	fcalls_walk_close(f->walk);
	fcalls_close(f->calls);
	bind_fini(&f->class);
	free(f->is_like);
	*f = (struct functions){ .n = 0 };
}

struct pass *functions_pass(struct functions *f)
{
	return fcalls_walk_pass(f->walk);
}

static bool is_object_like(const char *path, const char *program)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return !program ||
	       pattern_glob(program, program + strlen(program), base, base + strlen(base));
}

static bool is_name_like(const char *pattern, const char *name)
{
	return pattern_glob(pattern, pattern + strlen(pattern), name, name + strlen(name));
}

enum { NOT_ASKED, NOT_LIKE, LIKE };

/* Whether probe @i means the function @id: its name as the linker or the source has it. */
static bool is_like(struct functions *f, uint32_t i, uint32_t id)
{
	const struct replay_point *p = f->at[i].point;
	const struct fcalls_function *function = fcalls_function(f->calls, id);
	uint8_t *known;

	if (pass_grow(&f->is_like, &f->n_like, id * f->n + i, sizeof *f->is_like))
		return false;
	known = &f->is_like[id * f->n + i];
	if (*known == NOT_ASKED)
		*known = is_object_like(function->object, p->object) &&
					 (is_name_like(p->event, function->name) ||
					  is_name_like(p->event, function->shown))
				 ? LIKE
				 : NOT_LIKE;
	return *known == LIKE;
}

bool functions_is_at(struct functions *f, uint32_t i)
{
	return (f->at[i].point->at == AT_USER_RETURNED) == (f->item.is == FCALLS_LEAVE) &&
	       is_like(f, i, f->item.id);
}

const char *functions_name(const struct functions *f)
{
	return fcalls_function(f->calls, f->item.id)->shown;
}

/* Whether the item is a call that was made, or that returned, in the recorded time. */
static bool is_call(const struct fcalls_item *item)
{
	return item->kind == FCALLS_FUNCTION &&
	       (item->is == FCALLS_ENTER ? item->time_ns == item->begin_ns
					 : !(item->flags & (FCALLS_OPEN | FCALLS_UNWOUND)));
}

int functions_next(struct functions *f, struct trace_event *e, uint32_t *thread, bool *is_function,
		   struct diag *d)
{
	int is;

	do {
		is = fcalls_walk_next(f->walk, &f->item, d);
		if (is < 0)
			return is;
	} while ((is == FCALLS_ENTER || is == FCALLS_LEAVE) && !is_call(&f->item));
	*is_function = is == FCALLS_ENTER || is == FCALLS_LEAVE;
	*thread = f->item.thread;
	if (*is_function) {
		f->last.time_ns = f->item.time_ns;
		*e = f->last;
		return TRACE_EVENT;
	}
	if (is == FCALLS_END)
		return TRACE_END;
	*e = *f->item.event;
	f->last = (struct trace_event){ .stream = e->stream, .cpu = TRACE_CPU_UNKNOWN };
	return is == FCALLS_LOST ? TRACE_LOST : TRACE_EVENT;
}
