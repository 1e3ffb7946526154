#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure how long a snapshot takes, how much of the pool it holds, and its effect on the program.

One thread records at full speed, with and without snapshots.

usage: run.py BUILD
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
work = tempfile.mkdtemp(prefix="duet-bench-")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=build + "/src/inproc/libduet.so.0")


def snapshot():
    begin = time.time()
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(work + "/run/sock-default")
    s.send(b'{"verb":"snapshot"}')
    answer = json.loads(s.recv(65536))
    s.close()
    took = time.time() - begin
    shutil.rmtree(answer["path"])
    return took * 1e3, answer["app_bytes"] / 1e6


def measure(size, n):
    p = subprocess.Popen([build + "/tests/live/record/numbers", "1", "0", "pin"], stdout=subprocess.PIPE,
                         text=True)
    p.stdout.readline()
    r = subprocess.Popen([build + "/src/cmd/duet", "record", "--overwrite", "-q", "--no-kernel", "-b", size,
                          "-o", work + "/trace"])
    time.sleep(2)
    took = []
    for _ in range(n):
        took.append(snapshot())
        time.sleep(0.02)
    p.terminate()
    r.terminate()
    r.wait()
    shutil.rmtree(work + "/trace")
    if not all(took) or any(not b for _, b in took):
        sys.exit("not proved: a snapshot holds no event")
    worst = float(p.stdout.read().split()[1]) * 1e3
    ms = [t for t, _ in took] or [0]
    print("%-5s %3d snapshots: answered after %7.1f ms (worst %7.1f), %7.1f MB; slowest event %6.1f ms" %
          (size, n, statistics.median(ms), max(ms), max([b for _, b in took] or [0]), worst))


print("%d CPUs, load %.1f" % (os.cpu_count(), os.getloadavg()[0]))
try:
    for pool in ("1M", "64M", "512M"):
        measure(pool, 0)
        measure(pool, 20)
finally:
    shutil.rmtree(work)
