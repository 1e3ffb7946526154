#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure many live programs in several sessions: commands in milliseconds, CPU and memory of each collector.

usage: scale.py DUET LIBDUET PROGRAM [PROGRAMS=2000 [SESSIONS=5]]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

duet, library, program = map(os.path.abspath, sys.argv[1:4])
N, SESSIONS = (sys.argv[4:] + ["2000", "5"][len(sys.argv) - 4:])[:2]
work = tempfile.mkdtemp(prefix="duet-scale-", dir="/dev/shm")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
names = ["s%d" % i for i in range(int(SESSIONS))]


def timed(*command):
    begin = time.monotonic()
    p = subprocess.run([duet] + list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        print(p.stdout)
    return (time.monotonic() - begin) * 1e3


def each(*command):
    return "%s ms" % " ".join("%.0f" % timed(*[name if a == "SESSION" else a for a in command]) for name in names)


def daemons():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f, open("/proc/%s/environ" % pid) as e:
                if f.read().strip() == "duet" and work in e.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def cpu_ms(pids):
    total = 0.0
    for pid in pids:
        with open("/proc/%d/schedstat" % pid) as f:
            total += int(f.read().split()[0]) / 1e6
    return total


def cost(what, pids):
    before = cpu_ms(pids)
    time.sleep(5)
    ms = (cpu_ms(pids) - before) / 5 / len(names)
    kib, fds = 0, 0
    for pid in pids:
        with open("/proc/%d/status" % pid) as f:
            kib = max(kib, int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1)))
        fds = max(fds, len(os.listdir("/proc/%d/fd" % pid)))
    print("%s: %.1f ms of CPU a second for each session; at most %d KiB of its own, %d descriptors; load %.1f"
          % (what, ms, kib, fds, os.getloadavg()[0]), flush=True)


crowd = None
try:
    for name in names:
        timed("start", name, "-q", "-o", work + "/" + name, "-e", "!*")
    pids = daemons()
    cost("%s sessions, no program" % SESSIONS, pids)
    begin = time.monotonic()
    crowd = subprocess.Popen([program, "crowd", N, "1000000"], stdout=subprocess.PIPE)
    crowd.stdout.readline()
    print("%s programs started in %.1f s" % (N, time.monotonic() - begin), flush=True)
    time.sleep(2)
    cost("nothing on", pids)
    print("enable, one session after the other: " + each("enable", "-s", "SESSION", "control:step"), flush=True)
    time.sleep(3)
    cost("one event a second in each program", pids)
    print("list %.0f ms; status of each: %s" % (timed("list"), each("status", "SESSION")), flush=True)
    print("disable: " + each("disable", "-s", "SESSION", "control:step"), flush=True)
    crowd.kill()
    crowd.wait()
    time.sleep(2)
    cost("all programs gone", pids)
    print("stop: " + each("stop", "-q", "SESSION"))
    for name in names:
        p = subprocess.run([duet, "stats", work + "/" + name], stdout=subprocess.PIPE, text=True)
        found = re.search(r"control:step\s+(\d+)", p.stdout)
        print("  %s: %s events" % (name, found.group(1) if found else "no"))
finally:
    if crowd and crowd.poll() is None:
        crowd.kill()
        crowd.wait()
    subprocess.run([duet, "stop", "-q", "--all"], stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
