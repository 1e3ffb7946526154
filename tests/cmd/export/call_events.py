#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""call_events.py DUET BABELTRACE2 - `duet export ctf` writes calls of programs as LTTng's function tracing does:
Babeltrace reads each entry and exit, in order, with the addresses of the recording."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../analysis")
from check import Duet, check, run_all
from make import EPOCH
from make_call_trees import BIAS, BUILD_ID, OBJECT, calls

BABELTRACE = sys.argv[2]
FUNCTIONS = ["work", "fill", "read_page", "main"]
TREE = [("main", 1000, 21000, [("work", 2000, 3000, []), ("read_page", 4000, 16000, [("fill", 5000, 15500, [])]),
                               ("work", 17000, 17200, [])])]
# Numbers of functions are given in the order of exits.
ADDRESS = {name: BIAS + 0x1000 + 64 * i for i, name in enumerate(["work", "fill", "read_page", "main"])}
EVENT = re.compile(r"^\[(\d+)\.(\d{9})\] .*?(lttng_ust_\w+:\w+): (.*)$")


def exported(duet, where, threads, **more):
    duet.run("export", "ctf", "-o", where + "/ctf", calls(where + "/r", threads, **more))
    text = subprocess.run([BABELTRACE, "--clock-seconds", "--no-delta", where + "/ctf/calls"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True)
    check(text.stderr, "")
    events = []
    for line in text.stdout.splitlines():
        m = EVENT.match(line)
        numbers = {k: int(v, 0) for k, v in re.findall(r"(\w+) = (0x[0-9A-F]+|\d+)", m.group(4))}
        events.append((int(m.group(1)) * 10**9 + int(m.group(2)) - EPOCH, m.group(3).split(":")[1], numbers, line))
    return events


def expected(trees, caller=0):
    out = []
    for name, begin, end, inner in trees:
        out.append((begin, "func_entry", ADDRESS[name], caller))
        out += expected(inner, ADDRESS[name])
        if end is not None:
            out.append((end, "func_exit", ADDRESS[name], caller))
    return out


def calls_of(events, tid):
    return [(t, name, n["addr"], n["call_site"]) for t, name, n, _ in events if name.startswith("func_") and n["vtid"] == tid]


def each_entry_and_exit_is_an_event(duet, where):
    events = exported(duet, where, {11: TREE})
    check(calls_of(events, 11), expected(TREE))
    check([(n["vpid"], 'procname = "shop"' in line) for _, name, n, line in events if name == "func_entry"], [(10, True)] * 5)


def threads_are_merged_by_time(duet, where):
    other = [("main", 1500, 9000, [("fill", 1600, 8000, [])])]
    events = exported(duet, where, {11: TREE, 12: other})
    check(calls_of(events, 12), expected(other))
    check([e[0] for e in events], sorted(e[0] for e in events))


def a_call_that_did_not_return_has_no_exit(duet, where):
    open_ = [("main", 1000, None, [("work", 2000, 3000, []), ("fill", 4000, None, [])])]
    events = exported(duet, where, {11: open_})
    check([e[1] for e in events if e[1].startswith("func_")], ["func_entry", "func_entry", "func_exit", "func_entry"])


def the_files_of_the_process_are_named(duet, where):
    events = exported(duet, where, {11: TREE})
    check([e[1] for e in events[:4]], ["start", "bin_info", "build_id", "end"])
    info = events[1]
    check([info[2]["baddr"], info[2]["is_pic"], info[2]["has_build_id"], 'path = "%s"' % OBJECT in info[3]], [BIAS, 1, 1, True])
    check(info[2]["baddr"] <= min(ADDRESS.values()) and max(ADDRESS.values()) < info[2]["baddr"] + info[2]["memsz"], True)
    check(["0x%X" % b in events[2][3].upper().replace("0X", "0x") for b in BUILD_ID], [True] * 20)


def many_packets_are_written(duet, where):
    many = [("main", 1000, 10**9, [("work", 2000 + 100 * i, 2050 + 100 * i, []) for i in range(10000)])]
    events = exported(duet, where, {11: many})
    check(len(calls_of(events, 11)), 20002)
    check([e[0] for e in events], sorted(e[0] for e in events))


sys.exit(run_all([each_entry_and_exit_is_an_event, threads_are_merged_by_time, a_call_that_did_not_return_has_no_exit,
                  the_files_of_the_process_are_named, many_packets_are_written], Duet(sys.argv[1])))
