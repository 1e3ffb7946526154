#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in a pid namespace and the kernel speak of the same threads by the same numbers.

Its threads but the first are found by who ran, as sched_switch tells, and some kernels leave switches out. Then a
thread has a number above all of the host's, or seldom that of the thread before. So the measure is not that stream
but /proc, and what is asked is that many are found, and most of these rightly.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from world import PATIENCE, Program, wait_for

duet, program, library = [os.path.abspath(a) for a in sys.argv[1:4]]
if os.geteuid() or subprocess.run(["unshare", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
    print("no right to make namespaces: nothing is tried")
    sys.exit(77)
if os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc:
    print("not in the first pid namespace: the kernel's numbers are not ours")
    sys.exit(77)
work = tempfile.mkdtemp(prefix="numbers-")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", LD_LIBRARY_PATH=os.path.dirname(library))
trace = work + "/trace"
failed = []
THREADS = 12
PID_MAX_LIMIT = 1 << 22


def ok(condition, what):
    print("%s - %s" % ("ok" if condition else "not ok", what))
    if not condition:
        failed.append(what)


def view(*args):
    p = subprocess.run([duet, "view", "--json"] + list(args) + [trace], stdout=subprocess.PIPE, text=True, env=env,
                       timeout=PATIENCE, check=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


def threads_of(pid):
    """The host's number of each thread by the one it has inside."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            found[int(re.search(r"^NSpid:.*\s(\d+)$", f.read(), re.M).group(1))] = int(tid)
    return found


collector = subprocess.Popen([duet, "collect", "-e", "tenants:*", "-k", "sched_switch", "-o", trace],
                             stderr=subprocess.PIPE, text=True, env=env)
inside = None
try:
    wait_for(lambda: collector.poll() is not None or os.path.exists(work + "/run/session-default"), "it records")
    if collector.poll() is not None:
        print("the kernel cannot be recorded here: " + collector.communicate()[1])
        sys.exit(77)
    # On one CPU, where threads follow each other: switches away from an idle CPU are those left out.
    cpu = min(os.sched_getaffinity(0))
    inside = Program(subprocess.Popen(["taskset", "-c", str(cpu), "unshare", "-p", "-f", "--kill-child", program],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env))
    with open("/proc/%d/task/%d/children" % (inside.p.pid, inside.p.pid)) as f:
        pid = int(f.read())
    for _ in range(THREADS):
        inside.record("6s")
    truth = threads_of(pid)
    inside.end()
    collector.send_signal(signal.SIGTERM)
    collector.communicate(timeout=PATIENCE)
    events = [e for e in view("-e", "tenants:*") if "fields" in e]
    ok(len(events) == 6 * THREADS, "all is recorded: %d" % len(events))
    ok({(e["vpid"], e["vtid"]) for e in events} == {(1, e["fields"]["tid"]) for e in events}, "its own numbers are told")
    ok({e["pid"] for e in events} == {pid}, "its pid is the host's")
    ok({e["tid"] for e in events if e["vtid"] == 1} == {pid}, "its first thread is that process")
    others = {e["vtid"]: e["tid"] for e in events if e["vtid"] != 1}
    ok(len(truth) == THREADS + 1 and truth.keys() == others.keys() | {1}, "and more threads: %r" % others)
    ok(pid not in others.values(), "none of them is called as the first one")
    named = [v for v, t in others.items() if t <= PID_MAX_LIMIT]
    right = [v for v in named if truth.get(v) == others[v]]
    ok(len(named) >= THREADS / 3, "the kernel told of %d threads" % len(named))
    ok(len(right) > len(named) * 3 / 4, "these are named as it does: %r of %r in %r" % (right, named, truth))
    text = subprocess.run([duet, "stats", trace], stdout=subprocess.PIPE, text=True, env=env).stdout
    ok(re.search(r"\b%d\b" % pid, text) is not None, "reports count it as that process")
finally:
    for p in (collector, inside.p if inside else None):
        if p and p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failed else 0)
