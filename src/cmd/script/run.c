/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/run.c - a compiled script runs: on the running system, or on recordings.
 *
 * SIGINT, SIGTERM and SIGHUP end a script as exit() does, and count as success; a second one ends
 * the process at once.  Nothing of a script outlives the process: the kernel drops its programs with
 * their descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "base/runtime.h"
#include "cmd/progress.h"
#include "cmd/finding.h"
#include "cmd/print/print.h"
#include "cmd/script/internal.h"
#include "script/engine/times.h"
#include "script/live/live.h"
#include "script/replay/replay.h"

enum { SOURCES_MAX = 4 };

struct running {
	const struct script_options *o;
	struct script_front front;
	struct script_output out;
	struct script_vm *vm;
	struct script_engine *engine;
	struct script_world *recordings; /* of a replay, or NULL */
	struct script_live *live;	 /* of the running system, or NULL */
	struct script_source_of *sources[SOURCES_MAX];
	uint32_t n_sources;
	struct text results;	 /* tables as JSON, a line each */
	int tables;		 /* --tables: its descriptor; or -1 */
	struct output_file file; /* opened before the sandbox; or its path is NULL */
	uint64_t begun_ns;
};

static int stop_fd = -1;
static volatile sig_atomic_t wants_dump;

static void on_signal(int number)
{
	const uint64_t one = 1;
	int e = errno;

	if (number == SIGUSR1)
		wants_dump = 1;
	else
		(void)!write(stop_fd, &one, sizeof one);
	errno = e;
}

/* The second signal ends the process: SA_RESETHAND. */
static int catch_signals(const struct script_options *o)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction end = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction dump = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction old;

	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return cmd_error("script", "cannot make a descriptor: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &end, NULL);
	if (o->is_flight_recorder)
		sigaction(SIGUSR1, &dump, NULL);
	return 0;
}

/* With -v: what was done, and when. */
static void report_done(const struct running *r, const char *what)
{
	if (r->o->is_verbose)
		print_err("duet script: %s after %.1f ms\n", what,
			  (double)(monotonic_ns() - r->begun_ns) / 1e6);
}

/* ---------------------------------------------------------------- services of the machine */

static void write_output(void *context, const char *bytes, size_t size)
{
	struct running *r = context;

	script_output_write(&r->out, bytes, size);
}

static void write_error(void *context, const char *bytes, size_t size)
{
	struct running *r = context;

	script_output_flush(&r->out);
	print_lines_err(bytes, size);
}

static void find_symbol(void *context, int64_t pid, uint64_t address, char what, struct text *to)
{
	struct running *r = context;

	if (r->engine)
		script_engine_symbol(r->engine, pid, address, what, to);
}

/* The process of -c or -x; in a recording of a script, that of the script which made it. */
static pid_t target_of(const struct running *r)
{
	const struct cmd_strings *recordings = &r->o->recordings;
	struct script_times times;

	if (recordings->n == 1 && !script_times_read(recordings->at[0], &times))
		return times.target;
	return r->engine ? script_engine_target(r->engine) : 0;
}

/* target, argc, argv and argv_N. */
static bool find_setting(void *context, const char *name, struct text *to)
{
	const struct running *r = context;
	const struct cmd_strings *arguments = &r->o->arguments;
	long i;

	if (!strcmp(name, "target")) {
		text_addf(to, "%d", (int)target_of(r));
		return true;
	}
	if (!strcmp(name, "argc")) {
		text_addf(to, "%d", arguments->n);
		return true;
	}
	if (strncmp(name, "argv", 4) != 0)
		return false;
	i = strtol(name + 4 + strspn(name + 4, "_ "), NULL, 10);
	if (i < 1 || i > arguments->n)
		return false;
	text_add(to, arguments->at[i - 1], strlen(arguments->at[i - 1]));
	return true;
}

/* A recording that is kept has the tables too. */
static void keep_result(void *context, const char *json, size_t size)
{
	struct running *r = context;

	if (r->tables >= 0 && (io_write(r->tables, json, size) || io_write(r->tables, "\n", 1)))
		raise(SIGTERM); /* no reader is left: the end probes run */
	if (!r->o->save && !r->o->stores)
		return;
	text_add(&r->results, json, size);
	text_add(&r->results, "\n", 1);
}

static int run_command(void *context, const char *command)
{
	struct running *r = context;

	script_output_flush(&r->out);
	return system(command); /* NOLINT: a script's own command, as its user wrote it */
}

/* ---------------------------------------------------------------- hooks of the engine */

static void flush_output(void *context)
{
	struct running *r = context;

	if (wants_dump) {
		wants_dump = 0;
		script_output_dump(&r->out);
	}
	script_output_flush(&r->out);
	if (r->out.err)
		raise(SIGTERM); /* no reader is left: the end probes run */
}

static void show_message(void *context, enum script_message kind, const char *text)
{
	struct running *r = context;
	const char *words = kind == SCRIPT_MESSAGE_WARNING ? "warning: " : "";

	if (kind == SCRIPT_MESSAGE_WARNING && r->o->hides_warnings)
		return;
	script_output_flush(&r->out);
	print_err("duet script: %s", words);
	print_lines_err(text, strlen(text));
	print_err("\n");
}

static void warn(void *context, const char *text)
{
	(void)context;
	cmd_error("script", "%s", text);
}

/* ---------------------------------------------------------------- worlds and sources */

static void select_period(const struct running *r)
{
	struct moment from = r->o->from, to = r->o->to;
	struct diag d = { "" };

	moments_resolve(&from, &to, replay_trace(r->recordings));
	if (moments_check(&from, &to, replay_trace(r->recordings), &d))
		cmd_finding("script", "%s", d.text);
	replay_range(r->recordings, from.is_given ? from.ns : INT64_MIN,
		     to.is_given ? to.ns : INT64_MAX);
}

static int open_world(struct running *r)
{
	const struct script_options *o = r->o;
	struct diag d = { "" };
	int err;

	if (o->recordings.n) {
		struct replay_options replay = { .paths = o->recordings.at,
						 .n_paths = o->recordings.n,
						 .warn = warn };

		err = replay_world_open(&r->recordings, &replay, &r->front.arena, &d);
		r->front.world = r->recordings;
		if (!err)
			select_period(r);
	} else {
		struct script_live_options live = { .target = o->target,
						    .save = o->save,
						    .command = o->command,
						    .warn = warn,
						    .context = r,
						    .wants_words =
							    script_front_has(&r->front, "argstr") ||
							    script_front_has(&r->front, "retstr"),
						    .is_verbose = o->is_verbose,
						    .checks_no_overload = o->checks_no_overload };

		err = script_live_open(&r->live, &r->front.arena, &live, &d);
		r->front.world = err ? NULL : script_live_world(r->live);
		r->front.live = r->live;
	}
	return err ? cmd_error("script", "%s", d.text) : 0;
}

static int open_tables(struct running *r)
{
	if (!r->o->tables)
		return 0;
	r->tables = open(r->o->tables, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return r->tables < 0 ? cmd_error("script", "--tables %s: %s", r->o->tables, strerror(errno))
			     : 0;
}

static int open_machine(struct running *r)
{
	const struct script_services services = { .context = r,
						  .write = write_output,
						  .write_error = write_error,
						  .symbol = find_symbol,
						  .setting = find_setting,
						  .result = keep_result,
						  .system =
							  r->o->runs_no_system ? NULL : run_command,
						  .is_json = r->o->is_json,
						  .keeps_tables = r->o->tables,
						  .is_shown = !r->o->output,
						  .is_terminal =
							  !r->o->output && isatty(STDOUT_FILENO) };
	struct diag d = { "" };

	if (script_vm_open(&r->vm, r->front.unit, &r->o->limits, &services, !r->o->interprets, &d))
		return cmd_error("script", "%s", d.text);
	for (int i = 0; i < r->o->globals.n; i++) {
		const char *text = r->o->globals.at[i], *equals = strchr(text, '=');
		char name[256];

		if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
			return cmd_error("script", "-G %s: NAME=VALUE is expected", text);
		snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
		if (script_vm_set_global(r->vm, name, equals + 1, &d))
			return cmd_error("script", "-G %s: %s", text, d.text);
	}
	return 0;
}

/* Programs that -c starts load the libduet of this installation, as those of `duet record` do. */
static void name_library(void)
{
	char path[4096];
	const char *library = cmd_find_library("libduet.so.0", path, sizeof path);

	if (library)
		setenv("DUET_LIBRARY", library, 0);
}

static int open_engine(struct running *r, char procfs_dir[4096])
{
	const struct script_options *o = r->o;
	struct script_engine_options e = { .program = r->front.program,
					   .limits = &o->limits,
					   .vm = r->vm,
					   .command = o->command,
					   .target = o->target,
					   .most_ns = (int64_t)o->timeout_ns,
					   .stop_fd = stop_fd,
					   .input = STDIN_FILENO,
					   .procfs_dir = procfs_dir,
					   .is_replay = r->recordings,
					   .context = r,
					   .message = show_message,
					   .flush = flush_output };
	char name[64];
	struct diag d = { "" };

	name_library();
	snprintf(name, sizeof name, "script-%d", (int)getpid());
	if (!runtime_path(procfs_dir, 4096, name))
		return cmd_error("script", "the path of the runtime directory is too long");
	return script_engine_open(&r->engine, &e, &d) ? cmd_error("script", "%s", d.text) : 0;
}

static int open_sources(struct running *r)
{
	struct diag d = { "" };
	int err;

	if (r->live) {
		script_live_target(r->live, script_engine_target(r->engine));
		err = script_live_sources(r->live, r->front.program, r->vm, r->sources, SOURCES_MAX,
					  &r->n_sources, &d);
	} else {
		err = replay_source_open(&r->sources[0], r->recordings, r->front.program, r->vm,
					 &d);
		r->n_sources = !err;
	}
	for (uint32_t i = 0; i < r->n_sources && !err; i++)
		err = script_engine_add(r->engine, r->sources[i], &d);
	return err ? cmd_error("script", "%s", d.text) : 0;
}

static void explain(const struct running *r, void (*print)(const char *text, size_t size))
{
	struct text t = { 0 };

	for (uint32_t i = 0; i < r->n_sources; i++)
		if (r->sources[i]->ops->explain)
			r->sources[i]->ops->explain(r->sources[i], &t);
	if (t.size)
		print(t.bytes, t.size);
	text_fini(&t);
}

/* ---------------------------------------------------------------- passes */

/* Prints what pass 1, 2 or 3 made. */
static int print_pass(const struct running *r)
{
	struct text t = { 0 };

	if (r->o->pass == 1)
		for (uint32_t i = 0; i < r->front.n_files; i++)
			if (!r->front.sources.at[r->front.files[i]->source].is_library)
				script_print_file(&t, r->front.files[i]);
	if (r->o->pass == 2)
		script_program_print(&t, r->front.program);
	if (r->o->pass == 3)
		script_unit_print(&t, r->front.unit);
	if (t.size)
		print_lines(t.bytes, t.size);
	text_fini(&t);
	return 0;
}

static void report_result(const struct running *r, const struct script_engine_result *result)
{
	if (!r->o->is_verbose)
		return;
	print_err("duet script: probes in place after %.1f ms\n",
		  (double)(result->started_ns - r->begun_ns) / 1e6);
	print_err("duet script: %" PRIu64 " runs of handlers in %.3f s\n", result->n_events,
		  (double)(result->end_ns - result->begin_ns) / 1e9);
}

/* Into the recording: when the script ran, and its tables. */
static int keep_outcome(const struct running *r, const struct script_engine_result *result,
			struct diag *d)
{
	const struct script_times times = { result->begin_ns, result->end_ns,
					    script_engine_target(r->engine) };
	const char *dir = r->o->save ? r->o->save : r->o->recordings.at[0];
	int err = r->o->save ? script_times_write(dir, &times, d) : 0;

	return err || !r->results.size ? err
				       : script_results_write(dir, r->o->text ? NULL : r->o->file,
							      r->results.bytes, r->results.size, d);
}

static int run(struct running *r)
{
	struct script_engine_result result = { 0 };
	struct diag d = { "" };
	int err, status;

	if (r->o->is_verbose)
		explain(r, print_lines_err);
	status = script_output_open(&r->out, r->o, &r->file);
	if (status)
		return status;
	err = script_engine_run(r->engine, &result, &d);
	status = script_output_close(&r->out);
	if (!err && (r->o->save || r->o->stores))
		err = keep_outcome(r, &result, &d);
	if (err)
		return cmd_error("script", "%s", d.text);
	report_result(r, &result);
	return status ? status : result.has_failed;
}

static int run_passes(struct running *r)
{
	char procfs_dir[4096];
	int status = script_front_parse(&r->front, r->o);

	report_done(r, "parsed");
	if (status || r->o->pass == 1)
		return status ? status : print_pass(r);
	if (r->o->pass >= 4)
		status = open_tables(r);
	if (!status)
		status = script_confine(&r->front, r->o, &r->file);
	if (!status)
		status = open_world(r);
	if (status)
		return status;
	if (r->o->point)
		return script_front_list(&r->front, r->o);
	status = script_front_compile(&r->front, r->o);
	report_done(r, "compiled");
	if (status || r->o->pass <= 3)
		return status ? status : print_pass(r);
	status = catch_signals(r->o);
	if (!status)
		status = open_machine(r);
	if (!status && r->o->module)
		status = script_module_write(&r->front, r->o);
	if (!status)
		status = open_engine(r, procfs_dir);
	if (!status)
		status = open_sources(r);
	if (status || r->o->pass == 4) {
		if (!status)
			explain(r, print_lines);
		return status;
	}
	return run(r);
}

int script_run(const struct script_options *o)
{
	struct running r = {
		.o = o, .begun_ns = monotonic_ns(), .tables = -1, .file.removal = ERRAND_NONE
	};
	int status = run_passes(&r);

	for (uint32_t i = 0; i < r.n_sources; i++)
		r.sources[i]->ops->close(r.sources[i]);
	script_engine_close(r.engine);
	script_vm_close(r.vm);
	script_live_close(r.live);
	replay_world_close(r.recordings);
	text_fini(&r.results);
	if (r.tables >= 0)
		close(r.tables);
	if (r.file.path) /* the script did not run */
		output_file_close(&r.file, true, NULL);
	errand_drop(&r.file.removal);
	script_front_fini(&r.front);
	return status;
}
