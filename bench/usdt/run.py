#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/usdt/run.py DUET PROGRAM - a hit of a USDT mark: dormant, in the program, by a uprobe; beside an ordinary event.

Figures are CPU time a hit, less that of the empty loop of the same run: median and lowest of the batches.  As root.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

DUET, PROGRAM = sys.argv[1:]
WAYS = (("dormant", [], "400", "20000"),
        ("in the program", ["--usdt", PROGRAM + ":bench:mark i total", "-e", "bench:*"], "400", "20000"),
        ("by a uprobe", ["--usdt-by", "kernel", "--usdt", PROGRAM + ":bench:mark i total", "-e", "bench:*"], "100", "2000"))


def prove(name, recording, events):
    """The flight recorder holds the newest of each kind: the last batches are of the event, so few marks may be left."""
    stats = subprocess.run([DUET, "stats", "--json", recording], stdout=subprocess.PIPE, text=True) if events else None
    found = {e["event"]: e["n"] for e in json.loads(stats.stdout)["events"]} if stats and stats.stdout else {}
    if events and not sum(found.get(e, 0) for e in events):
        sys.exit("%s: not proved: the recording has %s" % (name, found or "no event"))
    if events and "kernel" not in name and not found.get("bench:event"):
        sys.exit("%s: not proved: no bench:event in the recording" % name)


def main():
    work = tempfile.mkdtemp(prefix="duet-usdt-", dir="/dev/shm")
    try:
        for name, options, batches, hits in WAYS:
            record = [DUET, "record", "-q", "--flight-recorder", "-o", work + "/r", *options, "--"] if options else []
            out = subprocess.run([*record, PROGRAM, batches, hits], stdout=subprocess.PIPE, text=True, check=True).stdout
            prove(name, work + "/r", ("bench:mark", "bench:event") if options else ())
            shutil.rmtree(work + "/r", ignore_errors=True)
            times = {l.split()[0]: [float(x) for x in l.split()[1:3]] for l in out.splitlines()}
            for what in ("mark", "event"):
                print("%-15s %-6s %7.1f ns, lowest %7.1f" % (name, what, *(t - l for t, l in zip(times[what], times["loop"]))))
    finally:
        shutil.rmtree(work)


main()
