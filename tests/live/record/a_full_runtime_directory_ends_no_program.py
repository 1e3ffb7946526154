#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program whose threads get no memory for their calls, as the runtime directory's file system is full, runs on; what it
could not record is counted.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run, run_cases, work  # noqa: E402

program, library = paths(2)
CALLS = 20 * 20 * 1000


def threads_without_memory_are_counted():
    full, trace = work + "/full", work + "/trace"
    os.mkdir(full)
    status, out, err = run("unshare", "-m", "--propagation", "private", "sh", "-c",
                           'mount -t tmpfs -o size=40m none "$0" && exec "$@"', full,
                           "env", "DUET_RUNTIME_DIR=" + full + "/run",
                           duet, "record", "-q", "--no-kernel", "-b", "4M", "-o", trace, "--graph-mode", "exact",
                           "--graph", os.path.basename(program) + ":*", "--", program, full + "/file")
    is_((status, out), (0, "alive\n"), "the program ends as it would alone: " + err)
    status, out, err = cmd("report", "functions", "--json", trace)
    is_(status, 0, "report: " + err)
    report = json.loads(out)
    leaf = sum(f["n"] for f in report["functions"] if f["function"] == "leaf")
    ok(leaf < CALLS and report["n_lost_calls"] > 0, "losses are counted", str((leaf, report["n_lost_calls"])))


run_cases(threads_without_memory_are_counted)
