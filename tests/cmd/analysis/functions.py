#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""functions.py DUET - kernel functions in recordings made by hand: names, slices, stacks."""
import json
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, run_all
from make import LOST, kernel

BASE = 0xffffffff81000000
NAMES = {"vfs_open": 0x1000, "do_dentry_open": 0x1100, "dummy_xmit": 0x2000}
MODULES = {"dummy_xmit": "dummy"}


def address(name, more=0):
    return BASE + NAMES[name] + more


def enter(time, name, depth, tid=7):
    return (time, 0, tid, "funcgraph_entry", dict(func=address(name), depth=depth))


def leave(time, name, depth, duration, tid=7):
    return (time, 0, tid, "funcgraph_exit", dict(func=address(name), depth=depth, overrun=0, duration=duration))


def recording(where, events, kallsyms=True):
    kernel(where + "/r/kernel", events)
    os.makedirs(where + "/r/.duet")
    if kallsyms:
        with open(where + "/r/.duet/kallsyms", "w") as f:
            for name in reversed(NAMES):  # unsorted
                f.write("%x %s%s\n" % (address(name), name, " [%s]" % MODULES[name] if name in MODULES else ""))
    return where + "/r"


# vfs_open takes 1000 ns; do_dentry_open, called twice, takes 300 and 100 of them.
NESTED = [enter(1000, "vfs_open", 0), enter(1100, "do_dentry_open", 1), leave(1400, "do_dentry_open", 1, 300),
          enter(1500, "do_dentry_open", 1), leave(1600, "do_dentry_open", 1, 100), leave(2000, "vfs_open", 0, 1000)]


def folded(duet, r, *options):
    return dict(line.rsplit(" ", 1) for line in duet.text("export", "folded", *options, r).splitlines())


def slices(duet, r):
    return [(e["ph"], e.get("name")) for e in json.loads(duet.text("export", "chrome", r))["traceEvents"] if e["ph"] in "BEX"]


def addresses_have_names(duet, where):
    """A function's first byte belongs to it; a return address may be the next function's first byte."""
    r = recording(where, [(1000, 0, 7, "function", dict(ip=address("do_dentry_open"), parent_ip=address("do_dentry_open"))),
                          (2000, 0, 7, "kretprobe_x", dict(func=address("dummy_xmit"), ret_ip=address("vfs_open", 9)))])
    lines = duet.text("view", r).splitlines()
    check(["(do_dentry_open), parent_ip" in lines[0], "(vfs_open) }" in lines[0]], [True, True])
    check(["(dummy_xmit [dummy]), ret_ip" in lines[1], "(vfs_open) }" in lines[1]], [True, True])


def fields_of_programs_have_none(duet, where):
    r = recording(where, [(1000, 0, 7, "x", dict(address=address("vfs_open"), ip=1))])
    check("(" in duet.text("view", r).split("{")[1], False)


def slices_are_called_by_functions(duet, where):
    check(slices(duet, recording(where, NESTED)),
          [("B", "vfs_open"), ("B", "do_dentry_open"), ("E", None), ("B", "do_dentry_open"), ("E", None), ("E", None)])


def slices_without_names_are_called_by_events(duet, where):
    check(slices(duet, recording(where, NESTED, kallsyms=False))[0], ("B", "funcgraph"))


def calls_seen_by_probes_are_slices(duet, where):
    r = recording(where, [(1000, 0, 7, "kprobe_f", dict(ip=1)), (1100, 0, 7, "fprobe_g", dict(ip=1)),
                          (1200, 0, 7, "fretprobe_g", dict(func=1)), (1300, 0, 7, "kretprobe_f", dict(func=1))])
    check(slices(duet, r), [("B", "f"), ("B", "g"), ("E", None), ("E", None)])


def stacks_have_the_functions_own_time(duet, where):
    r, own = recording(where, NESTED), {"?;vfs_open": "600", "?;vfs_open;do_dentry_open": "400"}
    check(folded(duet, r), own)
    check(folded(duet, r, "--weight", "time"), own)


def calls_are_counted_by_function(duet, where):
    """Counts ends, which are there even without beginnings."""
    s = duet.json("stats", recording(where, NESTED + [(3000, 0, 7, "function", dict(ip=address("vfs_open", 4), parent_ip=1))] +
                                     [(4000, 0, 7, "function", dict(ip=5, parent_ip=1))] * 3))
    check([(f["function"], f["n"]) for f in s["functions"]],
          [("0x5", 3), ("do_dentry_open", 2), ("vfs_open", 1), ("vfs_open", 1)])
    check("By kernel function" in duet.text("stats", where + "/r"), True)


def without_calls_there_is_nothing_to_count(duet, where):
    r = recording(where, [(1000, 0, 7, "x", dict(ip=1))])
    check("--graph F records them" in duet.text("stats", "--by", "function", r), True)
    check(duet.json("stats", "--by", "function", r)["functions"], [])


def threads_do_not_mix(duet, where):
    r = recording(where, [enter(1000, "vfs_open", 0), enter(1100, "do_dentry_open", 0, tid=8), leave(1200, "vfs_open", 0, 200),
                          leave(1300, "do_dentry_open", 0, 200, tid=8)])
    check(folded(duet, r), {"?;vfs_open": "200", "?;do_dentry_open": "200"})


def ends_alone_have_their_own_time_too(duet, where):
    """With a duration threshold there are only ends: a call that ended just before, one level deeper, is a callee."""
    r = recording(where, [leave(1400, "do_dentry_open", 1, 300), leave(2000, "vfs_open", 0, 1000), leave(3000, "vfs_open", 0, 500)])
    check(folded(duet, r), {"?;do_dentry_open": "300", "?;vfs_open": "1200"})


def begin_without_end_ends_with_its_caller(duet, where):
    r = recording(where, [enter(1000, "vfs_open", 0), enter(1100, "do_dentry_open", 1), LOST(1200, 0, 1),
                          leave(2000, "vfs_open", 0, 1000), enter(3000, "dummy_xmit", 0), leave(3100, "dummy_xmit", 0, 100)])
    check(folded(duet, r), {"?;vfs_open": "1000", "?;dummy_xmit [dummy]": "100"})


def a_flame_graph_has_nanoseconds(duet, where):
    check("vfs_open (0.001 ms, 100.00%)" in duet.text("export", "svg", recording(where, NESTED)), True)


sys.exit(run_all([addresses_have_names, fields_of_programs_have_none, slices_are_called_by_functions,
                  slices_without_names_are_called_by_events, calls_seen_by_probes_are_slices, stacks_have_the_functions_own_time,
                  calls_are_counted_by_function, without_calls_there_is_nothing_to_count,
                  threads_do_not_mix, ends_alone_have_their_own_time_too, begin_without_end_ends_with_its_caller,
                  a_flame_graph_has_nanoseconds], Duet(sys.argv[1])))
