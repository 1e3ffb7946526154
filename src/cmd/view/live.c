/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/live.c - `duet live`: prints a recording while it is made.
 *
 * It follows the files.  The session is asked only where it records to.  So following costs the
 * recorder nothing, works for a relay's recordings, and a slow or killed follower disturbs nothing.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/view/live.h"
#include "cmd/view/view.h"
#include "base/progress.h"
#include "cmd/print/print.h"

static const char help[] =
	"usage: duet live [OPTIONS] [SESSION | DIRECTORY]...\n\n"
	"Prints the events of a session while it records, as duet view does: in order, about a "
	"second after they\n"
	"happen, until the recording ends or Ctrl-C.  Without SESSION: of the only session that "
	"records.  DIRECTORY\n"
	"is a recording on this machine, also one that a relay writes.\n\n"
	"  -s, --session NAME  the same as SESSION\n"
	"  --begin      from the recording's beginning, not from now\n"
	"  --at HOST[:PORT]  a recording that a relay there (duet relay --watch) receives: SESSION "
	"is HOST, NAME,\n"
	"               HOST/NAME or a pattern; if none or several match, they are listed\n"
	"  --psk FILE   the relay's key; or --cert FILE --key FILE --ca FILE, or --plain within "
	"this machine\n"
	"  --spool SIZE at most this much of it on the disk here, below $TMPDIR (default: 64M)\n"
	"  --serve[=[ADDRESS]:PORT]  show nothing, but let Babeltrace attach (lttng-live; default: "
	"127.0.0.1:5344)\n"
	"  --anywhere   with --serve: also on addresses that other machines reach; the protocol "
	"has neither keys nor TLS\n" VIEW_HELP "\n  duet live -f 'size > 4096'           # in one "
	"terminal, while in another: duet record ...\n"
	"  duet live --at mars --psk key -e 'shop:*'\n"
	"  duet live --serve & babeltrace2 -i lttng-live net://localhost\n";

struct live {
	bool begin, serve, anywhere;
	const char *address; /* of --serve; NULL: the default */
	struct live_at at;
};

/* Returns the value of option @name at argv[*i], as "--name=value" or "--name value"; else NULL.
 * Advances *@i to the value. */
static const char *value_of(const char *name, char **argv, int *i)
{
	size_t n = strlen(name);

	if (strncmp(argv[*i], name, n) || (argv[*i][n] && argv[*i][n] != '='))
		return NULL;
	if (argv[*i][n])
		return argv[*i] + n + 1;
	return argv[*i + 1] ? argv[++*i] : NULL;
}

/* Whether argv[*i] is an option about another host; -1 after a reported error. */
static int take_remote_option(struct live *l, char **argv, int *i)
{
	struct tls_keys *k = &l->at.keys.o.keys;
	const struct {
		const char *name, **to;
	} options[] = { { "--at", &l->at.host },
			{ "--psk", &k->psk },
			{ "--cert", &k->cert },
			{ "--key", &k->key },
			{ "--ca", &k->ca } };
	const char *size;

	for (unsigned n = 0; n < sizeof options / sizeof *options; n++) {
		const char *value = value_of(options[n].name, argv, i);

		if (value)
			*options[n].to = value;
		if (value)
			return 1;
	}
	if (!strcmp(argv[*i], "--plain"))
		return k->is_plain = true;
	size = value_of("--spool", argv, i);
	if (size && !cmd_parse_size("live", size, &l->at.most_bytes))
		return -1;
	return size != NULL;
}

/* The session of -s NAME, -sNAME, --session NAME or --session=NAME at argv[*i]; else NULL. */
static const char *session_of(char **argv, int *i)
{
	const char *value = value_of("--session", argv, i);

	if (!value && !strncmp(argv[*i], "-s", 2))
		value = argv[*i][2] ? argv[*i] + 2 : argv[*i + 1] ? argv[++*i] : NULL;
	return value;
}

/* Whether @arg is an option of duet live, not of duet view. */
static bool take_own_option(struct live *l, const char *arg)
{
	if (!strcmp(arg, "--begin"))
		return l->begin = true;
	if (!strcmp(arg, "--anywhere"))
		return l->anywhere = true;
	if (strncmp(arg, "--serve", 7) || (arg[7] && arg[7] != '='))
		return false;
	l->address = arg[7] ? arg + 8 : NULL;
	return l->serve = true;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int live_refuse_sent(const char *const *paths, int n)
{
	struct progress p;

	for (int i = 0; i < n; i++) {
		progress_read(paths[i], &p);
		if (p.is_sent && p.state != PROGRESS_ENDED)
			return cmd_error(
				"live", "%s is sent to a relay, and not kept here: follow it there",
				paths[i]);
	}
	return 0;
}

/* @args: the arguments without options and their values. */
static int resolve(char *const *args, int n, char paths[][PATH_MAX], const char **at)
{
	int status = n ? 0 : live_session("live", NULL, paths[0]);

	for (int i = 0; i < n && !status; i++)
		if (is_directory(args[i]))
			snprintf(paths[i], PATH_MAX, "%s", args[i]);
		else
			status = live_session("live", args[i], paths[i]);
	for (int i = 0; i < (n ? n : 1) && !status; i++)
		at[i] = paths[i];
	return status;
}

enum { PATHS_MAX = 64 };

static int run(const struct live *l, int argc, char **argv, int n_args, char *const *args)
{
	static char paths[PATHS_MAX][PATH_MAX];
	const char *at[PATHS_MAX + 1] = { NULL };
	int status;

	if (n_args > PATHS_MAX)
		return cmd_error("live", "more than %d recordings", PATHS_MAX);
	status = resolve(args, n_args, paths, at);
	if (status)
		return status;
	n_args = n_args ? n_args : 1;
	if (l->serve)
		return live_serve(at, n_args, l->address, l->anywhere, l->begin);
	status = reader_confine(&(struct reader){ .verb = "live" });
	if (!status)
		status = live_refuse_sent(at, n_args);
	if (status)
		return status;
	return view_follow("live", at, n_args, !l->begin, NULL, argc, argv);
}

int cmd_live(int argc, char **argv)
{
	char **view = cmd_grow(NULL, 2 * argc + 1, sizeof *view), **args = view + argc + 1;
	struct live l = { .at.most_bytes = 64 << 20 };
	const struct tls_keys *k = &l.at.keys.o.keys;
	int n_view = 1, n_args = 0, is_remote;
	const char *session;

	view[0] = argv[0]; /* kept until exit */
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return print_own(help);
		is_remote = take_remote_option(&l, argv, &i);
		if (is_remote < 0)
			return CMD_FAILED;
		if (is_remote || take_own_option(&l, argv[i]))
			continue;
		session = session_of(argv, &i);
		if (session) {
			args[n_args++] = (char *)session;
			continue;
		}
		if (!strcmp(argv[i], "-s") || !strcmp(argv[i], "--session"))
			return cmd_usage("live", "-s: an option lacks its value");
		if (*argv[i] != '-') {
			args[n_args++] = argv[i];
			continue;
		}
		view[n_view++] = argv[i];
		if (view_takes_value(argv[i]) && i + 1 < argc)
			view[n_view++] = argv[++i];
	}
	view[n_view] = NULL;
	if (l.anywhere && !l.serve)
		return cmd_usage("live", "--anywhere needs --serve");
	if (l.serve && n_view > 1)
		return cmd_usage("live", "--serve shows nothing: it takes no options of duet view");
	if (l.at.host && l.serve)
		return cmd_usage(
			"live", "--serve serves recordings of this machine: run it on the relay's");
	if (l.at.host)
		return live_at(&l.at, args, n_args, l.begin, n_view, view);
	if (k->psk || k->cert || k->key || k->ca || k->is_plain)
		return cmd_usage("live", "keys are for --at");
	return run(&l, n_view, view, n_args, args);
}
