/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/broker_rules.c - see broker_rules.h. */
#include "kernel/tracefs/broker_rules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/tracefs/events.h"

enum { NAME_MAX_SIZE = 96, STATUS_SIZE = 1 << 16, VERIFY_TRIES = 50, PARTS_OF_MEMORY = 8 };

uint64_t broker_buffer_kib_max(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), cpus = sysconf(_SC_NPROCESSORS_CONF);

	return (uint64_t)pages * (uint64_t)(sysconf(_SC_PAGESIZE) / 1024) / PARTS_OF_MEMORY /
	       (uint64_t)(cpus > 0 ? cpus : 1);
}

/* ---------------------------------------------------------------- paths */

/* Splits "events/SYSTEM/EVENT/FILE". */
static bool parse_event(const char *path, char *system, char *event, char *file)
{
	int end = 0;

	return sscanf(path, "events/%95[A-Za-z0-9_]/%95[A-Za-z0-9_]/%15[a-z]%n", system, event,
		      file, &end) == 3 &&
	       !path[end];
}

/* Whether root made the event: by probes, or of other events. */
static bool is_dynamic(int root, const char *system, const char *event)
{
	char wanted[2 * NAME_MAX_SIZE + 4], *text, *at;
	bool found = false;

	if (kernel_tracefs_read(root, "dynamic_events", &text) < 0)
		return false;
	snprintf(wanted, sizeof wanted, "%s/%s", system, event);
	for (at = text; !found && (at = strstr(at, wanted)); at++)
		found = at > text && at[-1] == ':' && strchr(" \t\n", at[strlen(wanted)]);
	free(text);
	return found;
}

/* Events about what the current thread does. */
static bool is_about_thread(const char *system)
{
	static const char *const systems[] = { "raw_syscalls", "syscalls", "sched",
					       "task",	       "signal",   "exceptions" };

	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
		if (!strcmp(system, systems[i]))
			return true;
	return false;
}

static bool is_lent_event(const struct broker_rules *r, const char *system, const char *event)
{
	return !kernel_event_is_probe(system) && (!r->own_only || is_about_thread(system)) &&
	       !is_dynamic(r->root, system, event);
}

static bool may_open(const char *path)
{
	static const char *const files[] = { "per_cpu",	      "tracing_on",
					     "set_event_pid", "set_ftrace_filter",
					     "free_buffer",   "buffer_subbuf_size_kb",
					     "buffer_size_kb" };
	char system[NAME_MAX_SIZE], event[NAME_MAX_SIZE], file[16];
	unsigned cpu;
	int end = 0;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!strcmp(path, files[i]))
			return true;
	if (sscanf(path, "per_cpu/cpu%u/%15[a-z_]%n", &cpu, file, &end) == 2 && !path[end])
		return isdigit((unsigned char)path[11]) &&
		       (!strcmp(file, "trace_pipe_raw") || !strcmp(file, "stats"));
	/* A format is no secret: all events have one, and listing them needs it. */
	return parse_event(path, system, event, file) &&
	       (!strcmp(file, "format") || !strcmp(file, "filter"));
}

/* ---------------------------------------------------------------- texts */

static bool is_switch(const struct broker_rules *r, const char *text)
{
	(void)r;
	return !strcmp(text, "0") || !strcmp(text, "1");
}

static bool is_on(const struct broker_rules *r, const char *text)
{
	(void)r;
	return !strcmp(text, "1");
}

static bool is_number(const struct broker_rules *r, const char *text)
{
	(void)r;
	return *text && strlen(text) < 20 && !text[strspn(text, "0123456789")];
}

static bool is_list(const struct broker_rules *r, const char *text)
{
	(void)r;
	return *text && !text[strspn(text, "0123456789 ")];
}

static bool is_word(const struct broker_rules *r, const char *text)
{
	(void)r;
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

static bool is_pattern(const struct broker_rules *r, const char *text)
{
	return !r->own_only && strlen(text) < 256;
}

static bool is_tracer(const struct broker_rules *r, const char *text)
{
	return !r->own_only && (!strcmp(text, "nop") || !strcmp(text, "function") ||
				!strcmp(text, "function_graph"));
}

static bool is_option(const struct broker_rules *r, const char *text)
{
	static const char *const options[] = { "norecord-cmd", "overwrite", "nooverwrite",
					       "event-fork", "function-fork" };

	(void)r;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(text, options[i]))
			return true;
	return false;
}

static const struct written {
	const char *path;
	bool (*accepts)(const struct broker_rules *r, const char *text);
} written[] = {
	{ "tracing_on", is_switch },
	{ "trace_clock", is_word },
	{ "trace_options", is_option },
	{ "options/record-cmd", is_switch },
	{ "options/disable_on_free", is_on },
	{ "options/func-args", is_switch },
	{ "options/funcgraph-args", is_switch },
	{ "buffer_size_kb", is_number },
	{ "buffer_subbuf_size_kb", is_number },
	{ "buffer_percent", is_number },
	{ "set_event_pid", is_list },
	{ "set_ftrace_pid", is_list },
	{ "set_ftrace_filter", is_pattern },
	{ "set_ftrace_notrace", is_pattern },
	{ "current_tracer", is_tracer },
};

static bool may_write(const struct broker_rules *r, const char *path, const char *text)
{
	char system[NAME_MAX_SIZE], event[NAME_MAX_SIZE], file[16];

	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		if (!strcmp(path, written[i].path))
			return written[i].accepts(r, text);
	if (!parse_event(path, system, event, file) || !is_lent_event(r, system, event))
		return false;
	return !strcmp(file, "filter") || (!strcmp(file, "enable") && is_switch(r, text));
}

static int check_size(const struct broker_rules *r, const char *path, const char *text)
{
	bool is_buffer = !strcmp(path, "buffer_size_kb"),
	     is_part = !strcmp(path, "buffer_subbuf_size_kb");
	uint64_t kib = is_buffer || is_part ? strtoull(text, NULL, 10) : 0;

	return kib > r->buffer_kib_max || (is_part && kib > 64) ? -EFBIG : 0;
}

/* ---------------------------------------------------------------- own threads */

static const char *field_of(const char *status, const char *name)
{
	const char *at = strstr(status, name); /* the kernel writes no line end inside a name */

	return at ? at + strlen(name) : "";
}

/* (3) of broker_rules.h. */
static bool is_safe(const char *status, uid_t uid)
{
	unsigned ids[4];

	if (sscanf(field_of(status, "\nUid:"), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) !=
	    4)
		return false;
	for (int i = 0; i < 4; i++)
		if (ids[i] != uid)
			return false;
	return atoi(field_of(status, "\nNoNewPrivs:")) == 1 &&
	       !strtoull(field_of(status, "\nCapPrm:"), NULL, 16) &&
	       !strtoull(field_of(status, "\nCapAmb:"), NULL, 16);
}

/* Its beginning if it is a thread that own_only admits; 0 if not. */
static unsigned long long own_thread(const struct broker_rules *r, pid_t tid)
{
	unsigned long long start = kernel_process_start(tid);
	char path[64], *status = malloc(STATUS_SIZE);
	bool is_own;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	is_own = status && io_read_file(path, status, STATUS_SIZE) > 0 && is_safe(status, r->uid);
	free(status);
	return is_own && kernel_process_start(tid) == start ? start : 0;
}

struct thread {
	pid_t tid;
	unsigned long long start;
};

/* The threads that @text lists, all of them the user's own. Returns their number; -EPERM. */
static int parse_threads(const struct broker_rules *r, const char *text, struct thread *list)
{
	int n = 0;
	char *end;

	for (long tid; (tid = strtol(text, &end, 10)), end > text; text = end) {
		struct thread t = { .tid = (pid_t)tid };

		t.start = tid > 0 && tid < 1 << 30 ? own_thread(r, t.tid) : 0;
		if (!t.start)
			return -EPERM;
		list[n++] = t;
	}
	return n ? n : -EINVAL;
}

static bool is_followed(const struct broker_rules *r, pid_t tid)
{
	char *text, *end;
	bool found = false;

	if (kernel_tracefs_read(r->dir, "set_event_pid", &text) < 0)
		return true;
	for (const char *at = text; !found; at = end) {
		found = strtol(at, &end, 10) == tid;
		if (end == at)
			break;
	}
	free(text);
	return found;
}

/* Whether the number means the thread that was checked, or nothing: the kernel takes a thread off the
 * list a moment after its end. */
static bool is_still(const struct broker_rules *r, const struct thread *t)
{
	for (int i = 0; i < VERIFY_TRIES; i++) {
		if (own_thread(r, t->tid) == t->start || !is_followed(r, t->tid))
			return true;
		usleep(2000);
	}
	return false;
}

/* (4) of broker_rules.h. */
static int follow_threads(const struct broker_rules *r, const char *text)
{
	struct thread *list = calloc(strlen(text) / 2 + 1, sizeof *list);
	int n = list ? parse_threads(r, text, list) : -ENOMEM, err = n < 0 ? n : 0;
	char *cpus = NULL;

	if (!err && kernel_tracefs_read(r->dir, "tracing_cpumask", &cpus) < 0)
		err = -EIO;
	if (!err)
		err = kernel_tracefs_write(r->dir, "tracing_cpumask", "0");
	if (!err)
		err = kernel_tracefs_write(r->dir, "set_event_pid", text);
	for (int i = 0; i < n && !err; i++)
		err = is_still(r, &list[i]) ? 0 : -ESTALE;
	if (cpus && err != -ESTALE && kernel_tracefs_write(r->dir, "tracing_cpumask", cpus) && !err)
		err = -EIO;
	free(cpus);
	free(list);
	return err;
}

int broker_rules_begin(const struct broker_rules *r)
{
	int err;

	if (!r->own_only)
		return 0;
	err = kernel_tracefs_write(r->dir, "tracing_on", "0");
	if (!err)
		err = kernel_instance_follow_none(r->dir);
	return err ? err : kernel_tracefs_write(r->dir, "trace_options", "event-fork");
}

/* ---------------------------------------------------------------- all */

static int open_file(const struct broker_rules *r, const char *path, int *fd)
{
	if (!may_open(path))
		return -EPERM;
	*fd = openat(r->dir, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static int write_file(const struct broker_rules *r, const char *path, const char *text)
{
	int err = may_write(r, path, text) ? check_size(r, path, text) : -EPERM;

	if (err)
		return err;
	return r->own_only && !strcmp(path, "set_event_pid")
		       ? follow_threads(r, text)
		       : kernel_tracefs_write(r->dir, path, text);
}

int broker_rules_do(const struct broker_rules *r, const struct broker_message *m, int *fd)
{
	*fd = -1;
	if (!memchr(m->path, 0, sizeof m->path) || !memchr(m->text, 0, sizeof m->text))
		return -EINVAL;
	switch (m->operation) {
	case BROKER_OPEN:
		return open_file(r, m->path, fd);
	case BROKER_WRITE:
		return write_file(r, m->path, m->text);
	case BROKER_EMPTY:
		return strcmp(m->path, "set_ftrace_notrace") != 0
			       ? -EPERM
			       : kernel_tracefs_empty(r->dir, m->path);
	default:
		return -EINVAL;
	}
}
