/* SPDX-License-Identifier: MIT */
/*
 * collect/request/stop.c - write and parse the answer to `stop`: the members of a recorder_result.
 */
#include "collect/request/stop.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/drain/files.h"

/* The counts of a result, as members of the answer. */
static const struct {
	const char *key;
	size_t offset;
} counts[] = {
	{ "duration_ns", offsetof(struct recorder_result, duration_ns) },
	{ "app_events", offsetof(struct recorder_result, app_events) },
	{ "app_bytes", offsetof(struct recorder_result, app_bytes) },
	{ "app_lost", offsetof(struct recorder_result, app_lost) },
	{ "app_unwritten", offsetof(struct recorder_result, app_unwritten) },
	{ "kernel_events", offsetof(struct recorder_result, kernel_events) },
	{ "kernel_bytes", offsetof(struct recorder_result, kernel_bytes) },
	{ "kernel_lost", offsetof(struct recorder_result, kernel_lost) },
	{ "kernel_lost_elsewhere", offsetof(struct recorder_result, losses.kernel_elsewhere) },
	{ "kept", offsetof(struct recorder_result, kept.n) },
	{ "kept_events", offsetof(struct recorder_result, kept.events) },
	{ "kept_bytes", offsetof(struct recorder_result, kept.bytes) },
	{ "packed_from_bytes", offsetof(struct recorder_result, archiver.plain_bytes) },
	{ "packed_bytes", offsetof(struct recorder_result, archiver.compressed_bytes) },
};
enum { N_COUNTS = sizeof counts / sizeof *counts };

bool stopping_add(struct stopping *s, int fd)
{
	assert(s->n >= 0 && s->n <= STOPPING_MAX);
	if (s->n == STOPPING_MAX)
		return false;
	s->fds[s->n++] = fd;
	return true;
}

static void add_text(struct text *t, const char *key, const char *value)
{
	if (*value)
		json_line_add_text(t, key, value);
}

/* "default=0,rare=17" */
static void add_channels(struct text *t, const struct recorder_options *o,
			 const struct recorder_result *r)
{
	char text[ABI_CHANNELS * (ABI_CHANNEL_NAME_BYTES + 22)] = "";
	size_t n = 0;

	for (int i = 0; i < o->n_channels; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=%llu", i ? "," : "",
				      o->channels[i].channel.name,
				      (unsigned long long)r->channel_lost[i]);
	json_line_add_text(t, "channel_lost", text);
}

/* "KIND<tab>SUBJECT<tab>LINE", one a line. */
static void add_findings(struct text *t, const struct findings *f)
{
	struct text lines = { 0 };

	for (uint32_t i = 0; i < f->n; i++)
		text_addf(&lines, "%u\t%s\t%s\n", f->at[i].kind, f->at[i].subject, f->at[i].text);
	if (f->n && !lines.failed)
		json_line_add_text(t, "findings", lines.bytes);
	if (f->more)
		json_line_add_number(t, "more_findings", f->more);
	text_fini(&lines);
}

/* "PART<tab>REASON<tab>EVENTS<tab>TRACE CHUNKS", one a line. */
static void add_disk_losses(struct text *t, const struct disk_losses *l)
{
	struct text lines = { 0 };

	for (uint32_t i = 0; i < l->n && i < DISK_LOSSES_MAX; i++)
		text_addf(&lines, "%.63s\t%u\t%llu\t%u\n", l->at[i].of, l->at[i].reason,
			  (unsigned long long)l->at[i].events, l->at[i].n_removed);
	if (l->n && !lines.failed)
		json_line_add_text(t, "disk_losses", lines.bytes);
	if (l->more)
		json_line_add_number(t, "disk_lost_more", l->more);
	text_fini(&lines);
}

/* As -k takes them. */
static void add_kernel_patterns(struct text *t, const struct kernel_options *k)
{
	struct text all = { 0 };

	for (int i = 0; i < k->n_patterns; i++)
		text_addf(&all, "%s%s", i ? "," : "", k->patterns[i]);
	if (k->n_patterns && !all.failed && all.size < STOPPED_PATTERNS_BYTES)
		json_line_add_text(t, "kernel_patterns", all.bytes);
	text_fini(&all);
}

/* Of each channel: limit, too large, sub-buffer, wait, whether memory was short, mode. */
static void add_rooms(struct text *t, const struct recorder_options *o,
		      const struct recorder_result *r)
{
	char text[ABI_CHANNELS * 100] = "";
	size_t n = 0;

	for (int i = 0; i < o->n_channels; i++) {
		const struct losses_channel *c = &r->losses.channels[i];

		n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu:%llu:%u:%u:%d:%d",
				      i ? "," : "", (unsigned long long)c->limit_bytes,
				      (unsigned long long)c->too_large, c->chunk_bytes, c->wait_us,
				      c->was_short, c->overwrites);
	}
	json_line_add_text(t, "channel_room", text);
	n = 0;
	*text = 0;
	for (int i = 0; i < ABI_LOSSES; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu", i ? "," : "",
				      (unsigned long long)r->losses.outside[i]);
	json_line_add_text(t, "lost_outside", text);
	add_text(t, "lost_program", r->losses.program);
}

static void add_result(struct text *t, const struct recorder_options *o,
		       const struct recorder_result *r)
{
	char whole[PATH_MAX];

	for (int i = 0; i < N_COUNTS; i++)
		json_line_add_number(t, counts[i].key,
				     *(const uint64_t *)((const char *)r + counts[i].offset));
	add_channels(t, o, r);
	add_rooms(t, o, r);
	json_line_add_number(t, "kernel_buffer", r->losses.kernel_buffer_kib);
	json_line_add_number(t, "programs", r->programs);
	json_line_add_number(t, "lives", r->n_collectors);
	json_line_add_number(t, "pieces", r->trace_chunks);
	json_line_add_number(t, "pieces_waiting", r->archiver.n_waiting);
	json_line_add_number(t, "pieces_failures", r->archiver.n_failures);
	add_text(t, "pieces_trouble", r->archiver.text);
	text_addf(t, ",\"kernel\":%s,\"kernel_wanted\":%s,\"leaves\":%s,\"not_whole\":%s",
		  r->kernel_recorded ? "true" : "false", o->wants_kernel ? "true" : "false",
		  o->leaves ? "true" : "false", r->is_not_whole ? "true" : "false");
	json_line_add_text(t, "path", files_whole(o->path, whole));
	add_text(t, "kernel_reason", r->kernel_reason.text);
	add_text(t, "kernel_recorder", r->kernel_recorder);
	add_text(t, "kernel_no_bpf", r->kernel_no_bpf.text);
	add_text(t, "trouble", r->trouble.text);
	add_text(t, "impossible", r->impossible.text);
	add_findings(t, &r->findings);
	add_disk_losses(t, &r->disk);
	add_kernel_patterns(t, &o->kernel);
}

void stopping_answer(struct stopping *s, const struct recorder_options *o,
		     const struct recorder_result *r, const char *error)
{
	for (int i = 0; i < s->n; i++) {
		struct text t = { 0 };

		text_addf(&t, "{\"ok\":true");
		add_text(&t, "failed", error);
		add_result(&t, o, r);
		json_line_send(s->fds[i], &t, -1);
		text_fini(&t);
		close(s->fds[i]);
	}
	s->n = 0;
}

static void read_text(const struct json_line *l, const char *key, char *text, size_t size)
{
	if (!json_line_text(l, key, text, size))
		*text = 0;
}

static void read_channels(const struct json_line *l, struct stopped *s, struct recorder_result *r)
{
	char text[ABI_CHANNELS * (ABI_CHANNEL_NAME_BYTES + 22)], *rest = text, *one, *value;

	read_text(l, "channel_lost", text, sizeof text);
	while (s->n_channels < ABI_CHANNELS && (one = strsep(&rest, ",")) &&
	       (value = strchr(one, '='))) {
		*value++ = 0;
		snprintf(s->channels[s->n_channels], sizeof *s->channels, "%.*s",
			 ABI_CHANNEL_NAME_BYTES - 1, one);
		r->channel_lost[s->n_channels++] = strtoull(value, NULL, 10);
	}
}

static void read_findings(const struct json_line *l, struct findings *f)
{
	char text[FINDINGS_MAX * sizeof(struct finding)], *rest = text, *line;
	uint64_t more = 0;

	read_text(l, "findings", text, sizeof text);
	while (f->n < FINDINGS_MAX && (line = strsep(&rest, "\n")) && *line) {
		struct finding *one = &f->at[f->n++];
		const char *kind = strsep(&line, "\t"), *subject = strsep(&line, "\t");

		one->kind = (uint32_t)strtoul(kind, NULL, 10);
		snprintf(one->subject, sizeof one->subject, "%s", subject ? subject : "");
		snprintf(one->text, sizeof one->text, "%s", line ? line : "");
	}
	if (json_line_number(l, "more_findings", &more))
		f->more = (uint32_t)more;
}

static void read_disk_losses(const struct json_line *l, struct disk_losses *to)
{
	char text[DISK_LOSSES_MAX * 128], *rest = text, *line;
	unsigned long long events;
	struct disk_loss one;

	read_text(l, "disk_losses", text, sizeof text);
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *of = strsep(&line, "\t");

		if (!line || sscanf(line, "%u %llu %u", &one.reason, &events, &one.n_removed) != 3)
			break;
		one.events = events;
		disk_losses_add(to, of, &one);
	}
	json_line_number(l, "disk_lost_more", &to->more);
}

static void read_rooms(const struct json_line *l, struct losses *to)
{
	char text[ABI_CHANNELS * 100], *rest = text, *one;
	unsigned long long limit, too_large;
	int was_short, overwrites;

	read_text(l, "channel_room", text, sizeof text);
	for (int i = 0; i < ABI_CHANNELS && (one = strsep(&rest, ",")); i++) {
		struct losses_channel *c = &to->channels[i];

		if (sscanf(one, "%llu:%llu:%u:%u:%d:%d", &limit, &too_large, &c->chunk_bytes,
			   &c->wait_us, &was_short, &overwrites) != 6)
			break;
		c->limit_bytes = limit;
		c->too_large = too_large;
		c->was_short = was_short;
		c->overwrites = overwrites;
	}
	read_text(l, "lost_outside", text, sizeof text);
	rest = text;
	for (int i = 0; i < ABI_LOSSES && (one = strsep(&rest, ",")); i++)
		to->outside[i] = strtoull(one, NULL, 10);
	read_text(l, "lost_program", to->program, sizeof to->program);
}

void stopping_read(const struct json_line *l, struct stopped *s, struct recorder_result *r)
{
	uint64_t n = 0;

	*s = (struct stopped){ .wants_kernel = json_line_is_true(l, "kernel_wanted"),
			       .leaves = json_line_is_true(l, "leaves") };
	*r = (struct recorder_result){ .n_collectors = 1,
				       .kernel_recorded = json_line_is_true(l, "kernel"),
				       .is_not_whole = json_line_is_true(l, "not_whole") };
	for (int i = 0; i < N_COUNTS; i++)
		json_line_number(l, counts[i].key, (uint64_t *)((char *)r + counts[i].offset));
	if (json_line_number(l, "programs", &n))
		r->programs = (uint32_t)n;
	if (json_line_number(l, "lives", &n))
		r->n_collectors = (uint32_t)n;
	if (json_line_number(l, "pieces", &n))
		r->trace_chunks = (uint32_t)n;
	if (json_line_number(l, "pieces_waiting", &n))
		r->archiver.n_waiting = (uint32_t)n;
	if (json_line_number(l, "pieces_failures", &n))
		r->archiver.n_failures = (uint32_t)n;
	read_text(l, "pieces_trouble", r->archiver.text, sizeof r->archiver.text);
	read_channels(l, s, r);
	read_rooms(l, &r->losses);
	if (json_line_number(l, "kernel_buffer", &n))
		r->losses.kernel_buffer_kib = (uint32_t)n;
	read_text(l, "path", s->path, sizeof s->path);
	read_text(l, "failed", s->failed, sizeof s->failed);
	read_text(l, "kernel_reason", r->kernel_reason.text, sizeof r->kernel_reason.text);
	read_text(l, "kernel_recorder", r->kernel_recorder, sizeof r->kernel_recorder);
	read_text(l, "kernel_no_bpf", r->kernel_no_bpf.text, sizeof r->kernel_no_bpf.text);
	read_text(l, "trouble", r->trouble.text, sizeof r->trouble.text);
	read_text(l, "impossible", r->impossible.text, sizeof r->impossible.text);
	read_findings(l, &r->findings);
	read_disk_losses(l, &r->disk);
	read_text(l, "kernel_patterns", s->kernel_patterns, sizeof s->kernel_patterns);
}
