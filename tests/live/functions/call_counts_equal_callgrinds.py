#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exact mode counts each call of a program's functions as callgrind does: recursion, jumps from function to function, calls by
libc, longjmp, exceptions.

arguments: DUET PROGRAM.. STATIC LIBDUET

STATIC: a program with an unwinder of its own (-static-libgcc), whose exceptions pass through stubs too.
"""
import json
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import cmd, is_, ok, paths, run, run_cases, work  # noqa: E402

*programs, static, libduet = paths(len(sys.argv) - 2)
LEAST = {"counted": 10, "thrower": 50}  # functions that can be patched and are called


def callgrind(program):
    """-> {address of a function in the file: its calls}"""
    out = work + "/callgrind.out"
    status, _, err = run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--compress-strings=no",
                         "--compress-pos=no", "--callgrind-out-file=" + out, program)
    is_(status, 0, "callgrind: " + err)
    calls, where, callee = Counter(), "", None
    for line in open(out, errors="replace"):
        key, _, value = line.rstrip().partition("=")
        if key == "ob":
            where = value
        elif key == "cob":
            callee = value
        elif key == "calls":
            n, address = value.split()[:2]
            if os.path.realpath(callee or where) == os.path.realpath(program):
                calls[int(address, 16)] += int(n)
            callee = None
    return calls


def names(program):
    """-> {address: name in the source, without parameters}"""
    found = {}
    for line in run("nm", "-C", program)[1].splitlines():
        words = line.split(" ", 2)
        if len(words) == 3 and words[0] and words[1] in "tTwW":
            found.setdefault(int(words[0], 16), words[2].split("(")[0])
    return found


def counts(trace):
    found = Counter()
    for f in json.loads(cmd("report", "functions", "--json", trace)[1])["functions"]:
        found[f["function"].split("(")[0]] += f["n"]
    return found


def same_counts(program):
    name = os.path.basename(program)
    trace = work + "/" + name
    record(trace, "--graph", name + ":*", "--graph-mode", "exact", "--", program)
    wanted = Counter()
    at = names(program)
    for address, n in callgrind(program).items():
        wanted[at.get(address, "")] += n
    several = {n for n, k in Counter(at.values()).items() if k > 1}  # overloaded: one of them may be too short to be patched
    got = {f: n for f, n in counts(trace).items() if f not in several}
    for function, n in got.items():
        is_(n, wanted[function], "calls of %s in %s" % (function, name))
    ok(len(got) >= LEAST.get(name, 1), "%d functions of %s are called" % (len(got), name))


def each_call_is_counted_once():
    for program in programs:
        same_counts(program)


def exceptions_of_a_static_unwinder_pass():
    wanted = run(static)[1]
    for mode in ("exact", "governed"):
        trace = work + "/static-" + mode
        out, _ = record(trace, "--graph", "*:*", "--graph-mode", mode, "--", static)
        is_(out.split("\n")[0], wanted.strip(), "it prints the same, mode " + mode)
    ok(counts(work + "/static-exact")["fall"] > 100, "its calls are recorded")


run_cases(each_call_is_counted_once, exceptions_of_a_static_unwinder_pass)
