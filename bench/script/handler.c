/* SPDX-License-Identifier: MIT */
/*
 * handler.c - what a handler costs for each event in the stream: filter, count by pid, statistics.
 *
 *	probe event { if ($a > 10) count[pid()]++; if ($id == 3) stats[$b & 15] <<< $a }
 *
 * The script is compiled, and run translated and interpreted.  Each event's values are put into the
 * frame first, as a source does; "frame" is that alone.  "reference" is the same in C with tables of
 * its own (open addressing), compiled with these options: build with -O2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reference.h"
#include "script/code/code.h"
#include "script/vm/vm.h"

enum { N_EVENTS = 1 << 20, ROUNDS = 7 };

static const char script[] =
	"global count, stats\n"
	"probe event { if ($a > 10) count[pid()]++; if ($id == 3) stats[$b & 15] <<< $a }\n"
	"probe end { foreach (p in count) println(count[p])\n"
	"foreach (k in stats) println(@count(stats[k])) }\n";

/* ---- a world with one point ---- */

static const char *const names[] = { "a", "id", "b" };

static int points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d)
{
	struct script_world_point point = { .family = FAMILY_WORLD, .text = "event" };

	(void)w, (void)p, (void)d;
	f->add(f, &point);
	return 0;
}

static int value(struct script_world *w, const struct script_world_point *p,
		 const struct script_expr *e, struct script_world_value *v, struct diag *d)
{
	(void)w, (void)p;
	for (uint32_t i = 0; i < 3 && e->kind == EXPR_CONTEXT; i++) {
		if (!strcmp(e->text, names[i])) {
			*v = (struct script_world_value){ .type = SCRIPT_LONG, .number = i };
			return 0;
		}
	}
	return diag_fail(d, -2, "there is no such value");
}

static void each_value(struct script_world *w, const struct script_world_point *p,
		       void (*report)(void *context, const struct script_world_value *v,
				      const char *name),
		       void *context)
{
	(void)w, (void)p, (void)report, (void)context;
}

static const struct script_world_ops ops = { "the benchmark", points, value, each_value, NULL };

static struct script_arena arena;
static struct script_sources sources = { .arena = &arena };
static struct script_messages messages = { .sources = &sources };
static struct script_world world = { &ops, &arena };
static struct script_program *program;
static struct script_unit *unit;
static const struct script_probe *probe;

static bool compile(void)
{
	struct script_parse_options parse = { .kernel_version = "6.1", .arch = "x86_64" };
	struct script_check_options check = { 0 };
	struct script_file *file;
	struct diag d = { "" };

	script_sources_add(&sources, "handler.stp", script, strlen(script));
	if (script_parse(&file, &sources, 0, &parse, NULL, &messages) ||
	    script_check(&program, &file, 1, &sources, &world, &check, &messages) ||
	    script_code(&unit, program, NULL, &messages) || script_verify(unit, &d)) {
		printf("%s%s\n", messages.text.bytes ? messages.text.bytes : "", d.text);
		return false;
	}
	probe = program->probes[0];
	return true;
}

/* ---- the frame ---- */

static uint64_t bytes[sizeof(struct script_frame) / 8 + 3];
static struct script_frame *const frame = (struct script_frame *)bytes;

/* Where $a, $id and $b are; slots have the order of their uses. */
static union script_cell *at[3];

static void find_slots(void)
{
	for (uint32_t i = 0; i < probe->handler->n_slots; i++)
		at[probe->slots[i].number] = &frame->slot[i];
}

/* ---- measured ---- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const struct event *events;
static struct script_vm *vm;

static inline void fill(const struct event *e)
{
	frame->standard[STANDARD_PID].number = e->pid;
	at[0]->number = e->a;
	at[1]->number = e->id;
	at[2]->number = e->b;
	__asm__ volatile("" ::: "memory");
}

static void run_frame(void)
{
	for (int i = 0; i < N_EVENTS; i++)
		fill(&events[i]);
}

static void run_script(void)
{
	for (int i = 0; i < N_EVENTS; i++) {
		fill(&events[i]);
		script_vm_run(vm, probe->handler->index, frame);
	}
}

static void run_reference(void)
{
	for (int i = 0; i < N_EVENTS; i++)
		reference_event(&events[i]);
}

static void measure(const char *name, void (*run)(void))
{
	double ns[ROUNDS], begin;
	int i;

	run();
	for (i = 0; i < ROUNDS; i++) {
		begin = now_ns();
		run();
		ns[i] = (now_ns() - begin) / N_EVENTS;
	}
	qsort(ns, ROUNDS, sizeof *ns, by_size);
	printf("%-12s %6.1f ns for each event (%.1f to %.1f)\n", name, ns[ROUNDS / 2], ns[0],
	       ns[ROUNDS - 1]);
}

static void measure_vm(const char *name, bool jit)
{
	struct diag d;
	double begin = now_ns();

	if (script_vm_open(&vm, unit, NULL, NULL, jit, &d)) {
		printf("%s: %s\n", name, d.text);
		return;
	}
	printf("%-12s %6.1f us to open\n", name, (now_ns() - begin) / 1000);
	measure(name, run_script);
	script_vm_close(vm);
}

int main(void)
{
	struct event *made = malloc(N_EVENTS * sizeof *made);
	double begin = now_ns();

	if (!made || !compile())
		return 1;
	printf("%-12s %6.1f us\n", "compiled in", (now_ns() - begin) / 1000);
	find_slots();
	for (int i = 0; i < N_EVENTS; i++)
		made[i] = (struct event){ .time = (uint64_t)i * 100,
					  .id = (uint32_t)rand() % 8,
					  .pid = 1000 + (uint32_t)rand() % 50,
					  .a = rand() % 100,
					  .b = rand() };
	events = made;
	measure("frame", run_frame);
	measure("reference", run_reference);
	measure_vm("native", true);
	measure_vm("interpreted", false);
	free(made);
	script_arena_fini(&arena);
	return 0;
}
