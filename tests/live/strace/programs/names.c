/* SPDX-License-Identifier: MIT */
/* names.c - makes calls with names of many lengths, up to more than PATH_MAX. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

static const size_t sizes[] = { 1,    31,   32,	  33,	252,  254,  255, 256,
				1000, 4092, 4094, 4095, 4096, 4097, 5000 };

static const char *name(int c, size_t size)
{
	static char names[256][5001];

	memset(names[c], c, size);
	names[c][size] = 0;
	return names[c];
}

int main(void)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i];

		(void)!chdir(name('d', n));
		rename(name('f', n), name('t', n));
		mount(name('s', n), name('m', n), name('y', n), 0, NULL);
		setxattr(name('p', n), name('x', n), "value", 5, 0);
	}
	return 0;
}
