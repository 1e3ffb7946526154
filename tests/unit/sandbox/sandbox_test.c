/* SPDX-License-Identifier: MIT */
/*
 * The sandbox: calls that it allows work, others fail or end the process.
 *
 * Each attempt is made in a child, which enters its sandbox first.  A child reports by its exit
 * status: the errno of the attempt, or 0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox.h"
#include "test.h"

enum { KILLED = 1000, REPORTED = 2000 };

static char dir[] = "/tmp/duet-sandbox-XXXXXX";

static const char *in(const char *name)
{
	static char path[4][PATH_MAX];
	static int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
	return path[n];
}

static int result(long n)
{
	return n < 0 ? errno : 0;
}

/* The exit status of a child in @s that does @attempt; KILLED + a signal; + REPORTED if it left a
 * line on standard error. */
static int attempt(const struct sandbox *s, int (*call)(void))
{
	char line[256];
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(ends))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct diag d = { "" };

		dup2(ends[1], STDERR_FILENO);
		close(ends[1]);
		if (sandbox_restrict(s, &d)) {
			printf("# %s\n", d.text);
			_exit(255);
		}
		_exit(call());
	}
	close(ends[1]);
	n = read(ends[0], line, sizeof line);
	close(ends[0]);
	waitpid(pid, &status, 0);
	return (n > 0 ? REPORTED : 0) +
	       (WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status));
}

static const struct sandbox reader = { .name = "test", .rights = SANDBOX_THREADS };

/* ---------------------------------------------------------------- files */

static int read_file(void)
{
	char byte;
	int fd = open(in("file"), O_RDONLY);

	return result(fd < 0 ? fd : read(fd, &byte, 1));
}

static int write_file(void)
{
	return result(open(in("file"), O_WRONLY));
}

static int make_file(void)
{
	return result(open(in("new"), O_WRONLY | O_CREAT, 0600));
}

static int make_below(void)
{
	int fd = open(in("open/new"), O_RDWR | O_CREAT, 0600);

	return result(fd < 0 ? fd : write(fd, "x", 1)) ||
	       result(rename(in("open/new"), in("open/x"))) ||
	       result(mkdir(in("open/dir"), 0700)) || result(unlink(in("open/x"))) ||
	       result(rmdir(in("open/dir")));
}

static int make_beside(void)
{
	return result(open(in("closed/new"), O_RDWR | O_CREAT, 0600));
}

static int link_out(void)
{
	return result(rename(in("closed/file"), in("open/file")));
}

static int read_closed(void)
{
	return result(open(in("closed/file"), O_RDONLY));
}

static int make_link(void)
{
	return result(symlink("/etc/passwd", in("open/link")));
}

static int remove_directory(void)
{
	return result(rmdir(in("empty")));
}

static int remove_file(void)
{
	return result(unlink(in("file")));
}

static void a_reader_reads_and_writes_no_file(void)
{
	is(attempt(&reader, read_file), 0);
	is(attempt(&reader, write_file), EPERM + REPORTED);
	is(attempt(&reader, make_file), EPERM + REPORTED);
	is(attempt(&reader, remove_file), EPERM + REPORTED);
}

static void files_are_made_below_the_directories_that_were_named_alone(void)
{
	const char *const writes[] = { in("open"), NULL };
	const struct sandbox s = { .name = "test", .writes = writes };

	is(attempt(&s, make_below), 0);
	if (!sandbox_landlock_version())
		return;
	is(attempt(&s, make_beside), EACCES);
	ok(attempt(&s, link_out) == EACCES || attempt(&s, link_out) == EXDEV);
	is(attempt(&s, remove_file), EACCES);
	is(attempt(&s, make_link), ENOSYS + REPORTED);
}

static void directories_alone_are_no_files(void)
{
	const char *const directories[] = { in(""), NULL };
	const struct sandbox s = { .name = "test", .directories = directories };

	if (!sandbox_landlock_version())
		return;
	is(attempt(&s, remove_directory), 0);
	is(attempt(&s, remove_file), EACCES);
	is(attempt(&s, make_file), EACCES);
}

static void reading_can_be_limited_to_directories(void)
{
	const char *const reads[] = { in("open"), NULL };
	const struct sandbox s = { .name = "test", .reads = reads };

	if (!sandbox_landlock_version())
		return;
	is(attempt(&s, read_closed), EACCES);
	is(attempt(&s, read_file), EACCES);
}

/* ---------------------------------------------------------------- programs and processes */

static int execute(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return errno;
}

static int trace(void)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int mount_something(void)
{
	return result(mount("none", dir, "tmpfs", 0, ""));
}

static int load_bpf(void)
{
	return result(syscall(SYS_bpf, 0, NULL, 0));
}

static int become_root(void)
{
	return result(setuid(0));
}

static int leave_namespace(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int open_handle(void)
{
	return result(syscall(SYS_open_by_handle_at, -1, NULL, 0));
}

static int fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return result(pid < 0 ? -1 : waitpid(pid, NULL, 0) == pid ? 0 : -1);
}

static int signal_parent(void)
{
	return result(kill(getppid(), 0));
}

static int signal_group(void)
{
	return result(kill(0, SIGCONT));
}

static int signal_itself(void)
{
	signal(SIGUSR1, SIG_IGN);
	return raise(SIGUSR1) ? errno : 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static int make_thread(void)
{
	pthread_t t;

	return pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL);
}

static int map_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static int make_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int type_into_terminal(void)
{
	return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int unknown_call(void)
{
	return result(syscall(999));
}

static void calls_of_an_attack_end_the_process(void)
{
	int (*const attacks[])(void) = { execute,     trace,	       mount_something, load_bpf,
					 become_root, leave_namespace, open_handle };

	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
		is(attempt(&reader, attacks[i]), KILLED + SIGSYS);
}

static void other_calls_fail_and_are_reported(void)
{
	is(attempt(&reader, type_into_terminal), EPERM + REPORTED);
	is(attempt(&reader, signal_parent), EPERM + REPORTED);
	is(attempt(&reader, signal_group), EPERM + REPORTED);
	is(attempt(&reader, map_code), EPERM + REPORTED);
	is(attempt(&reader, make_code), EPERM + REPORTED);
	is(attempt(&reader, fork_child), EPERM + REPORTED);
	is(attempt(&reader, unknown_call), ENOSYS + REPORTED);
}

static void each_right_allows_its_calls(void)
{
	const struct sandbox none = { .name = "test" },
			     forks = { .name = "test", .rights = SANDBOX_FORKS },
			     code = { .name = "test", .rights = SANDBOX_MAKES_CODE };

	is(attempt(&reader, make_thread), 0);
	ok(attempt(&none, make_thread));
	is(attempt(&reader, signal_itself), 0);
	is(attempt(&forks, fork_child), 0);
	is(attempt(&code, map_code), 0);
	is(attempt(&code, make_code), 0);
	is(attempt(&code, execute), KILLED + SIGSYS);
}

/* ---------------------------------------------------------------- sockets */

static int listener;
static struct sockaddr_in address = { .sin_family = AF_INET };

static int connect_tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return result(fd < 0 ? fd : connect(fd, (struct sockaddr *)&address, sizeof address));
}

static int connect_unix(void)
{
	struct sockaddr_un there = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(there.sun_path, sizeof there.sun_path, "%s/socket", dir);
	return result(fd < 0 ? fd : connect(fd, (struct sockaddr *)&there, sizeof there));
}

static int listen_tcp(void)
{
	const struct sockaddr_in here = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return result(fd < 0 ? fd : bind(fd, (const struct sockaddr *)&here, sizeof here));
}

static int accept_tcp(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	return result(fd < 0 ? fd : send(fd, "x", 1, MSG_NOSIGNAL));
}

static void listen_here(void)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	socklen_t size = sizeof address;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ok(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 8));
	getsockname(listener, (struct sockaddr *)&address, &size);
	snprintf(local.sun_path, sizeof local.sun_path, "%s/socket", dir);
	ok(!bind(fd, (struct sockaddr *)&local, sizeof local) && !listen(fd, 8));
}

static void connections_need_their_right(void)
{
	const struct sandbox here = { .name = "test", .rights = SANDBOX_CONNECTS_HERE },
			     connects = { .name = "test", .rights = SANDBOX_CONNECTS },
			     accepts = { .name = "test", .rights = SANDBOX_ACCEPTS };
	int mine;

	listen_here();
	is(attempt(&reader, connect_tcp), EPERM + REPORTED);
	is(attempt(&reader, connect_unix), EPERM + REPORTED);
	is(attempt(&here, connect_unix), 0);
	is(attempt(&here, connect_tcp), EPERM + REPORTED);
	is(attempt(&connects, connect_tcp), 0);
	if (sandbox_landlock_version() >= 4)
		is(attempt(&connects, listen_tcp), EACCES);
	is(attempt(&accepts, connect_tcp), EPERM + REPORTED);
	mine = socket(AF_INET, SOCK_STREAM, 0);
	ok(!connect(mine, (struct sockaddr *)&address, sizeof address));
	is(attempt(&accepts, accept_tcp), 0);
	close(mine);
}

/* ---------------------------------------------------------------- */

static int mode(void)
{
	char line[128];
	int found = -1, n;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Seccomp: %d", &n) == 1)
			found = n;
	return found * 10 + prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static void the_kernel_shows_the_sandbox(void)
{
	is(attempt(&reader, mode), 21); /* a filter, and no new privileges */
}

static void nothing_of_it_is_there_if_it_is_switched_off(void)
{
	setenv("DUET_SANDBOX", "off", 1);
	is(attempt(&reader, mode), 0);
	is(attempt(&reader, execute), 0);
	setenv("DUET_SANDBOX", "no", 1);
	is(attempt(&reader, mode), 21);
	unsetenv("DUET_SANDBOX");
}

static void a_path_that_is_not_there_is_an_error(void)
{
	const char *const writes[] = { in("nowhere"), NULL };
	const struct sandbox s = { .name = "test", .writes = writes };
	struct diag d = { "" };
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(sandbox_restrict(&s, &d) == -ENOENT && strstr(d.text, "nowhere") ? 3 : 4);
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), sandbox_landlock_version() ? 3 : 4);
}

static void clean(void)
{
	static const char *const names[] = { "file", "closed/file", "socket",
					     "new",  "open/x",	    "open/new" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(in(names[i]));
	rmdir(in("open/dir"));
	rmdir(in("open"));
	rmdir(in("closed"));
	rmdir(in("empty"));
	rmdir(dir);
}

/* Their own calls would be refused: sandbox/sandbox.h. */
static int is_watched(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 1;
#endif
	return preloaded && strstr(preloaded, "vgpreload");
}

int main(void)
{
	unsetenv("DUET_SANDBOX");
	if (is_watched())
		skip("a sanitizer or valgrind has no sandbox");
	if (!sandbox_has_seccomp())
		skip("this kernel has no seccomp filters");
	if (!mkdtemp(dir) || mkdir(in("open"), 0700) || mkdir(in("closed"), 0700) ||
	    mkdir(in("empty"), 0700))
		return 1;
	close(open(in("file"), O_WRONLY | O_CREAT, 0600));
	close(open(in("closed/file"), O_WRONLY | O_CREAT, 0600));
	atexit(clean);
	run(a_reader_reads_and_writes_no_file);
	run(files_are_made_below_the_directories_that_were_named_alone);
	run(reading_can_be_limited_to_directories);
	run(calls_of_an_attack_end_the_process);
	run(other_calls_fail_and_are_reported);
	run(each_right_allows_its_calls);
	run(connections_need_their_right);
	run(the_kernel_shows_the_sandbox);
	run(nothing_of_it_is_there_if_it_is_switched_off);
	run(a_path_that_is_not_there_is_an_error);
	run(directories_alone_are_no_files);
	return test_status();
}
