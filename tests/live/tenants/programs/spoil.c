/* SPDX-License-Identifier: MIT */
/*
 * tests/live/tenants/programs/spoil.c - a user whose control pages, session files and libraries change while others read
 * them.
 *
 * 	spoil DIRECTORY LIBRARY COPIES SECONDS
 *
 * Pages look alive: magic and lock are right.  Their length goes from nothing to all and back, numbers in them are random.
 * Copies of LIBRARY are mapped, so that they are read as this program's, and cut.  Prints "ready", then how often.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/control.h"
#include "abi/session.h"

enum { PAGES = 40, LIBRARIES = 4, LIBRARY_BYTES = 1 << 20 };

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static char library[LIBRARY_BYTES];
static ssize_t library_bytes;

static void fill(int fd, uint64_t size)
{
	struct abi_control c = { .magic = ABI_CONTROL_MAGIC,
				 .version = ABI_CONTROL_VERSION,
				 .pid = (uint32_t)getpid(),
				 .n_events = (uint32_t)(any() % (any() % 2 ? 8 : UINT32_MAX)),
				 .text_end = (uint32_t)any(),
				 .registered_ns = any() };
	uint64_t noise[64];

	if (ftruncate(fd, (off_t)size))
		return;
	snprintf(c.program, sizeof c.program, "\033]0;spoilt\a%u", (unsigned)any());
	for (int i = 0; i < 64; i++)
		noise[i] = any() % (any() % 3 ? 4096 : UINT64_MAX);
	(void)!pwrite(fd, &c, size < sizeof c ? size : sizeof c, 0);
	(void)!pwrite(fd, noise, sizeof noise, (off_t)(sizeof c + any() % 8192));
	(void)!ftruncate(fd, (off_t)size);
}

static int open_page(const char *directory, int i)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[256];
	struct stat st;
	int fd;

	if (stat("/proc/self/.", &st))
		exit(3);
	/* the first one has the name that this program's own would have */
	snprintf(path, sizeof path, "%s/app-%d-%u", directory, i ? 100000 + i : (int)getpid(),
		 (unsigned)st.st_dev);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &whole))
		exit(3);
	return fd;
}

static int map_copy(const char *copies, int i)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/lib%d.so", copies, i);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, library, (size_t)library_bytes) != library_bytes ||
	    mmap(NULL, (size_t)library_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
		    MAP_FAILED)
		exit(3);
	return fd;
}

static void touch_session(const char *directory)
{
	static const char *const names[] = { "session-default", "session-forged", "seats" };
	char path[256], noise[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, names[any() % 3]);
	fd = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (char)any();
	if (any() % 2)
		(void)!ftruncate(fd, (off_t)(any() % sizeof(struct abi_session)));
	else
		(void)!pwrite(fd, noise, sizeof noise, (off_t)(any() % 4096));
	close(fd);
}

int main(int argc, char **argv)
{
	int pages[PAGES], libraries[LIBRARIES], fd;
	unsigned long n = 0;
	time_t end;

	if (argc != 5)
		return 2;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	library_bytes = fd < 0 ? -1 : read(fd, library, sizeof library);
	if (library_bytes <= 0)
		return 3;
	mkdir(argv[1], 0700);
	for (int i = 0; i < PAGES; i++)
		pages[i] = open_page(argv[1], i);
	for (int i = 0; i < LIBRARIES; i++)
		libraries[i] = map_copy(argv[3], i);
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, pages[0], 0) == MAP_FAILED)
		return 3;
	printf("ready\n");
	fflush(stdout);
	end = time(NULL) + atoi(argv[4]);
	while (time(NULL) < end) {
		int i = (int)(any() % PAGES);

		fill(pages[i], any() % 4 ? ABI_CONTROL_BYTES : any() % ABI_CONTROL_BYTES);
		i = (int)(any() % LIBRARIES);
		(void)!ftruncate(libraries[i], (off_t)(any() % (uint64_t)library_bytes));
		if (any() % 2)
			(void)!pwrite(libraries[i], library, (size_t)library_bytes, 0);
		if (any() % 16 == 0)
			touch_session(argv[1]);
		n++;
	}
	printf("%lu\n", n);
	return 0;
}
