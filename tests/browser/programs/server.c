/* SPDX-License-Identifier: MIT */
/*
 * tests/browser/programs/server.c - a server with four workers, as the page's tests record it.
 *
 * Requests compute and sleep; some write a log under a lock that is held over an fsync.
 * arguments: [REQUESTS of each worker], 12 if not given; 0: until SIGTERM.
 */
#include <duet/duet.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(web, request_begin, (i32, id), (str, path));
DUET_EVENT(web, request_end, (i32, id));
DUET_EVENT(web, cache_miss, (i32, id), (str, key));

static pthread_mutex_t audit = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t is_over;
static int log_fd, n_requests = 12;

static void compute(int steps)
{
	volatile double x = 1;

	for (int i = 0; i < steps * 1000; i++)
		x = x * 1.0000001 + 1e-9;
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static void write_log(int id)
{
	char line[64];
	int n = snprintf(line, sizeof line, "request %d was served\n", id);

	pthread_mutex_lock(&audit);
	if (write(log_fd, line, (size_t)n) == n)
		fsync(log_fd);
	pthread_mutex_unlock(&audit);
}

static void *worker(void *argument)
{
	int number = (int)(long)argument;
	char name[16];

	snprintf(name, sizeof name, "worker-%d", number);
	prctl(PR_SET_NAME, name);
	for (int i = 0; !is_over && (!n_requests || i < n_requests); i++) {
		int id = 1000 * number + i;
		const char *path = i % 3 ? "/cart" : "/checkout";

		pause_us(300 + 400 * (id % 5));
		trace_web_request_begin(id, path);
		compute(40 + 30 * (id % 4));
		if (i % 3 == 0)
			write_log(id);
		if (i % 4 == 1)
			trace_web_cache_miss(id, path);
		compute(20);
		trace_web_request_end(id);
	}
	return NULL;
}

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	if (argc > 1)
		n_requests = atoi(argv[1]);
	signal(SIGTERM, end);
	log_fd = open("audit.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (log_fd < 0)
		return 1;
	for (long i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return unlink("audit.log") != 0;
}
