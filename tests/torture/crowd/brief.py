#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Very many processes that live for some milliseconds, one after the other: none is missed, and collector and keeper
stay as they are.

usage: brief.py DUET CROWD LIBDUET N [WIDTH [MS]]      whole: 100000
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

duet, crowd, library, n = sys.argv[1:4] + [int(sys.argv[4])]
width, ms = (sys.argv[5:] + ["32", "10"][len(sys.argv) - 5:])[:2]
EVENTS = 5
GROWS_MAX_KIB, GROWS_MAX_FDS = 2 << 10, 2
work = tempfile.mkdtemp(prefix="duet-brief-")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
failures = 0


def fail(text):
    global failures
    failures += 1
    print("not ok: " + text)


def worker_of(keeper):
    """-> the process that collects: the keeper's child, when there is one"""
    while True:
        with open("/proc/%d/task/%d/children" % (keeper, keeper)) as f:
            children = f.read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)


def descriptors(pid):
    """-> how many, but for the recording's files, which come with the first event of a CPU"""
    n = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            n += not os.readlink("/proc/%d/fd/%s" % (pid, fd)).startswith(work + "/trace/")
        except FileNotFoundError:
            pass  # closed meanwhile
    return n


class Watch(threading.Thread):
    """Descriptors, KiB of its own and CPU seconds of a process, twice a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.fds, self.kib, self.cpu = pid, [], [], 0.0
        self.start()

    def run(self):
        try:
            while True:
                with open("/proc/%d/status" % self.pid) as f:
                    kib = int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))
                self.fds.append(descriptors(self.pid))
                self.kib.append(kib)
                with open("/proc/%d/stat" % self.pid) as f:
                    self.cpu = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
                time.sleep(0.5)
        except (OSError, AttributeError):
            pass

    def growth(self, values):
        """-> how much more there is at the end than ever was in the first fifth"""
        return values[-1] - max(values[:max(1, len(values) // 5)])


def check_events(trace):
    seen, line = {}, re.compile(rb"crowd:step \{ who = (\d+), i = (\d+) \}")
    view = subprocess.Popen([duet, "view", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for text in view.stdout:
        m = line.search(text)
        if m:
            seen.setdefault(int(m.group(1)), []).append(int(m.group(2)))
    view.wait()
    missed = [i for i in range(n) if i not in seen]
    partly = [i for i in seen if seen[i] != list(range(EVENTS))]
    if missed or partly or len(seen) != n:
        fail("of %d processes %d are missed, %d not whole: %s" % (n, len(missed), len(partly), (missed + partly)[:5]))


def main():
    trace = work + "/trace"
    collector = subprocess.Popen([duet, "collect", "-o", trace, "-e", "crowd:*"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
    while not os.path.exists(work + "/run/session-default"):
        if collector.poll() is not None:
            return fail("the collector: " + collector.stderr.read())
        time.sleep(0.01)
    watches = {"collector": Watch(worker_of(collector.pid)), "keeper": Watch(collector.pid)}
    begin = time.monotonic()
    made = int(subprocess.run([crowd, "lives", str(n), str(EVENTS), width, ms], stdout=subprocess.PIPE).stdout)
    took = time.monotonic() - begin
    if made != n:
        return fail("only %d of %d processes could be made" % (made, n))
    time.sleep(1.5)
    left = [f for f in os.listdir(work + "/run") if f.startswith("app-")]
    collector.send_signal(signal.SIGTERM)
    said = collector.communicate(timeout=120)[1]
    if collector.returncode or "none lost" not in said:
        fail("the collector: %d: %s" % (collector.returncode, said))
    if left:
        fail("%d pages of dead programs are left" % len(left))
    for who, w in watches.items():
        fds, kib = w.growth(w.fds), w.growth(w.kib)
        if fds > GROWS_MAX_FDS or kib > GROWS_MAX_KIB:
            fail("the %s grew by %d descriptors and %d KiB" % (who, fds, kib))
        print("  %s: at most %d descriptors, %d KiB; at the end more than in the first fifth: %+d, %+d; %.2f s of CPU"
              % (who, max(w.fds), max(w.kib), fds, kib, w.cpu))
    check_events(trace)
    print("%d processes of %s ms, %s at a time, in %.1f s (load %.1f): %d events each, all there"
          % (n, ms, width, took, os.getloadavg()[0], EVENTS))


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
