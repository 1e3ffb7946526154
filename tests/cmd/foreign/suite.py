#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `duet view` with babeltrace2 on the traces of other tools, event by event.

usage: suite.py DUET [--work DIR] [--traces DIR]... [--list]

Without --traces, Debian's source package of babeltrace2 is fetched, and its tests/data/ctf-traces are
compared; --work DIR keeps it there for the next run.  --traces DIR: every trace below DIR instead, for
example a copy of Babeltrace's development branch, of ctf-testsuite, or of Trace Compass's test traces.

Every directory with a `metadata` file is a trace.  The result of each is one of:
  agree     the same events, and at least the lost events that Babeltrace reports
  differ    not
  refused   Babeltrace reports an error, duet ends by itself
  aborted   Babeltrace is killed by a signal, or does not end, duet ends by itself
  crashed   duet does not end by itself

--list prints the traces that do not agree.  Exit: 0, 1 if one differs or crashed, 77 no Babeltrace.
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../lib")
from source_package import fetch, find  # noqa: E402

PACKAGE, SECONDS = "babeltrace2", 120


def traces_below(directory):
    for where, _, files in sorted(os.walk(directory)):
        if "metadata" in files:
            yield where


def end_of(command):
    """(status, output); None: it did not end in time."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def compare(duet, trace):
    """(result, output); a process of its own compares, because Babeltrace may abort."""
    status, text = end_of([duet, "stats", trace])
    if status not in (0, 1, 2):
        return "crashed", text[-300:]
    if status == 2:  # it has no events to compare, and says why
        status, bt = end_of(["babeltrace2", trace])
        return ("differ" if status == 0 and bt else "agree" if status == 0 else
                "refused" if status == 1 else "aborted"), text.splitlines()[-1]
    status, text = end_of([sys.executable, HERE + "/../read/agree.py", duet, "-", trace])
    if status == 77:
        print("no python3-bt2")
        sys.exit(77)
    last = ([""] + text.strip().splitlines())[-1]
    return {0: "agree", 1: "differ", 3: "refused"}.get(status, "aborted"), text.strip() if status == 1 else last


def main():
    o = argparse.ArgumentParser(usage=__doc__)
    o.add_argument("duet")
    o.add_argument("--work")
    o.add_argument("--traces", action="append")
    o.add_argument("--list", action="store_true")
    a = o.parse_args()
    duet = os.path.abspath(a.duet)
    if not shutil.which("babeltrace2"):
        print("no babeltrace2")
        return 77
    work = os.path.abspath(a.work) if a.work else tempfile.mkdtemp(prefix="foreign-")
    os.makedirs(work, exist_ok=True)
    n = collections.Counter()
    try:
        roots = a.traces or [(find(PACKAGE, work) or fetch(PACKAGE, work)) + "/tests/data/ctf-traces"]
        for root in roots:
            for trace in traces_below(root):
                result, text = compare(duet, trace)
                n[result] += 1
                if a.list and result != "agree":
                    print("%-8s %s\n         %s" % (result, os.path.relpath(trace, root), text.replace("\n", "\n         ")[:600]))
                    sys.stdout.flush()
    finally:
        if not a.work:
            shutil.rmtree(work, ignore_errors=True)
    print("%d traces: %s" % (sum(n.values()), ", ".join("%d %s" % (k, r) for r, k in n.most_common())))
    return 1 if n["differ"] or n["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
