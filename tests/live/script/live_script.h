/* SPDX-License-Identifier: MIT */
/*
 * tests/live/script/live_script.h - scripts on the running kernel, in the test's own process.
 *
 *	struct live l = { .o = { .folds_nothing = true } };
 *	live_run(&l, "probe syscall.getppid { n++ } ...", "COMMAND");
 *	is_text(l.out.bytes, "...");
 *	live_close(&l);
 */
#ifndef TESTS_LIVE_SCRIPT_H
#define TESTS_LIVE_SCRIPT_H

#include <unistd.h>

#include "script/code/code.h"
#include "script/engine/engine.h"
#include "script/kernel/kernel.h"
#include "test.h"

struct live {
	struct script_kernel_options o;
	int64_t most_ns;
	bool may_fail; /* a source may end with an error, which is in d */
	struct script_limits limits;
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_kernel *kernel;
	struct script_program *program;
	struct script_unit *unit;
	struct script_vm *vm;
	struct script_engine *engine;
	struct script_source_of *source;
	struct script_engine_result result;
	struct text out, errors, words; /* printed; messages; -v */
	struct diag d;
};

static inline void live_write(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
}

static inline bool live_setting(void *context, const char *name, struct text *to)
{
	struct live *l = ((struct live *)((char *)context - offsetof(struct live, out)));

	if (strcmp(name, "target") != 0)
		return false;
	text_addf(to, "%d", (int)script_engine_target(l->engine));
	return true;
}

static inline void live_message(void *context, enum script_message kind, const char *text)
{
	(void)kind;
	text_addf(&((struct live *)context)->errors, "%s\n", text);
}

static inline void live_flush(void *context)
{
	(void)context;
}

/* live_compile - up to a machine that can run.  Messages are in l->errors. */
static inline bool live_compile(struct live *l, const char *text)
{
	static const char *const none[] = { NULL };
	const struct script_parse_options parse = { .arguments = none,
						    .kernel_version = "6.1.0",
						    .arch = "x86_64" };
	const struct script_check_options check = { 0 };
	const struct script_services services = { .context = &l->out,
						  .write = live_write,
						  .write_error = live_write,
						  .setting = live_setting };
	struct script_file *file = NULL;
	int64_t n;

	l->sources.arena = &l->arena;
	l->messages.sources = &l->sources;
	l->messages.hides_warnings = true;
	n = script_sources_add(&l->sources, "test.stp", text, strlen(text));
	if (script_kernel_open(&l->kernel, &l->arena, &l->o) || n < 0 ||
	    script_parse(&file, &l->sources, (uint32_t)n, &parse, NULL, &l->messages) ||
	    script_check(&l->program, &file, 1, &l->sources, script_kernel_world(l->kernel), &check,
			 &l->messages) ||
	    script_code(&l->unit, l->program, &l->limits, &l->messages)) {
		text_addf(&l->errors, "%s", l->messages.text.size ? l->messages.text.bytes : "?");
		return false;
	}
	return !script_vm_open(&l->vm, l->unit, &l->limits, &services, true, &l->d);
}

/* live_run - runs the script until the command ends. */
static inline bool live_run(struct live *l, const char *text, const char *command)
{
	const struct script_engine_options e = { .limits = &l->limits,
						 .command = command,
						 .most_ns = l->most_ns,
						 .stop_fd = -1,
						 .input = -1,
						 .context = l,
						 .message = live_message,
						 .flush = live_flush };
	struct script_engine_options o = e;
	int err;

	if (!ok(live_compile(l, text))) {
		printf("# %s %s\n", l->errors.bytes ? l->errors.bytes : "", l->d.text);
		return false;
	}
	o.program = l->program;
	o.vm = l->vm;
	err = script_engine_open(&l->engine, &o, &l->d);
	if (!err)
		script_kernel_target(l->kernel, script_engine_target(l->engine));
	err = err ? err : script_kernel_source(&l->source, l->kernel, l->program, l->vm, &l->d);
	if (!err) {
		l->source->ops->explain(l->source, &l->words);
		err = script_engine_add(l->engine, l->source, &l->d);
	}
	err = err ? err : script_engine_run(l->engine, &l->result, &l->d);
	text_add(&l->out, "", 0);
	if (!err || l->may_fail)
		return !err;
	printf("# %s\n", l->d.text);
	return ok(!err);
}

static inline void live_close(struct live *l)
{
	if (l->source)
		l->source->ops->close(l->source);
	script_engine_close(l->engine);
	script_vm_close(l->vm);
	script_kernel_close(l->kernel);
	text_fini(&l->messages.text);
	text_fini(&l->out);
	text_fini(&l->errors);
	text_fini(&l->words);
	script_arena_fini(&l->arena);
	*l = (struct live){ 0 };
}

#endif
