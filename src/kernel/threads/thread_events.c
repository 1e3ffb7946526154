/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_events.c - records changes of threads with a second tracefs instance.
 *
 * The pages of all CPUs are read, then their records are sorted by time and reported. A record is
 * located by the event's `format`, never by fixed offsets. */
#include "kernel/threads/thread_events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "kernel/tracefs/events.h"
#include "kernel/tracefs/broker.h"
#include "kernel/tracefs/page_format.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/page_iter.h"

#define BUFFER_KIB "1024" /* per CPU: the changes of some 10 000 short processes */

enum {
	PAGES_MAX = 512 /* per reading and CPU */,
	EVENTS_MAX = 8 + 2 * KERNEL_SETTERS,
	CHANGES_MAX = 1 << 17
};

/* The place of each value in a record; 0: the record does not have it. */
struct record_layout {
	uint16_t id;
	enum kernel_change_kind kind;
	uint16_t tid, by, flags, hierarchy, text, result, ids[2];
	enum kernel_setter call;
	uint16_t text_size; /* 0: `text` is a word that locates the text */
};

struct kernel_thread_events {
	struct kernel_instance instance;
	const struct abi_clock *clock;
	struct record_layout layouts[EVENTS_MAX];
	int n_layouts;
	int *pipes;
	int n_pipes;
	uint8_t *page;
	size_t page_size;
	struct kernel_change *changes; /* of one reading */
	size_t n_changes, n_rooms;
	bool has_lost;
};

/* ---------------------------------------------------------------- opening */

static const struct recorded {
	const char *system, *event;
	enum kernel_change_kind kind;
	const char *tid, *by, *flags, *hierarchy,
		*text; /* fields; NULL: the current thread, or none */
} recorded[] = {
	{ "cgroup", "cgroup_attach_task", KERNEL_CHANGE_CGROUP, "pid", NULL, NULL, "dst_root",
	  "dst_path" },
	{ "task", "task_newtask", KERNEL_CHANGE_BIRTH, "pid", NULL, "clone_flags", NULL, "comm" },
	{ "task", "task_rename", KERNEL_CHANGE_NAME, "pid", NULL, NULL, NULL, "newcomm" },
	{ "sched", "sched_process_exec", KERNEL_CHANGE_EXEC, "pid", "old_pid", NULL, NULL, NULL },
	{ "sched", "sched_process_exit", KERNEL_CHANGE_END, "pid", NULL, NULL, NULL, NULL },
};

static const char *const setters[KERNEL_SETTERS] = {
	[KERNEL_SETUID] = "setuid",
	[KERNEL_SETGID] = "setgid",
	[KERNEL_SETREUID] = "setreuid",
	[KERNEL_SETREGID] = "setregid",
	[KERNEL_SETRESUID] = "setresuid",
	[KERNEL_SETRESGID] = "setresgid",
	[KERNEL_SETNS] = "setns",
	[KERNEL_UNSHARE] = "unshare",
	[KERNEL_SETPRIORITY] = "setpriority",
};

static const struct kernel_field *field_of(const struct kernel_format *f, const char *name)
{
	for (int i = 0; name && i < f->n_fields; i++)
		if (!strcmp(f->fields[i].name, name))
			return &f->fields[i];
	return NULL;
}

/* -ENOENT: the kernel has no such event, or an unknown form of it. */
static int add_event(struct kernel_thread_events *u, const struct recorded *w,
		     struct kernel_format *f)
{
	struct record_layout *t = &u->layouts[u->n_layouts];
	const struct kernel_field *field;
	int err = kernel_event_format(u->instance.dir, w->system, w->event, f, NULL);

	if (err)
		return err;
	*t = (struct record_layout){ .id = f->id, .kind = w->kind };
	if ((field = field_of(f, w->tid)) && field->size == 4)
		t->tid = field->offset;
	if ((field = field_of(f, w->by)) && field->size == 4)
		t->by = field->offset;
	if ((field = field_of(f, w->flags)) && field->size == 8)
		t->flags = field->offset;
	if ((field = field_of(f, w->hierarchy)) && field->size == 4)
		t->hierarchy = field->offset;
	if ((field = field_of(f, w->text))) {
		t->text = field->offset;
		t->text_size = field->place == KERNEL_IN_RECORD ? field->size : 0;
	}
	if ((w->tid && !t->tid) || (w->text && !t->text) ||
	    (field && field->place == KERNEL_REL_LOC))
		return -ENOENT;
	err = kernel_event_enable(u->instance.dir, w->system, w->event, true, NULL);
	u->n_layouts += !err;
	return err;
}

/* A kernel may lack one of these calls' events. Then reading /proc finds the change later. */
static void add_setter(struct kernel_thread_events *u, enum kernel_setter call, bool is_entry,
		       struct kernel_format *f)
{
	char event[48];
	const struct recorded w = { .system = "syscalls",
				    .event = event,
				    .kind = is_entry ? KERNEL_CHANGE_REQUESTED
						     : KERNEL_CHANGE_GRANTED };
	const struct kernel_field *field;
	struct record_layout *t;
	int n = 0;

	snprintf(event, sizeof event, "sys_%s_%s", is_entry ? "enter" : "exit", setters[call]);
	if (add_event(u, &w, f))
		return;
	t = &u->layouts[u->n_layouts - 1];
	t->call = call;
	field = is_entry ? NULL : field_of(f, "ret");
	t->result = field && field->size == 8 ? field->offset : 0;
	for (int i = 0; is_entry && i < f->n_fields && n < 2;
	     i++) /* after the call's number, which is an int */
		if (f->fields[i].size == 8)
			t->ids[n++] = f->fields[i].offset;
}

static int add_events(struct kernel_thread_events *u, const struct kernel_thread_events_options *o,
		      struct diag *d)
{
	struct kernel_format *f = malloc(sizeof *f);
	int n = o->cgroups_alone ? 1 : (int)(sizeof recorded / sizeof *recorded),
	    err = f ? 0 : -ENOMEM;

	_Static_assert(sizeof recorded / sizeof *recorded + 2 * KERNEL_SETTERS <= EVENTS_MAX,
		       "there is room");
	for (int i = 0; i < n && !err; i++) {
		err = add_event(u, &recorded[i], f);
		if (!i && !o->cgroups_alone && err == -ENOENT) /* a kernel without cgroups */
			err = 0;
		if (err)
			diag_fail(d, err, "cannot follow changes of threads: tracefs %s:%s: %s",
				  recorded[i].system, recorded[i].event, strerror(-err));
	}
	for (int i = 0; !err && o->system_calls && !o->cgroups_alone && i < KERNEL_SETTERS; i++) {
		if (i < KERNEL_SETTER_WITH_IDS)
			add_setter(u, (enum kernel_setter)i, true, f);
		add_setter(u, (enum kernel_setter)i, false, f);
	}
	free(f);
	return err;
}

static int setup(struct kernel_thread_events *u, const struct kernel_thread_events_options *o,
		 struct diag *d)
{
	int dir = u->instance.dir, err;

	kernel_tracefs_write(dir, "options/record-cmd", "0");
	/* A reader that waits for new members of a cgroup must be woken by the first one. */
	kernel_tracefs_write(dir, "buffer_percent", o->cgroups_alone ? "0" : "50");
	err = kernel_tracefs_write(dir, "trace_clock", clock_tracefs_name(o->clock));
	if (!err)
		err = kernel_tracefs_write(dir, "buffer_size_kb", BUFFER_KIB);
	return err ? diag_fail(d, err, "cannot set up a tracefs instance: %s", strerror(-err))
		   : add_events(u, o, d);
}

static int add_pipe(struct kernel_thread_events *u, const char *cpu, struct diag *d)
{
	int *pipes = realloc(u->pipes, (size_t)(u->n_pipes + 1) * sizeof *pipes);
	char path[64];

	if (!pipes)
		return diag_fail(d, -ENOMEM, "no memory for %s", cpu);
	u->pipes = pipes;
	snprintf(path, sizeof path, "per_cpu/%.16s/trace_pipe_raw", cpu);
	pipes[u->n_pipes] = kernel_tracefs_open_file(u->instance.dir, path);
	if (pipes[u->n_pipes] < 0)
		return diag_errno(d, "cannot open %s of a tracefs instance", path);
	u->n_pipes++;
	return 0;
}

static int open_pipes(struct kernel_thread_events *u, struct diag *d)
{
	int fd = kernel_tracefs_open_file(u->instance.dir, "per_cpu"), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		err = diag_errno(d, "cannot list per_cpu of a tracefs instance");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(dir)))
		if (!strncmp(e->d_name, "cpu", 3) && isdigit((unsigned char)e->d_name[3]))
			err = add_pipe(u, e->d_name, d);
	closedir(dir);
	return err;
}

int kernel_thread_events_open(struct kernel_thread_events **out,
			      const struct kernel_thread_events_options *o, struct diag *d)
{
	struct kernel_thread_events *u = calloc(1, sizeof *u);
	int available, err;

	*out = NULL;
	if (!u)
		return diag_fail(d, -ENOMEM, "no memory to follow changes of threads");
	u->instance = KERNEL_NO_INSTANCE;
	u->clock = o->clock;
	u->page_size = (size_t)sysconf(_SC_PAGESIZE);
	u->page = malloc(u->page_size);
	if (o->root >= 0) {
		err = kernel_instance_create(&u->instance, o->root, d);
	} else {
		err = broker_request(&u->instance, &available, d);
		if (!err)
			close(available);
	}
	if (!err)
		err = u->page ? setup(u, o, d) : diag_fail(d, -ENOMEM, "no memory for a page");
	if (!err)
		err = open_pipes(u, d);
	if (err)
		kernel_thread_events_close(u);
	else
		*out = u;
	return err;
}

void kernel_thread_events_close(struct kernel_thread_events *u)
{
	if (!u)
		return;
	for (int i = 0; i < u->n_pipes; i++)
		close(u->pipes[i]);
	kernel_instance_remove(&u->instance);
	free(u->pipes);
	free(u->page);
	free(u->changes);
	free(u);
}

int kernel_thread_events_run(struct kernel_thread_events *u, bool runs)
{
	return kernel_instance_switch(&u->instance, runs);
}

int kernel_thread_events_fd(const struct kernel_thread_events *u, int i)
{
	return i < u->n_pipes ? u->pipes[i] : -1;
}

/* ---------------------------------------------------------------- reading */

static bool has(const struct kernel_record *r, unsigned offset, unsigned size)
{
	return offset + size <= r->size;
}

static int32_t tid_at(const struct kernel_record *r, unsigned offset)
{
	return (int32_t)load32(r->bytes + offset);
}

/* Reads an array, or a text located by a word: its low half is the place, its high half the
 * size. */
static void take_text(struct kernel_change *c, const struct record_layout *t,
		      const struct kernel_record *r)
{
	size_t at = t->text, size = t->text_size, n;

	if (!size) {
		uint32_t word = load32(r->bytes + at);

		at = word & 0xffff;
		size = word >> 16;
	}
	if (at > r->size || size > r->size - at)
		return;
	n = strnlen((const char *)r->bytes + at,
		    size < sizeof c->text - 1 ? size : sizeof c->text - 1);
	memcpy(c->text, r->bytes + at, n);
	c->text[n] = 0;
}

static bool take(struct kernel_change *c, const struct record_layout *t,
		 const struct kernel_record *r)
{
	if (!has(r, t->tid, 4) || !has(r, t->by, 4) || !has(r, t->flags, 8) ||
	    !has(r, t->hierarchy, 4) || !has(r, t->text, t->text_size ? t->text_size : 4) ||
	    !has(r, t->result, 8) || !has(r, t->ids[0], 8) || !has(r, t->ids[1], 8))
		return false;
	c->kind = t->kind;
	c->tid = tid_at(r, t->tid ? t->tid : 4);
	c->by = tid_at(r, t->by ? t->by : 4);
	c->flags = t->flags ? load64(r->bytes + t->flags) : 0;
	c->call = t->call;
	for (int i = 0; i < 2; i++)
		c->ids[i] = t->ids[i] ? (int32_t)load64(r->bytes + t->ids[i]) : -1;
	c->text[0] = 0;
	if (t->text)
		take_text(c, t, r);
	/* The unified hierarchy has number 0. A call that failed changed nothing. */
	return !(t->hierarchy && load32(r->bytes + t->hierarchy)) &&
	       !(t->result && load64(r->bytes + t->result));
}

static struct kernel_change *room(struct kernel_thread_events *u)
{
	size_t n_rooms = u->n_rooms ? 2 * u->n_rooms : 64;
	struct kernel_change *changes;

	if (u->n_changes < u->n_rooms)
		return &u->changes[u->n_changes];
	changes = n_rooms > CHANGES_MAX ? NULL : realloc(u->changes, n_rooms * sizeof *changes);
	if (!changes)
		return NULL;
	u->changes = changes;
	u->n_rooms = n_rooms;
	return &u->changes[u->n_changes];
}

static void read_page(struct kernel_thread_events *u, size_t size)
{
	struct kernel_change *c;
	struct kernel_record r;
	struct kernel_walk w;

	if (size >= KERNEL_PAGE_HEADER && load32(u->page + 8) & COMMIT_MISSED)
		u->has_lost = true;
	kernel_walk_begin(&w, u->page, size);
	while (kernel_walk_next(&w, &r)) {
		uint16_t id;

		if (r.size < KERNEL_COMMON_SIZE)
			continue;
		memcpy(&id, r.bytes, sizeof id);
		c = room(u);
		u->has_lost |= !c;
		for (int i = 0; c && i < u->n_layouts; i++)
			if (u->layouts[i].id == id && take(c, &u->layouts[i], &r)) {
				c->ns = clock_ns(u->clock, r.ticks);
				u->n_changes++;
				break;
			}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_change *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

bool kernel_thread_events_read(struct kernel_thread_events *u,
			       void (*each)(void *arg, const struct kernel_change *c), void *arg)
{
	ssize_t size;

	u->n_changes = 0;
	u->has_lost = false;
	for (int i = 0; i < u->n_pipes; i++) {
		int n = 0;

		while (n++ < PAGES_MAX && (size = read(u->pipes[i], u->page, u->page_size)) > 0)
			read_page(u, (size_t)size);
	}
	if (u->n_changes)
		qsort(u->changes, u->n_changes, sizeof *u->changes, by_time);
	for (size_t i = 0; i < u->n_changes; i++)
		each(arg, &u->changes[i]);
	return !u->has_lost;
}
