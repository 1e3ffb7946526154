#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the time to the first line of recordings that are not in the page cache: first.py DUET TRACE...

duet and Babeltrace 2 take turns, ROUNDS times; before each, the pages of the recording's files are dropped.  Wall time
and KiB read from disk; both have to print a line.
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))


def drop(trace):
    for directory, _, files in os.walk(trace):
        for f in files:
            fd = os.open(os.path.join(directory, f), os.O_RDONLY)
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def first_line(command):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock, time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = p.stdout.readline()
    taken = time.monotonic() - begin
    p.kill()
    p.wait()
    if not line.endswith(b"\n"):
        raise SystemExit("%s printed no line" % command[0])
    return taken, (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before) // 2


def main():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    print("# %s, %d CPUs; median of %d" % (model.group(1) if model else "?", os.cpu_count(), ROUNDS))
    commands = {"duet": [sys.argv[1], "view"], "bt2": ["babeltrace2"]}
    for trace in sys.argv[2:]:
        taken = {who: [] for who in commands}
        for _ in range(ROUNDS):
            for who, command in commands.items():
                drop(trace)
                taken[who].append(first_line(command + [trace]))
        print("%s: " % trace + ", ".join("%s %.3f s, %d KiB read" % (who, statistics.median(t[0] for t in all_of), all_of[-1][1])
                                         for who, all_of in taken.items()), flush=True)


if __name__ == "__main__":
    main()
