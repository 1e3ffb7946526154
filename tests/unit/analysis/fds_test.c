/* SPDX-License-Identifier: MIT */
/* The file of each descriptor, followed through system calls. */
#include "test.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/pass.h"
#include "analysis/syscalls/fds.h"
#include "base/text.h"

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

/* A call with the path @path. */
static void called_with(const char *call, const char *path, int64_t result)
{
	const struct call_class class = { .is = CALL_ENTRY, .fd = fds_call(call) };
	const struct call_made m = { .class = &class, .call = 1, .args = { 0 } };

	if (pass_grow(&fds.paths, &fds.n_paths, P, sizeof *fds.paths))
		return;
	free(fds.paths[P].bytes);
	fds.paths[P] = (struct fd_path){ strdup(path), strlen(path), strlen(path) + 1 };
	is(fds_leave(&fds, P, P, &m, result, NULL), 0);
}

static void a_removed_file_is_deleted_and_not_the_next_of_its_name(void)
{
	begin();
	called_with("unlink", "/tmp/other", 0);
	called_with("unlink", "/tmp/x", -2);
	ok(!fds_look(&fds, P, 3)->is_deleted);
	called_with("unlink", "/tmp/x", 0);
	ok(fds_look(&fds, P, 3)->is_deleted);
	called_with("open", "/tmp/x", 8);
	is_text(name(P, 8), "/tmp/x");
	ok(!fds_look(&fds, P, 8)->is_deleted);
	ok(fds_look(&fds, P, 3)->is_deleted);
	fds_fini(&fds);
}

static void a_ruleset_is_a_descriptor_and_its_version_is_none(void)
{
	begin();
	is(returned("landlock_create_ruleset", 0, 0, 1, 4), 0);
	is_text(name(P, 4), "unknown");
	is(returned("landlock_create_ruleset", 0, 8, 0, 4), 0);
	is(returned("pidfd_open", 7, 0, 0, 5), 0);
	is_text(name(P, 4), "landlock_create_ruleset");
	fds_exec(&fds, P);
	is_text(name(P, 4), "unknown");
	is_text(name(P, 5), "unknown");
	fds_fini(&fds);
}

static void is_socket(struct abi_file s, const char *expected)
{
	struct text t = { 0 };

	fds_socket(&t, &s);
	is_text(t.size ? t.bytes : "", expected);
	text_fini(&t);
}

static void sockets_are_shown_by_type_and_address(void)
{
	struct abi_file s = { .inode = 77, .family = AF_INET, .type = "TCP" };

	is_socket(s, "TCP:[77]");
	s.local_port = 80;
	s.local[0] = 127;
	is_socket(s, "TCP:[127.0.0.0:80]");
	s.remote[3] = 9;
	is_socket(s, "TCP:[127.0.0.0:80->0.0.0.9:0]");
	s.family = AF_INET6; /* not with this type */
	is_socket(s, "");
	strcpy(s.type, "TCPv6");
	is_socket(s, "TCPv6:[[7f00::]:80->[0:9::]:0]");
	memset(s.type, 'T', sizeof s.type); /* without a NUL */
	is_socket(s, "");
	s = (struct abi_file){ .inode = 5, .peer = 6, .family = AF_UNIX, .type = "UNIX-STREAM" };
	is_socket(s, "UNIX-STREAM:[5->6]");
	memset(s.path, 'p', sizeof s.path);
	s.path_size = 4;
	is_socket(s, "UNIX-STREAM:[5->6,\"pp\"]");
	s.path[0] = 0;
	is_socket(s, "UNIX-STREAM:[5->6,@\"p\"]");
	s.path_size = UINT32_MAX; /* more than there is */
	s.path[2] = '\033';
	s.path[3] = '"';
	is_socket((struct abi_file){ .family = AF_UNIX, .path_size = 1, .type = "UNIX" },
		  "UNIX:[0]");
	ok(s.path_size > sizeof s.path);
	s.peer = 0;
	s.path[0] = 'p';
	s.path[4] = 0;
	is_socket(s, "UNIX-STREAM:[5,\"pp\\33\\\"\"]");
	s = (struct abi_file){
		.inode = 5, .family = AF_NETLINK, .type = "NETLINK", .protocol = 15
	};
	is_socket(s, "NETLINK:[5]");
	s.netlink_port = 8;
	is_socket(s, "NETLINK:[KOBJECT_UEVENT:8]");
	s.protocol = 999;
	is_socket(s, "NETLINK:[999:8]");
}

int main(void)
{
	run(a_removed_file_is_deleted_and_not_the_next_of_its_name);
	run(a_ruleset_is_a_descriptor_and_its_version_is_none);
	run(sockets_are_shown_by_type_and_address);
	run(copies_are_the_same_file);
	run(closed_descriptors_are_unknown);
	run(exec_keeps_descriptors_without_cloexec);
	run(a_child_begins_with_its_parents);
	run(numbers_that_are_no_descriptors_harm_nothing);
	return test_status();
}
