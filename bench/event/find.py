#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workload of the LTTng-UST paper: find with its malloc, calloc, realloc and free recorded.

usage: find.py DUET LIBDUET_LIBC [DIRECTORY]

Plain, duet's preload library dormant and recorded, LTTng's wrapper (with vpid and vtid, which duet's
events always carry) dormant and recorded, where it is installed.  They take turns, ROUNDS times.  Wall
and CPU time are find's own, measured around it inside the recording; the collectors' are not in them.
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))
duet, preload = sys.argv[1:3]
directory = sys.argv[3] if len(sys.argv) > 3 else "/usr"
wrapper = next((p for p in ("/usr/lib/%s/liblttng-ust-libc-wrapper.so.1" % m for m in
                            ("x86_64-linux-gnu", "aarch64-linux-gnu")) if os.path.exists(p)), None)
work = tempfile.mkdtemp(prefix="duet-bench-", dir="/dev/shm")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", LTTNG_HOME=work + "/lttng")
TIMED = """
import os, subprocess, sys, time
t, r = time.monotonic(), os.times()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, env=dict(os.environ, **%r))
e = os.times()
print(time.monotonic() - t, e.children_user + e.children_system - r.children_user - r.children_system)
"""
rows, events = {}, {}


def timed(tag, before=(), **more):
    """Runs find, behind @before, in a small process that times it."""
    p = subprocess.run([*before, sys.executable, "-c", TIMED % (more,), "find", directory, "-regex",
                        ".*a"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                       check=True)
    rows.setdefault(tag, []).append(tuple(map(float, p.stdout.split())))
    return p.stderr


def lttng(*args):
    return subprocess.run(["lttng", "--no-sessiond", *args], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True).stdout


def with_duet():
    trace = work + "/trace"
    # The recorder would preload into the timer too: preload into find alone.
    said = timed("duet recorded", (duet, "record", "--no-kernel", "-o", trace, "-e",
                                   "*", "--"), LD_PRELOAD=preload)
    m = re.search(r"applications\s+(\d+) events.*?, (none lost|(\d+) LOST)", said)
    events["duet recorded"] = "%s events, %s" % (m.group(1), m.group(2))
    shutil.rmtree(trace)


def with_lttng():
    out = work + "/lttng-trace"
    lttng("create", "bench", "--output=" + out)
    lttng("enable-channel", "-u", "c")
    lttng("enable-event", "-u", "-c", "c", "lttng_ust_libc:*")
    for context in ("vpid", "vtid"):
        lttng("add-context", "-u", "-c", "c", "-t", context)
    lttng("start")
    timed("LTTng recorded", LD_PRELOAD=wrapper)
    lttng("stop")
    lost = sum(map(int, re.findall(r"Discarded events?: *(\d+)", lttng("list", "bench"))))
    events["LTTng recorded"] = "%d lost" % lost
    lttng("destroy", "bench")
    shutil.rmtree(out)


def start_sessiond():
    os.makedirs(env["LTTNG_HOME"])
    p = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=env, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    while subprocess.run(["lttng", "--no-sessiond", "list"], env=env, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).returncode:
        time.sleep(0.1)
    return p


def main():
    sessiond = start_sessiond() if wrapper and shutil.which("lttng") else None
    try:
        timed("warm up")
        for _ in range(ROUNDS):
            timed("plain")
            timed("duet dormant", LD_PRELOAD=preload)
            with_duet()
            if sessiond:
                timed("LTTng dormant", LD_PRELOAD=wrapper)
                with_lttng()
    finally:
        if sessiond:
            sessiond.send_signal(signal.SIGTERM)
            sessiond.wait()
        shutil.rmtree(work, ignore_errors=True)
    rows.pop("warm up")
    plain, plain_cpu = (statistics.median(v[i] for v in rows["plain"]) for i in (0, 1))
    print("# find %s -regex '.*a'; seconds, median (min-max) of %d rounds; %d CPUs, Linux %s"
          % (directory, ROUNDS, os.cpu_count(), os.uname().release))
    for tag, values in rows.items():
        wall, cpu = zip(*values)
        print("%-15s wall %.3f (%.3f-%.3f) x%.2f   CPU %.3f (%.3f-%.3f) x%.2f   %s"
              % (tag, statistics.median(wall), min(wall), max(wall), statistics.median(wall) / plain,
                 statistics.median(cpu), min(cpu), max(cpu), statistics.median(cpu) / plain_cpu,
                 events.get(tag, "")))


main()
