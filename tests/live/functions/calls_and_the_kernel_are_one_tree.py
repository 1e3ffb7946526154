#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calls_and_the_kernel_are_one_tree.py DUET TREE LIBDUET [ROUNDS]

Calls of a program and events of the kernel, recorded together: every call is there, the five parts of its time add up,
and no system call, interrupt or switch crosses the begin or end of a call.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, work  # noqa: E402

tree, library = paths(2)
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 2000
FILE = os.path.basename(tree)
PARTS = ("user_ns", "kernel_ns", "blocked_ns", "runnable_ns", "interrupted_ns")


def record(name, *options):
    trace = work + "/" + name
    status, _, err = cmd("record", "-q", "-o", trace, "--graph", FILE + ":tree_*", "--graph-mode", "exact", *options,
                         "--", tree, ROUNDS)
    is_(status, 0, "duet record: " + err)
    status, out, err = cmd("report", "functions", "--json", trace)
    is_(status, 0, "duet report functions: " + err)
    report = json.loads(out)
    is_([report["n_" + k] for k in ("lost_batches", "lost_calls", "torn", "damaged", "without_file", "without_plan")],
        [0] * 6, "nothing is lost")
    return report, {f["function"]: f for f in report["functions"]}


def check_counts(f):
    is_({n: f[n]["n"] for n in f if n.startswith("tree_")},
        {"tree_thread": 2, "tree_round": 2 * ROUNDS, "tree_work": 12 * ROUNDS, "tree_nap": 2 * (ROUNDS // 100),
         "tree_jump": 2 * ROUNDS}, "every call is there")


def every_call_is_there_without_the_kernel():
    _, f = record("alone")
    check_counts(f)
    ok(f["tree_nap"]["min_ns"] >= 1000000, "a nap lasts a millisecond")


def split(backend):
    report, f = record(backend, "--kernel-backend", backend, "-k", "sched", "-k", "syscalls", "-k", "irq")
    check_counts(f)
    for name, row in f.items():
        is_(sum(row[p] for p in PARTS), row["total_ns"], "the parts of %s add up" % name)
        is_(sum(row["self_" + p] for p in PARTS), row["self_ns"], "and those of itself alone")
    nap, work_ = f["tree_nap"], f["tree_work"]
    ok(nap["blocked_ns"] >= 0.9 * nap["n"] * 1e6, "naps are blocked time: %s" % nap)
    ok(work_["kernel_ns"] > 0 and work_["user_ns"] > 0, "work is in both modes: %s" % work_)
    return report


def parts_add_up_and_nothing_crosses():
    report = split("bpf")
    is_(report["n_misnested"], 0, "calls nest")
    is_(report["n_crossings"], 0, "the kernel nests in calls")


def parts_add_up_with_ftrace():
    report = split("ftrace")
    is_(report["n_misnested"], 0, "calls nest")
    is_(report["n_crossings"], 0, "the kernel nests in calls")


run_cases(every_call_is_there_without_the_kernel, parts_add_up_and_nothing_crosses, parts_add_up_with_ftrace)
