#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure a loop of system calls, and find: plain, under strace, perf trace and duet strace, each writing to a file.

usage: run.py DUET LOOP      ninja bench-strace      ROUNDS=5 CALLS=100000 TREE=/usr/lib ONLY=find

A process inside the tracer times the command, from fork to wait, and asks for its CPU time, which
other programs disturb less.  The time of all is measured outside, until the last
line is in the file.  Each tracer's output must have as many calls as there were, else its row has no figures: getppid
as often as the loop makes it, and the getdents64 of find as often as strace counts them.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from seen import calls_seen

duet, loop = map(os.path.abspath, sys.argv[1:3])
ROUNDS, CALLS, TREE = int(os.environ.get("ROUNDS", 5)), os.environ.get("CALLS", "100000"), os.environ.get("TREE", "/usr/lib")
work = tempfile.mkdtemp(prefix="duet-bench-strace-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
CHOSEN = os.environ.get("ONLY", "")  # a part of a title
COMMANDS = {"getppid x %s" % CALLS: [loop, CALLS], "find %s" % TREE: ["find", TREE, "-name", "no such name"]}
TRACERS = {"plain": [], "duet strace -f": [duet, "strace", "-f", "-o", "{out}", "--"], "duet strace -f -c": [duet, "strace", "-f", "-c", "-o", "{out}", "--"],
           "strace -f": ["strace", "-f", "-o", "{out}"], "strace -f -c": ["strace", "-f", "-c", "-o", "{out}"],
           "perf trace": ["perf", "trace", "-m", "8192", "-o", "{out}", "--"]}
NAMES = {loop: "getppid", "find": "getdents64"}
TIMER = ("import resource, subprocess, sys, time; a = time.monotonic(); subprocess.run(sys.argv[2:]); b = time.monotonic() - a;"
         "r = resource.getrusage(resource.RUSAGE_CHILDREN);"
         "open(sys.argv[1], 'w').write('%f %f' % (b, r.ru_utime + r.ru_stime))")


def once(tracer, command):
    """Return the seconds of the command, its CPU time, the seconds of all, and the number of calls that were seen."""
    out, timed = work + "/out", work + "/time"
    argv = [a.format(out=out) for a in TRACERS[tracer]] + [sys.executable, "-c", TIMER, timed] + command
    begin = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - begin
    seen = calls_seen(open(out, errors="replace"), NAMES[command[0]], "-c" in TRACERS[tracer]) if tracer != "plain" else 0
    return *map(float, open(timed).read().split()), whole, seen


def count_of(command):
    """How often the command makes the call that is counted."""
    if command[0] == loop:
        return int(CALLS)
    subprocess.run(["strace", "-f", "-e", "trace=getdents64", "-o", work + "/out", sys.executable, "-c", TIMER, work + "/time"] + command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return calls_seen(open(work + "/out"), NAMES[command[0]], False)


def spread(values, form):
    return "%s (%s-%s)" % tuple(form % v for v in (statistics.median(values), min(values), max(values)))


def processor():
    found = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return "%d x %s, Linux %s" % (len(found), found[0] if found else "?", os.uname().release)


def main():
    present = [t for t in TRACERS if not TRACERS[t] or shutil.which(TRACERS[t][0])]
    print("# %s" % processor())
    print("# load %.1f before; medians (min-max) of %d rounds, in turns" % (os.getloadavg()[0], ROUNDS))
    for title, command in COMMANDS.items():
        if CHOSEN not in title:
            continue
        times = {t: [] for t in present}
        made = count_of(command)  # and caches are warm
        for _ in range(ROUNDS):
            for t in present:
                times[t].append(once(t, command))
        base = [statistics.median(t[i] for t in times["plain"]) for i in (0, 1)]
        print("\n%-19s  %-20s  %6s  %-20s  %6s  %-19s  %s" % (title, "command, s", "plain", "its CPU time, s", "plain",
                                                        "all written, s", NAMES[command[0]]))
        for t in present:
            own, cpu, whole, seen = zip(*times[t])
            if t != "plain" and min(seen) < made:
                print("%-19s  not proved: %s of %d calls are in its output" % (t, sorted(set(seen)), made))
                continue
            print("%-19s  %-20s  %6.2f  %-20s  %6.2f  %-19s  %d" % (
                t, spread(own, "%.3f"), statistics.median(own) / base[0], spread(cpu, "%.3f"), statistics.median(cpu) / base[1],
                spread(whole, "%.3f"), seen[0]))
    print("\n# load %.1f after" % os.getloadavg()[0])


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
