/* SPDX-License-Identifier: MIT */
/* Names for the numbers in system calls.  The expected names are written out here; the flags come
 * from headers. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "capture/table.h"
#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"
#include "analysis/syscalls/fds.h"

/* The text made last; the next call overwrites it. */
static char made[512];

static const char *said(struct text *t)
{
	snprintf(made, sizeof made, "%s", t->bytes ? t->bytes : "");
	text_fini(t);
	return made;
}

struct argument {
	const char *name;
	int64_t n;
	const char *text;
	const struct call_memory *memory;
};

/* "call(arguments)", of at most CALL_ARGS arguments; the last has no name. */
static const char *arguments(const char *call, const struct argument *a,
			     const struct call_about *about)
{
	struct call_value values[CALL_ARGS] = { 0 };
	struct call_class class = { .is = CALL_ENTRY };
	struct call_parts parts = { 0 };
	int64_t numbers[CALL_ARGS] = { 0 };
	struct call_plan plan;
	struct text t = { 0 };

	for (; a->name; a++) {
		values[class.n_fields] =
			(struct call_value){ .n = a->n,
					     .is_signed = true,
					     .text = a->text,
					     .text_size = a->text ? strlen(a->text) : 0,
					     .memory = a->memory };
		class.name[class.n_fields++] = a->name;
	}
	call_plan_make(&plan, call, &class);
	for (uint32_t i = 0; i < class.n_fields; i++)
		numbers[i] = values[i].n;
	call_arguments(&parts, &plan, values, class.n_fields, UINT32_MAX,
		       &(struct call_moment){ .args = numbers, .about = about });
	call_join(&t, &plan, &parts, 0, CALL_ARGS);
	call_parts_fini(&parts);
	return said(&t);
}
#define call(name, ...) arguments(name, (const struct argument[]){ __VA_ARGS__, { 0 } }, NULL)

static const char *result(const char *call, int64_t result)
{
	const struct call_made m = { .class = NULL };
	struct call_plan plan;
	struct text t = { 0 };

	call_plan_make(&plan, call, NULL);
	call_result(&t, &plan, &m, result, NULL);
	return said(&t);
}

static void flags_are_named_and_unknown_bits_are_a_number(void)
{
	is_text(call("openat", { "dfd", AT_FDCWD }, { "filename", 0, "/etc" },
		     { "flags", O_RDONLY | O_CLOEXEC }, { "mode", 0 }),
		"AT_FDCWD, \"/etc\", O_RDONLY|O_CLOEXEC");
	is_text(call("open", { "filename", 0, "x" }, { "flags", O_RDWR | O_CREAT | O_SYNC },
		     { "mode", 0644 }),
		"\"x\", O_RDWR|O_CREAT|O_SYNC, 0644");
	is_text(call("access", { "filename", 0, "0x0" }, { "mode", 0 }), "NULL, F_OK");
	is_text(call("openat", { "dfd", 3 }, { "filename", 0, "x" },
		     { "flags", O_TMPFILE | O_WRONLY }, { "mode", 0600 }),
		"3, \"x\", O_WRONLY|O_TMPFILE, 0600");
	is_text(call("mmap", { "addr", 0 }, { "len", 4096 }, { "prot", PROT_READ | PROT_WRITE },
		     { "flags", MAP_PRIVATE | MAP_ANONYMOUS | 1ll << 40 }, { "fd", 0xffffffff },
		     { "off", 0x2000 }),
		"NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|0x10000000000, -1, "
		"0x2000");
	is_text(call("mmap", { "addr", 0 }, { "len", 4096 }, { "prot", PROT_READ },
		     { "flags", MAP_PRIVATE }, { "fd", -1 }, { "offset", 0x2000 }),
		"NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0x2000");
	is_text(call("mprotect", { "start", 0x1000 }, { "len", 1 }, { "prot", 0 }),
		"0x1000, 1, PROT_NONE");
	is_text(call("access", { "filename", 0, "" }, { "mode", 0 }), "\"\", F_OK");
	is_text(call("clone", { "clone_flags", CLONE_VM | CLONE_VFORK | SIGCHLD }, { "newsp", 0 }),
		"child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|SIGCHLD");
	is_text(call("clone", { "clone_flags", 0 }), "flags=0");
	is_text(call("clone", { "clone_flags", CLONE_CHILD_SETTID | SIGCHLD }, { "newsp", 0 },
		     { "p", 1 }, { "c", 2 }, { "tls", 3 }),
		"child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=2");
	is_text(call("prctl", { "option", 15 }, { "arg2", 1 }, { "arg3", 1 }, { "arg4", 1 },
		     { "arg5", 1 }),
		"PR_SET_NAME, 0x1");
	is_text(call("clone", { "flags", CLONE_VM | SIGCHLD }, { "newsp", 0 }),
		"child_stack=NULL, flags=CLONE_VM|SIGCHLD");
	is_text(call("wait4", { "upid", -1 }, { "stat_addr", 0 }, { "options", 0 }), "-1, 0, 0");
}

static void commands_are_named_and_their_flags(void)
{
	is_text(call("futex", { "uaddr", 16 }, { "op", 129 }, { "val", 1 }, { "utime", 1 },
		     { "uaddr2", 2 }, { "val3", 3 }),
		"16, FUTEX_WAKE_PRIVATE, 1");
	is_text(call("futex", { "uaddr", 16 }, { "op", 9 | 128 | 256 }, { "val", 1 },
		     { "utime", 1 }, { "uaddr2", 2 }, { "val3", -1 }),
		"16, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 1, 1, FUTEX_BITSET_MATCH_ANY");
	is_text(call("socket", { "family", AF_INET }, { "type", SOCK_STREAM | SOCK_CLOEXEC },
		     { "protocol", 6 }),
		"AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP");
	is_text(call("socket", { "family", AF_UNIX }, { "type", SOCK_DGRAM }, { "protocol", 6 }),
		"AF_UNIX, SOCK_DGRAM, 6");
	is_text(call("setsockopt", { "fd", 3 }, { "level", SOL_SOCKET },
		     { "optname", SO_REUSEADDR }),
		"3, SOL_SOCKET, SO_REUSEADDR");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", F_GETFL }, { "arg", 77 }), "3, F_GETFL");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", F_SETFD }, { "arg", FD_CLOEXEC }),
		"3, F_SETFD, FD_CLOEXEC");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", F_SETFL }, { "arg", O_NONBLOCK }),
		"3, F_SETFL, O_RDONLY|O_NONBLOCK");
	is_text(call("ioctl", { "fd", 1 }, { "cmd", 0x5401 }, { "arg", 255 }), "1, TCGETS, 0xff");
	is_text(call("ioctl", { "fd", 1 }, { "cmd", 0xdeadbeef }, { "arg", 0 }),
		"1, _IOC(_IOC_READ|_IOC_WRITE, 0xbe, 0xef, 0x1ead), 0");
	is_text(call("lseek", { "fd", 1 }, { "offset", -1 }, { "whence", SEEK_END }),
		"1, -1, SEEK_END");
	is_text(call("lseek", { "fd", 1 }, { "offset", -1 }, { "whence", 99 }),
		"1, -1, 0x63 /* SEEK_??? */");
	is_text(call("kill", { "pid", 7 }, { "sig", SIGTERM }), "7, SIGTERM");
	is_text(call("kill", { "pid", 7 }, { "sig", 35 }), "7, SIGRT_3");
	is_text(call("kill", { "pid", 7 }, { "sig", 0 }), "7, 0");
	is_text(call("umask", { "mask", 022 }), "022");
}

static void unknown_arguments_are_shown_as_numbers(void)
{
	is_text(call("frobnicate", { "a", -3 }, { "fd", 3 }, { "b", 0, "x" }), "-3, 3, \"x\"");
	is_text(call("fcntl", { "fd", 3 }), "3");
	is_text(call("futex", { "uaddr", 3 }), "3");
	is_text(call("open", { "flags", 0 }), "O_RDONLY");
	is_text(call("socket", { "family", 2 }, { "type", 0, "text" }), "AF_INET, \"text\"");
}

static void results_have_names_of_errors(void)
{
	is_text(result("read", 832), "832");
	is_text(result("read", -ENOENT), "-1 ENOENT (No such file or directory)");
	is_text(result("read", -512), "? ERESTARTSYS (To be restarted if SA_RESTART is set)");
	is_text(result("read", -4095), "-1 errno 4095");
	is_text(result("lseek", -5000), "-5000");
	is_text(result("mmap", 0x7f0000001000), "0x7f0000001000");
	is_text(result("mmap", -ENOMEM), "-1 ENOMEM (Cannot allocate memory)");
	is_text(result("umask", 022), "022");
	is_text(result("exit_group", 0), "?");
	is_text(result("openat", 3), "3");
}

static void texts_are_quoted_as_c_writes_them(void)
{
	static const char bytes[] = "a\"\\\n\t\0001\001x\377";
	struct text t = { 0 };

	call_quoted(&t, bytes, sizeof bytes - 1);
	is_text(said(&t), "\"a\\\"\\\\\\n\\t\\0001\\1x\\377\"");
}

static void descriptors_are_named_by_their_files(void)
{
	struct fds fds = { 0 };
	const struct call_about about = { .fds = &fds, .process = 5 },
				other = { .fds = &fds, .process = 6 };
	const struct argument read[] = { { "fd", 3, NULL, NULL }, { 0 } };

	is(fds_dumped(&fds, 5, 3, 0, "/etc/pass\033wd", 13), 0);
	is_text(arguments("read", read, &about), "3</etc/pass\\33wd>");
	is_text(arguments("read", read, &other), "3");
	fds_fini(&fds);
}

static void pointed_to_data_replaces_the_pointer(void)
{
	static struct call_memory time = { .size = 16, .bytes = { 1 } }, none;

	time.what = none.what = capture_of_call("futex", false, false).at[0];

	is_text(call("nanosleep", { "rqtp", 77, .memory = &time }, { "rmtp", 88 }),
		"{tv_sec=1, tv_nsec=0}, 88");
	is_text(call("nanosleep", { "rqtp", 77, .memory = &none }, { "rmtp", 88 }), "77, 88");
	is_text(call("futex", { "uaddr", 16 }, { "op", 128 }, { "val", 1 },
		     { "utime", 77, .memory = &time }),
		"16, FUTEX_WAIT_PRIVATE, 1, {tv_sec=1, tv_nsec=0}");
	is_text(call("futex", { "uaddr", 16 }, { "op", 3 }, { "val", 1 },
		     { "utime", 77, .memory = &time }, { "uaddr2", 2 }),
		"16, FUTEX_REQUEUE, 1, 77, 2");
	is_text(call("futex", { "uaddr", 16 }, { "op", 129 }, { "val", 1 },
		     { "utime", 77, .memory = &time }),
		"16, FUTEX_WAKE_PRIVATE, 1");
}

/* Found by tests/live/strace/random_calls_are_shown_as_strace_shows_them.py. */
static void random_arguments_are_shown_as_strace_shows_them(void)
{
	is_text(call("futex", { "uaddr", 16 }, { "op", 0xb2 }, { "val", 1 }),
		"16, 0xb2 /* FUTEX_??? */, 1");
	is_text(call("futex", { "uaddr", 16 }, { "op", 2 | 256 }, { "val", 1 }),
		"16, 0x102 /* FUTEX_??? */, 1");
	is_text(call("futex", { "uaddr", 16 }, { "op", 3 }, { "val", 1 }, { "utime", 0 },
		     { "uaddr2", 2 }),
		"16, FUTEX_REQUEUE, 1, 0, 2");
	is_text(call("futex", { "uaddr", 16 }, { "op", 5 }, { "val", 1 }, { "utime", 7 },
		     { "uaddr2", 2 }, { "val3", (int32_t)0xf1003005 }),
		"16, FUTEX_WAKE_OP, 1, 7, 2, FUTEX_OP_OPARG_SHIFT<<28|0x7<<28 /* FUTEX_OP_??? "
		"*/|0x3<<12|FUTEX_OP_CMP_NE<<24|0x5");
	is_text(call("openat", { "dfd", -100 }, { "filename", 16 },
		     { "flags", O_SYNC | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK | 020000 },
		     { "mode", 0 }),
		"AT_FDCWD, 16, O_RDONLY|O_NONBLOCK|O_SYNC|O_CLOEXEC|O_DIRECTORY|FASYNC");
	is_text(call("socket", { "family", AF_UNIX }, { "type", 077 | SOCK_CLOEXEC },
		     { "protocol", 0 }),
		"AF_UNIX, SOCK_CLOEXEC|0x3f, 0");
	is_text(call("socketpair", { "family", AF_INET }, { "type", SOCK_STREAM },
		     { "protocol", 6 }, { "usockvec", 0 }),
		"AF_INET, SOCK_STREAM, 6, 0");
	is_text(call("flock", { "fd", 3 }, { "cmd", LOCK_NB | 32 | 64 }),
		"3, LOCK_NB|LOCK_MAND|LOCK_READ");
	is_text(call("timerfd_create", { "clockid", 0 }, { "flags", 1 | O_NONBLOCK }),
		"CLOCK_REALTIME, TFD_TIMER_ABSTIME|TFD_NONBLOCK");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", F_DUPFD }, { "arg", -1 }), "3, F_DUPFD, -1");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", F_SETFL }, { "arg", 0x7f0000000800 }),
		"3, F_SETFL, O_RDONLY|O_NONBLOCK");
	is_text(call("fcntl", { "fd", 3 }, { "cmd", 77 }, { "arg", -1 }),
		"3, 0x4d /* F_??? */, 0xffffffffffffffff");
	is_text(call("mremap", { "addr", 1 }, { "old_len", 2 }, { "new_len", 3 }, { "flags", 2 },
		     { "new_addr", 5 }),
		"0x1, 2, 3, MREMAP_FIXED");
	is_text(call("membarrier", { "cmd", 0 }, { "flags", 0 }, { "cpu_id", 7 }),
		"MEMBARRIER_CMD_QUERY, 0");
	is_text(call("mmap", { "addr", 0 }, { "len", 1 }, { "prot", 1 }, { "flags", 16 }),
		"NULL, 1, PROT_READ, MAP_FILE|MAP_FIXED");
	is_text(result("ioprio_get", 8196), "8196 (IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 4))");
}

int main(void)
{
	run(flags_are_named_and_unknown_bits_are_a_number);
	run(commands_are_named_and_their_flags);
	run(unknown_arguments_are_shown_as_numbers);
	run(results_have_names_of_errors);
	run(texts_are_quoted_as_c_writes_them);
	run(descriptors_are_named_by_their_files);
	run(pointed_to_data_replaces_the_pointer);
	run(random_arguments_are_shown_as_strace_shows_them);
	return test_status();
}
