#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel asks filters before it records: of two recordings at once, the one has just those events of the other
that pass.

arguments: DUET
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

duet = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp(prefix="duet-kfilter-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.chdir(work)
failures = 0
COMMAND = ["sh", "-c", "cat /nonexistent; for i in 1 2 3 4 5; do cat /etc/passwd >/dev/null; done; sleep 0.01; true"]


def ok(good, what, more=""):
    global failures
    if not good:
        failures += 1
    print("%s %s %s" % ("ok" if good else "not ok", what, "" if good else more))


def run(*args):
    return subprocess.run([duet, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


def events(trace, pattern):
    r = run("view", "--json", "-e", pattern, trace)
    return [json.loads(line) for line in r.stdout.splitlines()]


def passes(f):
    return f["prev_comm"] == "cat" and f["prev_prio"] == 20 or f["next_comm"] == "sleep"


if os.geteuid():
    print("needs root: the kernel is recorded")
    sys.exit(77)
# The inner recording is the command of the outer one: the same processes, by the same clock.
r = run("record", "-q", "-k", "sched_switch,syscalls", "-o", "all", "--", duet, "record", "-q",
        "-k", "sched_switch", "-f", 'prev_comm == "cat" && prev_prio == 20 || next_comm ~ "sl*p"',
        "-k", "syscalls", "-f", "ret < 0", "-k", "syscall_*_read", "-o", "some", "--", *COMMAND)
ok(r.returncode == 0, "two recordings at once", r.stderr)
inner = {e["tid"] for e in events("some", "*") if e["event"].startswith("syscall")}


# Each has a clock of its own: times differ by nanoseconds, the order does not.
some, every = ([e["fields"] for e in events(t, "sched_switch")] for t in ("some", "all"))
every = [f for f in every if f["prev_tid"] in inner or f["next_tid"] in inner]
# Some kernels do not report switches from idle to tracefs, which applies the filter; BPF programs get them.
some, every = ([f for f in s if f["prev_tid"]] for s in (some, every))
# A thread that ends is a zombie (32) until its parent looks (16): that may happen between the two.
ENDED = 16 | 32
for f in some + every:
    f["prev_state"] = ENDED if f["prev_state"] & ENDED else f["prev_state"]
ok(some and all(map(passes, some)), "each that was recorded passes", some)
ok(some == list(filter(passes, every)), "each that passes was recorded", (some, list(filter(passes, every))))
ok(len(some) < len(every), "there are others", len(every))

exits = events("some", "syscall_exit_*")
others = [e for e in exits if e["event"] != "syscall_exit_read"]
ok(others and all(e["fields"]["ret"] < 0 for e in others), "of calls those that failed were recorded")
ok(any(e["fields"]["ret"] > 0 for e in exits if e["event"] == "syscall_exit_read"), "of the last pattern all")
ok("syscall_exit_openat" in {e["event"] for e in others}, "cat could not open a missing file")

for expression, why in (("nope == 1", "has no field `nope'"), ("next_tid < prev_tid", "compare a field with a constant"),
                        ("$procname == \"x\"", "only compare fields of the event"), ("prev_tid * 2 == 4", "do not compute")):
    r = run("record", "-k", "sched_switch", "-f", expression, "-o", "refused", "--", "true")
    ok((r.returncode, os.path.exists("refused")) == (2, False) and why in r.stderr, "refused: " + expression, r.stderr)
shutil.rmtree(work)
sys.exit(1 if failures else 0)
