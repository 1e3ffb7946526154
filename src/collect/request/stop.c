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
	{ "app_bytes", offsetof(struct recorder_result, app_bytes) },
	{ "app_lost", offsetof(struct recorder_result, app_lost) },
	{ "app_unwritten", offsetof(struct recorder_result, app_unwritten) },
	{ "kernel_events", offsetof(struct recorder_result, kernel_events) },
	{ "kernel_bytes", offsetof(struct recorder_result, kernel_bytes) },
	{ "kernel_lost", offsetof(struct recorder_result, kernel_lost) },
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

static void add_result(struct text *t, const struct recorder_options *o,
		       const struct recorder_result *r)
{
	char whole[PATH_MAX];

	for (int i = 0; i < N_COUNTS; i++)
		json_line_add_number(t, counts[i].key,
				     *(const uint64_t *)((const char *)r + counts[i].offset));
	add_channels(t, o, r);
	json_line_add_number(t, "programs", r->programs);
	json_line_add_number(t, "lives", r->n_collectors);
	text_addf(t, ",\"kernel\":%s,\"kernel_wanted\":%s,\"leaves\":%s",
		  r->kernel_recorded ? "true" : "false", o->wants_kernel ? "true" : "false",
		  o->leaves ? "true" : "false");
	json_line_add_text(t, "path", files_whole(o->path, whole));
	add_text(t, "kernel_reason", r->kernel_reason.text);
	add_text(t, "kernel_recorder", r->kernel_recorder);
	add_text(t, "kernel_no_bpf", r->kernel_no_bpf.text);
	add_text(t, "trouble", r->trouble.text);
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

void stopping_read(const struct json_line *l, struct stopped *s, struct recorder_result *r)
{
	uint64_t n = 0;

	*s = (struct stopped){ .wants_kernel = json_line_is_true(l, "kernel_wanted"),
			       .leaves = json_line_is_true(l, "leaves") };
	*r = (struct recorder_result){ .n_collectors = 1,
				       .kernel_recorded = json_line_is_true(l, "kernel") };
	for (int i = 0; i < N_COUNTS; i++)
		json_line_number(l, counts[i].key, (uint64_t *)((char *)r + counts[i].offset));
	if (json_line_number(l, "programs", &n))
		r->programs = (uint32_t)n;
	if (json_line_number(l, "lives", &n))
		r->n_collectors = (uint32_t)n;
	read_channels(l, s, r);
	read_text(l, "path", s->path, sizeof s->path);
	read_text(l, "failed", s->failed, sizeof s->failed);
	read_text(l, "kernel_reason", r->kernel_reason.text, sizeof r->kernel_reason.text);
	read_text(l, "kernel_recorder", r->kernel_recorder, sizeof r->kernel_recorder);
	read_text(l, "kernel_no_bpf", r->kernel_no_bpf.text, sizeof r->kernel_no_bpf.text);
	read_text(l, "trouble", r->trouble.text, sizeof r->trouble.text);
}
