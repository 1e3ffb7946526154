/* SPDX-License-Identifier: MIT */
/*
 * diff_program.c - a short program with a known amount of each kind of work.
 *
 * diff_program FILE SLEEP_MS TURNS SYNCS BYTES: sleeps four times, computes for TURNS thousand turns
 * in each of eight parts, writes and syncs FILE SYNCS times, and reads BYTES of /dev/zero 10 000 times.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 8, READS = 10000 };

static uint64_t compute(uint64_t turns)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < turns; i++)
		x = x * 6364136223846793005u + (x >> 29) + i;
	return x;
}

static int work(int file, int zeros, char *buffer, size_t bytes, int syncs)
{
	for (int i = 0; i < READS / PARTS; i++)
		if (read(zeros, buffer, bytes) != (ssize_t)bytes)
			return 1;
	for (int i = 0; i < syncs; i++)
		if (pwrite(file, buffer, 4096, (off_t)i * 4096) != 4096 || fsync(file))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec nap;
	int file, zeros, syncs, err = 0;
	uint64_t turns, sum = 0;
	size_t bytes;
	char *buffer;

	if (argc != 6)
		return 2;
	nap = (struct timespec){ 0, atol(argv[2]) * 1000000 };
	turns = strtoull(argv[3], NULL, 10) * 1000;
	syncs = atoi(argv[4]);
	bytes = strtoull(argv[5], NULL, 10);
	buffer = calloc(1, bytes + 4096);
	file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	zeros = open("/dev/zero", O_RDONLY);
	if (!buffer || file < 0 || zeros < 0)
		return 1;
	for (int part = 0; part < PARTS && !err; part++) {
		sum += compute(turns);
		err = work(file, zeros, buffer, bytes, syncs / PARTS);
		if (part % 2)
			nanosleep(&nap, NULL);
	}
	fprintf(stderr, sum == 1 ? "one\n" : "");
	unlink(argv[1]);
	free(buffer);
	return err;
}
