#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that calls duet_prepare() records after it entered seccomp's strict mode, or a filter that kills at any
other system call, and events can be enabled then; one that does not is left alone.

arguments: DUET PROGRAM LIBDUET
"""
import collections
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from recorder import collect, stop, view  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, work, worker_of  # noqa: E402

program, library = paths(2)
KINDS = ["none", "number", "text", "large", "mark", "mark_of"]
N = 50
MOST_TRIES = 400  # of 250 ms


class Locked:
    """The program, once it has locked itself up.  @meanwhile: called after a session did not answer."""

    def __init__(self, how, meanwhile=None):
        self.p = subprocess.Popen([program, how, str(N)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        line = self.p.stdout.readline()
        if meanwhile:
            is_(line, b"again\n", "a session did not answer")
            meanwhile()
        for _ in range(MOST_TRIES):
            if line != b"again\n":
                break
            line = self.p.stdout.readline()
        if not is_(line, b"ready\n", how + ": it runs"):
            self.p.kill()

    def record(self):
        self.p.stdin.write(b"x")
        is_(self.p.stdout.readline(), b"done\n", "it lives on")

    def end(self):
        self.p.stdin.close()
        is_(self.p.wait(), 0, "it ends by itself")


def counts(events):
    return dict(collections.Counter(e["event"].removeprefix("strict:") for e in events
                                    if e["event"].startswith("strict:")))


def events_are_recorded_inside(how):
    """Enabled before and inside; the times lie within the recording, in order."""
    collector = collect(work + "/" + how, "-q", "-e", "strict:n*")
    p = Locked(how)
    p.record()
    status, out, err = cmd("enable", "strict:*")
    is_(status, 0, "enabled in the sandbox: " + out + err)
    p.record()
    p.end()
    stop(collector)
    found = view(work + "/" + how, may_lose=False)
    is_(counts(found), {k: 2 * N if k.startswith("n") else N for k in KINDS}, how + ": all are recorded")
    for kind in ("number", "large"):
        mine = [e for e in found if e["event"] == "strict:" + kind]
        is_([e["fields"]["n"] for e in mine], list(range(N)) * (len(mine) // N), kind + ": in order")
    times = [e["time"] for e in found if e["event"].startswith("strict:")]
    began = [e["time"] for e in found if e["event"].startswith("lttng_ust_statedump:")]
    ok(max(times) - min(times) < 120e9 and (not began or min(times) > min(began) - 100e6), "the times are true",
       "%s .. %s, %s" % (min(times), max(times), began))


def in_strict_mode():
    events_are_recorded_inside("mode1")


def under_a_filter():
    events_are_recorded_inside("filter")


def after_a_collector_that_was_slow():
    """It did not answer when the program began."""
    collector = collect(work + "/slow", "-q", "-e", "strict:*")
    worker = worker_of(collector)
    kill(worker, signal.SIGSTOP)
    p = Locked("mode1", meanwhile=lambda: kill(worker, signal.SIGCONT))
    p.record()
    p.end()
    stop(collector)
    is_(counts(view(work + "/slow", may_lose=False)), {k: N for k in KINDS}, "all are recorded")


def a_program_that_is_not_prepared_is_skipped():
    collector = collect(work + "/unprepared", "-q", "-e", "no:such")
    p = Locked("unprepared")
    status, out, err = cmd("enable", "strict:*")
    ok("strict" in out + err and status, "enable says that an event would kill it", out + err)
    p.record()
    p.end()
    stop(collector)
    is_(counts(view(work + "/unprepared")), {}, "nothing is recorded")


run_cases(in_strict_mode, under_a_filter, after_a_collector_that_was_slow, a_program_that_is_not_prepared_is_skipped)
