/* SPDX-License-Identifier: MIT */
/*
 * examples/web.c - a small server, as man 7 duet-recipes records it.
 *
 *	cc -g -O1 -pthread -o web web.c $(pkg-config --cflags duet)
 *	./web 10		# ten seconds
 *
 * Two threads handle requests.  Both write one log under one lock, and every tenth line is forced
 * onto the disk: the other thread waits for the lock meanwhile.  Every hundredth request leaks.
 */
#include <duet/duet.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(web, request_begin, (i32, id), (str, url));
DUET_EVENT(web, request_end, (i32, id), (i32, status));

static const char *const urls[] = { "/", "/basket", "/order", "/nowhere" };
static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd;
static double end; /* s, on CLOCK_MONOTONIC */
static char *volatile forgotten;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) int parse(const char *url)
{
	unsigned hash = 5381;

	for (int turn = 0; turn < 2000; turn++)
		for (const char *c = url; *c; c++)
			hash = hash * 33 + (unsigned char)*c;
	return hash ? (int)(strlen(url) % 4) : 0;
}

__attribute__((noinline)) void sync_log(void)
{
	fsync(log_fd);
}

__attribute__((noinline)) void write_log(int id, const char *url)
{
	char line[80];
	int n = snprintf(line, sizeof line, "%d %s\n", id, url);

	pthread_mutex_lock(&audit_lock);
	if (write(log_fd, line, (size_t)n) != n)
		perror("web.log");
	if (id % 10 == 0)
		sync_log();
	pthread_mutex_unlock(&audit_lock);
}

__attribute__((noinline)) void handle(int id)
{
	const char *url = urls[id % 4];
	char *answer = malloc(1000);
	bool is_found = id % 4 != 3;

	trace_web_request_begin(id, url);
	parse(url);
	write_log(id, url);
	if (id % 100)
		free(answer);
	else
		forgotten = answer; /* the one before is lost */
	trace_web_request_end(id, is_found ? 200 : 404);
}

static void *serve(void *first)
{
	const struct timespec pause = { 0, 1000000 };

	for (int id = *(const int *)first; now() < end; id += 2) {
		handle(id);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const int first[2] = { 0, 1 };
	pthread_t other;

	end = now() + (argc > 1 ? atof(argv[1]) : 10);
	log_fd = open("web.log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (log_fd < 0 || pthread_create(&other, NULL, serve, (void *)&first[1])) {
		perror("web");
		return 1;
	}
	serve((void *)&first[0]);
	pthread_join(other, NULL);
	return 0;
}
