#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of exporting an event, beside `duet view` of the same recording, in one run.

usage: run.py DUET COST LIBDUET [TRACE]

Without TRACE it records find(1) with malloc and free and the kernel's events.  The formats take turns, ROUNDS times.
Times are CPU time, user and system, of the whole process.  Output goes to /dev/null; its size is printed once.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile

duet, cost, library = sys.argv[1:4]
ROUNDS = int(os.environ.get("ROUNDS", "5"))
COMMANDS = [("view", [duet, "view"]), ("view --json", [duet, "view", "--json"])] + [
    ("export " + f, [duet, "export", f]) for f in ("perfetto", "chrome", "csv")]


def record(work):
    out = work + "/duet"
    env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
    subprocess.run([duet, "record", "-q", "-e", "lttng_ust_libc:*", "-b", "512M", "-o", out, "--",
                    "find", "/usr", "/var", "-name", "*.a"], env=env, stdout=subprocess.DEVNULL, check=True)
    return out


def measure(command):
    p = subprocess.run([cost] + command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kib = p.stdout.split()
    return float(seconds), int(kib) / 1024


def size_of(command):
    p = subprocess.run(" ".join(command) + " 2>/dev/null | wc -c", shell=True, stdout=subprocess.PIPE, check=True)
    return int(p.stdout)


def main():
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as work:
        trace = sys.argv[4] if len(sys.argv) > 4 else record(work)
        n = int(re.search(r'"n_events": *(\d+)', subprocess.run([duet, "stats", "--json", trace], text=True,
                                                                stdout=subprocess.PIPE, check=True).stdout).group(1))
        taken = {}
        for _ in range(ROUNDS):
            for name, command in COMMANDS:
                taken.setdefault(name, []).append(measure(command + [trace]))
        view = statistics.median(t[0] for t in taken["view"])
        print("# %d events, median (min-max) of %d rounds" % (n, ROUNDS))
        print("# %-16s %22s %10s %10s %8s" % ("", "M events/s", "of view's", "bytes/ev.", "MiB"))
        for name, command in COMMANDS:
            seconds = [t[0] for t in taken[name]]
            rates = sorted(n / s / 1e6 for s in seconds)
            print("  %-16s %6.2f (%.2f-%.2f) %10.2f %10.0f %8.0f" % (
                name, statistics.median(rates), rates[0], rates[-1], view / statistics.median(seconds),
                size_of(command + [trace]) / n, max(t[1] for t in taken[name])))


if __name__ == "__main__":
    main()
