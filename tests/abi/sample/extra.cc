// SPDX-License-Identifier: MIT
// Sites in C++ alone: templates, inline members, lambdas, namespaces, static initialisers.
#include "events.h"

namespace outer
{
namespace inner
{
DUET_EVENT(abi, in_namespace, (str, where));
}
} // namespace outer

namespace
{

template <typename T> void in_template(const T &value)
{
	trace_mark(abi, in_template, "size %zu", sizeof value);
	trace_abi_one(static_cast<int>(sizeof value));
}

template <int N> struct counted {
	static int twice()
	{
		trace_mark(abi, in_class_template, "n %d", N);
		return 2 * N;
	}
};

class member
{
      public:
	explicit member(int n) : n_(n)
	{
		trace_mark(abi, constructed, "n %d", n_);
	}
	~member()
	{
		trace_mark(abi, destructed, "n %d", n_);
	}
	virtual int get() const
	{
		trace_abi_one(n_);
		return n_;
	}

      private:
	int n_;
};

// Runs before main, perhaps before duet's own constructor: recorded or not, it must not crash.
struct early {
	early()
	{
		trace_abi_nothing();
	}
} early_object;

} // namespace

inline void in_inline(int n)
{
	auto lambda = [](int k) {
		trace_mark(abi, in_lambda, "k %d", k);
		trace_abi_one(k);
	};
	lambda(n);
}

extern "C" void extra()
{
	in_template<char>('c');
	in_template<double>(1.0);
	counted<21>::twice();
	counted<22>::twice();
	{
		member m(50);
		m.get();
	}
	in_inline(60);
	outer::inner::trace_abi_in_namespace("inner");
	if (outer::inner::trace_abi_in_namespace_enabled())
		trace_mark(abi, asked, "yes %d", 1);
}
