#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the compression of finished trace chunks: its cost, the bytes saved, and the reading speed.

usage: compress.py BUILD [DIRECTORY]
       ROUNDS=3, WAYS="none zstd:1 zstd:3 zstd:9", WALK=/usr are settings

Records malloc and free of `find WALK` in chunks of 32 MiB.  CPU is that of all processes of duet collect, so the
difference to "none" is the compressor's; for reading it is that of duet stats.
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

build = sys.argv[1]
where = sys.argv[2] if len(sys.argv) > 2 else "/dev/shm"
duet = build + "/src/cmd/duet"
rounds = int(os.environ.get("ROUNDS", "3"))
ways = os.environ.get("WAYS", "none zstd:1 zstd:3 zstd:9").split()
walk = os.environ.get("WALK", "/usr")
preload = build + "/src/inproc/libduet-libc.so.0"


def cpu_of(pid):
    _, status, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime


def size_of(directory):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(directory) for f in files)


def once(work, way):
    env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=build + "/src/inproc/libduet.so.0")
    more = [] if way == "none" else ["--compress", way]
    sync = os.environ.get("SYNC")
    more += ["--sync", sync] if sync else []
    c = subprocess.Popen([duet, "collect", "-o", work + "/t", "-e", "lttng_ust_libc:*", "--rotate", "32M", *more],
                         stderr=subprocess.PIPE, text=True, env=env)
    while not os.path.exists(work + "/run/session-default"):
        time.sleep(0.01)
    subprocess.run(["find", walk, "-regex", ".*a"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(env, LD_PRELOAD=preload))
    c.send_signal(signal.SIGINT)
    told = c.stderr.read()
    cpu = cpu_of(c.pid)
    begin = time.time()
    r = subprocess.Popen([duet, "stats", work + "/t"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    said = r.stdout.read()
    read_cpu = cpu_of(r.pid)
    events = int(re.search(r"(\d+) events", said)[1])
    return events, cpu, size_of(work + "/t"), read_cpu, time.time() - begin, "none lost" in told


results = {w: [] for w in ways}
for _ in range(rounds):
    for way in ways:
        work = tempfile.mkdtemp(prefix="duet-compress-", dir=where)
        try:
            results[way].append(once(work, way))
        finally:
            shutil.rmtree(work)
print("%-8s %9s %14s %12s %7s %16s" % ("", "events", "collect CPU ms", "bytes per", "", "read CPU ms"))
print("%-8s %9s %14s %12s %7s %16s" % ("", "", "per M events", "event", "ratio", "per M events"))
plain = statistics.median(r[2] / r[0] for r in results[ways[0]])
for way in ways:
    m = lambda f: statistics.median(map(f, results[way]))
    print("%-8s %9d %14.1f %12.2f %7.1f %16.1f%s" %
          (way, m(lambda r: r[0]), m(lambda r: r[1] / r[0] * 1e9), m(lambda r: r[2] / r[0]),
           plain / m(lambda r: r[2] / r[0]), m(lambda r: r[3] / r[0] * 1e9),
           "" if all(r[5] for r in results[way]) else "   EVENTS WERE LOST"))
