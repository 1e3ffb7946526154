#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure how soon a trigger of duet and one of LTTng acts.

From the event that fires to the last event before the recording stops, of a program with one event every 100 us;
both by the trace's timestamps.

usage: triggers.py DUET LIBDUET PROGRAM [PROGRAM_WITH_LTTNG]      ROUNDS=21

The action is "stop": its moment is in the trace, so only the recorder's clock is used.  For duet also with an event
of the kernel: an exec (root).
"""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

duet, library, program = map(os.path.abspath, sys.argv[1:4])
lttng_program = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 and shutil.which("lttng") else None
ROUNDS = int(os.environ.get("ROUNDS", "21"))
FIRES = 1500  # the event that fires
work = tempfile.mkdtemp(prefix="duet-triggers-", dir="/dev/shm")
fire = shutil.copy(shutil.which("true"), work + "/fire")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library, LTTNG_HOME=work)


def run(*command, may_fail=False):
    p = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if p.returncode and not may_fail:
        sys.exit("%s: %s" % (" ".join(command), p.stdout))
    return p.stdout if not p.returncode else ""


def record(path_of_program):
    p = subprocess.Popen([path_of_program, "once", "100"], env=env)
    time.sleep(0.5)
    subprocess.run([fire])  # for a trigger on its exec
    time.sleep(0.5)
    p.kill()
    p.wait()


def span_ms(events):
    """Return the time from the event that fires to the last of [(ns, number)]."""
    at = [ns for ns, number in events if number == FIRES]
    return (max(ns for ns, number in events) - at[0]) / 1e6 if at else None


def duet_round(n, condition, *more):
    path = "%s/duet-%d" % (work, n)
    run(duet, "start", "-q", "-o", path, "-e", "control:*", *more, "--trigger", condition + " -> stop, once")
    record(program)
    run(duet, "stop", "-q")
    lines = [json.loads(line) for line in run(duet, "view", "--json", "-e", "control:step", path + "/ust").splitlines()]
    events = [(e["time"], e["fields"]["i"]) for e in lines]
    execs = map(json.loads, run(duet, "view", "--json", "-e", "sched_process_exec", path + "/kernel").splitlines()) if more else []
    fired = [e["time"] for e in execs if e["fields"]["filename"] == fire]
    shutil.rmtree(path)
    return (events[-1][0] - fired[-1]) / 1e6 if fired else span_ms(events)


def lttng_round(n):
    path = "%s/lttng-%d" % (work, n)
    run("lttng", "-n", "create", "bench", "-o", path)
    run("lttng", "-n", "enable-event", "-u", "bench:int1")
    run("lttng", "-n", "add-trigger", "--name", "t", "--condition", "event-rule-matches", "--type", "user:tracepoint",
        "--name", "bench:int1", "--filter", "a == %d" % FIRES, "--action", "stop-session", "bench")
    run("lttng", "-n", "start")
    record(lttng_program)
    run("lttng", "-n", "remove-trigger", "t")
    run("lttng", "-n", "destroy", "bench")
    found = re.findall(r"^\[(\d+)\.(\d+)\].*\{ a = (\d+) \}", run("babeltrace2", "--clock-seconds", path, may_fail=True), re.M)
    shutil.rmtree(path)
    return span_ms([(int(s + ns), int(a)) for s, ns, a in found])


def show(what, spans):
    s = sorted(x for x in spans if x is not None)
    print("%-34s %8.2f %8.2f %8.2f   of %d of %d" % (what, statistics.median(s), s[0], s[-1], len(s), len(spans)))


try:
    print("# load %s; ms from the event to the stop: median, least, most" % open("/proc/loadavg").read().split()[0])
    spans = {}
    if lttng_program:
        run("lttng-sessiond", "--daemonize", "--no-kernel")
    for n in range(ROUNDS):  # in turns, so that other load affects both
        spans.setdefault("duet", []).append(duet_round(n, "event control:step if i == %d" % FIRES))
        if not os.geteuid():
            spans.setdefault("duet, kernel:", []).append(
                duet_round(ROUNDS + n, 'event kernel:sched_process_exec if filename == "%s"' % fire, "-k", "sched_process_exec"))
        if lttng_program:
            spans.setdefault("LTTng", []).append(lttng_round(n))
    for what, s in spans.items():
        show(what, s)
finally:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open("/proc/%s/comm" % pid).read().startswith("lttng-sessiond") and work in open("/proc/%s/environ" % pid).read():
                os.kill(int(pid), signal.SIGTERM)
        except OSError:
            pass
    shutil.rmtree(work, ignore_errors=True)
