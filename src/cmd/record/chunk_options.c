/* SPDX-License-Identifier: MIT */
/* cmd/record/chunk_options.c - parse and check --rotate, --keep-last, --compress, --sync, --disk and
 * --disk-free. */
#include "cmd/record/chunk_options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"
#include "ctf/compressed/compressed.h"

/*
 * Whether it is a number with a unit of time: "10min" is not a size, "10M" is not a time;
 * "5 seconds" is refused as a time.
 */
static bool is_time(const char *text)
{
	size_t n = strspn(text, "0123456789");
	size_t unit = n + strspn(text + n, " ");

	return n && text[unit] >= 'a' && text[unit] <= 'z';
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static bool starts_with_digit(const char *text)
{
	return *text >= '0' && *text <= '9';
}

int trace_chunks_take_rotate(const struct option_value *v)
{
	struct trace_chunks_options *o = v->part;
	const char *verb = v->verb, *text = v->text;
	o->rotate = true;
	if (!strcmp(text, "request"))
		return 0;
	if (!starts_with_digit(text))
		return cmd_error(verb, "--rotate %s: a size (1G), a time (10min) or \"request\"",
				 text);
	return (is_time(text) ? cmd_parse_time(verb, text, &o->rotate_ns)
			      : cmd_parse_size(verb, text, &o->rotate_bytes))
		       ? 0
		       : CMD_FAILED;
}

int trace_chunks_take_keep(const struct option_value *v)
{
	struct trace_chunks_options *o = v->part;
	const char *verb = v->verb, *text = v->text;
	uint64_t n;

	if (!starts_with_digit(text))
		return cmd_error(verb,
				 "--keep-last %s: a size (20G), a time (7d) or a number of chunks",
				 text);
	if (is_time(text))
		return cmd_parse_time(verb, text, &o->keep_ns) ? 0 : CMD_FAILED;
	if (!is_number(text))
		return cmd_parse_size(verb, text, &o->keep_bytes) ? 0 : CMD_FAILED;
	n = strtoull(text, NULL, 10);
	if (!n || n > 1000000)
		return cmd_error(verb,
				 "--keep-last %s: 1 to 1000000 chunks, a size (20G) or a time (7d)",
				 text);
	o->keep_count = (uint32_t)n;
	return 0;
}

int trace_chunks_parse_level(const char *verb, const char *text, int *to)
{
	char *end = NULL;
	long level = 1;

	if (!strncmp(text, "zstd:", 5))
		level = strtol(text + 5, &end, 10);
	if ((strcmp(text, "zstd") && !end) || (end && (*end || !text[5])) || level < 1 ||
	    level > 19)
		return cmd_error(
			verb, "--compress %s: \"zstd\" or \"zstd:LEVEL\" with a level from 1 to 19",
			text);
	if (!compressed_is_supported())
		return cmd_error(verb, "--compress: this duet was built without libzstd");
	assert(level >= 1 && level <= 19);
	*to = (int)level;
	return 0;
}

int trace_chunks_take_compress(const struct option_value *v)
{
	struct trace_chunks_options *o = v->part;

	return trace_chunks_parse_level(v->verb, v->text, &o->pack_level);
}

int trace_chunks_take_sync(const struct option_value *v)
{
	struct trace_chunks_options *o = v->part;
	const char *verb = v->verb, *text = v->text;
	o->sync_trace_chunks = !strcmp(text, "rotate");
	o->sync_ns = 0;
	if (o->sync_trace_chunks || !strcmp(text, "never"))
		return 0;
	if (!is_time(text))
		return cmd_error(verb, "--sync %s: \"never\", \"rotate\" or a time (1s)", text);
	if (!cmd_parse_time(verb, text, &o->sync_ns))
		return CMD_FAILED;
	o->sync_trace_chunks = true;
	return 0;
}

/* "5%", "0.5%".  False: it is none. */
static bool read_percent(const char *text, uint32_t *permyriad)
{
	size_t n = strspn(text, "0123456789."), digits = strcspn(text, ".%");
	double percent = n && digits ? strtod(text, NULL) : -1;

	if (strcmp(text + n, "%") != 0 || percent < 0 || percent > 100)
		return false;
	*permyriad = (uint32_t)(percent * 100 + 0.5);
	return true;
}

enum { DISK_LEAST = 1 << 20 };

/* 0 as a floor is none. */
int trace_chunks_take_disk(const struct option_value *v)
{
	struct trace_chunks_options *o = v->part;
	struct disk_size *to = v->detail ? &o->disk_free : &o->disk;
	const char *option = v->detail ? "--disk-free" : "--disk";

	*to = (struct disk_size){ .is_given = true };
	if (v->detail && !strcmp(v->text, "0"))
		return 0;
	if (strchr(v->text, '%')) {
		if (!read_percent(v->text, &to->permyriad) || !to->permyriad)
			return cmd_error(v->verb,
					 "%s %s: a size (10G) or a part of the file system (5%%)",
					 option, v->text);
		return 0;
	}
	if (!cmd_parse_size(v->verb, v->text, &to->bytes))
		return CMD_FAILED;
	if (!v->detail && to->bytes < DISK_LEAST)
		return cmd_error(v->verb, "--disk %s: at least 1M", v->text);
	return 0;
}

int trace_chunks_check(const char *verb, struct recorder_options *r, struct send *s)
{
	struct trace_chunks_options *o = &r->trace_chunks;

	/* With --to the link is compressed, not the files: the sender reads them as they are. */
	if (s->to) {
		s->o.compression_level = o->pack_level;
		o->pack_level = 0;
	}
	if (!o->rotate && (o->keep_bytes || o->keep_ns || o->keep_count || o->pack_level))
		return cmd_error(verb, "--keep-last and --compress are for finished chunks: give "
				       "--rotate as well");
	if (!o->rotate && o->sync_trace_chunks && !o->sync_ns)
		return cmd_error(
			verb,
			"--sync rotate is for finished chunks: give --rotate as well, or a time");
	if (o->rotate && r->flight_recorder)
		return cmd_error(
			verb,
			"--rotate: a flight recorder writes only when asked: `duet snapshot`");
	/* Files that exist only to be sent are removed when they have arrived. */
	assert(!o->remove_all);
	o->remove_all = o->rotate && s->to && !s->keeps;
	return 0;
}

/* Removed is the difference of recorded and kept: what is killed meanwhile changes nothing. */
static void print_removed(const struct recorder_result *r)
{
	uint64_t events = r->app_events + r->kernel_events, bytes = r->app_bytes + r->kernel_bytes;
	char size[32];

	if (r->kept.n >= r->trace_chunks)
		return;
	print_err(": %" PRIu64 " removed (%" PRIu64 " events, %s)", r->trace_chunks - r->kept.n,
		  events - r->kept.events, cmd_size_text(bytes - r->kept.bytes, size));
	print_err(", %" PRIu64 " kept (%" PRIu64 " events, %s)", r->kept.n, r->kept.events,
		  cmd_size_text(r->kept.bytes, size));
}

void trace_chunks_print(const char *verb, const struct recorder_result *r, bool is_gone)
{
	const struct archiver_status *t = &r->archiver;
	char a[32], b[32];

	if (r->trace_chunks)
		print_err("  pieces        %u", r->trace_chunks);
	if (!is_gone)
		print_removed(r);
	else if (t->n_removed)
		print_err(", %u removed once sent", t->n_removed);
	if (t->plain_bytes)
		print_err(", %s compressed to %s", cmd_size_text(t->plain_bytes, a),
			  cmd_size_text(t->compressed_bytes, b));
	if (t->n_waiting)
		print_err(", %u not yet compressed", t->n_waiting);
	if (r->trace_chunks)
		print_err("\n");
	if (t->n_failures)
		cmd_error(verb, "%s%s", t->text, t->n_failures > 1 ? " (and more)" : "");
}
