/* SPDX-License-Identifier: MIT */
/* collect/calls/calls.c - the directory of plans of a session, and messages to its planner. */
#include "collect/calls/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "collect/calls/keep.h"
#include "collect/calls/planner.h"
#include "collect/session/programs.h"
#include "collect/session/slots.h"
#include "rules/membership.h"

#define AGAIN_NS 1000000000u /* least time between two planners */

/* ---------------------------------------------------------------- the directory */

int calls_write_generation(const struct calls *c, uint64_t generation, struct diag *d)
{
	const struct abi_plans p = { .magic = ABI_PLANS_MAGIC,
				     .generation = generation,
				     .epoch = c->epoch };
	int fd = openat(c->plans, ".generation", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : io_write(fd, &p, sizeof p);

	if (fd >= 0)
		close(fd);
	if (!err && renameat(c->plans, ".generation", c->plans, "generation"))
		err = -errno;
	return err ? diag_fail(d, err, "cannot write the plans of functions: %s", strerror(-err))
		   : 0;
}

static int write_selection(const struct calls *c, struct diag *d)
{
	struct selection *s = malloc(sizeof *s);
	int err = s ? selection_begin(s, &c->o->calls, d) : diag_fail(d, -ENOMEM, "no memory");

	if (!err && (err = selection_write(s, c->plans)))
		diag_fail(d, err, "cannot write the selection of functions: %s", strerror(-err));
	free(s);
	return err;
}

static int make_directory(struct calls *c, struct diag *d)
{
	char name[ABI_NAME_BYTES + 16];
	int err;

	snprintf(name, sizeof name, "calls-%s", c->session);
	programs_remove_plans(c->dir, c->session);
	if (!mkdirat(c->dir, name, 0700))
		c->plans = openat(c->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->plans < 0)
		return diag_errno(d, "cannot make %s in the runtime directory", name);
	err = write_selection(c, d);
	return err ? err : calls_write_generation(c, 1, d);
}

/*
 * A program has one calls file, for one session.  Two private sessions have programs of their own,
 * unless one runs within the other.
 */
static bool shares_programs(const struct abi_session *a, const struct abi_session *other)
{
	const char *outer = getenv("DUET_SESSION");

	return a->is_private ? member_of(outer ? outer : "", other->name, other->is_private)
			     : !other->is_private;
}

static int check_other_sessions(const struct session *s, struct diag *d)
{
	struct abi_session_slots slots;
	struct abi_session other;

	session_slots_read(s->dir, &slots);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		const struct abi_session_slot *slot = &slots.at[i];

		if (ABI_EPOCH_IS_NONE(slot->epoch) || slot->epoch == s->file.epoch ||
		    strchr(slot->session, '/') ||
		    session_find(s->dir, slot->session, &other, NULL) || !other.has_calls ||
		    !shares_programs(&s->file, &other))
			continue;
		return diag_fail(d, -EBUSY,
				 "session %s records the functions of the same programs; only "
				 "one session at a time can (duet stop %s)",
				 other.name, other.name);
	}
	return 0;
}

/* ---------------------------------------------------------------- messages */

static int send_message(struct calls *c, const struct planner_message *m, size_t body, int client,
			int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec v = { (void *)(uintptr_t)m, offsetof(struct planner_message, body) + body };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (client >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof control;
		cmsg = CMSG_FIRSTHDR(&h);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &client, sizeof(int));
	}
	return sendmsg(c->planner, &h, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

/* A planner that was killed is replaced; one that dies at once, by a damaged file, after a second. */
static int replace_planner(struct calls *c)
{
	uint64_t now_ns = monotonic_ns();

	if (now_ns - c->planner_begin_ns < AGAIN_NS)
		return -EAGAIN;
	c->planner_begin_ns = now_ns;
	planner_end(c);
	return planner_start(c, NULL);
}

static int pass(struct calls *c, const struct planner_message *m, size_t body, int client)
{
	int err = c->plans < 0	   ? -ENOENT
		  : c->planner < 0 ? -EPIPE
				   : send_message(c, m, body, client, MSG_DONTWAIT);

	if (err != -EPIPE && err != -ECONNRESET && err != -ECONNREFUSED)
		return err;
	err = replace_planner(c);
	return err ? err : send_message(c, m, body, client, MSG_DONTWAIT);
}

int calls_pass_plan_request(struct calls *c, const struct abi_plan_request *request, pid_t pid,
			    int fd)
{
	struct planner_message m = { .kind = PLANNER_PLAN, .pid = pid };

	_Static_assert(sizeof *request <= sizeof m.body, "a request fits");
	memcpy(m.body, request, sizeof *request);
	return pass(c, &m, sizeof *request, fd);
}

int calls_pass_change(struct calls *c, const char *request, int fd)
{
	struct planner_message m = { .kind = PLANNER_CHANGE };
	size_t n = strlen(request) + 1;

	if (n > sizeof m.body)
		return -E2BIG;
	memcpy(m.body, request, n);
	return pass(c, &m, n, fd);
}

void calls_attach(struct calls *c)
{
	const struct planner_message m = { .kind = PLANNER_ATTACH };

	if (c->o && c->o->n_pids)
		pass(c, &m, 0, -1);
}

/* Nothing is recorded yet, so that this may wait for plans of large files. */
static int prepare(struct calls *c, struct diag *d)
{
	const struct planner_message m = { .kind = PLANNER_PREPARE };
	struct planner_prepared a = { .why = { "" } };
	int err = send_message(c, &m, 0, -1, 0);
	ssize_t n;

	do
		n = err ? -1 : recv(c->planner, &a, sizeof a, 0);
	while (n < 0 && !err && errno == EINTR);
	if (n != (ssize_t)sizeof a)
		return diag_fail(d, -EIO,
				 "the process that plans functions has died: a file of the program "
				 "may be damaged");
	return a.error ? diag_fail(d, a.error, "%s", a.why.text) : 0;
}

/* ---------------------------------------------------------------- opening, closing */

int calls_open(struct calls *c, const struct session *s, const struct recorder_options *o,
	       struct diag *d)
{
	struct rights before = owner_begin(s->dir);
	int err;

	*c = CALLS_NONE;
	c->dir = s->dir;
	c->session = s->file.name;
	c->epoch = s->file.epoch;
	c->session_slot = s->file.session_slot;
	c->o = o;
	c->found = mmap(NULL, sizeof *c->found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (c->found == MAP_FAILED)
		c->found = NULL;
	err = c->found ? check_other_sessions(s, d) : diag_fail(d, -ENOMEM, "no memory");
	calls_sweep(s->dir);
	if (!err)
		err = make_directory(c, d);
	owner_end(before);
	/* A tenant's planner is forked by the first request, when the collector is confined. */
	if (!err && !o->tenant)
		err = planner_start(c, d);
	return !err && (o->command || o->n_pids) && calls_wanted(&o->calls) ? prepare(c, d) : err;
}

void calls_close(struct calls *c)
{
	planner_end(c);
	if (c->found)
		munmap(c->found, sizeof *c->found);
	if (c->plans >= 0) {
		close(c->plans);
		programs_remove_plans(c->dir, c->session);
	}
	*c = CALLS_NONE;
}

/* ---------------------------------------------------------------- the report */

static bool matched_nothing(const struct calls_pattern *p)
{
	return *p->text != '!' && !p->patched;
}

static void report_pattern(struct text *t, const struct calls_pattern *p)
{
	text_addf(t, "%s%.127s: ", t->size ? "\n  " : "", p->text);
	if (!p->files)
		text_addf(t, "no program or library of this name was seen");
	else if (p->matched)
		text_addf(t, "none of its %u function%s can be patched%s%.63s", p->matched,
			  p->matched == 1 ? "" : "s", *p->reason ? ": " : "", p->reason);
	else
		text_addf(t, "no such function%s%.63s%s",
			  *p->nearest ? ": did you mean " : " (duet list -u FILE)", p->nearest,
			  *p->nearest ? "?" : "");
}

void calls_report(const struct calls *c, uint32_t from, struct diag *d)
{
	struct text t = { 0 };

	for (uint32_t i = from; c->found && i < c->found->n_patterns && i < CALLS_PATTERNS; i++)
		if (matched_nothing(&c->found->patterns[i]))
			report_pattern(&t, &c->found->patterns[i]);
	if (t.size && !t.failed)
		diag_fail(d, 0, "%.1000s", t.bytes);
	text_fini(&t);
}
