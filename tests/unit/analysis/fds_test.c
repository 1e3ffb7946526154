/* SPDX-License-Identifier: MIT */
/* The file of each descriptor, followed through system calls. */
#include "test.h"

#include <fcntl.h>
#include <linux/close_range.h>

#include "analysis/syscalls/fds.h"

enum { P = 5, CHILD = 9 };

static struct fds fds;

/* A call that returned @result; its arguments are @a, @b, @c. */
static int returned(const char *call, int64_t a, int64_t b, int64_t c, int64_t result)
{
	const struct call_class class = { .is = CALL_ENTRY, .fd = fds_call(call) };
	const struct call_made m = { .class = &class, .call = 1, .args = { a, b, c } };

	return fds_leave(&fds, P, P, &m, result, NULL);
}

static const char *name(uint32_t process, int64_t fd)
{
	const struct fd_file *f = fds_look(&fds, process, fd);

	return !f ? "unknown" : f->name ? f->name : f->call ? f->call : "nothing";
}

static void begin(void)
{
	is(fds_dumped(&fds, P, 0, O_RDONLY, "/dev/null", 9), 0);
	is(fds_dumped(&fds, P, 3, O_RDWR | O_CLOEXEC, "/tmp/x", 6), 0);
}

static void copies_are_the_same_file(void)
{
	begin();
	is(returned("dup2", 3, 7, 0, 7), 0);
	is(returned("fcntl", 0, F_DUPFD, 10, 12), 0);
	is(returned("dup", 3, 0, 0, -9), 0);
	is_text(name(P, 7), "/tmp/x");
	is_text(name(P, 12), "/dev/null");
	is(fds_find(&fds, P, 7), fds_find(&fds, P, 3));
	fds_fini(&fds);
}

static void closed_descriptors_are_unknown(void)
{
	begin();
	is(returned("close", 0, 0, 0, 0), 0);
	is(returned("close", 3, 0, 0, -4), 0); /* it failed */
	is_text(name(P, 0), "unknown");
	is_text(name(P, 3), "/tmp/x");
	is(returned("close_range", 1, 0xffffffff, 0, 0), 0);
	is_text(name(P, 3), "unknown");
	fds_fini(&fds);
}

static void exec_keeps_descriptors_without_cloexec(void)
{
	begin();
	is(returned("dup2", 3, 8, 0, 8), 0); /* without the flag */
	is(returned("socket", 1, 1 | O_CLOEXEC, 0, 9), 0);
	is(returned("socket", 1, 1, 0, 10), 0);
	is(returned("fcntl", 0, F_SETFD, FD_CLOEXEC, 0), 0);
	fds_exec(&fds, P);
	is_text(name(P, 0), "unknown");
	is_text(name(P, 3), "unknown");
	is_text(name(P, 8), "/tmp/x");
	is_text(name(P, 9), "unknown");
	is_text(name(P, 10), "socket");
	is(returned("close_range", 10, 10, CLOSE_RANGE_CLOEXEC, 0), 0);
	is_text(name(P, 10), "socket");
	fds_exec(&fds, P);
	is_text(name(P, 10), "unknown");
	fds_fini(&fds);
}

static void a_child_begins_with_its_parents(void)
{
	begin();
	is(fds_fork(&fds, P, CHILD), 0);
	is(returned("close", 3, 0, 0, 0), 0);
	is_text(name(CHILD, 3), "/tmp/x");
	is_text(name(P, 3), "unknown");
	fds_fini(&fds);
}

static void numbers_that_are_no_descriptors_harm_nothing(void)
{
	begin();
	is(returned("openat", -100, 0, 0, INT64_MAX), 0);
	is(returned("dup", -1, 0, 0, 1 << 20), 0);
	is(returned("close", -1, 0, 0, 0), 0);
	is(returned("close_range", 5, 4, 0, 0), 0);
	is(fds_dumped(&fds, P, -1, 0, "x", 1), 0);
	is_text(name(P, -1), "unknown");
	is_text(name(P, INT64_MAX), "unknown");
	is_text(name(4000000, 3), "unknown");
	fds_fini(&fds);
}

int main(void)
{
	run(copies_are_the_same_file);
	run(closed_descriptors_are_unknown);
	run(exec_keeps_descriptors_without_cloexec);
	run(a_child_begins_with_its_parents);
	run(numbers_that_are_no_descriptors_harm_nothing);
	return test_status();
}
