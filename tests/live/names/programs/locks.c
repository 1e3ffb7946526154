/* SPDX-License-Identifier: MIT */
/*
 * Waits for locks wherever locks are: locks [PLUGIN].
 *
 * Each wait is certain: the holder keeps the lock until the kernel shows that the other thread sleeps.
 * Then it waits for a pipe and for a socket in the same way.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	long rows;
	pthread_mutex_t lock;
} table = { 1, PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t *wanted;
static volatile pid_t waiter;

/* Waits until thread @tid of this process, or process @tid itself, sleeps. */
static void until_asleep(pid_t tid)
{
	char path[64], text[512], *state;
	FILE *f;

	for (state = NULL; !state || state[2] != 'S'; usleep(500)) {
		snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
		f = fopen(path, "r");
		text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
		if (f)
			fclose(f);
		state = strrchr(text, ')');
	}
}

static void *want(void *none)
{
	waiter = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(wanted);
	pthread_mutex_unlock(wanted);
	return none;
}

static void contend(pthread_mutex_t *m)
{
	pthread_t thread;

	wanted = m;
	waiter = 0;
	pthread_mutex_lock(m);
	pthread_create(&thread, NULL, want, NULL);
	while (!waiter)
		usleep(500);
	until_asleep(waiter);
	pthread_mutex_unlock(m);
	pthread_join(thread, NULL);
}

__attribute__((noinline)) static pthread_mutex_t *make_queue(void)
{
	pthread_mutex_t *m = calloc(3, sizeof *m); /* line of the allocation: 70 */

	pthread_mutex_init(&m[1], NULL);
	return &m[1];
}

/* Waits until the recording has the mapping of code that holds @address: before, nothing there has a
 * name.  $MAPS is the file with the mappings. */
static void until_listed(void *address)
{
	const char *path = getenv("MAPS");
	char line[512], listed[64] = "", rights[8] = "";
	unsigned long begin, end;
	FILE *f = path ? fopen("/proc/self/maps", "r") : NULL;
	int is_listed = !f;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 &&
		    (unsigned long)address >= begin && (unsigned long)address < end)
			snprintf(listed, sizeof listed, "%lx-%lx ", begin, end);
	if (f)
		fclose(f);
	for (; !is_listed; usleep(1000)) {
		f = fopen(path, "r");
		while (f && fgets(line, sizeof line, f))
			is_listed |= !strncmp(line, listed, strlen(listed));
		if (f)
			fclose(f);
	}
}

/* Returns an address of it while it was loaded. */
static uintptr_t load(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	pthread_mutex_t *(*get)(void) = NULL;
	uintptr_t address;

	if (plugin)
		*(void **)&get = dlsym(plugin, "plugin_mutex");
	if (!get)
		exit(3);
	until_listed((void *)(uintptr_t)get);
	printf("plugin %p\n", (void *)get());
	contend(get());
	address = (uintptr_t)get();
	dlclose(plugin);
	return address;
}

static void fork_one(void)
{
	pid_t child = fork();

	if (!child) {
		contend(&audit_lock);
		_exit(0);
	}
	printf("child %d\n", (int)child);
	waitpid(child, NULL, 0);
}

/* A child writes to @fd when this process sleeps in read(). */
static void wait_for(int in, int out)
{
	pid_t parent = getpid(), child = fork();
	char byte;

	if (!child) {
		until_asleep(parent);
		_exit(write(out, "x", 1) != 1);
	}
	if (read(in, &byte, 1) != 1)
		exit(4);
	waitpid(child, NULL, 0);
}

static void wait_for_socket(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof a;
	int door = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), peer;

	if (bind(door, (struct sockaddr *)&a, size) || listen(door, 1) ||
	    getsockname(door, (struct sockaddr *)&a, &size) ||
	    connect(client, (struct sockaddr *)&a, size))
		exit(5);
	peer = accept(door, NULL, NULL);
	printf("port %d\n", ntohs(a.sin_port));
	wait_for(client, peer);
}

int main(int argc, char **argv)
{
	pthread_mutex_t on_stack = PTHREAD_MUTEX_INITIALIZER;
	int pipes[2];

	until_listed((void *)(uintptr_t)main);
	contend(&audit_lock);
	contend(&table.lock);
	contend(make_queue());
	contend(&on_stack);
	if (argc > 1) {
		/* What is mapped then takes the place that it had. */
		mmap((void *)(load(argv[1]) & ~(uintptr_t)4095), 4096, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		load(argv[1]);
	}
	fork_one();
	if (pipe(pipes))
		return 6;
	printf("pipe %d\n", pipes[0]);
	wait_for(pipes[0], pipes[1]);
	wait_for_socket();
	printf("main %d\n", (int)getpid());
	return 0;
}
