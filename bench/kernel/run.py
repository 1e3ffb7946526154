#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a traced system call costs its program, by each tracer that this machine has, in one run.

usage: run.py DUET LOOP [ROUNDS]        as root; a minute or two

In each round every tracer records the same loop, in turn; the tables show medians, the spread (lowest to highest), and
what was added to the plain loop per event (an entry or an exit).  The loop is on the last CPU, tracers where they like.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

duet, loop = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CPU = str(max(os.sched_getaffinity(0)))
# A turn's events, entries and exits; and how often it is done with a fast tracer, and with one that stops the program.
LOOPS = {"getppid": (2, 1000000, 30000, "getppid"), "openat": (4, 200000, 10000, "openat,close")}


def names(calls, pattern):
    return ",".join(pattern % c for c in calls.split(","))


def record(backend):
    return lambda calls: [duet, "record", "-q", "--kernel-backend", backend, "--kernel-buffer", "256M", "-o", "t",
                          "-k", names(calls, "syscall_*_%s"), "--"]


def perf_events(calls):
    return [a for c in calls.split(",") for k in ("enter", "exit") for a in ("-e", "syscalls:sys_%s_%s" % (k, c))]


TRACERS = {
    "nothing": (False, lambda calls: []),
    "duet record, ftrace": (False, record("ftrace")),
    "duet record, bpf": (False, record("bpf")),
    "trace-cmd record": (False, lambda calls: ["trace-cmd", "record", "-q", "-F", "-c", "-b", "262144", "-o", "t",
                                               *perf_events(calls)]),
    "perf record": (False, lambda calls: ["perf", "record", "-q", "-m", "64M", "-o", "t", *perf_events(calls)]),
    "perf trace": (True, lambda calls: ["perf", "trace", "-o", "t", "-e", calls]),
    "strace": (True, lambda calls: ["strace", "-f", "-o", "t", "-e", "trace=" + calls]),
}


def measure(tracer, which):
    is_slow, command = TRACERS[tracer]
    _, fast, slow, calls = LOOPS[which]
    shutil.rmtree("t") if os.path.isdir("t") else os.path.exists("t") and os.remove("t")
    r = subprocess.run([*command(calls), loop, which, str(slow if is_slow else fast), CPU], stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, timeout=300)
    m = re.search(r"duet-loop ([0-9.]+)", r.stderr)
    return float(m.group(1)) if m else None


def table(which):
    n = LOOPS[which][0]
    got = {t: [] for t in TRACERS}
    for _ in range(rounds):
        for t in TRACERS:
            got[t].append(measure(t, which) if t == "nothing" or shutil.which(TRACERS[t][1]("x")[0]) else None)
    plain = statistics.median(got["nothing"])
    print("\n%s: %d events in each turn, medians of %d, ns\n" % (which, n, rounds))
    print("| recorded by | a turn | lowest - highest | more, per event |\n|---|---|---|---|")
    for t, values in got.items():
        values = [v for v in values if v is not None]
        if values:
            m = statistics.median(values)
            print("| %s | %.0f | %.0f - %.0f | %.0f |" % (t, m, min(values), max(values), (m - plain) / n))
        else:
            print("| %s | not here | | |" % t)


if os.geteuid():
    sys.exit("needs root: the kernel is recorded")
work = tempfile.mkdtemp(prefix="duet-bench-", dir=os.environ.get("TMPDIR"))
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.chdir(work)
try:
    print("Linux %s, %d CPUs" % (os.uname().release, os.cpu_count()))
    for name in LOOPS:
        table(name)
finally:
    os.chdir("/")
    shutil.rmtree(work)
