#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of reading an event: duet and Babeltrace 2 on the same recordings, in one run.

usage: run.py DUET READ API COST LIBDUET WRITE TESTS [TRACE...]

Without TRACE: recordings by LTTng-UST of WRITE (see CASES), and one by duet of find(1) with malloc and free and the
kernel's events.  Babeltrace 1, if installed, decodes each once per round too (perf script reads no CTF).  Readers
take turns, ROUNDS times, so that a noisy minute affects all of them.  A cheap reader runs REPEAT times per round, and
the median of those counts.  Times are CPU time, user and system, of the whole process, from its start; output goes to
/dev/null.

  step      every event in order, without fields (Babeltrace has no such mode)
  columns   the same through libduet-read: time and class as arrays
  batch     every value of every field summed, through libduet-read; Babeltrace: sink.utils.dummy, which makes it
            decode all
  values    the same, event by event
  touch     the same, through internal functions
  slices    as batch, with a thread per CPU, each for a part of the time, in order; wall time, also Babeltrace's
  parallel  the same, but each thread reads one stream after the other: no common order
  text      a line per event
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

duet, read, api, cost, library, write, tests = sys.argv[1:8]
sys.path.insert(0, tests)
import record_lttng

ROUNDS = int(os.environ.get("ROUNDS", "5"))
REPEAT = int(os.environ.get("REPEAT", "5"))
EVENTS = int(os.environ.get("EVENTS", "5000000"))
WALL = ("slices", "parallel")  # measured in wall time
IDS = ("vpid", "vtid", "procname")
# name, events, contexts, programs at once, command and buffers of each
CASES = (("one stream, int", "int", (), 1, ["1"], "--buffers-uid"),
         ("two streams, int", "int", (), 1, [], "--buffers-uid"),
         ("16 processes, int", "int", (), 16, [], "--buffers-pid"),
         ("3 contexts, int, string", "intstr", IDS, 1, [], "--buffers-uid"),
         ("3 contexts, 8 ints", "8ints", IDS, 1, [], "--buffers-uid"))


def record_all(work):
    traces = []
    try:
        d = record_lttng.Daemon()
    except record_lttng.LttngMissing as e:
        print("# %s" % e)
        d = None
    if d:
        os.environ["LTTNG_UST_ALLOW_BLOCKING"] = "1"
        try:
            for i, (name, what, contexts, n, how, buffers) in enumerate(CASES):
                out = "%s/lttng-%d" % (work, i)
                d.record(out, [[write, what, str(EVENTS // n)] + how] * n, ["bench:*"], contexts,
                         ("--subbuf-size=1M", "--num-subbuf=8", "--blocking-timeout=inf"), buffers)
                traces.append((name, out))
        finally:
            d.close()
    out = work + "/duet"
    env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
    r = subprocess.run([duet, "record", "-e", "lttng_ust_libc:*", "-b", "512M", "-o", out, "--",
                        "sh", "-c", "for i in 1 2 3 4; do find /usr /var -name '*.a'; done"], env=env, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
    if os.path.isdir(out):
        traces.append(("duet: find, malloc, kernel", out))
    else:
        print("# duet recorded nothing: %s" % r.stderr.strip())
    return traces


def measure(command):
    """Return (CPU seconds, largest MiB, seconds) of @command."""
    p = subprocess.run([cost] + command, stdout=subprocess.PIPE, text=True)
    if p.returncode:
        raise SystemExit("%s failed" % " ".join(command))
    seconds, kib, wall = p.stdout.split()
    return float(seconds), int(kib) / 1024, float(wall)


def readers(trace):
    yield "step", "duet", REPEAT, [read, "step", trace]
    for how in ("columns", "values", "batch", "slices", "parallel"):
        yield how, "duet", REPEAT, [api, how, trace]
    yield "touch", "duet", REPEAT, [read, "touch", trace]
    yield "touch", "bt2", 1, ["babeltrace2", trace, "-o", "dummy"]
    yield "touch", "bt1", 1, ["babeltrace", "-o", "dummy", trace]
    yield "text", "duet", REPEAT, [duet, "view", "--state", trace]
    yield "text", "bt2", 1, ["babeltrace2", trace]


def cell(seconds, n):
    rates = sorted(n / s / 1e6 for s in seconds)
    return "%7.2f (%.2f-%.2f)" % (statistics.median(rates), rates[0], rates[-1])


def report(name, trace):
    n = int(subprocess.run([read, "step", trace], stdout=subprocess.PIPE, check=True).stdout.split()[0])
    seconds, memory = {}, {}
    for _ in range(ROUNDS):
        for how, who, repeat, command in readers(trace):
            if who != "duet" and not shutil.which(command[0]):
                continue
            taken = [measure(command) for _ in range(repeat)]
            if how in WALL:
                seconds.setdefault((how, who), []).append(statistics.median(t[2] for t in taken))
            else:
                seconds.setdefault((how, who), []).append(statistics.median(t[0] for t in taken))
            if who == "bt2" and how == "touch":
                for same in ("values", "batch"):
                    seconds.setdefault((same, who), []).append(taken[0][0])
                for same in WALL:
                    seconds.setdefault((same, who), []).append(taken[0][2])
            memory.setdefault((how, who), []).append(max(t[1] for t in taken))
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(trace) for f in fs)
    print("%s: %d events, %.0f MiB" % (name, n, size / 2**20))
    for how in ("step", "columns", "batch", "values", "touch") + WALL + ("text",):
        ours, theirs = seconds[how, "duet"], seconds.get((how, "bt2"))
        ratio = statistics.median(theirs) / statistics.median(ours) if theirs else 0
        print("  %-8s %-24s %-24s %6s   %4.0f %s" % (
            how, cell(ours, n), cell(theirs, n) if theirs else "-",
            "%.1f" % ratio if theirs else "-", max(memory[how, "duet"]),
            "%4.0f" % max(memory.get((how, "bt2"), memory["touch", "bt2"])) if theirs else "   -"), flush=True)
    if ("touch", "bt1") in seconds:
        print("  Babeltrace 1 decodes %s" % cell(seconds["touch", "bt1"], n), flush=True)


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return "%s, %d CPUs, Linux %s" % (model.group(1) if model else os.uname().machine,
                                      os.cpu_count(), os.uname().release)


def main():
    given = [(os.path.basename(os.path.normpath(t)), t) for t in sys.argv[8:]]
    if not given:
        record_lttng.enter_private_mounts()
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as work:
        traces = given or record_all(work)
        print("# %s; median (min-max) of %d rounds" % (machine(), ROUNDS))
        print("# %-8s %-24s %-24s %6s   MiB duet, bt2" % ("", "duet, M events/s", "Babeltrace 2",
                                                          "ratio"))
        for name, trace in traces:
            report(name, trace)


if __name__ == "__main__":
    main()
