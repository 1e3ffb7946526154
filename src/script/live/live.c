/* SPDX-License-Identifier: MIT */
/*
 * script/live/live.c - the world of the running system, put together from its parts.
 *
 * A probe point is asked of the parts in their order; the first that has it serves it, and values
 * are asked of the same one.  If no part has it, the answer of the first part that knows the family
 * is reported: it names the nearest.
 */
#include "script/live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/kernel/kernel.h"
#include "script/replay/replay.h"

enum { PARTS_MAX = 2 };

struct script_live {
	struct script_world world; /* first: the ops get a pointer to it */
	struct script_world *parts[PARTS_MAX];
	uint32_t n_parts;
	struct script_world *session; /* NULL: no point has needed it */
	struct script_live_options o;
	bool wants_words; /* argstr and retstr with all that recordings have: by the session */
	struct script_kernel *kernel; /* NULL: all goes to the session, whose recording is kept */
};

/* ---------------------------------------------------------------- the world */

/* Counts what a part reports. */
struct counted {
	struct script_found found; /* first */
	struct script_found *to;
	uint32_t n;
};

static void add_counted(struct script_found *f, const struct script_world_point *p)
{
	struct counted *c = (struct counted *)f;

	c->n++;
	c->to->add(c->to, p);
}

static bool is_call(const struct script_point *p)
{
	return p->n && strstr(p->at[0].name, "syscall");
}

/* The part with number @i.  The session is opened when a point needs it: it looks at the programs of
 * -c, which takes longer than a script of the kernel takes to start. */
static struct script_world *part_at(struct script_live *l, uint32_t i, struct diag *d)
{
	const struct replay_live_options o = { .command = l->o.command,
					       .target = l->o.target,
					       .save = l->o.save,
					       .warn = l->o.warn,
					       .context = l->o.context };

	if (!l->parts[i] && !replay_live_open(&l->session, &o, l->world.arena, d))
		l->parts[i] = l->session;
	return l->parts[i];
}

static int points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d)
{
	struct script_live *l = (struct script_live *)w;
	struct counted c = { { add_counted }, f, 0 };
	int own = world_engine_point(w->arena, p, f, d), result = -ENOTSUP;

	if (own)
		return own < 0 ? own : 0;
	for (uint32_t i = 0; i < l->n_parts && !c.n; i++) {
		struct diag why = { "" };
		struct script_world *part = part_at(l, i, &why);
		int err;

		if (!part)
			return diag_fail(d, -EIO, "%s", why.text);
		err = l->wants_words && part != l->session && is_call(p)
			      ? -ENOTSUP
			      : part->ops->points(part, p, &c.found, &why);

		if (!err && c.n)
			return 0;
		if (err && (!*d->text || (result == -ENOTSUP && err != -ENOTSUP))) {
			result = err;
			diag_fail(d, err, "%s", why.text);
		}
	}
	return result;
}

static bool has(const struct script_live *l, const struct script_world *part,
		const struct script_world_point *p)
{
	if (!part)
		return false;
	return part == l->session ? replay_has(part, p)
				  : l->kernel && script_kernel_has(l->kernel, p);
}

/* The part that serves @p; the first one for a point of the engine. */
static struct script_world *part_of(const struct script_world *w,
				    const struct script_world_point *p)
{
	const struct script_live *l = (const struct script_live *)w;

	for (uint32_t i = 0; i < l->n_parts; i++)
		if (l->parts[i] && has(l, l->parts[i], p))
			return l->parts[i];
	return NULL;
}

static int value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	struct script_world *part = part_of(w, p);

	return part ? part->ops->value(part, p, e, v, d) : world_engine_value(p, e, v, d);
}

static void each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context)
{
	struct script_world *part = part_of(w, p);

	if (part)
		part->ops->each_value(part, p, report, context);
}

static int entry(struct script_world *w, const struct script_world_point *p,
		 struct script_world_point *e, struct diag *d)
{
	struct script_world *part = part_of(w, p);

	return part ? part->ops->entry(part, p, e, d)
		    : diag_fail(d, -ENOENT, "%s has no entry", p->text);
}

static const struct script_world_ops live_ops = {
	.name = "this system",
	.points = points,
	.value = value,
	.each_value = each_value,
	.entry = entry,
};

/* ---------------------------------------------------------------- open and close */

int script_live_open(struct script_live **live, struct script_arena *arena,
		     const struct script_live_options *o, struct diag *d)
{
	struct script_live *l = calloc(1, sizeof *l);
	int err;

	*live = NULL;
	if (!l)
		return diag_fail(d, -ENOMEM, "no memory");
	l->world = (struct script_world){ &live_ops, arena };
	l->wants_words = o->wants_words;
	l->o = *o;
	if (!o->save) {
		const struct script_kernel_options kernel = {
			.target = o->target,
			.command = o->command,
			.is_verbose = o->is_verbose,
			.warn = o->warn,
			.context = o->context,
			.overload_percent = o->checks_no_overload ? 100 : 0
		};

		err = script_kernel_open(&l->kernel, arena, &kernel);
		if (err) {
			script_live_close(l);
			return diag_fail(d, err, "no memory");
		}
		l->parts[l->n_parts++] = script_kernel_world(l->kernel);
	}
	l->n_parts++; /* the session */
	*live = l;
	return 0;
}

struct script_world *script_live_world(struct script_live *l)
{
	return &l->world;
}

void script_live_target(struct script_live *l, pid_t target)
{
	if (l->kernel)
		script_kernel_target(l->kernel, target);
}

static bool serves(const struct script_live *l, const struct script_world *part,
		   const struct script_program *program)
{
	for (uint32_t i = 0; i < program->n_probes; i++)
		if (program->probes[i]->point.family == FAMILY_WORLD &&
		    has(l, part, &program->probes[i]->point))
			return true;
	return false;
}

bool script_live_is_mixed(const struct script_live *l, const struct script_program *program)
{
	return l->kernel && serves(l, script_kernel_world(l->kernel), program) &&
	       serves(l, l->session, program);
}

void script_live_prefer_session(struct script_live *l, bool is_first)
{
	if (!l->kernel)
		return;
	l->parts[is_first] = script_kernel_world(l->kernel);
	l->parts[!is_first] = l->session;
}

int script_live_sources(struct script_live *l, const struct script_program *program,
			struct script_vm *vm, struct script_source_of **sources, uint32_t most,
			uint32_t *n, struct diag *d)
{
	int err = 0;

	*n = 0;
	if (l->kernel && *n < most && serves(l, script_kernel_world(l->kernel), program)) {
		err = script_kernel_source(&sources[*n], l->kernel, program, vm, d);
		*n += !err;
	}
	if (!err && *n < most && l->session && serves(l, l->session, program)) {
		err = replay_source_open(&sources[*n], l->session, program, vm, d);
		*n += !err;
	}
	while (err && *n) {
		--*n;
		sources[*n]->ops->close(sources[*n]);
	}
	return err;
}

void script_live_close(struct script_live *l)
{
	if (!l)
		return;
	script_kernel_close(l->kernel);
	if (l->session)
		replay_world_close(l->session);
	free(l);
}
