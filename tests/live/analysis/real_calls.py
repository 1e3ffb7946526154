#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_calls.py DUET LIBDUET PROGRAM - calls of a program recorded now, with the kernel: graph, view and exports agree
with the program's text."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import check, Duet, row, run_all

PROGRAM = None
CALLS = {"main": 1, "serve": 100, "price": 300, "log_order": 10}


def record(duet, where, *more):
    pattern = os.path.basename(PROGRAM) + ":*"
    return real.record_all(duet, where, ["--graph", pattern, "--graph-mode", "exact", *more], [PROGRAM])[0]


def sums(t):
    n = {}
    for p in t["paths"]:
        if p["kind"] == "function":
            n[p["function"]] = n.get(p["function"], 0) + p["calls"]
    return {name: n.get(name) for name in CALLS}


def each_call_is_there(duet, where):
    r = record(duet, where, "--no-kernel")
    check(sums(duet.json("graph", "--tree", r)), CALLS)
    text = duet.run("view", "--calls", "both", r).stdout
    check([text.count('call_entry { function = "serve"'), text.count('call_exit { function = "serve"')], [100, 100])
    check(text.count("duet_calls"), 0)
    t = duet.json("graph", "--callers", "log_order", r)
    check([p["function"] for p in t["paths"][:3]], ["log_order", "serve", "main"])


def replay_is_nested(duet, where):
    r = record(duet, where, "--no-kernel")
    depth, n = 0, dict.fromkeys(CALLS, 0)
    for line in duet.text("graph", "--no-events", r).splitlines()[1:]:
        text = line.split("| ", 1)[1]
        name = text.strip().split("(")[0]
        depth -= text.strip().startswith("}")
        check(len(text) - len(text.lstrip()), 2 * depth, line)
        depth += text.endswith("{")
        if name in n and not text.strip().startswith("}"):
            n[name] += 1
    check((depth, n), (0, CALLS))


def system_calls_lie_in_their_function(duet, where):
    r = record(duet, where, "-k", "syscalls,sched")
    t = duet.json("graph", "--callers", "write", r)
    check([(p["function"], p["calls"]) for p in t["paths"][:4]],
          [("write", 10), ("log_order", 10), ("serve", 10), ("main", 10)])
    main = row([p for p in duet.json("graph", "--tree", r)["paths"] if p["depth"] == 0 or p["function"] == "main"],
               function="main")
    check(sum(main[k + "_ns"] for k in ("user", "kernel", "blocked", "runnable", "interrupted")), main["total_ns"])


def main():
    global PROGRAM
    duet, real.LIBRARY, PROGRAM = Duet(sys.argv[1]), sys.argv[2], sys.argv[3]
    real.need_root()
    return run_all([each_call_is_there, replay_is_nested, system_calls_lie_in_their_function], duet)


sys.exit(main())
