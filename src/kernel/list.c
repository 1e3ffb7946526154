/* SPDX-License-Identifier: MIT */
/*
 * kernel/list.c - lists the events that can be recorded, without recording any.
 *
 * A user without access to tracefs gets the list from the lender.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/convert/layout.h"
#include "kernel/kernel.h"
#include "kernel/select/candidates.h"
#include "kernel/tracefs/broker.h"
#include "kernel/tracefs/events.h"
#include "kernel/tracefs/tracefs.h"

struct listing {
	void (*each)(void *arg, const char *event, const char *tracefs_name);
	void *arg;
};

static int list_one(void *arg, const struct kernel_candidate *c)
{
	const struct listing *l = arg;
	char name[160];

	snprintf(name, sizeof name, "%s:%s", c->system, c->event);
	l->each(l->arg, c->name, name);
	return 0;
}

int kernel_list(void (*each)(void *arg, const char *event, const char *tracefs_name), void *arg,
		struct diag *d)
{
	struct listing l = { each, arg };
	int root = kernel_tracefs_open(d), fd, err;
	char *available;
	ssize_t n;

	if (root < 0) {
		err = geteuid() ? broker_request(NULL, &fd, d) : -ENOENT;
		if (err)
			return err == -ENOENT ? root : err;
		n = kernel_tracefs_read_all(fd, &available);
	} else {
		n = kernel_tracefs_read(root, "available_events", &available);
		close(root);
	}
	if (n < 0)
		return diag_fail(d, (int)n, "cannot read tracefs available_events: %s",
				 strerror((int)-n));
	kernel_each_candidate(available, list_one, &l);
	free(available);
	return 0;
}

int kernel_formats_open(struct diag *d)
{
	return kernel_tracefs_open(d);
}

int kernel_fields(int formats, const char *name, struct text *to, struct diag *d)
{
	const char *colon = strchr(name, ':');
	struct kernel_layout l = { .n_ops = 0 };
	struct kernel_format f;
	char system[96];
	int err;

	if (!colon || (size_t)(colon - name) >= sizeof system)
		return diag_fail(d, -EINVAL, "%s: SYSTEM:EVENT is expected", name);
	snprintf(system, sizeof system, "%.*s", (int)(colon - name), name);
	if (!strncmp(colon, ":sys_exit_", 10) && !strcmp(system, "syscalls")) {
		err = kernel_layout_syscall_exit(&l, false, NULL);
	} else {
		err = kernel_event_format(formats, system, colon + 1, &f, d);
		if (err)
			return err;
		err = strncmp(colon, ":sys_enter_", 11) != 0 || strcmp(system, "syscalls") != 0
			      ? kernel_layout_event(&l, &f, system)
			      : kernel_layout_syscall_entry(&l, &f, kernel_layout_texts(&f), NULL);
	}
	if (err)
		return diag_fail(d, err, "no memory for the fields of %s", name);
	text_add(to, l.fields.bytes ? l.fields.bytes : "", l.fields.size);
	kernel_layout_fini(&l);
	return 0;
}
