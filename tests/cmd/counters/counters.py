#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters of the processor: recorded where possible, else refused with the reason.

usage: counters.py DUET PROGRAM LIBDUET
"""
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

duet, program, library = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="duet-counters-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
os.mkdir(work + "/run", 0o700)
TRACE = work + "/trace"
ROUNDS = 10000000
NAMES = ["cycles", "instructions", "cache_misses", "branch_misses"]
HAS_PMU = any(os.path.exists("/sys/bus/event_source/devices/" + d) for d in ("cpu", "cpu_core"))
failures = 0


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %s" % (what, more))


def record_counters(*args):
    return subprocess.run([duet, "record", "-o", TRACE, "-e", "counters:*", *args, "--", program, str(ROUNDS)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)


def refused(name, *args):
    p = record_counters(*args)
    reason = "no PMU" if platform.machine() == "x86_64" else "x86-64 only"
    ok(p.returncode, "the command fails for " + name)
    ok("context '%s': " % name in p.stderr and reason in p.stderr, "the reason is reported", p.stderr)
    ok(len(p.stderr.splitlines()) <= 2, "the report is short", p.stderr)
    ok(not os.path.exists(TRACE), "nothing is left of it")


def refusals():
    for name in NAMES:
        refused("perf_thread_" + name, "-c", "perf_thread_" + name)
    refused("perf_thread_cache_misses", "-c", "ip,perf:thread:cache-misses")
    refused("perf_thread_cycles", "--channel", "few:events=counters:*,context=perf_thread_cycles")


def counts():
    p = record_counters("-c", ",".join("perf_thread_" + n for n in NAMES[:2]))
    if p.returncode:
        print("# this machine has a PMU, but: " + p.stderr)
        sys.exit(77)
    lines = subprocess.run([duet, "view", "--json", TRACE], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    of_thread = {}
    for e in map(json.loads, lines):
        if e["event"] == "counters:mark":
            of_thread.setdefault(e["tid"], []).append(e["context"])
    ok(len(of_thread) == 2, "there are two threads", of_thread)
    for contexts in of_thread.values():
        n = [c["perf_thread_instructions"] for c in contexts]
        cycles = [c["perf_thread_cycles"] for c in contexts]
        ok(len(n) == 3 and n == sorted(n), "instructions only grow", n)
        ok(cycles == sorted(cycles) and cycles[1] > cycles[0], "cycles only grow", cycles)
        ok(2 * ROUNDS <= n[1] - n[0] <= 2.02 * ROUNDS, "the loop has as many as we know", n)
        ok(0 < n[2] - n[1] < ROUNDS / 10, "an event has few", n)
    n_all = [c[0]["perf_thread_instructions"] for c in of_thread.values()]
    ok(max(n_all) < 2 * ROUNDS, "each thread begins to count with its first event", n_all)


try:
    if HAS_PMU and platform.machine() == "x86_64":
        counts()
    else:
        refusals()
finally:
    shutil.rmtree(work)
print("%d failures" % failures)
sys.exit(failures > 0)
