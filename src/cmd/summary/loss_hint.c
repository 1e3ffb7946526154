/* SPDX-License-Identifier: MIT */
/*
 * cmd/summary/loss_hint.c - causes of losses, and for each the option that helps.
 *
 * A size that is proposed is larger than today's, and this machine has the memory for it now.  Where
 * it has not, more memory is not proposed.
 */
#include "cmd/summary/loss_hint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/pool.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/print/print.h"

#define KERNEL_MOST_BYTES (4ull << 30) /* --kernel-buffer */

/* ---------------------------------------------------------------- the memory of this machine */

/* The number behind @key in /proc/meminfo, in bytes; UINT64_MAX if it cannot be read. */
static uint64_t available_bytes(void)
{
	char text[4096], *at;

	if (io_read_file("/proc/meminfo", text, sizeof text) < 0)
		return UINT64_MAX;
	at = strstr(text, "MemAvailable:");
	return at ? strtoull(at + strlen("MemAvailable:"), NULL, 10) << 10 : UINT64_MAX;
}

static uint64_t read_number(const char *directory, const char *file)
{
	char path[4200], text[64];

	if (snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", directory, file) >=
		    (int)sizeof path ||
	    io_read_file(path, text, sizeof text) < 0 || *text < '0' || *text > '9')
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

/* What our cgroup (version 2) may still take; those above it are not looked at. */
static uint64_t cgroup_bytes(void)
{
	char text[4096], *own, *end;
	uint64_t most, used;

	if (io_read_file("/proc/self/cgroup", text, sizeof text) < 0)
		return UINT64_MAX;
	own = strstr(text, "0::");
	if (!own)
		return UINT64_MAX;
	own += 3;
	end = strchrnul(own, '\n');
	*end = 0;
	most = read_number(own, "memory.max");
	used = read_number(own, "memory.current");
	if (most == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	return most > used ? most - used : 0;
}

/* Half of what is free now. */
static uint64_t possible_bytes(void)
{
	uint64_t free_bytes = available_bytes(), own = cgroup_bytes();

	return (own < free_bytes ? own : free_bytes) / 2;
}

/* Four times @today, or twice; 0 if there is no room for @more_of these. */
static uint64_t larger(uint64_t today, uint64_t most, uint64_t more_of)
{
	uint64_t room = possible_bytes();

	for (uint64_t want = today * 4; want > today; want /= 2)
		if (want <= most && (want - today) * more_of <= room)
			return want;
	return 0;
}

/* As options take it: "64K", "256M", "1G". */
static const char *option_size(uint64_t bytes, char text[32])
{
	static const char units[] = { 0, 'K', 'M', 'G' };
	int u = 0;

	for (; u < 3 && bytes && bytes % 1024 == 0; u++)
		bytes /= 1024;
	snprintf(text, 32, "%" PRIu64 "%.1s", bytes, units + u);
	return text;
}

/* ---------------------------------------------------------------- causes */

static const char *too_large(const struct losses_channel *c, const char *name,
			     char text[LOSS_HINT_MAX])
{
	char today[32];

	option_size(c->chunk_bytes, today);
	if (c->chunk_bytes >= 1u << ABI_CHUNK_SHIFT_MAX)
		snprintf(text, LOSS_HINT_MAX, "events larger than %s cannot be recorded", today);
	else
		snprintf(text, LOSS_HINT_MAX,
			 "events larger than a sub-buffer of %s: --channel %s:size=1M", today,
			 name);
	return text;
}

static const char *no_room(const struct losses_channel *c, const char *name,
			   char text[LOSS_HINT_MAX])
{
	bool is_default = !strcmp(name, "default");
	uint64_t bytes =
		c->was_short ? 0
			     : larger(c->limit_bytes, (uint64_t)ABI_CHUNKS_MAX * c->chunk_bytes, 1);
	char size[32], today[32];

	option_size(c->limit_bytes, today);
	if (c->was_short)
		snprintf(text, LOSS_HINT_MAX,
			 "the machine or its cgroup had no memory for all of its %s: fewer "
			 "events: -e",
			 today);
	else if (!bytes)
		snprintf(text, LOSS_HINT_MAX,
			 "%s were full, and little more memory is free here: fewer events: -e",
			 today);
	else if (c->wait_us)
		snprintf(text, LOSS_HINT_MAX,
			 "%s were full longer than wait=%" PRIu32 "ms: --channel %s:wait=%" PRIu32
			 "ms or %s:count=%" PRIu64,
			 today, c->wait_us / 1000 ? c->wait_us / 1000 : 1, name,
			 c->wait_us / 100 ? c->wait_us / 100 : 10, name, bytes / c->chunk_bytes);
	else if (is_default)
		snprintf(text, LOSS_HINT_MAX,
			 "%s were full; more memory: -b %s, or fewer events: -e", today,
			 option_size(bytes, size));
	else
		snprintf(text, LOSS_HINT_MAX,
			 "%s were full; more memory: --channel %s:count=%" PRIu64, today, name,
			 bytes / c->chunk_bytes);
	return text;
}

static uint64_t all_channels(const struct recording_summary *a)
{
	uint64_t bytes = 0;

	for (int i = 0; i < a->n_channels; i++)
		bytes += a->result.losses.channels[i].limit_bytes;
	return bytes;
}

static const char *outside(const struct recording_summary *a, uint32_t reason,
			   char text[LOSS_HINT_MAX])
{
	const struct losses *l = &a->result.losses;
	char all[32], less[32];

	option_size(all_channels(a) >> 20 << 20, all);
	option_size(l->channels[0].limit_bytes / 8, less);
	switch (reason) {
	case ABI_LOSS_ADDRESSES:
		snprintf(text, LOSS_HINT_MAX,
			 "%.40s could not map %s of buffers: more address space (ulimit -v), or "
			 "-b %s",
			 l->program, all, less);
		break;
	case ABI_LOSS_LOCKED:
		snprintf(text, LOSS_HINT_MAX,
			 "%.40s locks its memory and could not map %s of buffers: ulimit -l, or "
			 "-b %s",
			 l->program, all, less);
		break;
	case ABI_LOSS_ANSWER:
		snprintf(text, LOSS_HINT_MAX,
			 "the collector did not answer %.40s in time, or it cannot reach the "
			 "runtime directory",
			 l->program);
		break;
	case ABI_LOSS_CLASSES:
		snprintf(text, LOSS_HINT_MAX,
			 "a recording has at most %d kinds of events: fewer events: -e",
			 ABI_SCHEMAS);
		break;
	case ABI_LOSS_CLOCK:
		snprintf(text, LOSS_HINT_MAX, "%.40s cannot read the session's clock: --clock mono",
			 l->program);
		break;
	case ABI_LOSS_SECCOMP:
		snprintf(text, LOSS_HINT_MAX,
			 "%.40s came under seccomp before it was recorded: start the session first",
			 l->program);
		break;
	default:
		snprintf(text, LOSS_HINT_MAX, "%.40s could not attach to the session",
			 *l->program ? l->program : "a program");
	}
	return text;
}

/* ---------------------------------------------------------------- lines */

/* @channel: NULL: none. */
typedef void each_cause(void *arg, uint64_t n, const char *channel, const char *hint);

static void causes(const struct recording_summary *a, each_cause *each, void *arg)
{
	const struct recorder_result *r = &a->result;
	char text[LOSS_HINT_MAX];

	for (int i = 0; i < a->n_channels; i++) {
		const struct losses_channel *c = &r->losses.channels[i];
		uint64_t large =
			c->too_large < r->channel_lost[i] ? c->too_large : r->channel_lost[i];

		if (large)
			each(arg, large, a->channels[i], too_large(c, a->channels[i], text));
		if (r->channel_lost[i] > large)
			each(arg, r->channel_lost[i] - large, a->channels[i],
			     no_room(c, a->channels[i], text));
	}
	for (uint32_t i = 0; i < ABI_LOSSES; i++)
		if (r->losses.outside[i])
			each(arg, r->losses.outside[i], NULL, outside(a, i, text));
}

struct counted {
	int n;
	char *text;
};

static void count_cause(void *arg, uint64_t n, const char *channel, const char *hint)
{
	struct counted *c = arg;

	(void)n;
	(void)channel;
	if (!c->n++)
		snprintf(c->text, LOSS_HINT_MAX, "%s", hint);
}

const char *loss_hint_application(const struct recording_summary *a, char text[LOSS_HINT_MAX])
{
	struct counted c = { .text = text };

	*text = 0;
	causes(a, count_cause, &c);
	if (!c.n)
		snprintf(text, LOSS_HINT_MAX, "in programs of other users: duet status names them");
	else if (c.n > 1 || a->n_channels > 1)
		*text = 0;
	return text;
}

static void print_cause(void *arg, uint64_t n, const char *channel, const char *hint)
{
	(void)arg;
	print_err("                %" PRIu64 " of them%s%s (%s)\n", n,
		  channel ? " in channel " : "", channel ? channel : "", hint);
}

void loss_hint_print(const struct recording_summary *a)
{
	char text[LOSS_HINT_MAX];
	struct counted c = { .text = text };

	causes(a, count_cause, &c);
	if (c.n > 1 || (c.n && a->n_channels > 1))
		causes(a, print_cause, NULL);
}

const char *loss_hint_kernel(const struct recording_summary *a, char text[LOSS_HINT_MAX])
{
	const struct recorder_result *r = &a->result;
	uint64_t today = (uint64_t)r->losses.kernel_buffer_kib << 10, bytes;
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	char size[32], was[32];

	bytes = today ? larger(today, KERNEL_MOST_BYTES, n_cpus > 0 ? (uint64_t)n_cpus : 1) : 0;
	if (r->losses.kernel_elsewhere > r->kernel_lost / 2)
		snprintf(text, LOSS_HINT_MAX,
			 "missed by probes or not written, as reported; fewer events: -k");
	else if (bytes)
		snprintf(text, LOSS_HINT_MAX,
			 "%s for each CPU were full; more memory: --kernel-buffer %s, or fewer "
			 "events: -k",
			 option_size(today, was), option_size(bytes, size));
	else
		snprintf(text, LOSS_HINT_MAX, "fewer events: -k");
	return text;
}
