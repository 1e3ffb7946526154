/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/world.c - the world of the running kernel: which family a point belongs to.
 *
 * Nothing is opened before it is asked for: a script without members of structures never reads the
 * kernel's types, one without patterns of systems never opens tracefs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/tracefs/public.h"
#include "script/kernel/points/points.h"
#include "symbol/symbol.h"

int kernel_types(struct script_kernel *k, struct diag *d)
{
	if (!k->has_types && !k->types_failed) {
		k->types_failed = btf_types_open(&k->types, &k->types_reason);
		k->has_types = !k->types_failed;
	}
	if (k->has_types)
		return 0;
	return diag_fail(d, -ENOENT,
			 "this kernel does not describe its types: %s\n"
			 "  it needs CONFIG_DEBUG_INFO_BTF",
			 k->types_reason.text);
}

int kernel_tracefs(struct script_kernel *k, struct diag *d)
{
	if (k->tracefs == -1) {
		k->tracefs = kernel_tracefs_open(&k->tracefs_reason);
		if (k->tracefs < 0)
			k->tracefs = -2;
	}
	return k->tracefs >= 0 ? k->tracefs : diag_fail(d, -EACCES, "%s", k->tracefs_reason.text);
}

const struct script_string *kernel_constant(struct script_kernel *k, const char *text)
{
	size_t n = strlen(text);
	struct script_string *s = script_allocate(k->arena, sizeof *s + n + 1);

	if (s) {
		s->size = (uint32_t)n;
		memcpy(s->bytes, text, n + 1);
	}
	return s;
}

char *kernel_textf(struct script_kernel *k, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	return script_copy(k->arena, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void kernel_found(struct script_found *f, const struct kernel_point *point, const char *text,
		  const char *name, bool is_user)
{
	const struct script_world_point p = { .family = FAMILY_WORLD,
					      .text = text,
					      .name = name,
					      .number = point->number,
					      .is_return = point->is_return,
					      .is_user = is_user,
					      .module = is_user ? point->path : "kernel",
					      .data = (void *)(uintptr_t)point };

	f->add(f, &p);
}

static const struct {
	const char *family, *are;
} forms[] = {
	{ "kernel", "kernel.trace(\"EVENT\"), kernel.function(\"NAME\"), .call and .return, and "
		    "kernel.data(ADDRESS).write or .rw" },
	{ "process", "process(\"PATH\").function(\"NAME\"), .call and .return, .mark(\"NAME\"), "
		     ".provider(\"NAME\").mark(\"NAME\"), .library(\"PATH\"), .begin, .end, "
		     ".thread.begin and .thread.end" },
	{ "syscall", "syscall.NAME and syscall.NAME.return" },
	{ "perf", "perf.sw.NAME and .sample(N)" },
};

static int points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d)
{
	static int (*const families[])(struct script_kernel *, const struct script_point *,
				       struct script_found *, struct diag *) = {
		kernel_trace_points, kernel_call_points,     kernel_perf_points,
		kernel_user_points,  kernel_function_points,
	};
	struct script_kernel *k = (struct script_kernel *)w;

	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		int err = families[i](k, p, f, d);

		if (err != -ENOTSUP)
			return err;
	}
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (p->n && !strcmp(p->at[0].name, forms[i].family))
			return diag_fail(d, -ENOTSUP, "of this family there are %s", forms[i].are);
	return -ENOTSUP;
}

/* The entry that belongs to a return: the same point without `.return`. */
static int entry(struct script_world *w, const struct script_world_point *p,
		 struct script_world_point *to, struct diag *d)
{
	struct script_kernel *k = (struct script_kernel *)w;
	const struct kernel_point *from = kernel_point_of(p);
	struct kernel_point *point;
	size_t n = strlen(p->text);

	if (!p->is_return)
		return diag_fail(d, -EINVAL, "@entry needs a return probe");
	point = script_allocate(k->arena, sizeof *point);
	if (!point)
		return -ENOMEM;
	*point = *from;
	point->is_return = false;
	*to = *p;
	to->is_return = false;
	to->data = point;
	if (n > 7 && !strcmp(p->text + n - 7, ".return"))
		to->text = kernel_textf(k, "%.*s", (int)(n - 7), p->text);
	return to->text ? 0 : -ENOMEM;
}

static const struct script_world_ops operations = {
	.name = "this system",
	.points = points,
	.value = kernel_value,
	.each_value = kernel_each_value,
	.entry = entry,
};

int script_kernel_open(struct script_kernel **k, struct script_arena *arena,
		       const struct script_kernel_options *o)
{
	*k = calloc(1, sizeof **k);
	if (!*k)
		return -ENOMEM;
	(*k)->world = (struct script_world){ &operations, arena };
	(*k)->arena = arena;
	(*k)->options = *o;
	(*k)->tracefs = -1;
	return 0;
}

void script_kernel_close(struct script_kernel *k)
{
	if (!k)
		return;
	btf_types_close(&k->types);
	symbols_close(k->symbols);
	if (k->tracefs >= 0)
		close(k->tracefs);
	free(k);
}

struct script_world *script_kernel_world(struct script_kernel *k)
{
	return &k->world;
}

void script_kernel_target(struct script_kernel *k, pid_t target)
{
	k->options.target = target;
}

bool script_kernel_has(const struct script_kernel *k, const struct script_world_point *p)
{
	return p->family == FAMILY_WORLD && p->data && kernel_point_of(p)->owner == k;
}
