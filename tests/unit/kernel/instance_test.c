/* SPDX-License-Identifier: MIT */
/* Which instances are removed: those without a lock. They are plain directories here. */
#include "kernel/tracefs/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static int root;

static bool exists(const char *path)
{
	return !faccessat(root, path, F_OK, 0);
}

/* Its owner was the first process of a pid namespace, without a /proc of its own: the name has the pid
 * and the start of this namespace's first process, which lives. */
static void an_instance_without_a_lock_is_removed_whatever_process_has_its_pid(void)
{
	char path[96];
	int dir;

	snprintf(path, sizeof path, "instances/duet-1-%llu-0", kernel_process_start(1));
	ok(!mkdirat(root, path, 0700));
	dir = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(!flock(dir, LOCK_EX | LOCK_NB));
	is(kernel_instance_reap(root, NULL), 0);
	ok(exists(path));
	close(dir);
	is(kernel_instance_reap(root, NULL), 1);
	ok(!exists(path));
}

static void other_directories_are_left_alone(void)
{
	static const char *const names[] = { "instances/other", "instances/duet-1-2",
					     "instances/duet-1-2-3x", "instances/duet-x" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ok(!mkdirat(root, names[i], 0700));
	is(kernel_instance_reap(root, NULL), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ok(!unlinkat(root, names[i], AT_REMOVEDIR));
}

/* ---------------------------------------------------------------- another process, just before a lock is taken */

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static void (*before_lock)(const char *path);
static char its_path[96];
static int other = -1; /* its descriptor of the directory */

int __wrap_flock(int fd, int operation)
{
	void (*act)(const char *) = before_lock;

	before_lock = NULL;
	if (act)
		act(its_path);
	return __real_flock(fd, operation);
}

static void take_lock(const char *path)
{
	other = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(other >= 0 && !__real_flock(other, LOCK_EX | LOCK_NB));
}

static void remove_it(const char *path)
{
	take_lock(path);
	ok(!unlinkat(root, path, AT_REMOVEDIR));
	close(other);
	other = -1;
}

static void replace_it(const char *path)
{
	remove_it(path);
	ok(!mkdirat(root, path, 0700));
	take_lock(path);
}

/* The owner makes number 0 first. */
static void make_while(void (*act)(const char *path))
{
	struct kernel_instance in;

	snprintf(its_path, sizeof its_path, "instances/duet-%d-%llu-0", (int)getpid(),
		 kernel_own_start());
	before_lock = act;
	is(kernel_instance_make(&in, root, "", NULL), 0);
	ok(exists(in.path));
	if (other >= 0)
		close(other);
	other = -1;
	kernel_instance_reap(root, NULL);
	ok(exists(in.path));
	ok(!unlinkat(root, in.path, AT_REMOVEDIR));
	close(in.dir);
}

static void an_owner_makes_another_one_if_its_first_is_removed_before_it_is_locked(void)
{
	make_while(remove_it);
	make_while(take_lock);
}

static void an_instance_of_the_same_name_is_not_removed_for_the_one_before_it(void)
{
	snprintf(its_path, sizeof its_path, "instances/duet-1-2-3");
	ok(!mkdirat(root, its_path, 0700));
	before_lock = replace_it;
	is(kernel_instance_reap(root, NULL), 0);
	ok(exists(its_path));
	close(other);
	other = -1;
	is(kernel_instance_reap(root, NULL), 1);
}

int main(void)
{
	char path[] = "/tmp/duet-instance-test-XXXXXX";

	ok(mkdtemp(path));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(root >= 0 && !mkdirat(root, "instances", 0700));
	run(an_instance_without_a_lock_is_removed_whatever_process_has_its_pid);
	run(other_directories_are_left_alone);
	run(an_owner_makes_another_one_if_its_first_is_removed_before_it_is_locked);
	run(an_instance_of_the_same_name_is_not_removed_for_the_one_before_it);
	kernel_instance_reap(root, NULL);
	ok(!unlinkat(root, "instances", AT_REMOVEDIR) && !rmdir(path));
	close(root);
	return test_status();
}
