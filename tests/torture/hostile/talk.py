#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever is said to a collector's socket, it goes on, leaks nothing, and serves the others soon.

usage: talk.py DUET TALK HOSTILE LIBDUET N [SEED]      whole: 1000000
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, talk, hostile, library, count = sys.argv[1:5] + [int(sys.argv[5])]
seed = int(sys.argv[6]) if len(sys.argv) > 6 else os.getpid()
N_TALKERS = 2
FAR_TOO_LONG_MS = 5000  # not what is aimed at, which is 100: what no load of a machine explains
GROWS_MAX_KIB = 4 << 10
work = tempfile.mkdtemp(prefix="duet-talk-")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
failures, started = 0, []


def fail(text):
    global failures
    failures += 1
    print("not ok (seed %d): %s" % (seed, text))


def start(*command, **more):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)
    started.append(p)
    return p


def worker_of(keeper):
    """-> the process that collects: the keeper's child, when there is one"""
    while True:
        with open("/proc/%d/task/%d/children" % (keeper, keeper)) as f:
            children = f.read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)


def descriptors(pid):
    """-> how many it has, but for the recording's files, which are opened with the first event of a CPU"""
    n = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            n += not os.readlink("/proc/%d/fd/%s" % (pid, fd)).startswith(work + "/trace/")
        except OSError:
            pass
    return n


def memory(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


def talk_all(n):
    """-> what they say of it; n messages by several at once"""
    talkers = [start(talk, "nonsense", work + "/run", str(n // N_TALKERS), str(seed * 1000 + i)) for i in range(N_TALKERS)]
    said = [t.communicate()[0].strip() for t in talkers]
    if any(t.returncode for t in talkers):
        fail("nothing was tried: %s" % [t.returncode for t in talkers])
    return said


def main():
    # A bit of all that requests are about: filters, channels, a flight recorder to be snapshot.
    collector = start(duet, "collect", "-o", work + "/trace", "-e", "honest:step", "--channel",
                      "ring:events=honest:waits,mode=overwrite,size=1M", stderr=subprocess.PIPE)
    while not os.path.exists(work + "/run/session-default"):
        if collector.poll() is not None:
            return fail("the collector: " + collector.stderr.read())
        time.sleep(0.01)
    both = {"collector": worker_of(collector.pid), "keeper": collector.pid}
    honest = start(hostile, "honest", "1e9")
    talk_all(min(count, 4000))  # tables fill to their limits, memory to what it is to stay
    time.sleep(1.5)  # silent ones are turned away after a second
    before = {who: (descriptors(pid), memory(pid)) for who, pid in both.items()}
    begin = time.monotonic()
    others = start(talk, "sense", work + "/run", "0")
    said = talk_all(count)
    took = time.monotonic() - begin
    others.terminate()
    n, no_status, no_join, status_ms, join_ms = map(float, others.communicate()[0].split())
    if collector.poll() is not None:
        return fail("the collector ended: %d: %s" % (collector.returncode, collector.stderr.read()))
    if worker_of(collector.pid) != both["collector"]:
        return fail("the collector was replaced: it had died")
    if no_status or no_join:
        fail("of %d proper requests %d, of as many programs %d were turned away" % (n, no_status, no_join))
    if max(status_ms, join_ms) > FAR_TOO_LONG_MS:
        fail("a request waited %.0f ms, a program %.0f" % (status_ms, join_ms))
    for who, pid in both.items():
        until = time.monotonic() + 20
        while descriptors(pid) > before[who][0] and time.monotonic() < until:
            time.sleep(0.1)
        if descriptors(pid) > before[who][0]:
            fail("the %s has %d descriptors, had %d" % (who, descriptors(pid), before[who][0]))
        if memory(pid) > before[who][1] + GROWS_MAX_KIB:
            fail("the %s takes %d KiB, took %d" % (who, memory(pid), before[who][1]))
    after = {who: (descriptors(pid), memory(pid)) for who, pid in both.items()}
    honest.send_signal(signal.SIGTERM)
    honest.communicate()
    collector.send_signal(signal.SIGTERM)
    err = collector.communicate(timeout=60)[1]
    if collector.returncode:
        fail("the collector ended with %d: %s" % (collector.returncode, err))
    out = subprocess.run([duet, "view", "-e", "honest:step", "--json", work + "/trace"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    events = [json.loads(line) for line in out.splitlines()]
    steps = [e["fields"]["i"] for e in events if e.get("pid") == honest.pid]
    if len(steps) < 10 or steps != list(range(len(steps))):
        fail("%d honest events, not one after the other" % len(steps))
    for line in said:
        print("  " + line)
    print("%d messages in %.1f s; others meanwhile, at worst: a request %.1f ms, joining %.1f ms (of %d each; load %.1f); "
          "descriptors and KiB before and after: %s, %s; %d honest events, all there (seed %d)"
          % (count, took, status_ms, join_ms, n, os.getloadavg()[0], before, after, len(steps), seed))


try:
    main()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
