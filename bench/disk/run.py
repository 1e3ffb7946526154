#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure writes of packets with writev and io_uring; medians of rounds in turns.

usage: run.py BUILD [DIRECTORY...]      default: /dev/shm and the build's own disk
       ROUNDS=5 is a setting
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

build = sys.argv[1]
directories = sys.argv[2:] or ["/dev/shm", build]
rounds = int(os.environ.get("ROUNDS", "5"))
EVENT = 32  # bytes, about: header, ids and a number or two
kinds = ["writev", "one", "uring", "fixed", "sqpoll"]
program = build + "/bench/disk/writes"
subprocess.run(["ninja", "-C", build, "bench/disk/writes"], check=True, stdout=subprocess.DEVNULL)
print("%-10s %7s %-7s %9s %22s" % ("where", "packet", "how", "MB/s", "CPU ms per M events (least .. most)"))
for directory in directories:
    for size, packets in ((65408, 4000), (4000, 20000), (400, 60000)):
        results = {k: [] for k in kinds}
        for _ in range(rounds):
            for kind in kinds:
                work = tempfile.mkdtemp(prefix="duet-writes-", dir=directory)
                try:
                    out = subprocess.run([program, work, kind, str(size), str(packets)], check=True,
                                         capture_output=True, text=True).stdout
                    written = sum(os.path.getsize(os.path.join(work, f)) for f in os.listdir(work))
                finally:
                    shutil.rmtree(work)
                if written != size * packets:
                    sys.exit("%s: not proved: %d of %d bytes are in the file" % (kind, written, size * packets))
                wall, user, system, _ = map(float, out.split())
                results[kind].append((wall, user + system))
        millions = size * packets / EVENT / 1e6
        for kind in kinds:
            cpu = [c / millions * 1e3 for _, c in results[kind]]
            wall = statistics.median(w for w, _ in results[kind])
            print("%-10s %7d %-7s %9.0f %10.2f (%.2f .. %.2f)" %
                  (os.path.basename(directory) or "/", size, kind, size * packets / wall / 1e6,
                   statistics.median(cpu), min(cpu), max(cpu)), flush=True)
