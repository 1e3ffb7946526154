#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/usdt/run.py DUET PROGRAM - a hit of a USDT mark: dormant, in the program, by a uprobe; beside an ordinary event.

Figures are CPU time a hit, less that of the empty loop of the same run: median and lowest of the batches.  As root.
"""
import os
import shutil
import subprocess
import sys
import tempfile

DUET, PROGRAM = sys.argv[1:]
WAYS = (("dormant", [], "400", "20000"),
        ("in the program", ["--usdt", PROGRAM + ":bench:mark i total", "-e", "bench:*"], "400", "20000"),
        ("by a uprobe", ["--usdt-by", "kernel", "--usdt", PROGRAM + ":bench:mark i total", "-e", "bench:*"], "100", "2000"))


def main():
    work = tempfile.mkdtemp(prefix="duet-usdt-", dir="/dev/shm")
    try:
        for name, options, batches, hits in WAYS:
            record = [DUET, "record", "-q", "--flight-recorder", "-o", work + "/r", *options, "--"] if options else []
            out = subprocess.run([*record, PROGRAM, batches, hits], stdout=subprocess.PIPE, text=True, check=True).stdout
            shutil.rmtree(work + "/r", ignore_errors=True)
            times = {l.split()[0]: [float(x) for x in l.split()[1:3]] for l in out.splitlines()}
            for what in ("mark", "event"):
                print("%-15s %-6s %7.1f ns, lowest %7.1f" % (name, what, *(t - l for t, l in zip(times[what], times["loop"]))))
    finally:
        shutil.rmtree(work)


main()
