#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in a pid namespace and the kernel use the same numbers for the same threads.

Its threads but the first are found by the running thread in sched_switch, and some kernels leave switches out. Then a
thread has a number above all of the host's, or seldom that of the thread before. So the measure is not that stream
but /proc, and the test requires that many are found, and most of these rightly.
"""
import os
import re
import signal
import subprocess

from world import Program  # first: it finds tests/lib
from proc import children, read, threads
from recorder import view
from trial import cmd, duet, has_session, ok, paths, run_cases, skip, start, until, work

program, library = paths(2)
trace = work + "/trace"
THREADS = 12
PID_MAX_LIMIT = 1 << 22
env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library))
if os.geteuid() or subprocess.run(["unshare", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
    skip("no right to make namespaces: nothing is tried")
if os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc:
    skip("not in the first pid namespace: the kernel's numbers are not ours")


def threads_of(pid):
    """The host's number of each thread by the one it has inside."""
    found = {}
    for tid in threads(pid):
        found[int(re.search(r"^NSpid:.*\s(\d+)$", read(pid, "task/%d/status" % tid), re.M).group(1))] = tid
    return found


def the_kernel_uses_the_same_numbers():
    collector = start(duet, "collect", "-e", "tenants:*", "-k", "sched_switch", "-o", trace, env=env)
    until(lambda: collector.poll() is not None or has_session(), "it records")
    if collector.poll() is not None:
        skip("the kernel cannot be recorded here: " + collector.stderr.read())
    # On one CPU, where threads follow each other: switches away from an idle CPU are those left out.
    cpu = min(os.sched_getaffinity(0))
    inside = Program(start("taskset", "-c", cpu, "unshare", "-p", "-f", "--kill-child", program,
                           stdin=subprocess.PIPE, env=env))
    pid = children(inside.p.pid)[0]
    for _ in range(THREADS):
        inside.record("6s")
    truth = threads_of(pid)
    inside.end()
    collector.end(signal.SIGTERM)
    events = [e for e in view(trace, "-e", "tenants:*", may_be_empty=False) if "fields" in e]
    ok(len(events) == 6 * THREADS, "all is recorded: %d" % len(events))
    ok({(e["vpid"], e["vtid"]) for e in events} == {(1, e["fields"]["tid"]) for e in events}, "its own numbers are recorded")
    ok({e["pid"] for e in events} == {pid}, "its pid is the host's")
    ok({e["tid"] for e in events if e["vtid"] == 1} == {pid}, "its first thread is that process")
    others = {e["vtid"]: e["tid"] for e in events if e["vtid"] != 1}
    ok(len(truth) == THREADS + 1 and truth.keys() == others.keys() | {1}, "and more threads: %r" % others)
    ok(pid not in others.values(), "none of them is called as the first one")
    named = [v for v, t in others.items() if t <= PID_MAX_LIMIT]
    right = [v for v in named if truth.get(v) == others[v]]
    ok(len(named) >= THREADS / 3, "the kernel reported %d threads" % len(named))
    ok(len(right) > len(named) * 3 / 4, "these are named as it does: %r of %r in %r" % (right, named, truth))
    ok(re.search(r"\b%d\b" % pid, cmd("stats", "--by", "process", trace)[1]) is not None, "reports count it as that process")


run_cases(the_kernel_uses_the_same_numbers)
