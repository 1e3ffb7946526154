/* SPDX-License-Identifier: MIT */
/* Everything is put back: by kernel_close, and after a SIGKILL by the kernel and the next recorder.
 */
#include <dirent.h>
#include <sys/prctl.h>

#include "kernel/tracefs/tracefs.h"
#include "kernel_recording.h"

static int root;

/* How many instances of ours there are with this pid in their name. */
static int n_instances(pid_t pid, char *path, size_t size)
{
	int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	char prefix[32];

	snprintf(prefix, sizeof prefix, "duet-%d-", (int)pid);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, prefix, strlen(prefix))) {
			n++;
			snprintf(path, size, "instances/%s", e->d_name);
		}
	closedir(dir);
	return n;
}

static void idle(void)
{
}

static int n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static char *mounts(void)
{
	char *text = NULL;

	ok(kernel_tracefs_read(AT_FDCWD, "/proc/self/mounts", &text) > 0);
	return text;
}

static void close_leaves_nothing(void)
{
	char path[300], *before = mounts(), *after;
	int n_before = n_descriptors();
	struct kernel *k = live_open("closed", (struct kernel_options){ 0 });

	is(n_instances(getpid(), path, sizeof path), 1);
	live_record(k, idle, false);
	kernel_close(k);
	is(n_instances(getpid(), path, sizeof path), 0);
	is(n_descriptors(), n_before);
	after = mounts();
	is_text(after, before);
	free(before);
	free(after);
}

static void failed_open_leaves_nothing(void)
{
	const char *pattern = "no_such_event";
	struct kernel_options o = {
		.path = directory, .clock = &session_clock, .patterns = &pattern, .n_patterns = 1
	};
	char path[300];
	struct kernel *k;

	is(kernel_open(&k, &o, &why), -ENOENT);
	ok(!k);
	ok(strstr(why.text, "no_such_event"));
	kernel_close(k);
	is(n_instances(getpid(), path, sizeof path), 0);
}

static void note_known(void *arg, const char *event, const char *tracefs_name)
{
	int *n = arg;

	n[0]++;
	n[1] += !strcmp(event, "sched_switch") && !strcmp(tracefs_name, "sched:sched_switch");
	n[2] += !strcmp(event, "syscall_entry_openat") &&
		!strcmp(tracefs_name, "syscalls:sys_enter_openat");
	n[3] += !strcmp(event, "irq_softirq_entry") && !strcmp(tracefs_name, "irq:softirq_entry");
}

static void listing_names_events_once_in_both_ways(void)
{
	int n[4] = { 0 }, n_before = n_descriptors();

	is(kernel_list(note_known, n, &why), 0);
	ok(n[0] > 500);
	is(n[1], 1);
	is(n[2], 1);
	is(n[3], 1);
	is(n_descriptors(), n_before);
}

static void start_without_process_is_refused(void)
{
	struct kernel *k = live_open("nobody", (struct kernel_options){ 0 });

	is(kernel_start(k, &why), -EINVAL);
	is(kernel_add_pid(k, 1 << 30, &why), -ESRCH);
	is(kernel_poll(k, 0, &why), 0);
	is(kernel_stop(k, &why), 0);
	kernel_close(k);
}

static void is_value(const char *instance, const char *file, const char *value)
{
	char path[400], *text = NULL;

	snprintf(path, sizeof path, "%s/%s", instance, file);
	ok(kernel_tracefs_read(root, path, &text) > 0);
	is_text(text, value);
	free(text);
}

/* Otherwise the last records would be about the reading itself. */
static void nothing_is_recorded_once_it_is_stopped(void)
{
	struct kernel *k = live_open("stopped", (struct kernel_options){ .whole_machine = true });
	char path[300];

	is(n_instances(getpid(), path, sizeof path), 1);
	is_value(path, "tracing_on", "0\n");
	is(kernel_start(k, &why), 0);
	is_value(path, "tracing_on", "1\n");
	is(kernel_stop(k, &why), 0);
	is_value(path, "tracing_on", "0\n");
	kernel_close(k);
}

/* A recorder that reports when it records, and never ends. */
static pid_t fork_recorder(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		struct kernel *k =
			live_open("killed", (struct kernel_options){ .whole_machine = true });

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (kernel_start(k, &why) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	is(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void killed_recorder_stops_and_is_reaped(void)
{
	pid_t pid = fork_recorder();
	char path[300], none[300];
	struct kernel *k;

	is(n_instances(pid, path, sizeof path), 1);
	is_value(path, "tracing_on", "1\n");
	ok(kernel_reap(root, &why) >= 0); /* it lives; others may have died */
	is(n_instances(pid, none, sizeof none), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_value(path, "tracing_on", "0\n");
	k = live_open("next", (struct kernel_options){ 0 });
	is(n_instances(pid, none, sizeof none), 0);
	kernel_close(k);
}

int main(void)
{
	live_begin();
	root = kernel_tracefs_open(&why);
	run(close_leaves_nothing);
	run(failed_open_leaves_nothing);
	run(listing_names_events_once_in_both_ways);
	run(start_without_process_is_refused);
	run(nothing_is_recorded_once_it_is_stopped);
	run(killed_recorder_stops_and_is_reaped);
	close(root);
	return test_status();
}
