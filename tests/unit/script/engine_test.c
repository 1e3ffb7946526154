/* SPDX-License-Identifier: MIT */
/*
 * script/engine_test.c - the order in which the engine runs handlers, with a machine and sources that
 * are lists: a run of a handler writes the name of its probe and the time.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"
#include "script/engine/engine.h"
#include "test.h"

/* ---------------------------------------------------------------- a machine that writes down */

struct script_vm {
	struct text log;
	const struct script_program *program;
	int exits_at; /* run number that calls exit(); 0: none */
	int fails_at; /* run number that raises an error; 0: none */
	int n_runs;
	bool is_exiting;
};

enum script_ended script_vm_run(struct script_vm *vm, uint32_t function,
				const struct script_frame *frame)
{
	const char *name = vm->program->probes[function]->point.text;

	text_addf(&vm->log, "%s%s@%" PRId64, vm->log.size ? " " : "", name,
		  frame->standard[STANDARD_TIME_NS].number);
	vm->n_runs++;
	vm->is_exiting |= vm->n_runs == vm->exits_at;
	return vm->n_runs == vm->fails_at ? SCRIPT_FAILED : SCRIPT_DONE;
}

const char *script_vm_error(const struct script_vm *vm, struct script_place *place)
{
	(void)vm;
	*place = (struct script_place){ .source = UINT32_MAX };
	return "an error";
}

bool script_vm_exiting(const struct script_vm *vm)
{
	return vm->is_exiting;
}

const struct script_string *script_vm_string(struct script_vm *vm, const char *bytes, size_t size)
{
	static struct script_string empty;

	(void)vm, (void)bytes, (void)size;
	return &empty;
}

int script_vm_set_global(struct script_vm *vm, const char *name, const char *value, struct diag *d)
{
	(void)vm, (void)name, (void)value, (void)d;
	return 0;
}

void script_vm_print_global(struct script_vm *vm, const char *name)
{
	text_addf(&vm->log, " %s=", name);
}

struct script_values *script_vm_values(struct script_vm *vm)
{
	(void)vm;
	return NULL;
}

union script_cell *values_globals(struct script_values *v)
{
	(void)v;
	return NULL;
}

/* ---------------------------------------------------------------- sources that are lists */

struct list_source {
	struct script_source_of of; /* first */
	const struct script_probe *probe;
	const int64_t *times; /* 0: nothing now; -1: the end */
	int64_t known[16];    /* known_ns at each step, if the list has it */
	int at;
	uint64_t n_lost;
	bool is_stopped;
	struct script_frame *frame;
};

static int list_start(struct script_source_of *s, struct diag *d)
{
	(void)s, (void)d;
	return 0;
}

static int list_next(struct script_source_of *s, struct script_event *e, struct diag *d)
{
	struct list_source *l = (struct list_source *)s;
	int64_t time = l->times[l->at];

	(void)d;
	if (time == -1)
		return -ENODATA;
	if (l->known[l->at])
		s->known_ns = l->known[l->at];
	l->at++;
	if (!time)
		return 0;
	s->known_ns = time;
	l->frame->standard[STANDARD_TIME_NS].number = time;
	*e = (struct script_event){ l->probe, time, l->frame };
	return 1;
}

static void list_stop(struct script_source_of *s)
{
	((struct list_source *)s)->is_stopped = true;
}

static int list_losses(struct script_source_of *s, struct script_losses *losses)
{
	struct list_source *l = (struct list_source *)s;

	*losses = (struct script_losses){ .lost = l->n_lost, .probe = l->probe };
	l->n_lost = 0;
	return losses->lost > 0;
}

static void list_close(struct script_source_of *s)
{
	free(((struct list_source *)s)->frame);
}

static const struct script_source_ops list_ops = {
	.name = "list",
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.losses = list_losses,
	.close = list_close,
};

/* ---------------------------------------------------------------- a script of such probes */

enum { PROBES = 8 };

struct world {
	struct script_handler handlers[PROBES];
	struct script_probe probes[PROBES], *list[PROBES];
	struct script_program program;
	struct script_vm vm;
	struct list_source sources[2];
	uint32_t n_sources;
	struct script_engine_options options;
	struct script_engine_result result;
	struct text messages;
	struct script_sources places;
};

static void note_message(void *context, enum script_message kind, const char *text)
{
	struct world *w = context;

	text_addf(&w->messages, "%s%s\n", kind == SCRIPT_MESSAGE_ERROR ? "error: " : "", text);
}

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof *w);

	w->program = (struct script_program){ .probes = w->list, .sources = &w->places };
	w->vm.program = &w->program;
	w->options = (struct script_engine_options){ .program = &w->program,
						     .vm = &w->vm,
						     .stop_fd = -1,
						     .input = -1,
						     .is_replay = true,
						     .context = w,
						     .message = note_message };
	return w;
}

static const struct script_probe *add_probe(struct world *w, enum script_family family,
					    const char *text, int64_t number)
{
	uint32_t i = w->program.n_probes++;

	w->handlers[i].index = i;
	w->probes[i] = (struct script_probe){
		.handler = &w->handlers[i],
		.point = { .family = family, .text = text, .name = text, .number = number },
		.number = i
	};
	w->list[i] = &w->probes[i];
	return &w->probes[i];
}

static struct list_source *add_source(struct world *w, const char *text, const int64_t *times)
{
	struct list_source *l = &w->sources[w->n_sources++];

	l->of = (struct script_source_of){ .ops = &list_ops, .vm = &w->vm };
	l->probe = add_probe(w, FAMILY_WORLD, text, 0);
	l->times = times;
	l->frame = calloc(1, sizeof *l->frame);
	return l;
}

/* Runs the script: the log of its handlers. */
static const char *run_world(struct world *w)
{
	struct script_engine *e = NULL;
	struct diag d = { "" };

	is(script_engine_open(&e, &w->options, &d), 0);
	for (uint32_t i = 0; i < w->n_sources; i++)
		is(script_engine_add(e, &w->sources[i].of, &d), 0);
	is(script_engine_run(e, &w->result, &d), 0);
	script_engine_close(e);
	return w->vm.log.bytes ? w->vm.log.bytes : "";
}

static void end_world(struct world *w)
{
	for (uint32_t i = 0; i < w->n_sources; i++)
		list_close(&w->sources[i].of);
	text_fini(&w->vm.log);
	text_fini(&w->messages);
	free(w);
}

/* ---------------------------------------------------------------- tests */

static const int64_t odd[] = { 10, 30, 50, -1 }, even[] = { 20, 40, 60, -1 };
static const int64_t far_apart[] = { 1000, 10000, 30000, -1 };

static void events_of_two_sources_run_in_the_order_of_time(void)
{
	struct world *w = new_world();

	add_source(w, "a", odd);
	add_source(w, "b", even);
	is_text(run_world(w), "a@10 b@20 a@30 b@40 a@50 b@60");
	is(w->result.begin_ns, 10);
	is(w->result.end_ns, 60);
	is(w->result.n_events, 6);
	end_world(w);
}

static void an_event_waits_for_sources_that_may_still_have_earlier_ones(void)
{
	static const int64_t late[] = { 0, 0, 20, -1 };
	struct world *w = new_world();

	add_source(w, "a", odd)->of.begin_ns = 5;
	add_source(w, "b", late)->of.begin_ns = 5;
	is_text(run_world(w), "a@10 b@20 a@30 a@50");
	end_world(w);
}

static void an_event_at_the_time_up_to_which_a_source_is_known_runs(void)
{
	static const int64_t silent[] = { 0, 0, -1 };
	struct world *w = new_world();

	add_source(w, "a", odd)->of.begin_ns = 5;
	add_source(w, "b", silent)->of.begin_ns = 5;
	w->sources[1].known[0] = 10;
	w->sources[1].known[1] = 60;
	is_text(run_world(w), "a@10 a@30 a@50");
	end_world(w);
}

static void begin_probes_run_by_number_then_by_place_and_end_probes_last(void)
{
	struct world *w = new_world();

	add_probe(w, FAMILY_END, "end", 0);
	add_probe(w, FAMILY_BEGIN, "begin", 0);
	add_probe(w, FAMILY_BEGIN, "again", 0);
	add_probe(w, FAMILY_BEGIN, "first", -5);
	add_probe(w, FAMILY_ERROR, "error", 0);
	add_source(w, "a", odd);
	is_text(run_world(w), "first@10 begin@10 again@10 a@10 a@30 a@50 end@50");
	end_world(w);
}

static void timers_run_after_events_of_their_time_and_before_later_ones(void)
{
	static const int64_t times[] = { 1000, 11000, 11001, 21000, -1 };
	struct world *w = new_world();

	add_source(w, "a", times);
	add_probe(w, FAMILY_TIMER, "t", 10000);
	is_text(run_world(w), "a@1000 a@11000 t@11000 a@11001 a@21000 t@21000");
	end_world(w);
}

static void timers_count_from_the_begin_of_the_recording_up_to_its_end(void)
{
	struct world *w = new_world();
	struct list_source *l = add_source(w, "a", far_apart);

	l->of.begin_ns = 500;
	l->of.end_ns = 40000;
	add_probe(w, FAMILY_TIMER, "t", 10000);
	is_text(run_world(w), "a@1000 a@10000 t@10500 t@20500 a@30000 t@30500");
	is(w->result.end_ns, 40000);
	end_world(w);
}

static void events_before_the_begin_and_after_the_end_do_not_run(void)
{
	struct world *w = new_world();
	struct list_source *l = add_source(w, "a", far_apart);

	l->of.begin_ns = 5000;
	l->of.end_ns = 20000;
	add_probe(w, FAMILY_END, "end", 0);
	is_text(run_world(w), "a@10000 end@20000");
	end_world(w);
}

static void a_session_ends_after_its_longest_time(void)
{
	struct world *w = new_world();

	add_source(w, "a", far_apart);
	w->options.most_ns = 15000;
	add_probe(w, FAMILY_END, "end", 0);
	is_text(run_world(w), "a@1000 a@10000 end@16000");
	end_world(w);
}

static void after_exit_only_end_probes_run(void)
{
	struct world *w = new_world();

	add_source(w, "a", odd);
	add_probe(w, FAMILY_BEGIN, "begin", 0);
	add_probe(w, FAMILY_END, "end", 0);
	w->vm.exits_at = 2;
	is_text(run_world(w), "begin@10 a@10 end@10");
	ok(w->sources[0].is_stopped);
	ok(!w->result.has_failed);
	end_world(w);
}

static void a_oneshot_probe_ends_the_session(void)
{
	struct world *w = new_world();

	add_source(w, "a", odd);
	add_probe(w, FAMILY_ONESHOT, "oneshot", 0);
	add_probe(w, FAMILY_NEVER, "never", 0);
	is_text(run_world(w), "oneshot@10");
	end_world(w);
}

static void after_an_error_the_error_probes_run_and_not_the_end_probes(void)
{
	struct world *w = new_world();

	add_source(w, "a", odd);
	add_probe(w, FAMILY_END, "end", 0);
	add_probe(w, FAMILY_ERROR, "error", 0);
	w->vm.fails_at = 2;
	is_text(run_world(w), "a@10 a@30 error@30");
	ok(w->result.has_failed);
	is(w->result.n_errors, 1);
	ok(strstr(w->messages.bytes, "an error\n in probe a"));
	end_world(w);
}

static void as_many_errors_as_the_limit_allows_end_nothing(void)
{
	const struct script_limits limits = { .errors = 1 };
	struct world *w = new_world();

	add_source(w, "a", odd);
	add_probe(w, FAMILY_END, "end", 0);
	w->options.limits = &limits;
	w->vm.fails_at = 2;
	is_text(run_world(w), "a@10 a@30 a@50 end@50");
	ok(!w->result.has_failed);
	end_world(w);
}

static void lost_events_are_reported_with_their_probe(void)
{
	struct world *w = new_world();

	add_source(w, "a", odd)->n_lost = 7;
	run_world(w);
	is(w->result.n_lost, 7);
	ok(strstr(w->messages.bytes, "7 events lost at a"));
	end_world(w);
}

static void randomized_timers_are_the_same_in_each_replay(void)
{
	char *first = NULL;

	for (int i = 0; i < 2; i++) {
		struct world *w = new_world();

		add_source(w, "a", far_apart);
		add_probe(w, FAMILY_TIMER, "t", 5000);
		w->probes[1].point.random_ns = 2000;
		run_world(w);
		if (first)
			is_text(w->vm.log.bytes, first);
		else
			first = strdup(w->vm.log.bytes);
		end_world(w);
	}
	ok(strstr(first, "t@"));
	free(first);
}

static void globals_that_nothing_reads_are_printed_at_the_end(void)
{
	struct script_variable unread = { .name = "n", .prints_at_end = true },
			       read = { .name = "m" }, *list[] = { &unread, &read };
	struct world *w = new_world();

	add_probe(w, FAMILY_END, "end", 0);
	add_source(w, "a", odd);
	w->program.globals = list;
	w->program.n_globals = 2;
	is_text(run_world(w), "a@10 a@30 a@50 end@50 n=");
	end_world(w);
}

static void a_live_script_without_anything_to_wait_for_ends(void)
{
	struct world *w = new_world();

	w->options.is_replay = false;
	add_probe(w, FAMILY_BEGIN, "begin", 0);
	run_world(w);
	is(w->vm.n_runs, 1);
	end_world(w);
}

static void a_command_runs_after_the_begin_and_its_end_ends_the_session(void)
{
	struct world *w = new_world();

	w->options.is_replay = false;
	w->options.command = "sh -c 'exit 3'";
	add_probe(w, FAMILY_BEGIN, "begin", 0);
	add_probe(w, FAMILY_TIMER, "t", 3600000000000);
	add_probe(w, FAMILY_END, "end", 0);
	run_world(w);
	is(w->vm.n_runs, 2);
	is(w->result.command_status, 3 << 8);
	end_world(w);
}

static void lines_and_characters_of_input_are_events(void)
{
	struct world *w = new_world();
	int fds[2];

	ok(!pipe(fds) && write(fds[1], "ab\nc", 4) == 4);
	close(fds[1]);
	w->options.input = fds[0];
	add_probe(w, FAMILY_INPUT, "line", 0);
	add_probe(w, FAMILY_INPUT, "char", 0);
	add_source(w, "a", odd);
	is_text(run_world(w), "char@10 char@10 char@10 line@10 char@10 line@10 a@10 a@30 a@50");
	close(fds[0]);
	end_world(w);
}

int main(void)
{
	run(events_of_two_sources_run_in_the_order_of_time);
	run(an_event_waits_for_sources_that_may_still_have_earlier_ones);
	run(an_event_at_the_time_up_to_which_a_source_is_known_runs);
	run(begin_probes_run_by_number_then_by_place_and_end_probes_last);
	run(timers_run_after_events_of_their_time_and_before_later_ones);
	run(timers_count_from_the_begin_of_the_recording_up_to_its_end);
	run(events_before_the_begin_and_after_the_end_do_not_run);
	run(a_session_ends_after_its_longest_time);
	run(after_exit_only_end_probes_run);
	run(a_oneshot_probe_ends_the_session);
	run(after_an_error_the_error_probes_run_and_not_the_end_probes);
	run(as_many_errors_as_the_limit_allows_end_nothing);
	run(lost_events_are_reported_with_their_probe);
	run(randomized_timers_are_the_same_in_each_replay);
	run(globals_that_nothing_reads_are_printed_at_the_end);
	run(a_live_script_without_anything_to_wait_for_ends);
	run(a_command_runs_after_the_begin_and_its_end_ends_the_session);
	run(lines_and_characters_of_input_are_events);
	return test_status();
}
