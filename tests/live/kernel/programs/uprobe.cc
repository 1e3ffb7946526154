// SPDX-License-Identifier: MIT
// tests/live/kernel/programs/uprobe.cc - functions that have names of C++.
#include <cstdlib>

namespace shop
{
struct Order {
	int id;
	__attribute__((noinline)) int place(int n) const;
	__attribute__((noinline)) int place(const char *s);
};
int Order::place(int n) const
{
	__asm__ volatile("" ::: "memory");
	return id + n;
}
int Order::place(const char *s)
{
	__asm__ volatile("" ::: "memory");
	return id + *s;
}
} // namespace shop

int main(int argc, char **argv)
{
	shop::Order o = { 40 };
	int sum = 0;

	for (int i = 0; i < std::atoi(argv[argc - 1]); i++)
		sum += o.place(i) + o.place("a");
	return sum == 0;
}
