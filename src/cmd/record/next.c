/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/next.c - which commands fit a recording.
 *
 * A fixed list of commands leads a new user to a report that has nothing to read.  Here each
 * command stands beside the events that it reads, and is printed only if the recording has them.
 *
 *   (1) a printed command works on this recording as it is printed: it may be copied whole
 *   (2) at most MOST commands; those that answer a question of their own come before the views
 *   (3) an empty recording leads to duet doctor, which says why
 */
#include "cmd/record/next.h"
#include "cmd/print/print.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 6, PATH_MOST = 1024, NAME_BYTES = 256, COLUMN_MOST = 60 };
enum { COMMAND_MAX = 4 * PATH_MOST + 2 * NAME_BYTES + 64 };

struct next {
	struct line {
		char command[COMMAND_MAX];
		const char *why;
	} lines[MOST];
	int n;
};

/* Two events that begin and end something: web:request_begin and web:request_end. */
struct pair {
	char begin[NAME_BYTES], end[NAME_BYTES];
	uint64_t count;
};

static const char *const endings[][2] = {
	{ "begin", "end" },	   { "start", "end" },	       { "start", "done" },
	{ "start", "stop" },	   { "start", "finish" },      { "started", "finished" },
	{ "entry", "exit" },	   { "enter", "exit" },	       { "enter", "leave" },
	{ "request", "response" }, { "open", "close" },	       { "acquire", "release" },
	{ "lock", "unlock" },	   { "received", "answered" },
};

static bool ends_with(const char *s, size_t n, const char *ending)
{
	size_t length = strlen(ending);

	return n > length && !memcmp(s + n - length, ending, length);
}

/* Only what a shell and a glob take literally. */
static bool is_plain(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "_:./-+,@")];
}

static const struct summary_event *find(const struct summary *s, enum trace_domain domain,
					const char *name)
{
	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain && !strcmp(s->events[i].name, name))
			return &s->events[i];
	return NULL;
}

static bool has(const struct summary *s, enum trace_domain domain, const char *beginning)
{
	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain &&
		    !strncmp(s->events[i].name, beginning, strlen(beginning)))
			return true;
	return false;
}

/* The end that belongs to @e, if @e begins something. */
static bool end_of(const struct summary *s, const struct summary_event *e, struct pair *p)
{
	size_t n = strlen(e->name);

	if (n + 16 > NAME_BYTES || !is_plain(e->name) || !strncmp(e->name, "duet", 4) ||
	    !strncmp(e->name, "lttng_ust", 9))
		return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t stem = n - strlen(endings[i][0]);

		if (!ends_with(e->name, n, endings[i][0]))
			continue;
		snprintf(p->begin, sizeof p->begin, "%s", e->name);
		snprintf(p->end, sizeof p->end, "%.*s%s", (int)stem, e->name, endings[i][1]);
		if (find(s, TRACE_UST, p->end))
			return true;
	}
	return false;
}

/* The most frequent one; if nothing was counted, the first. */
static bool find_pair(const struct summary *s, struct pair *best)
{
	struct pair p;
	bool found = false;

	for (uint32_t i = 0; i < s->n_event_names; i++) {
		const struct summary_event *e = &s->events[i];

		if (e->domain != TRACE_UST || !end_of(s, e, &p))
			continue;
		p.count = e->n;
		if (!found || p.count > best->count)
			*best = p;
		found = true;
	}
	return found;
}

/* Quoted for a shell if it must be. */
static void quote(char *to, size_t size, const char *path)
{
	size_t n = 0;

	if (is_plain(path) && *path != '-') {
		snprintf(to, size, "%s", path);
		return;
	}
	to[n++] = '\'';
	for (; *path && n + 6 < size; path++) {
		if (*path == '\'')
			n += (size_t)snprintf(to + n, size - n, "'\\''");
		else
			to[n++] = *path;
	}
	to[n++] = '\'';
	to[n] = 0;
}

static void add(struct next *x, const char *why, const char *command, const char *path)
{
	struct line *l = &x->lines[x->n];

	if (x->n == MOST)
		return;
	snprintf(l->command, sizeof l->command, "duet %s %s", command, path);
	l->why = why;
	x->n++;
}

static void add_application(struct next *x, const struct summary *s, const char *path,
			    bool has_switches)
{
	char command[2 * NAME_BYTES + 32];
	struct pair p;

	if (find_pair(s, &p)) {
		snprintf(command, sizeof command, "report %s %s %s",
			 has_switches ? "why --between" : "latency", p.begin, p.end);
		add(x,
		    has_switches ? "where the time between these two went"
				 : "times between these two",
		    command, path);
	}
	if (has(s, TRACE_UST, "duet_calls:"))
		add(x, "calls of functions, summed by caller", "graph --tree", path);
	if (find(s, TRACE_UST, "lttng_ust_libc:malloc"))
		add(x, "memory by call site, and blocks never freed", "report heap", path);
}

static void add_kernel(struct next *x, const struct summary *s, const char *path, bool has_switches)
{
	if (has(s, TRACE_KERNEL, "profile"))
		add(x, "where it was busy, as a flame graph", "export svg -o flame.svg", path);
	if (has_switches)
		add(x, "what each thread waited for", "report why", path);
	if (has(s, TRACE_KERNEL, "syscall_exit_"))
		add(x, "how long its system calls took", "report syscalls", path);
	if (has(s, TRACE_KERNEL, "block_rq_"))
		add(x, "reads and writes by file and device", "report io", path);
}

static void print_commands(const struct next *x)
{
	int width = 0;

	for (int i = 0; i < x->n; i++) {
		int n = (int)strlen(x->lines[i].command);

		width = n > width && n <= COLUMN_MOST ? n : width;
	}
	for (int i = 0; i < x->n; i++)
		print_err(i ? "      %-*s  %s\n" : "\nNext: %-*s  %s\n", width, x->lines[i].command,
			  x->lines[i].why);
}

void next_print(const char *path, const struct summary *s)
{
	struct next x = { .n = 0 };
	bool has_switches = find(s, TRACE_KERNEL, "sched_switch");
	char name[4 * PATH_MOST + 8];

	if (strlen(path) > PATH_MOST)
		return; /* a command that is cut would be wrong */
	if (!s->n_event_names) {
		print_err("\nNext: duet doctor [PID|FILE]  why nothing was recorded\n");
		return;
	}
	quote(name, sizeof name, path);
	add_application(&x, s, name, has_switches);
	add_kernel(&x, s, name, has_switches);
	if (x.n > MOST - 2)
		x.n = MOST - 2;
	add(&x, "all of it, merged by time", "view", name);
	add(&x, "as a timeline in the browser", "ui", name);
	print_commands(&x);
}
