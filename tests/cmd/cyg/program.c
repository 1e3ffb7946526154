/* SPDX-License-Identifier: MIT */
/* tests/cmd/cyg/program.c - 11 calls, built with -finstrument-functions. */
static volatile int sum;

__attribute__((noinline)) static void leaf(int i)
{
	sum += i;
}

__attribute__((noinline)) static void branch(int i)
{
	leaf(i);
	leaf(i + 1);
	leaf(i + 2);
	leaf(i + 3);
}

int main(void)
{
	branch(1);
	branch(2);
	return sum != 24;
}
