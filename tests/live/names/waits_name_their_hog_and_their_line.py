#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet report why` of real programs: the threads that ran while one waited for its CPU; the lock, the file and the
source line of a wait.

arguments: DUET WAITS LIBDUET
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

program, library = paths(2)
os.environ["DUET_LIBRARY"] = library
LINE = 1 + [i for i, line in enumerate(open(os.path.dirname(os.path.abspath(__file__)) + "/programs/waits.c"))
            if "line of the call" in line][0]


def why(name, thread_name, *options, argument):
    trace = work + "/" + name
    err = record(trace, "-k", "sched", "-k", "syscalls", "-k", "irq", *options, "--", program, argument)[1]
    if "not recorded" in err:
        skip("the kernel cannot be recorded here: " + err)
    threads = json.loads(cmd("report", "why", trace, "--json")[1])["threads"]
    tid = next(t["tid"] for t in threads if re.sub(":.*", "", t["thread"]) == thread_name)
    p = cmd("report", "why", "-t", str(tid), trace, "--json")
    is_(p[0], 0, "the report: " + p[2])
    return json.loads(p[1]), cmd("report", "why", "-t", str(tid), trace)[1]


def a_hog_on_the_same_cpu_is_named():
    report, text = why("hog", "victim", argument="hog")
    waited = {s["state"]: s["ns"] for s in report["states"]}
    ns = sum(h["ns"] for h in report["holders"])
    whole = waited.get("preempted", 0) + waited.get("runnable", 0)
    ok(0.9 * whole <= ns <= whole, "the holders are those of the time", (ns, whole))
    hog = [h for h in report["holders"] if h["thread"].startswith("hog:")]
    ok(hog and sum(h["ns"] for h in hog) > 0, "the hog is among them", report["holders"])
    ok("What ran on the CPU that it waited for" in text, "for people", text)


def a_wait_has_its_lock_its_file_and_its_line():
    file = work + "/the.file"
    report, text = why("waits", "waits", "-k", "stack:sched_switch", argument=file)
    blocked = [p for p in report["parts"] if p["state"] == "blocked"]
    lock = [p for p in blocked if "account_lock in waits" in p["where"]]
    is_(len(lock), 1, "one part for the lock, of %s" % blocked)
    # The function of the C library that waits may hide its caller: docs of duet-report.
    ok(re.match(r"(take|main) at waits\.c:\d+$", lock[0]["site"]), "the line", lock[0])
    if lock[0]["site"].startswith("main"):
        is_(lock[0]["site"], "main at waits.c:%d" % LINE, "the line of the call")
    ok("waits.c:" in text, "for people", text)


def children_wait_for_files():
    trace = work + "/waits"
    threads = json.loads(cmd("report", "why", trace, "--json")[1])["threads"]
    parts = [part for t in threads for part in json.loads(
        cmd("report", "why", "-t", str(t["tid"]), trace, "--json")[1])["parts"]]
    ok(any(re.match(r"flock\(fd \d+ = .*/the\.file\)", p["where"]) for p in parts), "the file", parts)


run_cases(a_hog_on_the_same_cpu_is_named, a_wait_has_its_lock_its_file_and_its_line, children_wait_for_files)
