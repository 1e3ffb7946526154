/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/io.h"
#include "test.h"

enum { SIZE = 1 << 20 };

static char in[SIZE], out[SIZE];
static int ends[2];

static void *read_slowly(void *unused)
{
	size_t have = 0;
	ssize_t n;

	(void)unused;
	while ((n = read(ends[0], in + have, 3001)) > 0)
		have += (size_t)n;
	return NULL;
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* A pipe takes 64 KiB at once, and a timer interrupts the writer. */
static void with_interrupted_short_writes(int (*put)(void))
{
	struct sigaction a = { .sa_handler = on_alarm };
	pthread_t reader;
	sigset_t alarms;

	memset(in, 0, sizeof in);
	for (size_t i = 0; i < SIZE; i++)
		out[i] = (char)(i * 7 + i / 251);
	is(pipe2(ends, O_CLOEXEC), 0);
	sigaction(SIGALRM, &a, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* inherited by the reader only */
	pthread_create(&reader, NULL, read_slowly, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	ualarm(200, 200);
	is(put(), 0);
	ualarm(0, 0);
	close(ends[1]);
	pthread_join(reader, NULL);
	close(ends[0]);
	ok(!memcmp(in, out, SIZE));
}

static int put_whole(void)
{
	return io_write(ends[1], out, SIZE);
}

static int put_vector(void)
{
	struct iovec v[5] = { { out, 1 },
			      { out + 1, 0 },
			      { out + 1, 99999 },
			      { out + 100000, 400000 },
			      { out + 500000, SIZE - 500000 } };

	return io_writev(ends[1], v, 5);
}

static void a_write_is_whole_however_the_system_cuts_it(void)
{
	with_interrupted_short_writes(put_whole);
}

static void pieces_are_written_whole_and_in_order(void)
{
	with_interrupted_short_writes(put_vector);
}

static void a_write_that_fails_says_why(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	is(io_write(full, "x", 1), -ENOSPC);
	close(full);
	is(io_write(-1, "x", 1), -EBADF);
	is(io_write(-1, "x", 0), -EBADF);
}

static void a_read_is_short_only_at_the_end(void)
{
	char b[8];

	is(pipe2(ends, O_CLOEXEC), 0);
	is(io_write(ends[1], "abcde", 5), 0);
	is(io_read(ends[0], b, 2), 2);
	close(ends[1]);
	is(io_read(ends[0], b, sizeof b), 3);
	ok(!memcmp(b, "cde", 3));
	is(io_read(ends[0], b, sizeof b), 0);
	close(ends[0]);
	is(io_read(-1, b, 1), -EBADF);
}

static void a_small_file_is_text_and_cut_to_fit(void)
{
	char path[] = "/tmp/duet-io-XXXXXX", b[6];
	int fd = mkstemp(path);

	is(io_write(fd, "hello world", 11), 0);
	is(io_read_file(path, b, sizeof b), 5);
	is_text(b, "hello");
	close(fd);
	unlink(path);
	is(io_read_file(path, b, sizeof b), -ENOENT);
}

static void directories_are_made_with_their_parents_and_may_be_there(void)
{
	char top[] = "/tmp/duet-io-XXXXXX", path[64], long_path[8192];
	struct stat st;

	ok(mkdtemp(top));
	snprintf(path, sizeof path, "%s/a//b/c/", top);
	is(io_make_dirs(path), 0);
	is(io_make_dirs(path), 0);
	is(stat(path, &st), 0);
	ok(S_ISDIR(st.st_mode));
	is(io_make_dirs(""), -ENOENT);
	memset(long_path, 'a', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = 0;
	is(io_make_dirs(long_path), -ENAMETOOLONG);
	is(io_make_dirs("/proc/none/at/all"), -ENOENT);
	for (char *end; strlen(path) >= strlen(top); *end = 0) {
		rmdir(path);
		end = strrchr(path, '/');
	}
}

static void root_makes_no_cache_in_a_home_of_others(void)
{
	char home[] = "/tmp/io-test-XXXXXX", path[4096], made[64];

	ok(mkdtemp(home) != NULL);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	snprintf(made, sizeof made, "%s/.cache", home);
	if (!geteuid()) {
		is(chown(home, 60000, 60000), 0);
		ok(!io_cache_directory(path, sizeof path));
		is(access(made, F_OK), -1);
		is(chown(home, 0, 0), 0);
	}
	ok(io_cache_directory(path, sizeof path));
	is(rmdir(path), 0);
	is(rmdir(made), 0);
	is(rmdir(home), 0);
}

static void a_reason_is_kept_with_its_error(void)
{
	struct diag d = { "" };

	is(diag_fail(&d, -EPROTO, "%s is %d", "it", 3), -EPROTO);
	is_text(d.text, "it is 3");
	errno = ENOENT;
	is(diag_errno(&d, "cannot open %s", "web"), -ENOENT);
	is_text(d.text, "cannot open web: No such file or directory");
	is(diag_fail(NULL, -EPROTO, "nobody asks"), -EPROTO);
	is(diag_fail(&d, -E2BIG, "%2000s", "x"), -E2BIG);
	is(strlen(d.text), sizeof d.text - 1);
	errno = 0;
	ok(diag_errno(NULL, "never") < 0);
}

/* The write ends of two pipes change their places; a child reports by them. */
static void kept_descriptors_are_the_lowest_and_the_only_ones(void)
{
	int first[2], second[2], none = -1, status;
	char letters[2] = "";
	pid_t child;

	ok(!pipe(first) && !pipe(second));
	child = fork();
	if (!child) {
		/* From the numbers that they are to have. */
		dup2(first[1], 1);
		dup2(second[1], 0);
		first[1] = 1;
		second[1] = 0;
		if (io_keep_descriptors((int *const[]){ &first[1], &second[1], &none }, 3) ||
		    first[1] != 0 || second[1] != 1 || none != -1)
			_exit(1);
		if (write(0, "a", 1) != 1 || write(1, "b", 1) != 1)
			_exit(2);
		for (int fd = 2; fd < 64; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				_exit(3);
		_exit(0);
	}
	is(waitpid(child, &status, 0), child);
	is(status, 0);
	close(first[1]);
	close(second[1]);
	is(read(first[0], &letters[0], 1), 1);
	is(read(second[0], &letters[1], 1), 1);
	ok(letters[0] == 'a' && letters[1] == 'b');
	close(first[0]);
	close(second[0]);
}

int main(void)
{
	run(a_write_is_whole_however_the_system_cuts_it);
	run(pieces_are_written_whole_and_in_order);
	run(a_write_that_fails_says_why);
	run(a_read_is_short_only_at_the_end);
	run(a_small_file_is_text_and_cut_to_fit);
	run(directories_are_made_with_their_parents_and_may_be_there);
	run(root_makes_no_cache_in_a_home_of_others);
	run(a_reason_is_kept_with_its_error);
	run(kept_descriptors_are_the_lowest_and_the_only_ones);
	return test_status();
}
