#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's functions: where the kernel lets them be traced they are recorded; where it does not, one error names the
missing feature and an alternative.  tests/qemu tests each kernel's tracers.

arguments: DUET
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, ok, run, run_cases, skip, work  # noqa: E402

if os.geteuid():
    skip("only root may trace the kernel's functions")

# The option, an event it causes, and the error in the other case.
FUNCTION = "do_sys_openat2"
WAYS = [
    (["-k", "function:" + FUNCTION], "function", ["-k profile"]),
    (["-k", "function:mod:none_of_that_name"], None, ["not loaded"]),
    (["--graph", FUNCTION], "funcgraph_exit", ["-k profile", "--kprobe"]),
    (["--graph", FUNCTION, "--graph-depth", "2"], "funcgraph_exit", ["--kprobe", "another tracer", "another recorder"]),
    (["--graph", FUNCTION, "--graph-over", "1us"], "funcgraph_exit", ["--kprobe", "another tracer", "another recorder"]),
    (["--kprobe", FUNCTION + " name=arg2:str"], "kprobe_" + FUNCTION, ["CONFIG_KPROBE_EVENTS"]),
    (["--kprobe", "do_sys_open*"], "kprobe_" + FUNCTION, ["CONFIG_KPROBE_EVENTS", "a name without"]),
    (["--fprobe", FUNCTION + "%return r=retval:s64"], "fretprobe_" + FUNCTION, ["CONFIG_FPROBE_EVENTS"]),
]
WRONG = [
    (["--graph-depth", "3"], "--graph FUNCTIONS"),
    (["--graph-over", "1ms"], "--graph FUNCTIONS"),
    (["--graph-args"], "--graph FUNCTIONS"),
    (["--graph-args", "-k", "sched_switch"], "--graph FUNCTIONS"),
    (["--graph", "x", "--graph-depth", "0"], "1 to 65535"),
    (["--graph", "x", "--graph-depth", "51"], "1 to 50"),
    (["--graph", "x,,y"], "empty pattern"),
    (["-k", "function:x", "-f", "a == 1"], "takes no filter"),
]


def each_way_records_or_says_why_not():
    for i, (options, event, instead) in enumerate(WAYS):
        out = "%s/way%d" % (work, i)
        status, _, err = run(duet, "record", "-o", out, *options, "--", "cat", "/dev/null")
        what = " ".join(options)
        if status == 0 and event:
            ok(event in cmd("view", "-e", event, out)[1], what + " records", err)
        else:
            ok(status == 2, what + " fails", err)
            ok(err.startswith("duet record: ") and any(word in err for word in instead), what + " names a remedy", err)
            ok(err.count("duet record: ") == 1, what + " says it once", err)


def malformed_requests_for_functions_are_refused():
    for options, reason in WRONG:
        status, _, err = run(duet, "record", "-o", work + "/wrong", *options, "--", "true")
        ok(status == 2 and reason in err, " ".join(options), err)


def graph_and_calls_are_not_recorded_together():
    status, _, err = run(duet, "record", "-o", work + "/both", "-k", "function:" + FUNCTION, "--graph", FUNCTION, "--", "true")
    ok(status == 2 and "one tracer for both" in err, "it says so", err)


run_cases(each_way_records_or_says_why_not, malformed_requests_for_functions_are_refused, graph_and_calls_are_not_recorded_together)
