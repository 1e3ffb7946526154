#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands that follow a recording, beside many short programs with new events: each ends well and misses nothing.

Freed memory is filled, so that a command which reads it fails.  tools/presets command-asan runs this with a duet
that has sanitizers.

arguments: DUET PROGRAM LIBDUET SECONDS
"""
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
SECONDS = float(sys.argv[4])
os.environ["MALLOC_PERTURB_"] = "165"
os.environ["TMPDIR"] = work
SHORT = "for k in 1 2 3 4; do ls /proc/self/fd | cat >/dev/null; done"


class Load:
    """Short programs, one after the other; each `growing` has 40 events that none had before."""

    def __init__(self):
        self.is_over, self.statuses, self.first = False, [], 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.is_over:
            begun = [subprocess.Popen([program, str(self.first), "40", "5"]), subprocess.Popen(["sh", "-c", SHORT])]
            self.first += 40
            self.statuses += [p.wait() for p in begun]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_over = True
        self.thread.join()
        is_(set(self.statuses), {0}, "the programs end well")


def ends_well(p, seconds, what):
    """-> its output, and that of its stderr"""
    time.sleep(seconds)
    status, out, err = p.end(signal.SIGINT)
    is_(status, 0, "%s ends well: %s" % (what, err))
    return out, err


def growing_in(text):
    """The numbers of the events that a command has shown."""
    return {int(n) for n in re.findall(r" growing:e(\d+) ", text)}


def top_shows_threads_and_events():
    with Load():
        for by in "thread", "process", "event":
            p = start(duet, "top", "-b", "-i", "%dms" % (SECONDS * 125), "--by", by, "--limit", 1000, "-k", "sched,syscalls",
                      "-e", "growing:*")
            wanted = "growing:e" if by == "event" else "growing"
            until(lambda: wanted in p.stdout.so_far(), lambda: "the short programs are there: " + p.stdout.so_far()[-300:])
            _, err = ends_well(p, SECONDS / 2, "top --by " + by)
            is_(err, "", "top --by %s reports nothing" % by)


def a_session_in_trace_chunks_is_followed():
    status, _, err = cmd("start", "busy", "-o", work + "/busy", "-e", "growing:*", "-k", "sched,syscalls", "--rotate", "1s",
                         "--keep-last", 20)
    is_(status, 0, "duet start: " + err)
    with Load() as load:
        top = start(duet, "top", "-b", "-i", "250ms", "--by", "event", "--limit", 10000, "busy")
        live = start(duet, "live", "busy", "-e", "growing:*")
        until(lambda: "growing:e" in live.stdout.so_far(), "live shows an event")
        first = load.first + 40  # of a program that is still to come
        until(lambda: load.first > first + 120, "more programs run")
        time.sleep(SECONDS)
        shown, _ = ends_well(top, 0, "top")
        ok("growing:e" in shown, "top has rates of events", shown[-300:])
        last = load.first - 40
        # At its end: all of it takes longer to read than live to write more.  A fast machine uses up a recording's
        # 4096 kinds of events: then the others are lost, and counted.
        until(lambda: live.poll() is not None or max(growing_in(live.stdout.end_so_far()), default=0) >= last - 1 or
              "[lost " in live.stdout.end_so_far(), "live shows what ran until now")
        out, err = ends_well(live, 0, "live")
    is_(cmd("stop", "busy")[0], 0, "duet stop")
    missing = set(range(first, last)) - growing_in(out)
    ok(not missing or "lost" in err or "removed" in err, "all events are shown, or counted as lost", (sorted(missing)[:9], err))


def strace_shows_threads_and_forks():
    out = work + "/calls"
    rounds = int(SECONDS * 3)
    command = "i=0; while [ $i -lt %d ]; do %s $i 10 2; %s; i=$((i + 1)); done" % (rounds, program, SHORT)
    for options in ["-f", "-yy"], ["-f", "-k"], ["-f", "-c"]:
        status, _, err = cmd("strace", *options, "-o", out, "sh", "-c", command)
        is_(status, 0, "strace %s: %s" % (options, err))
    status, _, err = cmd("strace", "-f", "-o", out, "sh", "-c", command)
    with open(out, errors="replace") as f:
        exits = f.read().count("+++ exited with 0 +++")
    # For each round: the program and its ten threads, and for each `ls | cat` two processes.
    ok(exits == 1 + rounds * 19 or "lost" in err, "each thread and process ends", (exits, rounds, err))


def a_script_counts_events_while_classes_come():
    p = start(program, 0, 200, 400 * max(int(SECONDS), 1), 10, stdin=subprocess.PIPE)
    is_(p.stdout.readline(), "ready\n", "it has its events")
    s = start(duet, "script", "-x", p.pid, "-e",
              "global n, lost; probe app.growing.* { n++ } probe begin { println(\"begun\") } probe end { println(n) }")
    is_(s.stdout.readline(), "begun\n", "the script begins")
    time.sleep(0.5)
    with Load():
        is_(p.communicate(input="go\n") and p.returncode, 0, "the program ends")
        status, out, err = s.end()
    is_(status, 0, "the script ends well: " + err)
    counted, wanted = int(out or -1), 200 * 2 * 400 * max(int(SECONDS), 1)
    ok(counted == wanted or "lost" in err, "each event once", (counted, wanted, err))


run_cases(top_shows_threads_and_events, a_session_in_trace_chunks_is_followed, strace_shows_threads_and_forks,
          a_script_counts_events_while_classes_come)
