/* SPDX-License-Identifier: MIT */
/*
 * questions - does a little of everything that the example scripts ask about, always the same.
 *
 * It takes orders (events shop:order, shop:paid) and for each one opens, reads, writes and misses
 * files; between them it starts programs, sends signals, contends for a lock, speaks TCP with itself,
 * maps memory, sleeps and computes.  It prints nothing.
 *
 *	questions DIRECTORY [ORDERS]
 */
#include <duet/duet.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(shop, order, (i32, id), (str, item));
DUET_EVENT(shop, paid, (i32, id));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

__attribute__((noinline)) static int ring_up(int id, int items)
{
	volatile int sum = id;

	for (int i = 0; i < items * 1000; i++)
		sum += i;
	return sum & 7;
}

static atomic_int n_wanting, n_served;

/* Keeps the lock until the other one wants it, who then waits for it. */
static void *customer(void *arg)
{
	for (int i = 0; i < 10; i++) {
		n_wanting++;
		pthread_mutex_lock(&lock);
		while (n_wanting < 2 && !n_served)
			sleep_us(100);
		sleep_us(300);
		n_wanting--;
		pthread_mutex_unlock(&lock);
	}
	n_served++;
	return arg;
}

static void contend(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, customer, NULL))
			exit(2);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void touch_files(int id)
{
	char bytes[100] = { 0 };
	int fd = open("stock", O_RDWR | O_CREAT, 0600), missing = open("no-such-file", O_RDONLY);

	if (fd < 0 || missing >= 0 || write(fd, bytes, sizeof bytes) != sizeof bytes ||
	    pread(fd, bytes, 10, 0) != 10)
		exit(2);
	if (id % 10 == 0 && (fsync(fd) || rename("stock", "sold") || unlink("sold")))
		exit(2);
	close(fd);
}

static void start_programs(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(2);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid) {
		pause();
		_exit(2);
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid)
		_exit(3);
	waitpid(pid, NULL, 0);
}

static void speak(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	int server = socket(AF_INET, SOCK_STREAM, 0), us = socket(AF_INET, SOCK_STREAM, 0), them;
	char text[16] = "two teas";

	if (bind(server, (struct sockaddr *)&at, n) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&at, &n) ||
	    connect(us, (struct sockaddr *)&at, n))
		exit(2);
	them = accept(server, NULL, NULL);
	if (send(us, text, 8, 0) != 8 || recv(them, text, 8, 0) != 8)
		exit(2);
	close(us);
	close(them);
	close(server);
}

static void map_memory(void)
{
	size_t size = 4 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(2);
	memset(p, 1, size);
	munmap(p, size);
}

int main(int argc, char **argv)
{
	static const char *const items[] = { "tea", "bread", "honey", "tea" };
	int orders = argc > 2 ? atoi(argv[2]) : 40, sum = 0;

	if (argc < 2 || chdir(argv[1]))
		return 2;
	for (int id = 0; id < orders; id++) {
		trace_shop_order(id, items[id % 4]);
		touch_files(id);
		sum += ring_up(id, id % 4 + 1);
		if (id % 4 == 3)
			sleep_us(500);
		trace_shop_paid(id);
	}
	start_programs();
	contend();
	speak();
	map_memory();
	return sum < 0;
}
