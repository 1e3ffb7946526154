/* SPDX-License-Identifier: MIT */
/* cmd/record/channels.c - parse `--channel NAME:KEY=VALUE,...`. */
#include "cmd/record/channels.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "abi/pool.h"
#include "cmd/print/print.h"

enum { BLOCK_TIMEOUT_US = 100000, CALLS_CHUNK_BYTES = 256 << 10 };

void cmd_channels_begin(struct cmd_channels *c)
{
	*c = (struct cmd_channels){ .n = 1 };
	strcpy(c->at[0].channel.name, "default");
}

/*
 * Find the channel, or add it.  Returns its index; -1 after a message if the name is not valid or
 * there are too many.
 */
static int find_or_add(const char *verb, struct cmd_channels *c, const char *name, size_t size)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (!size || size >= ABI_CHANNEL_NAME_BYTES || strspn(name, letters) < size) {
		cmd_error(verb,
			  "--channel %s: begins with a name of letters, digits, _ - (at most %d), "
			  "then ':'",
			  name, ABI_CHANNEL_NAME_BYTES - 1);
		return -1;
	}
	for (int i = 0; i < c->n; i++)
		if (strlen(c->at[i].channel.name) == size &&
		    !memcmp(c->at[i].channel.name, name, size))
			return i;
	if (c->n == ABI_CHANNELS) {
		cmd_error(verb, "--channel %s: there are at most %d channels", name, ABI_CHANNELS);
		return -1;
	}
	assert(c->n > 0 && c->n < ABI_CHANNELS); /* the first is "default" */
	memcpy(c->at[c->n].channel.name, name, size);
	return c->n++;
}

static bool take_size(const char *verb, struct session_channel *s, const char *value)
{
	uint64_t bytes;

	if (!cmd_parse_size(verb, value, &bytes))
		return false;
	if (bytes < 1u << ABI_CHUNK_SHIFT_MIN || bytes > 1u << ABI_CHUNK_SHIFT_MAX ||
	    bytes & (bytes - 1)) {
		cmd_error(verb, "size=%s: a sub-buffer has 4K, 8K, 16K ... 1M", value);
		return false;
	}
	s->chunk_bytes = (uint32_t)bytes;
	return true;
}

static bool take_mode(const char *verb, struct cmd_channels *c, int i, const char *value)
{
	struct session_channel *s = &c->at[i].channel;
	bool block = !strcmp(value, "block");

	s->flight_recorder = !strcmp(value, "overwrite");
	if (block && !s->block_timeout_us)
		s->block_timeout_us = BLOCK_TIMEOUT_US;
	c->has_mode[i] = true;
	if (block || s->flight_recorder || !strcmp(value, "discard"))
		return true;
	cmd_error(verb, "mode=%s: modes are discard, overwrite, block", value);
	return false;
}

static bool take_wait(const char *verb, struct session_channel *s, const char *value)
{
	uint64_t ns;

	if (!cmd_parse_time(verb, value, &ns))
		return false;
	if (ns / 1000 > ABI_BLOCK_TIMEOUT_MAX_US) {
		cmd_error(verb, "wait=%s: at most a minute", value);
		return false;
	}
	s->block_timeout_us = ns < 1000 ? 1 : (uint32_t)(ns / 1000);
	return true;
}

static bool take_ids(const char *verb, struct session_channel *s, const char *value)
{
	s->without_ids = !strcmp(value, "none");
	if (s->without_ids || !strcmp(value, "thread"))
		return true;
	cmd_error(verb, "ids=%s: thread (vpid and vtid in each event) or none", value);
	return false;
}

/* Coarse sequences need rseq_cs to be NULL after a thread waited.  Linux does so up to 6.18; since then
 * only if an interrupt entered the kernel. */
static bool is_kernel_for_coarse(void)
{
	unsigned major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor <= 18));
}

static bool take_clock(const char *verb, struct session_channel *s, const char *value)
{
	s->is_coarse = !strcmp(value, "coarse");
	if (s->is_coarse && !is_kernel_for_coarse()) {
		print_err("duet %s: channel %s: clock=coarse is for Linux up to 6.18: its times "
			  "are exact\n",
			  verb, s->name);
		s->is_coarse = false;
		return true;
	}
	if (s->is_coarse || !strcmp(value, "exact"))
		return true;
	cmd_error(verb, "clock=%s: exact, or coarse (events may have the time of the one before)",
		  value);
	return false;
}

static bool take_key(const char *verb, struct cmd_channels *c, int i, const char *key,
		     const char *value)
{
	struct session_channel *s = &c->at[i].channel;

	if (!strcmp(key, "size"))
		return take_size(verb, s, value);
	if (!strcmp(key, "count"))
		return cmd_parse_size(verb, value, &c->count[i]);
	if (!strcmp(key, "mode"))
		return take_mode(verb, c, i, value);
	if (!strcmp(key, "wait"))
		return take_wait(verb, s, value);
	if (!strcmp(key, "context"))
		return cmd_add_contexts(verb, value, &s->contexts);
	if (!strcmp(key, "ids"))
		return take_ids(verb, s, value);
	if (!strcmp(key, "clock"))
		return take_clock(verb, s, value);
	if (!strcmp(key, "events") && *value) {
		if (strchr(value, '=')) {
			cmd_error(
				verb,
				"--channel %s: events=%s: no event has \"=\" in its name; keys are "
				"separated by commas",
				s->name, value);
			return false;
		}
		cmd_add_string(&c->patterns[i], value);
		return true;
	}
	cmd_error(verb,
		  "--channel %s: no key \"%s\" (events, size, count, mode, wait, context, ids, "
		  "clock)",
		  s->name, key);
	return false;
}

bool cmd_channels_add(const char *verb, struct cmd_channels *c, const char *text)
{
	const char *colon = strchrnul(text, ':');
	int i = find_or_add(verb, c, text, (size_t)(colon - text));
	char *copy, *key, *rest;

	if (i < 0)
		return false;
	copy = rest = strdup(*colon ? colon + 1 : "");
	while (copy && (key = strsep(&rest, ","))) {
		char *value = strchr(key, '=');

		if (!*key)
			continue;
		if (!value) {
			cmd_error(verb, "--channel %s: \"%s\" is not KEY=VALUE",
				  c->at[i].channel.name, key);
			return false;
		}
		*value++ = 0;
		if (!take_key(verb, c, i, key, value))
			return false;
	}
	return true; /* patterns point into the copy */
}

/* Large sub-buffers: a busy program fills batches of 8 KiB quickly. */
bool cmd_channels_add_calls(const char *verb, struct cmd_channels *c)
{
	int i = find_or_add(verb, c, "calls", strlen("calls"));

	if (i < 0)
		return false;
	if (c->at[i].channel.without_ids) {
		cmd_error(verb, "--channel calls: ids=none: calls belong to threads");
		return false;
	}
	if (!c->at[i].channel.chunk_bytes)
		c->at[i].channel.chunk_bytes = CALLS_CHUNK_BYTES;
	cmd_add_string(&c->patterns[i], "duet_calls:*");
	return true;
}

static bool end_channel(const char *verb, struct cmd_channels *c, int i, bool overwrite,
			uint64_t contexts)
{
	struct session_channel *s = &c->at[i].channel;
	uint64_t chunk = s->chunk_bytes ? s->chunk_bytes : 64 << 10;

	if (!c->has_mode[i])
		s->flight_recorder = overwrite;
	s->contexts |= contexts;
	if (c->count[i] > ABI_CHUNKS_MAX) {
		cmd_error(verb, "--channel %s: count is at most %d", s->name, ABI_CHUNKS_MAX);
		return false;
	}
	if (c->count[i])
		s->bytes = c->count[i] * chunk;
	if (s->flight_recorder && s->block_timeout_us) {
		cmd_error(verb, "--channel %s: a flight recorder always has room, it never waits",
			  s->name);
		return false;
	}
	if (i && !c->patterns[i].n) {
		cmd_error(verb, "--channel %s: it has no events: add events=PATTERN", s->name);
		return false;
	}
	c->at[i].patterns = c->patterns[i].at;
	c->at[i].n_patterns = c->patterns[i].n;
	return true;
}

bool cmd_channels_end(const char *verb, struct cmd_channels *c, uint64_t buffer_bytes,
		      bool overwrite, uint64_t contexts)
{
	assert(!strcmp(c->at[0].channel.name, "default"));
	if (buffer_bytes)
		c->at[0].channel.bytes = buffer_bytes;
	for (int i = 0; i < c->n; i++)
		if (!end_channel(verb, c, i, overwrite, contexts))
			return false;
	return true;
}
