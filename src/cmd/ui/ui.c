/* SPDX-License-Identifier: MIT */
/*
 * cmd/ui/ui.c - duet ui: recordings as a timeline in the browser.
 *
 * The server is ui/server; here are its options, its output, and the browser.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/ui/browser.h"
#include "cmd/ui/html.h"
#include "ui/server/server.h"

enum { PART_UI, VERB_UI = 1, IDLE_MINUTES = 10 };

static const char usage[] =
	"usage: duet ui [OPTIONS] [RECORDING]...\n\n"
	"Shows recordings as a timeline in the browser: CPUs, processes and threads, what each "
	"did and why it\n"
	"waited, on one clock.  Prints the address, and opens it if there is a display.  The page "
	"shows what is\n"
	"indexed so far; the index is kept beside the recording.  Without RECORDING the page lists "
	"the sessions\n"
	"of this user.  Ends with Ctrl-C, or some minutes after the last page was closed.\n\n";

static const char notes[] =
	"\nOnly this machine reaches the address, and only with its token.  From another one:\n"
	"  ssh -L 7080:localhost:7080 HOST duet ui --port 7080 RECORDING\n";

struct ui_command {
	struct html_command html;
	struct ui_server_options o;
	struct cmd_strings sessions;
	bool stays, has_no_browser;
};

static int take_port(const struct option_value *v)
{
	struct ui_command *c = v->part;
	char *end;
	long port;

	errno = 0;
	port = strtol(v->text, &end, 10);
	if (end == v->text || *end || errno || port < 0 || port > 65535)
		return cmd_error("ui", "--port %s: not a port: use a number up to 65535", v->text);
	c->o.port = (int)port;
	return 0;
}

#define UI_FIELD(kind, type, member) OPTION_FIELD(kind, PART_UI, type, ui_command, member)

static const struct option_row rows[] = {
	{ .name = "port",
	  .argument = "N",
	  .verbs = VERB_UI,
	  .help = "of this machine's loopback (default: a free one)",
	  OPTION_CALL(PART_UI, take_port, 0) },
	{ .name = "no-browser",
	  .verbs = VERB_UI,
	  .help = "print the address only",
	  UI_FIELD(OPTION_FLAG, bool, has_no_browser) },
	{ .name = "idle",
	  .argument = "TIME",
	  .verbs = VERB_UI,
	  .help = "ends so long after the last page was closed (default: 10m)",
	  UI_FIELD(OPTION_TIME, uint64_t, o.idle_ns) },
	{ .name = "stay",
	  .verbs = VERB_UI,
	  .help = "ends with Ctrl-C alone",
	  UI_FIELD(OPTION_FLAG, bool, stays) },
	{ .name = "session",
	  .letter = 's',
	  .argument = "NAME",
	  .verbs = VERB_UI,
	  .help = "show this session while it records; a RECORDING may be its name as well",
	  UI_FIELD(OPTION_STRINGS, struct cmd_strings, sessions) },
	{ .name = "no-cache",
	  .verbs = VERB_UI,
	  .help = "neither use nor keep an index beside the recording",
	  UI_FIELD(OPTION_FLAG, bool, o.no_cache) },
	{ .name = "listen",
	  .argument = "ADDRESS",
	  .verbs = VERB_UI,
	  .help = "other machines may reach it there, with TLS and a password",
	  UI_FIELD(OPTION_TEXT, const char *, o.listen) },
	{ .name = "password-file",
	  .argument = "FILE",
	  .verbs = VERB_UI,
	  .help = "the password is its first line; others must not be able to read it",
	  UI_FIELD(OPTION_TEXT, const char *, o.password_file) },
	{ .name = "tls-cert",
	  .argument = "FILE",
	  .verbs = VERB_UI,
	  .help = "certificate (PEM; default: one made for this run, its fingerprint is printed)",
	  UI_FIELD(OPTION_TEXT, const char *, o.tls_cert) },
	{ .name = "tls-key",
	  .argument = "FILE",
	  .verbs = VERB_UI,
	  .help = "its key",
	  UI_FIELD(OPTION_TEXT, const char *, o.tls_key) },
	{ .name = "html",
	  .argument = "FILE",
	  .verbs = VERB_UI,
	  .help = "write page and data as one file, which needs neither duet nor network",
	  UI_FIELD(OPTION_TEXT, const char *, html.file) },
	{ .name = "from",
	  .argument = "TIME",
	  .verbs = VERB_UI,
	  .help = "--html: only from this time, as in duet view",
	  UI_FIELD(OPTION_TEXT, const char *, html.from) },
	{ .name = "to",
	  .argument = "TIME",
	  .verbs = VERB_UI,
	  .help = "--html: only up to this time",
	  UI_FIELD(OPTION_TEXT, const char *, html.to) },
	{ .name = "rows",
	  .argument = "NAME,..",
	  .verbs = VERB_UI,
	  .help = "--html: only rows of this name (a glob), pid or tid, and those below",
	  UI_FIELD(OPTION_TEXT, const char *, html.rows) },
	{ .name = "size",
	  .argument = "SIZE",
	  .verbs = VERB_UI,
	  .help = "--html: at most so large (default: 20M)",
	  UI_FIELD(OPTION_TEXT, const char *, html.size) },
};
static const struct option_table table = { rows, sizeof rows / sizeof *rows };

static struct ui_server *running; /* for the handler of signals */

static void stop(int signal_number)
{
	(void)signal_number;
	ui_server_stop(running);
}

static void end_by_signals(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	/* A second one ends it at once, even if a query does not end. */
	const struct sigaction act = { .sa_handler = stop, .sa_flags = SA_RESTART | SA_RESETHAND };

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		sigaction(ending[i], &act, NULL);
}

/* Over ssh the browser is on another machine. */
static void print_address(const struct ui_server *s, const struct ui_command *c)
{
	const char *ssh = getenv("SSH_CONNECTION");
	char host[256] = "";

	print_out("%s\n", ui_server_address(s));
	if (*ui_server_fingerprint(s))
		print_out("SHA-256 fingerprint of its certificate: %s\n", ui_server_fingerprint(s));
	if (!c->o.listen && ssh && *ssh && !gethostname(host, sizeof host - 1))
		print_out("from the machine you sit at: ssh -L %d:localhost:%d %s, then open it "
			  "there\n",
			  ui_server_port(s), ui_server_port(s), host);
	if (isatty(STDOUT_FILENO))
		print_out(c->o.idle_ns ? "Ctrl-C ends it, as does a while without a page\n"
				       : "Ctrl-C ends it\n");
	print_flush();
}

static int serve(const struct ui_command *c)
{
	struct diag d = { "" };
	int err;

	if (!c->has_no_browser)
		browser_prepare();
	if (ui_server_open(&running, &c->o, &d))
		return cmd_error("ui", "%s", d.text);
	end_by_signals();
	print_address(running, c);
	if (!c->has_no_browser)
		browser_open(ui_server_browser_address(running));
	err = ui_server_run(running, &d);
	ui_server_close(running);
	cut_files_forget(); /* the page has shown what is damaged */
	return err ? cmd_error("ui", "%s", d.text) : 0;
}

static int write_html(struct ui_command *c)
{
	c->html.no_cache = c->o.no_cache;
	c->html.self = c->o.self;
	c->html.paths = c->o.paths;
	c->html.n_paths = c->o.n_paths;
	return html_command_run(&c->html);
}

int cmd_ui(int argc, char **argv)
{
	struct ui_command c = { .o.idle_ns = IDLE_MINUTES * 60000000000ull };
	char self[PATH_MAX] = "";
	const struct options options = { .verb = "ui",
					 .bit = VERB_UI,
					 .usage = usage,
					 .notes = notes,
					 .tables = { &table },
					 .parts = { [PART_UI] = &c } };
	int status = options_parse(&options, argc, argv);

	if (status != OPTIONS_GO_ON)
		return status;
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return cmd_error("ui", "cannot find this program: %s", strerror(errno));
	if (!c.o.tls_cert != !c.o.tls_key)
		return cmd_usage("ui", "--tls-cert and --tls-key go together");
	if (!c.o.listen && (c.o.password_file || c.o.tls_cert))
		return cmd_usage("ui", "--password-file and --tls-cert are for --listen");
	if (!c.html.file && (c.html.from || c.html.to || c.html.rows || c.html.size))
		return cmd_usage("ui", "--from, --to, --rows and --size are for --html");
	for (int i = optind; i < argc; i++)
		cmd_add_string(&c.sessions, argv[i]);
	c.o.self = self;
	c.o.paths = c.sessions.at;
	c.o.n_paths = c.sessions.n;
	if (c.stays)
		c.o.idle_ns = 0;
	status = c.html.file ? write_html(&c) : serve(&c);
	free(c.sessions.at);
	return status;
}
