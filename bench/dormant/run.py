#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of dormant sites: none, load and branch (duet's), a nop that is never patched.

usage: run.py LIBDUET PROGRAM...     programs named dormant-WAY-PAD

Programs take turns, ROUNDS times.  Each way and layout has its median; the table has the mean over the layouts, and
the difference to no sites.
"""
import os
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("ROUNDS", "3"))
WAYS = "no site", "load, branch", "nop"


def main():
    library, *programs = sys.argv[1:]
    env = dict(os.environ, DUET_LIBRARY=library, DUET_RUNTIME_DIR="/dev/shm/duet-dormant-%d" % os.getpid())
    os.mkdir(env["DUET_RUNTIME_DIR"], 0o700)
    rows = {}
    try:
        for _ in range(ROUNDS):
            for p in programs:
                way, pad = p.rsplit("-", 2)[1:]
                text = subprocess.run(["taskset", "-c", "1", p], stdout=subprocess.PIPE, text=True,
                                      env=env, check=True).stdout
                for line in text.splitlines():
                    name, *ns = line.split()
                    rows.setdefault(name, {}).setdefault((int(way), pad), []).extend(map(float, ns))
    finally:
        for f in os.listdir(env["DUET_RUNTIME_DIR"]):
            os.unlink(env["DUET_RUNTIME_DIR"] + "/" + f)
        os.rmdir(env["DUET_RUNTIME_DIR"])
    print("# ns per site passed, mean of the layouts' medians (least-most)")
    for name, by in rows.items():
        means = []
        cells = []
        for way in range(3):
            v = [statistics.median(ns) for (w, _), ns in by.items() if w == way]
            means.append(statistics.mean(v))
            cells.append("%-12s %7.2f (%.2f-%.2f)" % (WAYS[way], means[-1], min(v), max(v)))
        print("%-15s %s   %+.2f %+.2f" % (name, "  ".join(cells), means[1] - means[0], means[2] - means[0]))


main()
