#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure a loop of system calls, and find: plain, under strace, perf trace and duet strace, each writing to a file.

usage: run.py DUET LOOP      ninja bench-strace      ROUNDS=5 CALLS=100000 TREE=/usr/lib ONLY=find

A process inside the tracer times the command, from fork to wait.  The time of all is measured outside, until the last
line is in the file.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

duet, loop = map(os.path.abspath, sys.argv[1:3])
ROUNDS, CALLS, TREE = int(os.environ.get("ROUNDS", 5)), os.environ.get("CALLS", "100000"), os.environ.get("TREE", "/usr/lib")
work = tempfile.mkdtemp(prefix="duet-bench-strace-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
CHOSEN = os.environ.get("ONLY", "")  # a part of a title
COMMANDS = {"getppid x %s" % CALLS: [loop, CALLS], "find %s" % TREE: ["find", TREE, "-name", "no such name"]}
TRACERS = {"plain": [], "duet strace": [duet, "strace", "-o", "{out}", "--"], "duet strace -c": [duet, "strace", "-c", "-o", "{out}", "--"],
           "strace -f": ["strace", "-f", "-o", "{out}"], "strace -f -c": ["strace", "-f", "-c", "-o", "{out}"],
           "perf trace": ["perf", "trace", "-o", "{out}", "--"]}
TIMER = ("import subprocess, sys, time; a = time.monotonic(); subprocess.run(sys.argv[2:]);"
         "open(sys.argv[1], 'w').write(str(time.monotonic() - a))")


def once(tracer, command):
    """Return the seconds of the command, the seconds of all, and the number of lines."""
    out, timed = work + "/out", work + "/time"
    argv = [a.format(out=out) for a in TRACERS[tracer]] + [sys.executable, "-c", TIMER, timed] + command
    begin = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - begin
    lines = sum(1 for _ in open(out, errors="replace")) if tracer != "plain" else 0
    if command[0] == loop and tracer not in ("plain", "duet strace -c", "strace -f -c") and lines < int(CALLS):
        print("# %s: not proved: %d lines of %s calls" % (tracer, lines, CALLS))
    return float(open(timed).read()), whole, lines


def spread(values, form):
    return "%s (%s-%s)" % tuple(form % v for v in (statistics.median(values), min(values), max(values)))


def main():
    present = [t for t in TRACERS if not TRACERS[t] or shutil.which(TRACERS[t][0])]
    print("# load %.1f before; medians (min-max) of %d rounds, in turns" % (os.getloadavg()[0], ROUNDS))
    for title, command in COMMANDS.items():
        if CHOSEN not in title:
            continue
        times = {t: [] for t in present}
        once("plain", command)  # warm caches
        for _ in range(ROUNDS):
            for t in present:
                times[t].append(once(t, command))
        base = statistics.median(t[0] for t in times["plain"])
        print("\n%-24s %-28s %8s   %-28s %8s" % (title, "command, s", "x plain", "until all is written, s", "lines"))
        for t in present:
            own, whole, lines = zip(*times[t])
            print("%-24s %-28s %8.1f   %-28s %8d" % (t, spread(own, "%.3f"), statistics.median(own) / base,
                                                    spread(whole, "%.3f"), statistics.median(lines)))
    print("\n# load %.1f after" % os.getloadavg()[0])


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
