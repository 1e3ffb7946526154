#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what a tracer adds to the wall time of `true`: duet's commands beside perf, bpftrace, strace and LTTng.

usage: run.py DUET      ninja bench-startup      root      ROUNDS=21 ONLY=strace BEFORE=OTHER-DUET REALTIME=1

All are run in turns, each round in another order, so that load of others meets all of them.  After each run, outside
the time, its output must prove that it has recorded `true`.  The kernel's part of duet goes on for a while in a child
process that removes the tracefs instance; that time has a column of its own, and the next command begins after it.
CPU: user and system time of the command and the processes that it waited for, less sensitive to load.
BEFORE: another build of duet, whose rows stand beside, to compare with.  REALTIME=1: commands precede other processes
(SCHED_FIFO), which shows on a busy machine what an idle one would do.
"""
import glob
import os
import platform
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from mounts import mount_tracefs

mount_tracefs()
duet = os.path.abspath(sys.argv[1])
ROUNDS, ONLY = int(os.environ.get("ROUNDS", 21)), os.environ.get("ONLY", "")
TRUE, BASE = shutil.which("true"), "perf trace"
work = tempfile.mkdtemp(prefix="duet-bench-startup-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
out = work + "/out"
BEFORE = os.environ.get("BEFORE")
FIRST = ["chrt", "-f", "5"] if os.environ.get("REALTIME") else []
daemon = None


def run(*argv):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if p.returncode:
        sys.exit("%s: status %d\n%s" % (" ".join(argv), p.returncode, p.stdout))
    return p.stdout


def text():
    with open(out, errors="replace") as f:
        return f.read()


def views(pattern, wanted):
    return lambda _: wanted in run(duet, "view", "-e", pattern, out)


def lttng():
    run("lttng", "create", "bench", "-o", out)
    run("lttng", "enable-event", "-u", "-a")
    run("lttng", "start")
    run(TRUE)
    run("lttng", "stop")
    return run("lttng", "destroy")


# title: what is timed (a command or a function), and whether its output proves that it recorded
ROWS = {
    "true alone": ([TRUE], lambda _: True),
    "strace": (["strace", "-f", "-o", out, TRUE], lambda _: "exit_group(0)" in text()),
    "perf trace": (["perf", "trace", "-o", out, TRUE], lambda _: "exit_group" in text()),
    "perf record -a": (["perf", "record", "-q", "-a", "-e", "sched:sched_process_exec", "-o", out, TRUE],
                       lambda _: "filename=%s" % TRUE in run("perf", "script", "-i", out)),
    "bpftrace": (["bpftrace", "-e", "tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }", "-c", TRUE],
                 lambda printed: "@[true]: " in printed),
    "lttng, user space": (lttng, lambda printed: "destroyed" in printed),
    "duet record": ([duet, "record", "-q", "-o", out, "--", TRUE], views("syscall_entry_exit_group", "true:")),
    "duet record --no-kernel": ([duet, "record", "--no-kernel", "-o", out, "--", TRUE],
                                lambda printed: "none lost" in printed and os.path.exists(out + "/ust")),
    "duet strace": ([duet, "strace", "-o", out, "--", TRUE], lambda _: "exit_group(0)" in text()),
}


if BEFORE:
    ROWS.update({title + ", before": ([BEFORE] + command[1:], proves)
                 for title, (command, proves) in ROWS.items() if title.startswith("duet ")})


def is_possible(title):
    name = title.split()[0].rstrip(",")
    if name == "duet" or ONLY not in title:
        return name == "duet"
    return shutil.which(name) is not None and (name != "lttng" or begin_daemon())


def begin_daemon():
    """LTTng's daemon, which runs before and is not measured.  It ends with us."""
    global daemon
    if subprocess.run(["lttng", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        print("# lttng-sessiond runs already; lttng is not measured")
        return False
    daemon = subprocess.Popen(["lttng-sessiond"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if subprocess.run(["lttng", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return True
        time.sleep(0.1)
    return False


def is_ours(process):
    """Whether it is a duet that was started here: others may use duet meanwhile."""
    try:
        with open(process + "/comm") as comm, open(process + "/environ", "rb") as environment:
            return comm.read().startswith("duet") and work.encode() in environment.read()
    except OSError:
        return False


def wait_until_removed():
    """-> the seconds for which processes of duet remain"""
    begin = time.monotonic()
    left = [e for e in glob.glob("/proc/[0-9]*") if is_ours(e)]
    while any(is_ours(e) for e in left) and time.monotonic() < begin + 5:
        time.sleep(0.001)
    return time.monotonic() - begin if left else 0


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def once(title):
    """-> the seconds of the command, its seconds of CPU, and those until nothing is left"""
    command, proves = ROWS[title]
    begin, used = time.monotonic(), cpu_seconds()
    printed = command() if callable(command) else run(*FIRST, *command)
    seconds, used = time.monotonic() - begin, cpu_seconds() - used
    rest = wait_until_removed() if title.startswith("duet") else 0
    if not proves(printed):
        sys.exit("%s has not recorded true:\n%s" % (title, printed))
    if os.path.isdir(out):
        shutil.rmtree(out)
    elif os.path.exists(out):
        os.unlink(out)
    return seconds, used, rest


def processor():
    with open("/proc/cpuinfo") as f:
        return re.search(r"model name\s*: (.*)", f.read())[1]


def main():
    if os.geteuid():
        sys.exit("bench-startup: the kernel's half needs root")
    times = {title: [] for title in ROWS if is_possible(title)}
    print("# %s, %d CPUs, Linux %s; load %.1f before; %d rounds" % (
        processor(), os.cpu_count(), platform.release(), os.getloadavg()[0], ROUNDS), flush=True)
    for title in times:
        once(title)  # warms caches
    for _ in range(ROUNDS):
        for title in random.sample(list(times), len(times)):
            times[title].append(once(title))
    base = [t[0] for t in times.get(BASE, [])]
    print("%-24s %-24s %-12s %-8s %s" % ("", "ms, median (min-max)", "x " + BASE, "CPU, ms", "ms until nothing is left"))
    for title, rows in times.items():
        ms, cpu, rests = ([1000 * row[i] for row in rows] for i in range(3))
        ratio = "%.2f" % statistics.median(row[0] / b for row, b in zip(rows, base)) if base else ""
        rest = "+ %.0f" % statistics.median(rests) if title.startswith("duet") else ""
        wall = "%.1f (%.1f-%.1f)" % (statistics.median(ms), min(ms), max(ms))
        print("%-24s %-24s %-12s %-8.0f %s" % (title, wall, ratio, statistics.median(cpu), rest))
    print("# load %.1f after" % os.getloadavg()[0])


try:
    main()
finally:
    if daemon:
        daemon.terminate()
        daemon.wait()
    shutil.rmtree(work, ignore_errors=True)
