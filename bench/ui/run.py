#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py MAKE INDEX [EVENTS [DIRECTORY]] - makes a recording (100 M events, 2.6 GB, unless another number is given),
and measures how long its index takes: without a cached one, and with it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile


def size_of(directory):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(directory) for f in files)


def measure(index, recording, *options):
    p = subprocess.run([index, recording, *options], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(p.stdout)


def show(what, r, gigabytes):
    print("%-12s first picture %.2f s, all %.2f s (%.2f s/GB), processor %.1f s (%.2f s/GB), memory %d MiB" % (
        what, r["first_s"], r["all_s"], r["all_s"] / gigabytes, r["processor_s"], r["processor_s"] / gigabytes,
        r["rss_mib"]))
    print("%-12s %d pictures meanwhile: median %.2f ms, 99 %% %.2f ms, most %.2f ms%s" % (
        "", r["pictures"], r["picture_p50_ms"], r["picture_p99_ms"], r["picture_max_ms"],
        "; CUT: the index was full" if r["cut"] else ""))


def main():
    make, index = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 100000000
    where = tempfile.mkdtemp(prefix="duet-bench-ui-", dir=sys.argv[4] if len(sys.argv) > 4 else None)
    recording = os.path.join(where, "recording")
    try:
        subprocess.run([make, recording, str(n)], check=True)
        gigabytes = size_of(recording) / 1e9
        print("%d events, %.2f GB" % (n, gigabytes))
        os.mkdir(os.path.join(recording, ".duet"))
        r = measure(index, recording, "--cache")
        show("without", r, gigabytes)
        kept = size_of(os.path.join(recording, ".duet"))
        print("%-12s %d entries, %.1f bytes each, %.1f an event" % (
            "", r["entries"], kept / r["entries"], kept / r["events"]))
        show("with", measure(index, recording, "--cache"), gigabytes)
        if r["events"] != n or (r["cut"] and n <= 100000000):
            sys.exit("not all events are in the index")
    finally:
        shutil.rmtree(where)


main()
