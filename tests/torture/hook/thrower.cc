// SPDX-License-Identifier: MIT
// tests/torture/hook/thrower.cc - exceptions that leave calls, and functions that catch them.
#define CALLED __attribute__((noinline, patchable_function_entry(5)))

struct guard {
	int *n;
	~guard()
	{
		++*n;
	}
};

static int n_destroyed;

extern "C" CALLED int throw_through(int n)
{
	guard g = { &n_destroyed };

	if (!n)
		throw n;
	return throw_through(n - 1) + 1;
}

extern "C" CALLED int catch_thrown(int n)
{
	int before = n_destroyed;

	try {
		throw_through(n);
	} catch (int) {
	}
	return n_destroyed - before;
}
