#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py DUET CALLS_MAKE [MILLIONS] - how long `duet report functions` and a flame graph take, and their memory.

Recordings of MILLIONS (60) of calls of one thread and of two are made; each runs five times on each.  Printed are
the median, the least and the greatest time, the peak memory, and the processor.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def processor():
    with open("/proc/cpuinfo") as f:
        lines = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line)
    return " ".join(v.strip() for k, v in lines.items() if k.strip() in ("model name", "model"))


def run(argv):
    begin = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.PIPE)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status:
        sys.exit("%s: status %d" % (" ".join(argv), status))
    return time.monotonic() - begin, usage.ru_maxrss / 1024, out


def main():
    duet, make = sys.argv[1:3]
    millions = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    print("processor:", processor())
    for threads in (1, 2):
        where = tempfile.mkdtemp(prefix="duet-bench-")
        try:
            subprocess.run([make, where, str(int(millions * 1e6)), str(threads)], check=True, stdout=subprocess.PIPE)
            size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(where) for f in files)
            n = json.loads(run([duet, "report", "functions", "--json", where])[2])["n_calls"]
            if n < int(millions * 1e6):
                sys.exit("not proved: %d of %d calls are in the recording" % (n, int(millions * 1e6)))
            print("%d thread(s), %d calls, %.2f bytes/call" % (threads, n, size / n))
            for verb in (["report", "functions", "--json"], ["export", "svg"]):
                runs = [run([duet, *verb, where])[:2] for _ in range(5)]
                times = [took for took, _ in runs]
                print("  %-16s %.2f s (%.2f to %.2f), %.1f ns/call, %d MiB" % (
                    " ".join(verb[:2]), statistics.median(times), min(times), max(times),
                    statistics.median(times) / n * 1e9, max(memory for _, memory in runs)))
        finally:
            shutil.rmtree(where)


main()
