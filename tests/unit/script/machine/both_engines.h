/* SPDX-License-Identifier: MIT */
/*
 * both_engines.h - a unit is run by both engines, over some events: they must print the same.
 *
 * Output, errors, globals and arrays are compared.  The engines' stacks hold different garbage, and
 * frames lie in blocks of exactly their size, for the address sanitizer.
 */
#ifndef TESTS_SCRIPT_BOTH_ENGINES_H
#define TESTS_SCRIPT_BOTH_ENGINES_H

#include "make_unit.h"
#include "script/unit/format.h"

enum { EVENTS = 3 };

static uint64_t n_errors;

/* ---- tables ---- */

static struct script_arena arena;
static struct script_format formats[2];
static struct script_iteration iterations[] = {
	{ .array = 0, .sort = -1, .sort_key = -1, .wild = 1 },
	{ .array = 1, .sort = 1, .sort_key = 0, .wild = 1 },
	{ .array = 2, .sort = 0, .sort_key = -1, .wild = 2 },
	{ .array = 3, .sort = 1, .sort_key = -1, .statistic = STATISTIC_SUM, .wild = 1 },
	{ .array = 4, .sort_key = -1, .histogram = HIST_LOG },
};
enum { N_ITERATIONS = sizeof iterations / sizeof *iterations, N_ARRAYS = 6 };
static const char *columns[] = { "key,value" };

static void make_formats(void)
{
	static const char *const texts[] = { "%d:%s;", "%5x %-4s|%c\n" };
	struct diag d;
	uint32_t at;
	int i;

	for (i = 0; i < 2; i++)
		if (script_format_parse(&formats[i], &arena, texts[i], strlen(texts[i]), &at, &d))
			abort();
}

static void make_tables(void)
{
	begin();
	add_global("number", SCRIPT_LONG);
	add_global("text", SCRIPT_STRING);
	add_array("a", "l", SCRIPT_LONG);
	add_array("b", "s", SCRIPT_LONG);
	add_array("c", "ls", SCRIPT_STRING);
	add_array("d", "l", SCRIPT_STATS);
	add_array("e", "", SCRIPT_STATS);
	add_array("f", "s", SCRIPT_STRING);
	made.arrays[0].capacity = made.arrays[5].capacity = 4;
	made.arrays[5].wraps = true;
	made.arrays[4].histogram = HIST_LOG;
	add_string("");
	add_string("word");
	add_string("another, longer string\n");
	made.unit.formats = formats;
	made.unit.n_formats = 2;
	made.unit.iterations = iterations;
	made.unit.n_iterations = N_ITERATIONS;
	made.unit.columns = columns;
	made.unit.n_columns = 1;
	made.limits = (struct script_limits){
		.actions = 300, .nesting = 6, .string_bytes = 40, .entries = 64, .memory = 1 << 20
	};
}

/* Those that give other results in each run, or wait. */
static bool is_unsteady(const struct script_builtin *b)
{
	static const char *const names[] = { "randint", "system", "stp_pid",	"is_myproc",
					     "tz_name", "target", "module_name" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(b->name, names[i]))
			return true;
	return b->needs != 0;
}

static bool is_steady(void)
{
	const struct bpf_insn *i;
	const struct script_builtin *b;

	for (i = made.insns; i < made.insns + made.unit.n_insns; i++)
		if (i->code == (BPF_JMP | BPF_CALL) && !i->src_reg &&
		    i->imm >= SCRIPT_HELPER_BUILTIN) {
			b = script_builtin_at((uint32_t)i->imm - SCRIPT_HELPER_BUILTIN);
			if (b && is_unsteady(b))
				return false;
		}
	return true;
}

/* ---- runs ---- */

static void write_to(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
}

static struct script_frame *frame_for(struct script_vm *vm, int event)
{
	struct script_frame *f = calloc(1, sizeof *f + 2 * sizeof *f->slot);

	if (!f)
		abort();
	f->faults = (uint64_t)event;
	f->standard[STANDARD_PID].number = 100 + event;
	f->standard[STANDARD_EXECNAME].text = script_vm_string(vm, "program", 7);
	f->slot[0].number = event * 1000 - 1;
	f->slot[1].text = script_vm_string(vm, "a slot 1 2", 8 + (size_t)event);
	return f;
}

static void run_engine(bool jit, struct text *output)
{
	struct script_services services = {
		.context = output, .write = write_to, .write_error = write_to, .result = NULL
	};
	struct script_frame *frame;
	struct script_vm *vm;
	uint32_t i;

	if (script_vm_open(&vm, &made.unit, &made.limits, &services, jit, &made.d)) {
		printf("# %s\n", made.d.text);
		abort();
	}
	memset(vm->stack, jit ? 0xa5 : 0x5a, vm->stack_size);
	memset(vm->pass, jit ? 0xa5 : 0x5a, sizeof vm->pass);
	for (i = 0; i < EVENTS; i++) {
		frame = frame_for(vm, (int)i);
		if (script_vm_run(vm, i & 1, frame) == SCRIPT_FAILED) {
			text_addf(output, "error: %s\n", script_vm_error(vm, NULL));
			n_errors += jit;
		}
		free(frame);
	}
	for (i = 0; i < made.unit.n_globals; i++)
		script_vm_print_global(vm, made.globals[i].name);
	for (i = 0; i < N_ARRAYS; i++)
		script_vm_print_global(vm, made.arrays[i].name);
	script_vm_close(vm);
}

static bool runs_the_same(void)
{
	struct text plain = { 0 }, native = { 0 };
	bool is_same;

	run_engine(false, &plain);
	run_engine(true, &native);
	is_same = plain.size == native.size && !memcmp(plain.bytes, native.bytes, plain.size);
	if (!is_same)
		printf("# interpreted:\n%.*s\n# native:\n%.*s\n", (int)plain.size, plain.bytes,
		       (int)native.size, native.bytes);
	text_fini(&plain);
	text_fini(&native);
	return is_same;
}

#endif
