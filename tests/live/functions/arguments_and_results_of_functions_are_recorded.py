#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--graph-args: arguments and results of functions of a program, by its debug information, as events; without that, one line says so.

arguments: DUET PROGRAM LIBDUET [N]
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record, view  # noqa: E402
from trial import is_, ok, paths, run, run_cases, work  # noqa: E402

program, libduet = paths(2)
N = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
FILE = os.path.basename(program)


def recorded(name, path, *options):
    out, err = record(work + "/" + name, "--graph", os.path.basename(path) + ":*", "--graph-args", *options, "--", path, str(N))
    is_(out.split("\n")[0], run(program, str(N))[1].strip(), "the program computes the same")
    return work + "/" + name, err


def fields(trace, event):
    return [e["fields"] for e in view(trace, "-e", event, may_lose=False)]


def arguments_and_results_have_their_names_and_types():
    trace, err = recorded("all", program)
    prices = fields(trace, "calls:price")
    is_([(p["name"], p["weight"], p["n"]) for p in prices], [("tea", 1.5, -i) for i in range(N)], "arguments")
    ok("RED" in str(prices[0]["c"]) and "GREEN" in str(prices[1]["c"]), "an enumeration: %s" % prices[:2])
    is_([p["result"] for p in fields(trace, "calls:price_return")], [4.5 + (5 if i & 1 else 1) - i for i in range(N)], "results")
    is_([(p["a"], p["f"], p["g"], p["h"]) for p in fields(trace, "calls:many")], [(i, 6, 7, -8) for i in range(N)], "on the stack too")
    is_([p["result"] for p in fields(trace, "calls:text_return")], ["text %d" % i for i in range(N)], "text")
    is_(len(view(trace, "-e", "calls:nothing*")), 0, "a function that has neither")
    ok("the arguments are not recorded" in err, "a struct by value is refused, which is said", err)
    is_(len(view(trace, "-e", "calls:by_value*")), 0, "and has no event")


def with_chosen_events_they_are_recorded_too():
    trace, _ = recorded("chosen", program, "-e", "other:*")
    is_(len(fields(trace, "calls:many")), N, "calls:* is chosen by --graph-args")


def without_debug_information_one_line_says_so():
    stripped = work + "/stripped"
    subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
    trace, err = recorded("bare", stripped)
    ok("--graph-args: of " in err and "there is no debug information" in err, "the reason", err)
    is_(fields(trace, "calls:*"), [], "no event")


run_cases(arguments_and_results_have_their_names_and_types, with_chosen_events_they_are_recorded_too,
          without_debug_information_one_line_says_so)
