/* SPDX-License-Identifier: MIT */
/*
 * Handlers that only filter and count are folded into the kernel; all others are streamed, and what
 * they touch with them.  Programs are built, but nothing is loaded.
 */
#include "script/code/code.h"
#include "script/kernel/kernel.h"
#include "test.h"

struct planned {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_kernel *kernel;
	struct script_program *program;
	struct script_unit *unit;
	struct script_vm *vm;
	struct script_source_of *source;
	struct text words;
};

static void plan(struct planned *p, const char *text)
{
	static const char *const none[] = { NULL };
	const struct script_parse_options parse = { .arguments = none,
						    .kernel_version = "6.1.0",
						    .arch = "x86_64" };
	const struct script_check_options check = { 0 };
	const struct script_kernel_options o = { 0 };
	const struct script_services services = { 0 };
	static const struct script_limits limits;
	struct script_file *file = NULL;
	int64_t n;

	*p = (struct planned){ 0 };
	p->sources.arena = &p->arena;
	p->messages.sources = &p->sources;
	n = script_sources_add(&p->sources, "test.stp", text, strlen(text));
	if (!ok(n >= 0 && !script_kernel_open(&p->kernel, &p->arena, &o)) ||
	    script_parse(&file, &p->sources, (uint32_t)n, &parse, NULL, &p->messages) ||
	    script_check(&p->program, &file, 1, &p->sources, script_kernel_world(p->kernel), &check,
			 &p->messages) ||
	    script_code(&p->unit, p->program, &limits, &p->messages) ||
	    script_vm_open(&p->vm, p->unit, &limits, &services, false, NULL) ||
	    script_kernel_source(&p->source, p->kernel, p->program, p->vm, NULL))
		printf("# %s\n", p->messages.text.size ? p->messages.text.bytes : "no source");
	if (ok(p->source != NULL))
		p->source->ops->explain(p->source, &p->words);
}

static void release(struct planned *p)
{
	if (p->source)
		p->source->ops->close(p->source);
	script_vm_close(p->vm);
	script_kernel_close(p->kernel);
	text_fini(&p->words);
	text_fini(&p->messages.text);
	script_arena_fini(&p->arena);
}

/* Whether the line about @point has @what. */
static bool says(const struct planned *p, const char *point, const char *what)
{
	const char *line = p->words.size ? strstr(p->words.bytes, point) : NULL;
	const char *found = line ? strstr(line, what) : NULL;

	return found && found < line + strcspn(line, "\n");
}

static bool folds(const char *text)
{
	struct planned p;
	bool result;

	plan(&p, text);
	result = says(&p, "syscall.", "folded into the kernel");
	if (!result && p.words.size)
		printf("# %s", p.words.bytes);
	release(&p);
	return result;
}

static bool streams(const char *text, const char *why)
{
	struct planned p;
	bool result;

	plan(&p, text);
	result = says(&p, "syscall.", "stream") && says(&p, "syscall.", why);
	if (!result && p.words.size)
		printf("# %s", p.words.bytes);
	release(&p);
	return result;
}

#define READS " probe end { println(x) }"

static void handlers_that_filter_and_count_are_folded(void)
{
	ok(folds("global x; probe syscall.read { x++ }" READS));
	ok(folds("global x; probe syscall.read.return { if ($return < 0) x += -$return }" READS));
	ok(folds("global x; probe syscall.read { if (uid() != 0) next; x -= 2 }" READS));
	ok(folds("global x; probe syscall.read { if (execname() == \"cat\" && pid() == target()) "
		 "x++; "
		 "else x += 3 }" READS));
	ok(folds("global a; probe syscall.* { a[name, execname(), $arg1 & 7]++ } "
		 "probe end { foreach ([n, e, f] in a) println(a[n, e, f]) }"));
	ok(folds("global s; probe syscall.read.return { s <<< $return / 10 } "
		 "probe end { print(@hist_log(s)) }"));
	ok(folds("global s[100]; probe syscall.read.return { s[tid()] <<< $return } "
		 "probe timer.s(1) { foreach (t in s) print(@hist_linear(s[t], 0, 100, 10)); "
		 "delete s }"));
	ok(folds("global x, least = 5; probe syscall.read { if ($arg3 > least) x++ }" READS));
}

static void other_handlers_are_streamed_and_the_reason_is_given(void)
{
	ok(streams("global x; probe syscall.read { x++; println(x) }",
		   "more than filter and count"));
	ok(streams("global x; probe syscall.read { if (x < 5) x++ }" READS, "tests a value"));
	ok(streams("global x%[5]; probe syscall.read { x[tid()]++ } probe end { foreach (t in x) "
		   "println(t) }",
		   "replaces its oldest"));
	ok(streams("global s; probe syscall.read.return { s <<< $return } "
		   "probe end { println(@variance(s)) }",
		   "@variance"));
	ok(streams("global x; probe syscall.read if (x < 3) { x++ }" READS, "condition"));
	ok(streams("global x; probe syscall.read { while (x < 3) x++ }" READS, "more than"));
}

static void what_a_streamed_handler_touches_is_streamed(void)
{
	struct planned p;

	plan(&p, "global x, y; probe syscall.read { x++; y++ } probe syscall.write { println(y) } "
		 "probe syscall.close { x++ } probe end { println(x) }");
	ok(says(&p, "syscall.read", "uses too"));
	ok(says(&p, "syscall.close", "uses too"));
	release(&p);
	plan(&p, "global x, y; probe syscall.read { x++ } probe syscall.write { println(y++) } "
		 "probe end { println(x) }");
	ok(says(&p, "syscall.read", "folded"));
	ok(says(&p, "syscall.write", "stream"));
	release(&p);
}

static void tests_that_end_a_handler_are_made_in_the_kernel(void)
{
	ok(streams("probe syscall.read { if (pid() != target()) next; println($arg1) }",
		   "filtered in the kernel"));
	ok(streams("probe syscall.read { if ($arg1 == 3) println($arg1) }",
		   "filtered in the kernel"));
	ok(!streams("probe syscall.read { if ($arg1 == 3) println(1); println(2) }",
		    "filtered in the kernel"));
	ok(!streams("global x; probe syscall.read { if (x++ > 3) println(1) }",
		    "filtered in the kernel"));
}

int main(void)
{
	run(handlers_that_filter_and_count_are_folded);
	run(other_handlers_are_streamed_and_the_reason_is_given);
	run(what_a_streamed_handler_touches_is_streamed);
	run(tests_that_end_a_handler_are_made_in_the_kernel);
	return test_status();
}
