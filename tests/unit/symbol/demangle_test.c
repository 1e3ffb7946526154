/* SPDX-License-Identifier: MIT */
/* tests/unit/symbol/demangle_test.c - linker's names of C++ and Rust, of real programs and hostile. */
#include "symbol/demangle.h"

#include <string.h>

#include "test.h"

static const struct {
	const char *name, *written;
} names[] = {
	/* g++ and clang++ */
	{ "_ZN4shop5placeEi", "shop::place(int)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
	  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
	{ "_ZNK4shop5orderclEv", "shop::order::operator()() const" },
	{ "_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
	{ "_Z4workv.cold", "work() [clone .cold]" },
	{ "_ZTv0_n24_N1AD1Ev", "virtual thunk to A::~A()" },
	{ "_Z3addIiET_S0_S0_", "int add<int>(int, int)" },
	/* rustc, older names */
	{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
	{ "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
	  "4drop17h0011223344556677E",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	{ "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	  "std::rt::lang_start::{{closure}}" },
	/* rustc -C symbol-mangling-version=v0 */
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNCNvCs1234_7mycrate3foo0B3_", "mycrate::foo::{closure#0}" },
	{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
	{ "_RNvMs_C7mycrateNtB4_5Order5place", "<mycrate::Order>::place" },
	{ "_RNvXC7mycrateNtB2_5OrderNtNtC4core3fmt7Display3fmt",
	  "<mycrate::Order as core::fmt::Display>::fmt" },
};

static void names_are_as_the_source_writes_them(void)
{
	char to[DEMANGLED_MAX];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		to[0] = 0;
		ok(demangle(names[i].name, to, sizeof to));
		is_text(to, names[i].written);
	}
}

static void names_of_c_and_malformed_ones_stay(void)
{
	static const char *const other[] = { "main",   "",	  "_",	    "_Z",   "_R",
					     "_ZN4",   "_ZN99aE", "_RNvC9", "_RB_", "_RNvB_3foo",
					     "_Z1fS_", "_start",  "Z4workv" };
	struct demangled *d = demangled_open();
	char to[256];

	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		ok(!demangle(other[i], to, sizeof to));
		ok(demangled_name(d, other[i]) == other[i]);
	}
	demangled_close(d);
}

/* Each step doubles what the one before stands for: 2^60 bytes in all. */
static void a_name_that_doubles_itself_ends_soon(void)
{
	char name[2048] = "_Z1f1AIiiE", to[DEMANGLED_MAX], step[32];

	for (int i = 0; i < 60; i++) {
		if (i < 36)
			snprintf(step, sizeof step, "1AIS%c_S%c_E",
				 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
		else
			snprintf(step, sizeof step, "1AIS1%c_S1%c_E", '0' + i % 10, '0' + i % 10);
		strcat(name, step);
	}
	demangle(name, to, sizeof to);
	memset(name + 2, 'P', sizeof name - 3);
	name[sizeof name - 1] = 0;
	ok(!demangle(name, to, sizeof to));
}

static void a_result_without_room_is_refused(void)
{
	char to[16];

	ok(demangle("_Z5placei", to, 11));
	is_text(to, "place(int)");
	ok(!demangle("_Z5placei", to, 10));
}

static void patterns_match_each_of_the_names(void)
{
	struct demangled *d = demangled_open();
	const char *name = "_ZN4shop5placeEi", *written = demangled_name(d, name);

	is_text(written, "shop::place(int)");
	ok(demangled_name(d, name) == written);
	ok(demangled_is(name, written, "_ZN4shop*"));
	ok(demangled_is(name, written, "shop::place"));
	ok(demangled_is(name, written, "shop::*(int)"));
	ok(!demangled_is(name, written, "place"));
	ok(demangled_is("malloc@@GLIBC_2.2.5", NULL, "malloc"));
	demangled_close(d);
}

static void a_table_of_many_names_finds_each_again(void)
{
	struct demangled *d = demangled_open();
	char name[32], want[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(want, sizeof want, "f%d(int)", 10000 + i);
			snprintf(name, sizeof name, "_Z6f%di", 10000 + i);
			if (strcmp(demangled_name(d, name), want) != 0)
				is_text(demangled_name(d, name), want);
		}
	demangled_close(d);
}

int main(void)
{
	run(names_are_as_the_source_writes_them);
	run(names_of_c_and_malformed_ones_stay);
	run(a_name_that_doubles_itself_ends_soon);
	run(a_result_without_room_is_refused);
	run(patterns_match_each_of_the_names);
	run(a_table_of_many_names_finds_each_again);
	return test_status();
}
