/* SPDX-License-Identifier: MIT */
/* Babeltrace 2 reads our recordings without a warning, and finds as many events as we counted. */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernel_recording.h"

static char output[128], errors[128];

/* Runs babeltrace2 on directory/NAME with its text in `output`, its warnings in `errors`. */
static int babeltrace(const char *name)
{
	char command[512];

	snprintf(output, sizeof output, "%s/.%s.out", directory, name);
	snprintf(errors, sizeof errors, "%s/.%s.err", directory, name);
	snprintf(command, sizeof command, "babeltrace2 --log-level=W %s/%s >%s 2>%s", directory,
		 name, output, errors);
	return system(command);
}

/* Lines of @path that contain @text, or all if it is NULL. */
static long count_lines(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	char line[8192];
	long n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof line, f))
		n += !text || strstr(line, text);
	fclose(f);
	return n;
}

static void *in_thread(void *arg)
{
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	return arg;
}

/* The kernel hands a packet to ourselves over in a softirq. */
static void send_to_self(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof to);
	close(fd);
}

/* A process with a thread, a child and another program. */
static void work(void)
{
	pthread_t thread;
	pid_t child;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		in_thread(NULL);
		execlp("true", "true", "argument", (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
	in_thread(NULL);
	send_to_self();
	usleep(1000);
}

static void record(const char *name, struct kernel_options o, struct kernel_counts *c)
{
	struct kernel *k = live_open(name, o);

	live_record(k, work, false);
	kernel_counts(k, c);
	kernel_close(k);
	is(babeltrace(name), 0);
	is(count_lines(errors, NULL), 0);
	is(count_lines(output, NULL), c->events);
	is(c->lost, 0);
	is(c->malformed, 0);
}

static void default_events_of_a_process_tree_are_read(void)
{
	struct kernel_counts c;

	record("default", (struct kernel_options){ 0 }, &c);
	is(count_lines(output, "syscall_entry_getppid:"), 30);
	is(count_lines(output, "syscall_exit_getppid:"), 30);
	ok(count_lines(output, "sched_switch:") > 2);
	ok(count_lines(output, "prev_tid = ") > 2);
	ok(count_lines(output, "sched_process_fork:") >= 2);
	ok(count_lines(output, "/true\"") >= 1);
	is(count_lines(output, "lttng_statedump_start:"), 1);
	ok(count_lines(output, "lttng_statedump_process_state:") > 2);
	ok(count_lines(output, "lttng_statedump_file_descriptor:") > 2);
	is(count_lines(output, "lttng_statedump_end:"), 1);
}

static int go_fd;

static void *wait_and_call(void *arg)
{
	char byte;

	if (read(go_fd, &byte, 1) == 1)
		in_thread(NULL);
	return arg;
}

/* The thread is older than the recording, which is given its process's pid alone. */
static void threads_that_exist_already_are_recorded(void)
{
	static const char *const patterns[] = { "syscall_entry_getppid" };
	struct kernel_options o = { .patterns = patterns, .n_patterns = 1 };
	struct kernel *k = live_open("threads", o);
	int go[2], ready[2];
	pthread_t thread;
	pid_t pid;
	char byte;

	is(pipe(go) | pipe(ready), 0);
	go_fd = go[0];
	pid = fork();
	if (!pid) {
		pthread_create(&thread, NULL, wait_and_call, NULL);
		byte = (char)write(ready[1], "", 1);
		pthread_join(thread, NULL);
		_exit(0);
	}
	is(read(ready[0], &byte, 1), 1);
	is(kernel_start(k, &why), -EINVAL);
	is(kernel_add_pid(k, pid, &why), 0);
	is(kernel_start(k, &why), 0);
	is(write(go[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	is(kernel_stop(k, &why), 0);
	kernel_close(k);
	is(babeltrace("threads"), 0);
	is(count_lines(output, "syscall_entry_getppid:"), 10);
	for (int i = 0; i < 2; i++)
		close(go[i]), close(ready[i]);
}

static void chosen_system_calls_alone_are_recorded(void)
{
	static const char *const patterns[] = { "syscall_entry_getppid" };
	struct kernel_options o = { .patterns = patterns, .n_patterns = 1 };
	struct kernel_counts c;

	record("chosen", o, &c);
	is(count_lines(output, "syscall_"), 30);
	is(count_lines(output, "syscall_entry_getppid:"), 30);
}

static void every_set_on_the_whole_machine_is_read(void)
{
	static const char *const patterns[] = { "sched", "syscalls", "irq", "signal", "task",
						"block", "net",	     "mm",  "timer" };
	/* Events of other processes, while this one waits for its turn, have to find room too. */
	struct kernel_options o = {
		.patterns = patterns, .n_patterns = 9, .whole_machine = true, .buffer_kib = 65536
	};
	struct kernel_counts c;

	record("machine", o, &c);
	ok(count_lines(output, "irq_softirq_entry:") > 0);
	ok(count_lines(output, "net_if_receive_skb:") + count_lines(output, "net_if_rx:") > 0);
	ok(count_lines(output, "timer_hrtimer_start:") > 0);
}

int main(void)
{
	if (system("babeltrace2 --version >/dev/null 2>&1"))
		skip("no babeltrace2");
	live_begin();
	run(default_events_of_a_process_tree_are_read);
	run(threads_that_exist_already_are_recorded);
	run(chosen_system_calls_alone_are_recorded);
	run(every_set_on_the_whole_machine_is_read);
	return test_status();
}
