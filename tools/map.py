#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the numbered lines of include/duet/map.h (from DUET_I_COUNT on) to standard output.

usage: tools/map.py [PAIRS]    then replace what follows the comment "number of pairs" in map.h
"""
import sys
import textwrap

N = int(sys.argv[1]) if len(sys.argv) > 1 else 40


def wrap(line):
    parts = textwrap.wrap(line, 90, break_long_words=False, break_on_hyphens=False)
    return " \\\n\t".join(parts)


print("/* The number of pairs after the name. */")
# Somewhat more pairs name the mistake in what the compiler says.
MORE = 24
numbers = ", ".join(MORE * ["more_than_%d_fields" % N] + [str(i) for i in range(N, -1, -1)])
print(wrap("#define DUET_I_COUNT(...) DUET_I_COUNT_(__VA_ARGS__, %s, ~)" % numbers))
args = ", ".join("a%d" % i for i in range(N + MORE + 1))
print(wrap("#define DUET_I_COUNT_(%s, n, ...) n" % args))
print("\n#define DUET_I_MAP_0(m, name)")
print("#define DUET_I_TAIL_0(m, name)")
print("#define DUET_I_LIST_0(m, none, name) none")
print("#define DUET_I_MAP_1(m, name, a) m a")
print("#define DUET_I_TAIL_1(m, name, a) , m a")
print("#define DUET_I_LIST_1(m, none, name, a) m a")
for i in range(2, N + 1):
    rest = "_%d(m, name, __VA_ARGS__)" % (i - 1)
    print("#define DUET_I_MAP_%d(m, name, a, ...) m a DUET_I_MAP%s" % (i, rest))
    print("#define DUET_I_TAIL_%d(m, name, a, ...) , m a DUET_I_TAIL%s" % (i, rest))
    print("#define DUET_I_LIST_%d(m, none, name, a, ...) m a DUET_I_TAIL%s" % (i, rest))
print("\n#endif")
