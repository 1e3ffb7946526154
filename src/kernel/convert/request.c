/* SPDX-License-Identifier: MIT */
/* kernel/convert/request.c - block requests: the kernel's letters as the bits that LTTng records. */
#include <string.h>

#include "kernel/convert/layout.h"

/* In the kernel: blk_fill_rwbs(). A leading F is a flush before the request, a later one with it. */
uint32_t kernel_layout_request(const char *letters, size_t size)
{
	enum {
		WRITE = 1,
		DISCARD = 2,
		READ = 4,
		RAHEAD = 8,
		SYNC = 32,
		META = 64,
		SECURE = 128,
		FLUSH = 256,
		FUA = 512,
		PREFLUSH = 1024
	};
	static const struct {
		char letter;
		uint32_t bit;
	} behind[] = {
		{ 'E', SECURE }, { 'F', FUA }, { 'A', RAHEAD }, { 'S', SYNC }, { 'M', META }
	};
	size_t n = strnlen(letters, size), i = 0;
	uint32_t bits = 0;

	if (n > 1 && letters[0] == 'F' && strchr("WDFRN", letters[1]))
		bits |= PREFLUSH, i = 1;
	if (i < n) {
		bits |= letters[i] == 'W'   ? WRITE
			: letters[i] == 'D' ? DISCARD
			: letters[i] == 'R' ? READ
			: letters[i] == 'F' ? FLUSH
					    : 0;
		i++;
	}
	for (; i < n; i++)
		for (size_t k = 0; k < sizeof behind / sizeof *behind; k++)
			bits |= letters[i] == behind[k].letter ? behind[k].bit : 0;
	return bits;
}
