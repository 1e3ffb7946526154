/* SPDX-License-Identifier: MIT */
/* cmd/remote/send.c - send a recording to a relay: duet send, and record, start, collect --to. */
#include "cmd/remote/send.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "cmd/record/chunk_options.h"
#include "cmd/record/options.h"
#include "collect/tenant/public.h"
#include "net/send/public.h"

#define SPOOL_BYTES (1ull << 30)
#define SPOOL_LEAST (1ull << 20)
#define SEND_TIMEOUT_NS 30000000000ull
enum { FIRST_ANSWER_MS = 3000 };

static const char usage[] =
	"usage: duet send [OPTIONS] DIR HOST[:PORT]\n\n"
	"Sends a recording to a relay (duet relay): one that was made here, or what a `duet record "
	"--to`\n"
	"could not send.  What the relay has already is not sent again.\n\n";

/* duet send's own options; those for keys are in recording_options. */
struct send_command {
	struct send send;
	bool is_quiet;
};

static int take_compress(const struct option_value *v)
{
	struct send_command *c = v->part;

	return trace_chunks_parse_level(v->verb, v->text, &c->send.o.compression_level);
}

static const struct option_row own_rows[] = {
	{ .name = "compress",
	  .argument = "zstd[:LEVEL]",
	  .verbs = VERB_SEND,
	  .help = "what the link carries; level 1 (default) to 19",
	  OPTION_CALL(PART_OWN, take_compress, 0) },
	{ .name = "remove",
	  .verbs = VERB_SEND,
	  .help = "then remove it here",
	  OPTION_FIELD(OPTION_FLAG, PART_OWN, bool, send_command, send.o.frees) },
	{ .name = "flush-timeout",
	  .argument = "T",
	  .verbs = VERB_SEND,
	  .help = "give up after so long without progress (default: 30s)",
	  OPTION_FIELD(OPTION_TIME, PART_OWN, uint64_t, send_command, send.o.timeout_ns) },
	{ .name = "quiet",
	  .letter = 'q',
	  .verbs = VERB_SEND,
	  .help = "say nothing if all went well",
	  OPTION_FIELD(OPTION_FLAG, PART_OWN, bool, send_command, is_quiet) },
};
static const struct option_table own_options = { own_rows, sizeof own_rows / sizeof *own_rows };

void send_begin(struct send *s)
{
	*s = (struct send){ .spool_bytes = SPOOL_BYTES,
			    .o.timeout_ns = SEND_TIMEOUT_NS,
			    .sender.control = -1 };
}

int send_take_spool(const struct option_value *v)
{
	struct send *s = v->part;

	if (!cmd_parse_size(v->verb, v->text, &s->spool_bytes))
		return CMD_FAILED;
	return s->spool_bytes < SPOOL_LEAST ? cmd_error(v->verb, "--spool %s: at least 1M", v->text)
					    : 0;
}

int send_check(const char *verb, struct send *s)
{
	const struct tls_keys *k = &s->o.keys;
	struct diag d = { "" };

	if (!s->to)
		return k->psk || k->cert || k->key || k->ca || k->is_plain || s->keeps
			       ? cmd_usage(verb, "keys and --keep are for --to")
			       : 0;
	if (endpoint_parse(&s->o.to, s->to, &d))
		return cmd_error(verb, "--to %s", d.text);
	return *s->o.to.host ? 0 : cmd_error(verb, "--to %s: which host?", s->to);
}

int send_start(const char *verb, struct send *s, const char *path, const char *session)
{
	struct diag d = { "" };

	if (!s->to)
		return 0;
	s->o.path = path;
	s->o.session = session;
	s->o.frees = !s->keeps;
	assert(path && session && s->spool_bytes >= SPOOL_LEAST);
	return sender_fork(&s->sender, &s->o, s->spool_bytes, &d) ? cmd_error(verb, "%s", d.text)
								  : 0;
}

int send_follow(const char *verb, struct send *s)
{
	struct diag d = { "" };

	if (!s->to)
		return 0;
	if (sender_begin(&s->sender, FIRST_ANSWER_MS, &d)) {
		sender_fini(&s->sender);
		return cmd_error(verb, "%s", d.text);
	}
	if (load_acquire(&s->sender.status->state) == SENDER_WAITS)
		cmd_error(verb,
			  "%s\n  recording into %s meanwhile; it is sent when the relay answers",
			  *s->sender.status->text ? s->sender.status->text
						  : "the relay does not answer yet",
			  s->o.path);
	return 0;
}

static void print_sent(const char *verb, const struct send *s, const struct sender_status *st)
{
	char size[32], link[32];

	print_err("duet %s: %s sent to %s: %s", verb, cmd_size_text(st->acknowledged, size), s->to,
		  st->path);
	if (st->carried_bytes < st->read_bytes)
		print_err(", as %s", cmd_size_text(st->carried_bytes, link));
	else if (s->o.compression_level && st->version == 1)
		print_err(", not compressed: the relay does not know how");
	if (st->n_connections > 1)
		print_err(", over %u connections", st->n_connections);
	if (st->error_ns)
		print_err("; its clock is %+.6f s from ours, to within %.6f s",
			  (double)st->offset_ns / 1e9, (double)st->error_ns / 1e9);
	print_err("\n");
	if (st->n_skipped)
		cmd_error(verb,
			  "%u files were not sent: no relay takes names like theirs, or this one "
			  "did not want them",
			  st->n_skipped);
}

static void add_argument(char *text, size_t size, const char *option, const char *value)
{
	size_t n = strlen(text);

	if (value)
		snprintf(text + n, size - n, " %s%s%s", option, *value ? " " : "", value);
}

static int print_unsent(const char *verb, const struct send *s, const struct sender_status *st)
{
	const struct tls_keys *k = &s->o.keys;
	uint64_t left = st->total - st->acknowledged;
	char size[32], level[32], keys[PATH_MAX] = "";

	add_argument(keys, sizeof keys, "--psk", k->psk);
	add_argument(keys, sizeof keys, "--cert", k->cert);
	add_argument(keys, sizeof keys, "--key", k->key);
	add_argument(keys, sizeof keys, "--ca", k->ca);
	add_argument(keys, sizeof keys, "--plain", k->is_plain ? "" : NULL);
	snprintf(level, sizeof level, "zstd:%d", s->o.compression_level);
	add_argument(keys, sizeof keys, "--compress", s->o.compression_level ? level : NULL);
	return cmd_error(verb, "%s of %s not sent%s%s\n  to go on: duet send%s%s %s %s",
			 st->total ? cmd_size_text(left, size) : "all", s->o.path,
			 *st->text ? ": " : "", st->text, keys, s->o.frees ? " --remove" : "",
			 s->o.path, s->to);
}

/* The sending processes have a group of their own: Ctrl-C ends the wait, not them. */
static void print_wait(const char *verb, const struct send *s)
{
	if (load_acquire(&s->sender.status->state) == SENDER_WAITS)
		print_err("duet %s: waits up to %.0f s for the relay at %s; Ctrl-C leaves it to a "
			  "process in the background\n",
			  verb, (double)s->sender.timeout_ns / 1e9, s->to);
}

int send_finish(const char *verb, struct send *s, bool is_quiet)
{
	struct sender_status *st = s->sender.status;
	int status = 0;

	if (!s->to)
		return 0;
	print_wait(verb, s);
	if (sender_end(&s->sender) != SENDER_DONE) {
		status = print_unsent(verb, s, st);
	} else {
		if (!is_quiet || st->n_skipped)
			print_sent(verb, s, st);
		if (s->o.frees && !st->n_skipped)
			spool_remove(s->o.path);
	}
	sender_fini(&s->sender);
	return status;
}

/* The last component of the real path, also for "." and "dir/". */
static const char *base_name(const char *path, char whole[PATH_MAX])
{
	return realpath(path, whole) && whole[1] ? strrchr(whole, '/') + 1 : "recording";
}

/*
 * Send one recording, or one tenant's part of it.  @within is its path for a process with the
 * rights of the owner.
 */
static int send_one(struct send *s, const char *path, const char *within, const char *session,
		    bool is_quiet)
{
	struct sender_status st = { 0 };
	struct diag d = { "" };

	s->o.path = path;
	s->o.session = session;
	if (sender_run(&s->o, &st, &d))
		return st.state == SENDER_GAVE_UP
			       ? print_unsent("send", s, &st)
			       : cmd_error("send", "%s", *st.text ? st.text : d.text);
	if (!is_quiet || st.n_skipped)
		print_sent("send", s, &st);
	if (s->o.frees && !st.n_skipped)
		spool_remove(within);
	return 0;
}

static int take_owners_rights(void *arg, struct diag *d)
{
	const struct send *s = arg;

	(void)d;
	owner_begin(s->o.dir);
	return 0;
}

/*
 * The owner may change its part at any time.  So the part is read and removed with the owner's
 * rights.
 */
static int send_part(struct send *s, const char *path, const char *session, bool is_quiet)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), status;
	const struct rights ours = { geteuid(), getegid() };
	char within[32];

	if (dir < 0)
		return cmd_error("send", "cannot open %s: %s", path, strerror(errno));
	snprintf(within, sizeof within, "/proc/self/fd/%d", dir);
	s->o.dir = dir;
	s->o.confine = take_owners_rights;
	s->o.confine_arg = s;
	status = send_one(s, path, within, session, is_quiet);
	owner_end(ours);
	s->o.confine = NULL;
	s->o.dir = 0;
	close(dir);
	if (!status && s->o.frees)
		rmdir(path);
	return status;
}

/* Send the tenants' parts (docs/design/tenants.md), each as a separate recording. */
static int send_parts(struct send *s, const char *path, const char *session, bool is_quiet, int *n)
{
	char part[PATH_MAX], name[PATH_MAX];
	DIR *dir = opendir(path);
	struct dirent *e;
	int status = 0;

	for (*n = 0; dir && !status && (e = readdir(dir));) {
		if (strncmp(e->d_name, "tenant-", 7) ||
		    snprintf(part, sizeof part, "%s/%s", path, e->d_name) >= PATH_MAX)
			continue;
		snprintf(name, sizeof name, "%s@%s", session, e->d_name + 7);
		status = send_part(s, part, name, is_quiet);
		++*n;
	}
	if (dir)
		closedir(dir);
	return status;
}

static int send_all(struct send *s, const char *path, bool is_quiet)
{
	char whole[PATH_MAX], own[PATH_MAX];
	const char *session = base_name(path, whole);
	int n_parts, status = send_parts(s, path, session, is_quiet, &n_parts);

	/* The main part may have been sent and removed before. */
	snprintf(own, sizeof own, "%s/.duet", path);
	if (!status && (!n_parts || !access(own, F_OK)))
		return send_one(s, path, path, session, is_quiet);
	if (!status && s->o.frees)
		rmdir(path);
	return status;
}

int cmd_send(int argc, char **argv)
{
	struct send_command c = { .is_quiet = false };
	const struct options options = { .verb = "send",
					 .bit = VERB_SEND,
					 .usage = usage,
					 .tables = { &recording_options, &own_options },
					 .parts = { [PART_OWN] = &c, [PART_SEND] = &c.send } };
	int status;

	send_begin(&c.send);
	status = options_parse(&options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (argc - optind != 2)
		return cmd_usage("send", "a recording and a host expected");
	c.send.to = argv[optind + 1];
	status = send_check("send", &c.send);
	return status ? status : send_all(&c.send, argv[optind], c.is_quiet);
}
