#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a kernel probe of a script costs each system call, beside bpftrace's; and how fast a script starts.

arguments: DUET GETPPID [ROUNDS]

Each round measures getppid() alone, under each script, and under bpftrace (if it is installed); the median over the
rounds is printed, with the least and the greatest.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import time

duet, getppid = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CALLS = 2000 * 1500  # of getppid.c
TRACEFS = "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; mount -t debugfs none /sys/kernel/debug 2>/dev/null; exec \"$@\""

SCRIPTS = [
    ("a probe without a body", "probe syscall.getppid { }"),
    ("count", "global n; probe syscall.getppid { n++ } probe end { println(n) }"),
    ("count by pid", "global n; probe syscall.getppid { n[pid()]++ } probe end { foreach (p in n) println(n[p]) }"),
    ("statistic with histogram", "global s; probe syscall.getppid { s <<< $arg1 } probe end { print(@hist_log(s)) }"),
    ("filter that fails", "probe syscall.getppid { if (pid() == 1) println(tid()) }"),
    ("record: time, pid", "probe syscall.getppid { if (randint(2) > 3) println(pid()) }"),
]
BPFTRACE = ("bpftrace: count by pid", "tracepoint:syscalls:sys_enter_getppid { @[pid] = count(); }")


def measure():
    return float(subprocess.run([getppid], capture_output=True, text=True, check=True).stdout)


def under(command, seconds):
    p = subprocess.Popen(["unshare", "--mount", "sh", "-c", TRACEFS, "sh"] + command, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    time.sleep(seconds)
    result = measure()
    p.send_signal(signal.SIGINT)
    printed = p.communicate()[0]
    # The scripts that count: the calls of the measuring program are among those that they counted.
    if "n++" in command[-1] or "n[pid()]++" in command[-1]:
        most = max(map(int, re.findall(r"^\d+$", printed, re.M)), default=0)
        if most < CALLS:
            sys.exit("not proved: %d of %d calls were counted by %s" % (most, CALLS, command[-1]))
    return result


def started(text):
    """Milliseconds of a whole run: start, attach, first event, detach."""
    begin = time.monotonic()
    subprocess.run([duet, "script", "-e", text, "-c", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1e3


def row(name, values, base=None):
    print("%-28s %8.1f ns  (%.1f .. %.1f)%s" % (name, statistics.median(values), min(values), max(values),
          "" if base is None else "  %+.1f" % (statistics.median(values) - base)), flush=True)


found = {}
for _ in range(rounds):
    found.setdefault("getppid() alone", []).append(measure())
    for name, text in SCRIPTS:
        found.setdefault(name, []).append(under([duet, "script", "-e", text], 0.5))
    if any(os.access(d + "/bpftrace", os.X_OK) for d in os.environ["PATH"].split(":")):
        found.setdefault(BPFTRACE[0], []).append(under(["bpftrace", "-e", BPFTRACE[1]], 2))
base = statistics.median(found["getppid() alone"])
for name, values in found.items():
    row(name, values, base)
for name, text in [("without members", "global n; probe syscall.getppid { n++ } probe end { println(n) }"),
                   ("with members", "probe kernel.trace(\"sched_switch\") { if ($next->pid == -1) println($prev->real_parent->pid) }")]:
    times = sorted(started(text) for _ in range(9))
    print("a run of `true`, %-16s %5.1f ms (%.1f .. %.1f)" % (name, statistics.median(times), times[0], times[-1]))
