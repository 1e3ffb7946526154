#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random system calls: `duet strace` and strace see the same run, and the program records it too.

arguments: DUET PROGRAM [CALLS]      3000 calls; in parts of 50000, each with a seed of its own

Every line is compared letter by letter.  The program's own record decides between two lines: a line that contradicts
it is wrong.  A difference that the record does not decide must be in KNOWN, with its reason.  No call may be missing.
TEST_SEED=N repeats a run.  SHOW=20 prints so many differences of each kind, with the record.
"""
import collections
import glob
import mmap
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc
from random_known import reason_for
from random_records import Call, contradictions
from trial import dice, duet, fail, is_, ok, run_cases, skip, start, until, work

program = os.path.abspath(sys.argv[2])
CALLS = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
PART, SHORT, SHOW = 50000, 3000, int(os.environ.get("SHOW", "0"))
os.environ["TMPDIR"] = work  # the directory of temporary recordings
OPTIONS = ["-qq", "-a1", "-e", "signal=none", "-e", "trace=all"]
MARK = re.compile(r"umask\(0123\) += ")


def lines_between_marks(path):
    """The lines of a tracer, from the first umask(0123) to the second."""
    lines = open(path, encoding="latin-1", newline="\n").read().split("\n")
    marks = [i for i, line in enumerate(lines) if MARK.match(line)]
    if not ok(len(marks) == 2, "%s has both marks" % os.path.basename(path), lines[-3:]):
        return []
    # A call that a signal interrupts is restarted, and is shown twice: ptrace stops for ignored signals too.
    return [re.sub(r"\) += ", ") = ", line, 1) for line in lines[marks[0] + 1:marks[1]] if " = ? ERESTART" not in line]


def traced(seed, n):
    """The lines of strace, those of duet, and the program's record, of one run."""
    here = work + "/part"
    shutil.rmtree(here, ignore_errors=True)
    os.makedirs(here + "/files")
    theirs, ours, record = here + "/theirs", here + "/ours", here + "/record"
    p = start(program, here + "/files", seed, n, record, stdin=subprocess.PIPE)
    is_(p.stdout.readline(), "ready\n", "the program is ready")
    tracers = [start(duet, "strace", *OPTIONS, "-o", ours, "-p", p.pid), start("strace", *OPTIONS, "-o", theirs, "-p", p.pid)]
    until(lambda: "read(" in open(ours).read(), "duet strace records")
    until(lambda: "TracerPid:\t0\n" not in proc.read(p.pid, "status"), "strace is attached")
    p.stdin.write("\n")
    p.stdin.close()
    is_(p.wait(600), 0, "the program ends")
    for t in tracers:
        is_(t.wait(600), 0, "%s ends" % t)
    said = tracers[0].stderr.read()
    is_(said, "", "duet strace reports nothing")
    with open(record) as f:
        return lines_between_marks(theirs), lines_between_marks(ours), mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)


class Differences:
    def __init__(self):
        self.known, self.strace, self.wrong = collections.Counter(), collections.Counter(), 0
        self.shown = collections.Counter()

    def show(self, kind, theirs, ours, call):
        self.shown[kind] += 1
        if self.shown[kind] <= SHOW:
            print("# %s\n  strace  %s\n  duet    %s\n  %s" % (kind, theirs, ours, call))

    def judge(self, theirs, ours, call, where):
        mine = contradictions(ours, call)
        other = contradictions(theirs, call)
        name = theirs.split("(")[0]
        why = reason_for(theirs, ours, call)
        if why and not mine:
            self.known[why] += 1
            self.show(why, theirs, ours, call)
        elif other and not mine:
            self.strace[name] += 1
            self.show("strace contradicts the record: " + name, theirs, ours, call)
        else:
            self.wrong += 1
            self.show("differs: " + name, theirs, ours, call)
            if self.wrong <= 20:
                fail("%s: strace\n%s\nduet\n%s\n%s" % (where, theirs, ours, mine or "the record does not decide"))


def random_calls_are_shown_as_strace_shows_them():
    # The short form makes the same calls in each run; a new rare difference is found by the long one.
    chosen = None if CALLS > SHORT or os.environ.get("TEST_SEED") else 1
    left, seed, found, same = CALLS, dice(chosen).randrange(1 << 30), Differences(), 0
    while left > 0:
        n = min(left, PART)
        theirs, ours, data = traced(seed, n)
        is_((len(theirs), len(ours)), (n, n), "lines of strace and of duet, seed %d" % seed)
        for i, (a, b) in enumerate(zip(theirs, ours)):
            if a != b:
                found.judge(a, b, Call(data, i), "seed %d, call %d" % (seed, i))
                continue
            same += 1
            if i % 16 == 0:  # both could be wrong
                wrong = contradictions(b, Call(data, i))
                ok(not wrong, "seed %d, call %d: %s: %s" % (seed, i, b, wrong))
        data.close()
        left, seed = left - n, seed + 1
    print("%d calls, %d lines equal (%.2f %%), %d wrong" % (CALLS, same, 100 * same / CALLS, found.wrong))
    for reason, n in (found.known + found.strace).most_common():
        print("%8d  %s" % (n, reason))


if os.geteuid():
    skip("only root may record the kernel")
if not shutil.which("strace"):
    skip("there is no strace")
run_cases(random_calls_are_shown_as_strace_shows_them)
