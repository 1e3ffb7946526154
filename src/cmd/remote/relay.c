/* SPDX-License-Identifier: MIT */
/* cmd/remote/relay.c - duet relay: receives the recordings of other hosts. */
#include "net/relay/relay.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/record/chunk_options.h"
#include "cmd/remote/send.h"
#include "collect/chunks/retention.h"

/* Who reads what we tell, and who removes what is old. */
struct log {
	bool is_quiet;
	uint64_t n_unreported;
	struct retention retention;
};

static const char help[] =
	"usage: duet relay [OPTIONS]\n\n"
	"Receives what `duet record --to`, `duet collect --to` and `duet send` send, of many hosts "
	"at once,\n"
	"until Ctrl-C.  Each recording lies in OUTPUT/HOST/SESSION-DATE and can be read while it "
	"grows.\n\n"
	"  -o, --output DIR      where to (default: .)\n"
	"  -l, --listen [HOST][:PORT]  addresses of this machine to listen on (default: all, "
	"port " ENDPOINT_PORT ";\n"
	"                        with --plain 127.0.0.1)\n" SEND_KEY_HELP
	"      --max-size SIZE   of one recording; what is larger is refused (default: no limit)\n"
	"      --keep-last WHAT  of what is finished, pieces and recordings of all hosts together, "
	"keep the newest\n"
	"                        only: SIZE (200G), TIME (7d) or a number\n"
	"      --watch           who has the key may, with duet live, follow what is received\n"
	"  -q, --quiet           do not tell who comes and goes\n\n"
	"  (umask 077; openssl rand -hex 32 >key)       # the same file on both sides\n"
	"  duet relay -o traces --psk key\n"
	"  duet record --to HOST --psk key -- ./serve   # on another host\n";

enum { MAX_SIZE = 256, WATCH, HELP };

/* Whether a short line can be written without waiting: nobody who does not read what is told stops
 * the relay. */
static bool can_report(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* One line an event, for a log.  Texts from the network are without control characters. */
static void report(void *context, enum relay_event what, const char *who, const char *text)
{
	static const char *const words[] = { "begins", "goes on", "is complete",
					     "left",   "refused", "follows" };
	struct log *l = context;

	if (l->is_quiet)
		return;
	if (!can_report()) {
		l->n_unreported++;
		return;
	}
	if (l->n_unreported)
		printf("%" PRIu64 " lines are missing here: nobody read them\n", l->n_unreported);
	l->n_unreported = 0;
	printf("%s %s%s%.300s\n", who, words[what], *text ? ": " : "", text);
	fflush(stdout);
}

static void look_after_old(void *context)
{
	struct log *l = context;

	retention_poll(&l->retention);
}

static int run(const struct relay_options *o, struct log *l)
{
	struct diag d = { "" };
	struct relay *r;
	int err;

	if (relay_open(&r, o, &d))
		return cmd_error("relay", "%s", d.text);
	if (!l->is_quiet) {
		printf("listens on port %d, writes into %s%s\n", relay_port(r), o->output,
		       o->keys.is_plain ? "; plain, within this machine" : "");
		fflush(stdout);
	}
	err = relay_run(r, &d);
	relay_close(r);
	retention_end(&l->retention);
	return err ? cmd_error("relay", "%s", d.text) : 0;
}

int cmd_relay(int argc, char **argv)
{
	static const struct option options[] = { SEND_KEY_OPTIONS,
						 { "output", required_argument, NULL, 'o' },
						 { "listen", required_argument, NULL, 'l' },
						 { "max-size", required_argument, NULL, MAX_SIZE },
						 { "keep-last", required_argument, NULL,
						   TRACE_CHUNKS_KEEP },
						 { "watch", no_argument, NULL, WATCH },
						 { "quiet", no_argument, NULL, 'q' },
						 { "help", no_argument, NULL, HELP },
						 { NULL, 0, NULL, 0 } };
	struct log log = { .retention = RETENTION_NONE };
	struct relay_options o = {
		.output = ".", .on_event = report, .tick = look_after_old, .context = &log
	};
	const char *listen = ":" ENDPOINT_PORT;
	struct diag d = { "" };
	struct send s;
	int c, status;

	send_begin(&s);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:l:q", options, NULL)) != -1) {
		status = -1;
		if (c == 'o')
			o.output = optarg;
		else if (c == 'l')
			listen = optarg;
		else if (c == 'q')
			log.is_quiet = true;
		else if (c == WATCH)
			o.allows_followers = true;
		else if (c == MAX_SIZE)
			status = cmd_parse_size("relay", optarg, &o.most_bytes) ? -1 : CMD_FAILED;
		else if (c == TRACE_CHUNKS_KEEP)
			status = trace_chunks_take("relay", &log.retention.o, c);
		else if (c == HELP)
			return fputs(help, stdout) < 0;
		else
			status = send_take("relay", &s, c);
		if (status == -2)
			return cmd_usage("relay",
					 c == ':' ? "an option lacks its value" : "no such option");
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return cmd_usage("relay", "no argument expected");
	if (endpoint_parse(&o.listen, listen, &d))
		return cmd_error("relay", "-l %s", d.text);
	o.keys = s.o.keys;
	log.retention.output = o.output;
	return run(&o, &log);
}
