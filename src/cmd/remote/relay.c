/* SPDX-License-Identifier: MIT */
/* cmd/remote/relay.c - duet relay: receive the recordings of other hosts. */
#include "net/relay/relay.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/record/options.h"
#include "cmd/remote/send.h"
#include "collect/chunks/public.h"
#include "sandbox/sandbox.h"

/* State of the log and of retention. */
struct log {
	bool is_quiet;
	uint64_t n_unreported;
	struct retention retention;
};

static const char usage[] =
	"usage: duet relay [OPTIONS]\n\n"
	"Receives what `duet record --to`, `duet collect --to` and `duet send` send, of many hosts "
	"at once,\n"
	"until Ctrl-C.  Each recording lies in OUTPUT/HOST/SESSION-DATE and can be read while it "
	"grows.\n\n";

static const char examples[] =
	"  (umask 077; openssl rand -hex 32 >key)       # the same file on both sides\n"
	"  duet relay -o traces --psk key\n"
	"  duet record --to HOST --psk key -- ./serve   # on another host\n";

/* duet relay's own options; those for keys and --keep-last are in recording_options. */
struct relay_command {
	struct relay_options o;
	struct log log;
	const char *listen;
	const char *group; /* NULL: only this user may read what is received */
};

#define RELAY_FIELD(kind, type, member) OPTION_FIELD(kind, PART_OWN, type, relay_command, member)

static const struct option_row first_rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  .argument = "DIR",
	  .verbs = VERB_RELAY,
	  .help = "where to (default: .)",
	  RELAY_FIELD(OPTION_TEXT, const char *, o.output) },
	{ .name = "listen",
	  .letter = 'l',
	  .argument = "[HOST][:PORT]",
	  .verbs = VERB_RELAY,
	  .help = "addresses of this machine to listen on (default: all, port " ENDPOINT_PORT ";\n"
		  "with --plain 127.0.0.1)",
	  RELAY_FIELD(OPTION_TEXT, const char *, listen) },
};
static const struct option_row last_rows[] = {
	{ .name = "max-size",
	  .argument = "SIZE",
	  .verbs = VERB_RELAY,
	  .help = "of one recording; what is larger is refused (default: no limit)",
	  RELAY_FIELD(OPTION_SIZE, uint64_t, o.most_bytes) },
	{ .name = "group",
	  .argument = "NAME",
	  .verbs = VERB_RELAY,
	  .help = "members of this group may read what is received; else only the relay's user may",
	  RELAY_FIELD(OPTION_TEXT, const char *, group) },
	{ .name = "watch",
	  .verbs = VERB_RELAY,
	  .help = "hosts with the key may follow recordings with duet live",
	  RELAY_FIELD(OPTION_FLAG, bool, o.allows_followers) },
	{ .name = "quiet",
	  .letter = 'q',
	  .verbs = VERB_RELAY,
	  .help = "print no connections and recordings",
	  RELAY_FIELD(OPTION_FLAG, bool, log.is_quiet) },
};
static const struct option_table first_options = { first_rows,
						   sizeof first_rows / sizeof *first_rows };
static const struct option_table last_options = { last_rows, sizeof last_rows / sizeof *last_rows };

/*
 * Whether a short line can be written without waiting: a reader that does not read must not stop
 * the relay.
 */
static bool can_report(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* Print one line for each event, for a log.  Texts from the network have no control characters. */
static void report(void *context, enum relay_event what, const char *who, const char *text)
{
	static const char *const words[] = {
		[RELAY_BEGINS] = "begins",
		[RELAY_RESUMES] = "goes on",
		[RELAY_COMPLETE] = "is complete",
		[RELAY_LEFT] = "left",
		[RELAY_REFUSED] = "refused",
		[RELAY_FOLLOWED] = "follows",
		[RELAY_WAITS] = "WAITS, the disk here has no room",
		[RELAY_WRITES] = "is written again, the disk has room",
	};
	struct log *l = context;

	if (l->is_quiet)
		return;
	if (!can_report()) {
		l->n_unreported++;
		return;
	}
	if (l->n_unreported)
		print_out("%" PRIu64 " lines are missing here: nobody read them\n",
			  l->n_unreported);
	l->n_unreported = 0;
	print_out("%s %s%s%.300s\n", who, words[what], *text ? ": " : "", text);
	print_flush();
}

static void look_after_old(void *context)
{
	struct log *l = context;

	retention_poll(&l->retention);
}

/* Keys are read and sockets listen: from here on all input is that of others.  The process that
 * removes old trace chunks is forked later, from this one. */
static int confine(const struct relay_options *o, const struct log *l, struct diag *d)
{
	const struct trace_chunks_options *keep = &l->retention.o;
	const bool removes = keep->keep_bytes || keep->keep_ns || keep->keep_count;
	const char *const output[] = { o->output, NULL };
	const struct sandbox s = { .name = "duet relay",
				   .rights = SANDBOX_ACCEPTS | (removes ? SANDBOX_FORKS : 0u),
				   .reads = output,
				   .writes = output };

	return sandbox_restrict(&s, d);
}

static int run(const struct relay_options *o, struct log *l)
{
	struct diag d = { "" };
	struct relay *r;
	int err;

	if (relay_open(&r, o, &d))
		return cmd_error("relay", "%s", d.text);
	if (!l->is_quiet) {
		print_out("listens on port %d, writes into %s%s\n", relay_port(r), o->output,
			  o->keys.is_plain ? "; plain, within this machine" : "");
		print_flush();
	}
	err = confine(o, l, &d);
	if (!err)
		err = relay_run(r, &d);
	relay_close(r);
	retention_end(&l->retention);
	return err ? cmd_error("relay", "%s", d.text) : 0;
}

int cmd_relay(int argc, char **argv)
{
	struct relay_command c = {
		.o = { .output = ".",
		       .on_event = report,
		       .tick = look_after_old,
		       .context = &c.log },
		.log = { .retention = RETENTION_NONE },
		.listen = ":" ENDPOINT_PORT,
	};
	struct send keys;
	const struct options options = {
		.verb = "relay",
		.bit = VERB_RELAY,
		.usage = usage,
		.examples = examples,
		.tables = { &first_options, &recording_options, &last_options },
		.parts = { [PART_OWN] = &c,
			   [PART_SEND] = &keys,
			   [PART_CHUNKS] = &c.log.retention.o },
	};
	const struct group *g = NULL;
	struct diag d = { "" };
	int status;

	send_begin(&keys);
	status = options_parse(&options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return cmd_usage("relay", "no argument expected");
	if (endpoint_parse(&c.o.listen, c.listen, &d))
		return cmd_error("relay", "-l %s", d.text);
	if (c.group && !(g = getgrnam(c.group)))
		return cmd_error("relay", "--group %s: no such group (groupadd -r %s)", c.group,
				 c.group);
	if (g && setegid(g->gr_gid))
		return cmd_error("relay", "--group %s: %s: the relay's user is no member", c.group,
				 strerror(errno));
	umask(g ? 0027 : 0077);
	c.o.keys = keys.o.keys;
	c.o.disk = c.log.retention.o.disk;
	c.o.disk_free = c.log.retention.o.disk_free;
	c.log.retention.output = c.o.output;
	return run(&c.o, &c.log);
}
