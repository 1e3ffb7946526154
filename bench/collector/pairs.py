#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU of the collectors of several builds, in turn: ns a byte in the files, and the ratio to the first build.

usage: pairs.py EVENT-DUET DIRECTORY TURNS BATCHES DUET...
       (EVENT-DUET: build/bench/write/event-duet; DUET: a build's src/cmd/duet; files go into DIRECTORY)

A batch has 30000 events of one int.  The ratio is the median over the turns, with its quartiles.  A run that
lost an event, or whose files do not hold what the program made, ends the measurement.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "write"))
from table import machine
from tracers import cpu_ns, stream_bytes, wait_until


def one(event, directory, batches, duet):
    work = tempfile.mkdtemp(prefix="duet-pairs-", dir=directory)
    library = os.path.join(os.path.dirname(duet), "..", "inproc", "libduet.so.0")
    env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
    p = subprocess.Popen([duet, "collect", "-o", work + "/trace", "-e", "bench:*"], env=env, text=True,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: os.path.exists(work + "/run/session-default") or p.poll() is not None, 10,
                   "duet collect does not begin")
        before = cpu_ns(p.pid)
        made = subprocess.run([event, "size=30000", "batches=%s" % batches, "pause=10", "int"], env=env,
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        time.sleep(0.3)
        cpu = cpu_ns(p.pid) - before
        p.terminate()
        said = p.communicate()[1]
        n = json.loads(subprocess.run([duet, "stats", "--json", work + "/trace"], stdout=subprocess.PIPE,
                                      check=True).stdout)["events"]
        n = sum(e["n"] for e in n if e["event"].startswith("bench:"))
        if "LOST" in said or n != int(re.search(r"made:int (\d+)", made).group(1)):
            sys.exit("not proved: %d events in the files; %s; %s" % (n, made.split("\n")[-2], said.strip()))
        return cpu / stream_bytes(work + "/trace", r"(cpu|lane)_\d+$")
    finally:
        with contextlib.suppress(ProcessLookupError):
            p.kill()
        shutil.rmtree(work, ignore_errors=True)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__.split("\n\n")[1])
    event, directory, turns, batches, *builds = sys.argv[1:]
    found = {duet: [] for duet in builds}
    loads = []
    for turn in range(int(turns)):
        for duet in builds if turn % 2 else builds[::-1]:
            found[duet].append(one(event, directory, batches, os.path.abspath(duet)))
        loads.append(os.getloadavg()[0])
    print("# %s; %s; load %.1f to %.1f" % (machine(), directory, min(loads), max(loads)))
    for duet in builds:
        ratios = [a / b for a, b in zip(found[duet], found[builds[0]])]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        print("%s: %.3f ns a byte (least %.3f), ratio %.2f (%.2f-%.2f)" %
              (duet, statistics.median(found[duet]), min(found[duet]), middle, low, high))


main()
