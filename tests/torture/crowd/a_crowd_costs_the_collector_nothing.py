#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A crowd of threads, of processes, of short lives in one pool: each event is there or counted, and the
collector does not grow.

arguments: DUET CROWD LIBDUET THREADS PROCESSES LIVES      whole: 10000 2000 20000
"""
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, fail, is_, paths, run_cases, start, work  # noqa: E402
from watch import Watch  # noqa: E402

crowd, library = paths(2)
n_threads, n_processes, n_collectors = map(int, sys.argv[4:7])


def record_crowd(what, n, events, *more):
    trace = work + "/" + what
    begin = time.monotonic()
    p = start(duet, "record", "--no-kernel", "-o", trace, "-e", "crowd:*", "--", crowd, what, n, events, *more)
    watch = Watch(p.pid, 0.05, "socket:")  # a program has one until its attach is answered, and all may come at once
    out, err = p.communicate(timeout=600)
    took = time.monotonic() - begin
    made = int(out or 0)
    lost = sum(map(int, re.findall(r"applications.* (\d+) LOST", err)))
    if p.returncode:
        fail("%s: status %d: %s" % (what, p.returncode, err))
    seen = {}
    status, text, told = cmd("view", trace, timeout=600)
    is_(status, 0, "view: " + told)
    for m in re.finditer(r"crowd:step \{ who = (\d+), i = (\d+) \}", text):
        seen.setdefault(int(m.group(1)), []).append(int(m.group(2)))
    got = sum(map(len, seen.values()))
    if made < n:
        print("  (only %d of %d could be made)" % (made, n))
    if got + lost != made * events:
        fail("%s: %d recorded, %d lost of %d" % (what, got, lost, made * events))
    for who, steps in seen.items():
        if steps != sorted(set(steps)):
            fail("%s: events of %d twice or out of order" % (what, who))
            break
    fds, kib = max(watch.fds, default=0), max(watch.kib, default=0)
    if fds > 128 or kib > 16 << 10:
        fail("%s: the collector had %d descriptors, %d KiB" % (what, fds, kib))
    print("%s: %d x %d events, %d lost; %.2f s; the collector: %d KiB of its own, %d descriptors, %.2f s CPU"
          % (what, made, events, lost, took, kib, fds, watch.cpu))
    shutil.rmtree(trace)
    return lost


def threads_are_recorded_or_counted():
    record_crowd("threads", n_threads, 10)


def processes_are_recorded_or_counted():
    record_crowd("processes", n_processes, 10)


def short_lives_lose_nothing():
    for width in ("1", "8"):
        is_(record_crowd("lives", n_collectors, 100, width), 0, "short lives lose nothing")


run_cases(threads_are_recorded_or_counted, processes_are_recorded_or_counted, short_lives_lose_nothing)
