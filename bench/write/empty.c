/* SPDX-License-Identifier: MIT */
/*
 * bench/write/empty.c - a library that does nothing, linked as libduet is: the least that any library
 * adds to a start.
 */
void bench_empty(void);

void bench_empty(void)
{
}
