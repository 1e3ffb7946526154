/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/options.c - the command line of `duet script`: SystemTap's letters where they exist.
 *
 * Arguments behind the script: those at the front that are directories of recordings are recordings;
 * the first other one and all behind it are the script's own, and so is all after `--`.  A script
 * that uses no arguments gets none: a mistyped recording is an error, and nothing runs live by
 * accident.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/nearest.h"
#include "cmd/options.h"
#include "cmd/script/internal.h"

/* ---------------------------------------------------------------- values of options */

static int take_guru(const struct option_value *v)
{
	return cmd_error(v->verb, "-g: a script neither runs C nor changes what it observes\n"
				  "  compute in the language itself; system() runs a command");
}

static int take_number(const struct option_value *v, const char *option, int64_t least,
		       int64_t most, int64_t *to)
{
	char *end;

	errno = 0;
	*to = strtoll(v->text, &end, 10);
	if (end != v->text && !*end && !errno && *to >= least && *to <= most)
		return 0;
	return cmd_error(v->verb, "%s %s: a number from %lld to %lld is expected", option, v->text,
			 (long long)least, (long long)most);
}

static int take_pass(const struct option_value *v)
{
	struct script_options *o = v->part;
	int64_t pass;

	if (take_number(v, "-p", 1, 5, &pass))
		return CMD_FAILED;
	o->pass = (int)pass;
	return 0;
}

static int take_pid(const struct option_value *v)
{
	struct script_options *o = v->part;
	int64_t pid;

	if (take_number(v, "-x", 1, INT_MAX, &pid))
		return CMD_FAILED;
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return cmd_error(v->verb, "-x %s: no such process", v->text);
	o->target = (pid_t)pid;
	return 0;
}

static int take_list(const struct option_value *v)
{
	struct script_options *o = v->part;

	o->point = v->text;
	o->lists_values = v->detail;
	return 0;
}

static int take_moment(const struct option_value *v)
{
	struct script_options *o = v->part;

	return moment_parse(v->text, v->detail ? &o->to : &o->from)
		       ? 0
		       : cmd_error("script", "--%s takes a time, as in 14:05:09.25 or +2.5s",
				   v->detail ? "to" : "from");
}

/* Seconds, as SystemTap has them, or a number with a unit. */
static int take_timeout(const struct option_value *v)
{
	struct script_options *o = v->part;
	char *end;
	unsigned long long seconds = strtoull(v->text, &end, 10);

	if (end != v->text && !*end && *v->text != '-' && seconds && seconds < 1ull << 32) {
		o->timeout_ns = seconds * 1000000000;
		return 0;
	}
	return cmd_parse_time(v->verb, v->text, &o->timeout_ns) ? 0 : CMD_FAILED;
}

/* SIZE[,N]; a bare number means megabytes, as in SystemTap. */
static int take_size(const struct option_value *v)
{
	struct script_options *o = v->part;
	char *comma = strchr(v->text, ','), *end;
	bool is_bare;

	if (comma) {
		*comma = 0;
		o->n_files = strtoull(comma + 1, &end, 10);
		if (!comma[1] || *end || !o->n_files || o->n_files > 1000000)
			return cmd_error(v->verb,
					 "-S %s,%s: a number of files from 1 to 1000000 "
					 "is expected after the comma",
					 v->text, comma + 1);
	}
	is_bare = *v->text && strspn(v->text, "0123456789") == strlen(v->text);
	if (!cmd_parse_size(v->verb, v->text, &o->file_bytes))
		return CMD_FAILED;
	if (is_bare && o->file_bytes > 1 << 20)
		return cmd_error(v->verb, "-S %s: too many megabytes", v->text);
	o->file_bytes <<= is_bare ? 20 : 0;
	return 0;
}

static const struct {
	const char *name;
	size_t offset;
	uint32_t least;
} limit_rows[] = {
	{ "MAXSTRINGLEN", offsetof(struct script_limits, string_bytes), 8 },
	{ "MAXACTION", offsetof(struct script_limits, actions), 1 },
	{ "MAXNESTING", offsetof(struct script_limits, nesting), 1 },
	{ "MAXMAPENTRIES", offsetof(struct script_limits, entries), 1 },
	{ "MAXERRORS", offsetof(struct script_limits, errors), 0 },
	{ "MAXSKIPPED", offsetof(struct script_limits, skipped), 1 },
};
enum { N_LIMITS = sizeof limit_rows / sizeof *limit_rows };

static int refuse_limit(const struct option_value *v, const char *name)
{
	struct nearest near = { .wanted = name };
	char text[NEAREST_MAX + 32];

	for (int i = 0; i < N_LIMITS; i++)
		nearest_try(&near, limit_rows[i].name);
	nearest_try(&near, "MAXMEMORY");
	return cmd_error(v->verb, "-D %s: no such limit%s", name,
			 *near.best ? nearest_text(&near, text) : ": `man duet-script` lists them");
}

static int take_limit(const struct option_value *v)
{
	struct script_options *o = v->part;
	char *equals = strchr(v->text, '='), *end;
	unsigned long long value;
	int i = 0;

	if (!strcmp(v->text, "STP_NO_OVERLOAD")) {
		o->checks_no_overload = true;
		return 0;
	}
	if (!equals)
		return cmd_error(v->verb, "-D %s: NAME=VALUE is expected", v->text);
	*equals = 0;
	while (i < N_LIMITS && strcmp(limit_rows[i].name, v->text) != 0)
		i++;
	if (!strcmp(v->text, "MAXMEMORY"))
		return cmd_parse_size(v->verb, equals + 1, &o->limits.memory) ? 0 : CMD_FAILED;
	if (i == N_LIMITS)
		return refuse_limit(v, v->text);
	errno = 0;
	value = strtoull(equals + 1, &end, 0);
	if (!equals[1] || *end || errno || equals[1] == '-' || value > INT32_MAX ||
	    value < limit_rows[i].least)
		return cmd_error(v->verb, "-D %s=%s: a number from %u to %d is expected", v->text,
				 equals + 1, limit_rows[i].least, INT32_MAX);
	*(uint32_t *)((char *)&o->limits + limit_rows[i].offset) = (uint32_t)value;
	return 0;
}

void script_limits_print(struct text *t, const struct script_limits *limits)
{
	for (int i = 0; i < N_LIMITS; i++) {
		uint32_t value = *(const uint32_t *)((const char *)limits + limit_rows[i].offset);

		if (value)
			text_addf(t, " -D %s=%u", limit_rows[i].name, value);
	}
	if (limits->memory)
		text_addf(t, " -D MAXMEMORY=%llu", (unsigned long long)limits->memory);
}

/* ---------------------------------------------------------------- the table */

#define FIELD(KIND, type, member) OPTION_FIELD(KIND, 0, type, script_options, member)
#define STRINGS(member) FIELD(OPTION_STRINGS, struct cmd_strings, member)
#define TEXT(member) FIELD(OPTION_TEXT, const char *, member)
#define FLAG(member) FIELD(OPTION_FLAG, bool, member)
#define ROW(LETTER, NAME, ARGUMENT, HELP, ...)                                                     \
	{                                                                                          \
		.name = NAME, .argument = ARGUMENT, .help = HELP, .letter = LETTER, .verbs = 1,    \
		__VA_ARGS__                                                                        \
	}

static const struct option_row rows[] = {
	ROW('e', "text", "TEXT", "the script, instead of FILE", TEXT(text)),
	ROW('E', "also", "TEXT", "one more script that runs with it", STRINGS(also)),
	ROW('I', "include", "DIR",
	    "a directory of *.stp files whose functions and aliases it may use", STRINGS(include)),
	ROW('c', "command", "CMD",
	    "run CMD when the probes are in place, and end when it exits;\ntarget() is its process",
	    TEXT(command)),
	ROW('x', "pid", "PID", "the process that target() means; end when it exits",
	    OPTION_CALL(0, take_pid, 0)),
	ROW('r', "recording", "DIR", "a recording to run on; may be repeated", STRINGS(recordings)),
	ROW(0, "from", "TIME", "of a recording: events from this time on: 14:05:09.25, +2.5s",
	    OPTION_CALL(0, take_moment, 0)),
	ROW(0, "to", "TIME", "up to this time", OPTION_CALL(0, take_moment, 1)),
	ROW('T', "timeout", "SECONDS", "end after this time; also 500ms, 2m",
	    OPTION_CALL(0, take_timeout, 0)),
	ROW('l', "list", "POINT", "print the probe points that POINT means",
	    OPTION_CALL(0, take_list, 0)),
	ROW('L', "list-values", "POINT", "and their values", OPTION_CALL(0, take_list, 1)),
	ROW('G', "global", "NAME=VALUE", "the first value of a global variable", STRINGS(globals)),
	ROW('D', "define", "NAME=N",
	    "a limit: MAXSTRINGLEN, MAXACTION, MAXNESTING, MAXMAPENTRIES,\nMAXERRORS, MAXSKIPPED, "
	    "MAXMEMORY",
	    OPTION_CALL(0, take_limit, 0)),
	ROW('o', "output", "FILE", "print there", TEXT(output)),
	ROW('S', "size", "MB[,N]", "begin a new file after so many megabytes; keep the newest N",
	    OPTION_CALL(0, take_size, 0)),
	ROW('F', "flight-recorder", NULL,
	    "keep the newest output in memory (-S: how much); print it at the\nend and on SIGUSR1",
	    FLAG(is_flight_recorder)),
	ROW(0, "json", NULL, "tables and plots as JSON, a line each", FLAG(is_json)),
	ROW(0, "tables", "FILE", "write tables and plots there, as JSON, not to the output",
	    TEXT(tables)),
	ROW(0, "no-system", NULL, "system() is an error", FLAG(runs_no_system)),
	ROW(0, "save", "DIR", "keep a recording of the events and of the results in DIR",
	    TEXT(save)),
	ROW(0, "store", NULL, "keep the tables and plots in the recording: duet report scripts",
	    FLAG(stores)),
	ROW('p', "pass", "N",
	    "stop after pass N: 1 parse, 2 resolve, 3 compile (each prints\nits result), 4 say how "
	    "each probe would run",
	    OPTION_CALL(0, take_pass, 0)),
	ROW('m', "module", "NAME",
	    "write all of the script, with macros, arguments, -G and -D, into one\nfile that can "
	    "be "
	    "run; with -p4 it does not run now",
	    TEXT(module)),
	ROW('v', "verbose", NULL, "say what is done, how long it takes, and where each probe runs",
	    FLAG(is_verbose)),
	ROW('w', "no-warnings", NULL, "print no warnings", FLAG(hides_warnings)),
	ROW('W', "warnings-are-errors", NULL, "do not run a script with warnings",
	    FLAG(warnings_are_errors)),
	ROW('u', "unoptimized", NULL, "leave out nothing that has no effect", FLAG(keeps_unused)),
	ROW(0, "skip-badvars", NULL, "a $variable that is not there is 0", FLAG(skips_bad_values)),
	ROW(0, "interpret", NULL, "do not translate to machine code", FLAG(interprets)),
	ROW('g', "guru", NULL, "refused: says what to do instead", OPTION_CALL(0, take_guru, 0)),
};

static const struct option_table table = { rows, sizeof rows / sizeof *rows };

static const char usage[] =
	"usage: duet script [OPTIONS] FILE [RECORDING...] [ARGUMENTS]\n"
	"       duet script [OPTIONS] -e TEXT [RECORDING...] [ARGUMENTS]\n"
	"       duet script -l POINT | -L POINT [RECORDING...]\n\n"
	"Runs a script over events of the kernel and of programs: of this system now, or of "
	"recordings.\nThe language is SystemTap's; man 7 duet-script-language describes it.\n\n";

static const char examples[] =
	"  duet script -e 'probe syscall.openat { println(execname(), \" \", argstr) }' -c ls\n"
	"  duet script -e 'global n; probe syscall.* { n[name]++ }' RECORDING\n";

/* ---------------------------------------------------------------- arguments */

static bool is_recording(const char *path)
{
	static const char *const signs[] = { "metadata", ".duet", "kernel", "ust", "index" };
	char file[PATH_MAX];
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	for (unsigned i = 0; i < sizeof signs / sizeof *signs; i++)
		if (snprintf(file, sizeof file, "%s/%s", path, signs[i]) < (int)sizeof file &&
		    !access(file, F_OK))
			return true;
	return false;
}

/* Recordings first, then the script's own.  @first_own: index of what follows `--`. */
static void sort_arguments(struct script_options *o, int argc, char **argv, int first_own)
{
	int i = optind;

	if (!o->text && !o->point && i < argc)
		o->file = argv[i++];
	while (i < argc && i < first_own && is_recording(argv[i]))
		cmd_add_string(&o->recordings, argv[i++]);
	while (i < argc)
		cmd_add_string(&o->arguments, argv[i++]);
}

static int check(const struct script_options *o)
{
	if (!o->text && !o->file && !o->point)
		return cmd_usage("script", "no script given");
	if (o->recordings.n && (o->command || o->target || o->save))
		return cmd_error("script", "%s: it is for the running system, not for recordings",
				 o->command  ? "-c"
				 : o->target ? "-x"
					     : "--save");
	if (!o->recordings.n && (o->from.is_given || o->to.is_given))
		return cmd_error("script", "--from and --to: they are for recordings");
	if (o->module && o->pass < 4)
		return cmd_error("script", "-m: it is for -p4, and for scripts that run");
	if (o->stores && !o->recordings.n && !o->save)
		return cmd_error("script", "--store: it is for a recording, or for --save");
	if (o->command && o->target)
		return cmd_error("script", "either -c or -x");
	if (o->n_files && !o->output && !o->is_flight_recorder)
		return cmd_error("script", "-S: it divides the file of -o, which is not given");
	if (o->file_bytes && !o->output && !o->is_flight_recorder)
		return cmd_error("script", "-S: it is for -o and -F");
	return OPTIONS_GO_ON;
}

/* `--`, if the first argument of the script itself is behind it. */
static int find_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return argc - i - 1;
	return 0;
}

int script_options(struct script_options *o, int argc, char **argv)
{
	const struct options options = { .verb = "script",
					 .bit = 1,
					 .usage = usage,
					 .examples = examples,
					 .tables = { &table },
					 .parts = { o } };
	int behind = find_separator(argc, argv);
	int status;

	*o = (struct script_options){ .pass = SCRIPT_PASS_RUN };
	status = options_parse(&options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	sort_arguments(o, argc, argv, behind ? argc - behind : argc);
	return check(o);
}
