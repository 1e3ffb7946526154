/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/repair.c - `duet repair TRACE NEW`: writes the sound parts of a damaged recording as a
 * new one.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/export/internal.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "trace/repair/repair.h"

static const char usage[] =
	"usage: duet repair TRACE NEW\n\n"
	"Writes the undamaged parts of TRACE as NEW, which every CTF reader opens,\n"
	"and reports the damage.  TRACE is not changed.\n";

static void warn(void *context, const char *text)
{
	(void)context;
	cmd_error("repair", "%s", text);
}

static void begin(void *context, const struct trace *t)
{
	(void)context;
	progress_begin("repair", t);
}

static bool advance(void *context, uint64_t bytes)
{
	(void)context;
	return progress_made(bytes);
}

int repair_confine(const char *verb, const struct repair_target *t)
{
	char parent[4096];
	const struct reader r = { .verb = verb,
				  .writes = { t->work },
				  .directories = { reader_parent(t->path, parent) } };

	return reader_confine(&r);
}

static int write_repaired(const char *from, const char *to)
{
	struct repair_options o = { .warn = warn, .begin = begin, .progress = advance };
	struct repair_target target = { .work = "" };
	struct diag d = { "" };
	struct repaired r;
	char text[4][64];
	int status = 0;
	uint64_t n;

	progress_catch();
	if (repair_prepare(&target, to, &d))
		return cmd_error("repair", "%s", d.text);
	status = repair_confine("repair", &target);
	if (!status && repair(from, &target, &o, &r, &d))
		status = cmd_error("repair", "%s", d.text);
	repair_drop(&target);
	if (status)
		return status;
	progress_end();
	print_out("%s: %s in %s, %s, %s\n", to, cmd_count_text(r.n_events, "event", text[0]),
		  cmd_count_text(r.n_packets, "packet", text[1]),
		  cmd_count_text(r.n_streams, "stream", text[2]),
		  cmd_count_text(r.n_traces, "trace", text[3]));
	n = r.n_cut + r.n_left_out + r.n_retimed + r.n_gaps;
	if (n)
		print_out("repaired: %s shortened to the undamaged beginning, %" PRIu64
			  " left out, %" PRIu64 " with a wrong end; %s of metadata left out\n",
			  cmd_count_text(r.n_cut, "packet", text[0]), r.n_left_out, r.n_retimed,
			  cmd_count_text(r.n_gaps, "place", text[1]));
	return 0;
}

int cmd_repair(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("repair", c, options, argv);
		print_own(usage);
		return 0;
	}
	if (argc - optind != 2)
		return cmd_usage("repair", "give a recording and a new directory");
	umask(0077); /* recordings are private: duet-record(1), --group */
	return write_repaired(argv[optind], argv[optind + 1]);
}
