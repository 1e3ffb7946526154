/* SPDX-License-Identifier: MIT */
/* run_script.c - the world of the tests, and scripts run on it. */
#include "run_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER, TEXT, BAD, NAME, VALUES_N };

static const struct script_world_value values[VALUES_N] = {
	[NUMBER] = { SCRIPT_LONG, false, NUMBER, NULL, "$number:long" },
	[TEXT] = { SCRIPT_STRING, false, TEXT, NULL, "$text:string" },
	[BAD] = { SCRIPT_LONG, true, BAD, NULL, "$bad:long" },
	[NAME] = { SCRIPT_STRING, true, NAME, NULL, "$name:string" },
};
static const char *const value_names[] = { "number", "text", "bad", "name" };

/* ---- the world ---- */

static int points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d)
{
	struct script_world_point point = { .family = FAMILY_WORLD,
					    .text = "event",
					    .name = "event" };

	(void)w;
	if (p->n != 1 || strcmp(p->at[0].name, "event") || p->at[0].kind != COMPONENT_NUMBER)
		return diag_fail(d, -ENOENT, "there is no such probe point");
	point.number = p->at[0].number;
	f->add(f, &point);
	return 0;
}

static int value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	(void)w, (void)p;
	if (e->kind != EXPR_CONTEXT)
		return -ENOENT;
	for (int i = 0; i < VALUES_N; i++) {
		if (!strcmp(e->text, value_names[i])) {
			*v = values[i];
			return 0;
		}
	}
	return diag_fail(d, -ENOENT, "there is no $%s", e->text);
}

static void each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context)
{
	(void)w, (void)p;
	for (int i = 0; i < VALUES_N; i++)
		report(context, &values[i], value_names[i]);
}

static int entry(struct script_world *w, const struct script_world_point *p,
		 struct script_world_point *e, struct diag *d)
{
	(void)w, (void)p, (void)e;
	return diag_fail(d, -ENOENT, "an event has no entry");
}

static const struct script_world_ops ops = { "the test", points, value, each_value, entry };

/* ---- from text to a unit ---- */

bool made_scripts_keep_unused;

static bool check_unit(struct made_script *made)
{
	struct diag d = { "" };

	if (!script_verify(made->unit, &d))
		return true;
	text_addf(&made->messages.text, "NOT VERIFIED: %s\n", d.text);
	made->unit = NULL;
	return false;
}

bool make_script(struct made_script *made, const char *text, const struct script_limits *limits)
{
	static const char *const no_arguments[] = { NULL };
	struct script_parse_options parse = { .arguments = no_arguments,
					      .kernel_version = "6.1.0",
					      .arch = "x86_64" };
	struct script_check_options check = { .keeps_unused = made_scripts_keep_unused };
	int64_t source;

	*made = (struct made_script){ 0 };
	made->sources.arena = &made->arena;
	made->messages.sources = &made->sources;
	made->world = (struct script_world){ &ops, &made->arena };
	source = script_sources_add(&made->sources, "test.stp", text, strlen(text));
	if (source < 0 || script_parse(&made->file, &made->sources, (uint32_t)source, &parse, NULL,
				       &made->messages))
		return false;
	if (script_check(&made->program, &made->file, 1, &made->sources, &made->world, &check,
			 &made->messages)) {
		made->program = NULL;
		return false;
	}
	if (script_code(&made->unit, made->program, limits, &made->messages)) {
		made->unit = NULL;
		return false;
	}
	return check_unit(made);
}

void free_script(struct made_script *made)
{
	text_fini(&made->messages.text);
	script_arena_fini(&made->arena);
}

/* ---- runs ---- */

static const struct script_string *string(struct script_vm *vm, const char *format, int64_t i)
{
	char text[64];

	snprintf(text, sizeof text, format, (long long)i);
	return script_vm_string(vm, text, strlen(text));
}

static union script_cell slot_value(struct script_vm *vm, uint32_t number, int64_t i, bool *is_bad)
{
	union script_cell cell = { 0 };

	*is_bad = (number == BAD && (i & 1)) || (number == NAME && !(i & 1));
	if (number == NUMBER)
		cell.number = i;
	else if (number == BAD)
		cell.number = *is_bad ? 0 : 10 * i;
	else
		cell.text = string(vm,
				   *is_bad	    ? ""
				   : number == TEXT ? "t%lld"
						    : "n%lld",
				   number == TEXT ? i % 5 : i);
	return cell;
}

struct script_frame *event_frame(struct script_vm *vm, const struct script_probe *probe, int64_t i)
{
	uint32_t n = probe->handler->n_slots;
	struct script_frame *f = calloc(1, sizeof *f + n * sizeof *f->slot);
	bool is_bad;

	if (!f)
		abort();
	for (int s = 0; s < STANDARD_N; s++)
		if (script_standard_type(s) == SCRIPT_STRING)
			f->standard[s].text = string(vm, "", 0);
	f->standard[STANDARD_PID].number = 100 + i % 3;
	f->standard[STANDARD_TID].number = 200 + i;
	f->standard[STANDARD_CPU].number = i % 2;
	f->standard[STANDARD_TIME_NS].number = 1000 * i;
	f->standard[STANDARD_EXECNAME].text = string(vm, "proc%lld", i % 3);
	f->standard[STANDARD_POINT].text = string(vm, "event", 0);
	for (uint32_t s = 0; s < n; s++) {
		f->slot[s] = slot_value(vm, probe->slots[s].number, i, &is_bad);
		f->faults |= (uint64_t)is_bad << s;
	}
	return f;
}

static void write_out(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
}

static void write_warning(void *context, const char *bytes, size_t size)
{
	text_addf(context, "warning: %.*s", (int)size, bytes);
}

static bool run_one(struct script_vm *vm, const struct script_probe *p, int64_t i, struct text *to)
{
	struct script_frame *frame = event_frame(vm, p, i);
	struct script_place place;
	bool is_done = script_vm_run(vm, p->handler->index, frame) == SCRIPT_DONE;

	if (!is_done)
		text_addf(to, "ERROR: %s\n", script_vm_error(vm, &place));
	free(frame);
	return is_done && !script_vm_exiting(vm);
}

static bool run_family(struct script_vm *vm, const struct script_program *program,
		       enum script_family family, struct text *to)
{
	for (uint32_t n = 0; n < program->n_probes; n++) {
		const struct script_probe *p = program->probes[n];
		int64_t times = family == FAMILY_WORLD ? p->point.number : 1;

		for (int64_t i = 0; p->point.family == family && i < times; i++)
			if (!run_one(vm, p, i, to))
				return false;
	}
	return true;
}

static void print_globals(struct script_vm *vm, const struct script_program *program)
{
	for (uint32_t i = 0; i < program->n_globals; i++)
		if (program->globals[i]->prints_at_end)
			script_vm_print_global(vm, program->globals[i]->name);
}

void run_made(const struct made_script *made, const struct script_limits *limits, bool jit,
	      struct text *to)
{
	struct script_services services = { .context = to,
					    .write = write_out,
					    .write_error = write_warning };
	struct diag d = { "" };
	struct script_vm *vm;

	if (script_vm_open(&vm, made->unit, limits, &services, jit, &d)) {
		text_addf(to, "NO MACHINE: %s\n", d.text);
		return;
	}
	if (jit && !script_vm_is_jit(vm))
		text_addf(to, "NOT TRANSLATED\n");
	if (run_family(vm, made->program, FAMILY_BEGIN, to) &&
	    run_family(vm, made->program, FAMILY_WORLD, to) &&
	    run_family(vm, made->program, FAMILY_END, to))
		print_globals(vm, made->program);
	script_vm_close(vm);
}

void run_script(const char *text, const struct script_limits *limits, bool jit, struct text *to)
{
	struct made_script made;

	if (make_script(&made, text, limits))
		run_made(&made, limits, jit, to);
	else
		text_addf(to, "%s",
			  made.messages.text.bytes ? made.messages.text.bytes
						   : "REFUSED WITHOUT A MESSAGE\n");
	free_script(&made);
}
