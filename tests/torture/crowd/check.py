#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A crowd of threads, of processes, of short lives in one pool: each event is there or counted, and the
collector does not grow.

usage: check.py DUET CROWD LIBDUET THREADS PROCESSES LIVES      whole: 10000 2000 20000
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

duet, crowd, library = sys.argv[1:4]
n_threads, n_processes, n_lives = map(int, sys.argv[4:7])
work = tempfile.mkdtemp(prefix="duet-crowd-")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
failures = 0


def fail(text):
    global failures
    failures += 1
    print("not ok: " + text)


class Watch(threading.Thread):
    """The most memory of its own (KiB), and descriptors, that a process has had."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.rss, self.fds, self.cpu = pid, 0, 0, 0.0
        self.start()

    def run(self):
        try:
            while True:
                with open("/proc/%d/status" % self.pid) as f:
                    self.rss = max(self.rss, int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1)))
                self.fds = max(self.fds, len(os.listdir("/proc/%d/fd" % self.pid)))
                with open("/proc/%d/stat" % self.pid) as f:
                    self.cpu = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
                time.sleep(0.05)
        except (OSError, AttributeError):
            pass


def record(what, n, events, *more):
    trace = work + "/" + what
    begin = time.monotonic()
    p = subprocess.Popen([duet, "record", "--no-kernel", "-o", trace, "-e", "crowd:*", "--", crowd, what, str(n),
                          str(events)] + list(more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = Watch(p.pid)
    out, err = p.communicate()
    took = time.monotonic() - begin
    made = int(out or 0)
    lost = sum(map(int, re.findall(r"applications.* (\d+) LOST", err)))
    if p.returncode:
        fail("%s: status %d: %s" % (what, p.returncode, err))
    seen = {}
    view = subprocess.Popen([duet, "view", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = re.compile(rb"crowd:step \{ who = (\d+), i = (\d+) \}")
    for text in view.stdout:
        m = line.search(text)
        if m:
            seen.setdefault(int(m.group(1)), []).append(int(m.group(2)))
    view.wait()
    got = sum(map(len, seen.values()))
    if made < n:
        print("  (only %d of %d could be made)" % (made, n))
    if got + lost != made * events:
        fail("%s: %d recorded, %d lost of %d" % (what, got, lost, made * events))
    for who, steps in seen.items():
        if steps != sorted(set(steps)):
            fail("%s: events of %d twice or out of order" % (what, who))
            break
    if watch.fds > 128 or watch.rss > 16 << 10:
        fail("%s: the collector had %d descriptors, %d KiB" % (what, watch.fds, watch.rss))
    print("%s: %d x %d events, %d lost; %.2f s; the collector: %d KiB of its own, %d descriptors, %.2f s CPU"
          % (what, made, events, lost, took, watch.rss, watch.fds, watch.cpu))
    shutil.rmtree(trace)
    return lost


try:
    record("threads", n_threads, 10)
    record("processes", n_processes, 10)
    for width in ("1", "8"):
        if record("lives", n_lives, 100, width):
            fail("short lives lose nothing")
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
