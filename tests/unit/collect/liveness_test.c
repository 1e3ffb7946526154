/* SPDX-License-Identifier: MIT */
/* Which file names are control pages, and which process owns a page: its namesake, a child, or
 * none. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "collect/session/liveness.h"
#include "test.h"

static char directory[] = "/tmp/duet-living-XXXXXX";
static int dir;

static void a_name_is_that_of_a_page_or_of_none(void)
{
	static const char *const none[] = { "",
					    "app-",
					    "app-1",
					    "app-1-",
					    "app--2",
					    "app-0-2",
					    "app-01-2",
					    "app-1-02",
					    "app-1-2-3",
					    "app-1-2x",
					    "app-+1-2",
					    "app- 1-2",
					    "app-2147483648-1",
					    "app-1-4294967296",
					    "app-99999999999999999999999-1",
					    "sock-1-2",
					    "app-1-2 (deleted)" };
	struct page_name n;

	ok(page_name_parse("app-2147483647-4294967295", &n));
	is(n.pid, 2147483647);
	is(n.proc, 4294967295u);
	ok(page_name_parse("app-1-0", &n));
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		if (!ok(!page_name_parse(none[i], &n)))
			printf("# %s\n", none[i]);
}

/* As libduet does: mapped, locked, closed. */
static void map_page(const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (ftruncate(fd, 4096) || fcntl(fd, F_OFD_SETLK, &whole) ||
	    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(3);
	close(fd);
}

static pid_t user_of_registered(const char *name, uint64_t registered_ns)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct liveness l;
	pid_t pid = -2;

	if (ok(liveness_open(&l, dir)))
		pid = liveness_is_used(fd) ? liveness_user_of(&l, name, registered_ns) : 0;
	liveness_close(&l);
	close(fd);
	return pid;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pid_t user_of(const char *name)
{
	return user_of_registered(name, now_ns());
}

/* A process that maps page @name and waits. */
static pid_t start_user(const char *name)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		exit(3);
	if (!pid) {
		map_page(name);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	(void)!read(ready[0], &c, 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_page_belongs_to_its_namesake_a_child_or_no_process(void)
{
	char own[ABI_PAGE_NAME_BYTES], dead[ABI_PAGE_NAME_BYTES];
	pid_t gone = fork(), heir;

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	snprintf(own, sizeof own, "app-%d-%u", (int)getpid(), runtime_self().proc);
	snprintf(dead, sizeof dead, "app-%d-%u", (int)gone, runtime_self().proc);
	is(user_of(own), 0); /* we exist, and do not map it */
	map_page(own);
	is(user_of(own), getpid());
	is(user_of(dead), 0);
	heir = start_user(dead);
	is(user_of(dead), heir);
	end(heir);
	is(user_of(dead), 0);
}

/* A page of a program that registered before the process began that now has its pid. */
static void a_reused_pid_is_not_the_namesake(void)
{
	char name[ABI_PAGE_NAME_BYTES];
	pid_t namesake = fork(), heir;

	if (!namesake) {
		pause();
		_exit(0);
	}
	snprintf(name, sizeof name, "app-%d-%u", (int)namesake, runtime_self().proc);
	heir = start_user(name);
	is(user_of_registered(name, 1), heir);
	is(user_of(name), namesake);
	end(namesake);
	is(user_of(name), heir);
	end(heir);
	is(user_of(name), 0);
}

/* From another /proc: the same number, but not the process that has it here. */
static void a_pid_of_another_namespace_means_nothing_here(void)
{
	char foreign[ABI_PAGE_NAME_BYTES];
	pid_t user;

	snprintf(foreign, sizeof foreign, "app-%d-%u", (int)getpid(), runtime_self().proc + 1);
	is(user_of(foreign), 0);
	user = start_user(foreign);
	is(user_of(foreign), user);
	end(user);
	is(user_of(foreign), 0);
}

/* Children inherit the mapping and its lock; a child that maps its own page drops them. */
static void a_page_is_used_until_the_last_child_has_one_of_its_own(void)
{
	char name[ABI_PAGE_NAME_BYTES];
	pid_t parent, child;
	int p[2];

	if (pipe(p))
		exit(3);
	parent = fork();
	if (!parent) {
		snprintf(name, sizeof name, "app-%d-%u", (int)getpid(), runtime_self().proc);
		map_page(name);
		child = fork();
		if (!child) {
			pause();
			_exit(0);
		}
		(void)!write(p[1], &child, sizeof child);
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	snprintf(name, sizeof name, "app-%d-%u", (int)parent, runtime_self().proc);
	if (!ok(read(p[0], &child, sizeof child) == sizeof child))
		return;
	is(user_of(name), child);
	kill(child, SIGKILL);
	for (int i = 0; i < 10000 && user_of(name);
	     i++) /* it is not our child, so we cannot wait for it */
		usleep(1000);
	is(user_of(name), 0);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(directory))
		return 1;
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run(a_name_is_that_of_a_page_or_of_none);
	run(a_page_belongs_to_its_namesake_a_child_or_no_process);
	run(a_reused_pid_is_not_the_namesake);
	run(a_pid_of_another_namespace_means_nothing_here);
	run(a_page_is_used_until_the_last_child_has_one_of_its_own);
	snprintf(command, sizeof command, "rm -r %s", directory);
	if (system(command))
		return 1;
	return test_status();
}
