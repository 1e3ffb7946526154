#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nonsense on its socket does not stop a collector: it continues, leaks nothing, and serves the others soon.

arguments: DUET TALK HOSTILE LIBDUET N [SEED]      whole: 1000000
"""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import fds, field  # noqa: E402
from trial import begins, cmd, dice, duet, fail, paths, run_cases, runtime, start, until, work, worker_of  # noqa: E402

talk, hostile, library = paths(3)
count = int(sys.argv[5])
seed = int(sys.argv[6]) if len(sys.argv) > 6 else dice().randrange(1 << 20)
N_TALKERS = 2
FAR_TOO_LONG_MS = 5000  # not the goal, which is 100: more than any load of the machine explains
GROWS_MAX_KIB = 4 << 10


def descriptors(pid):
    """-> how many it has, but for the recording's files, which are opened with the first event of a CPU"""
    return sum(not f.startswith(work + "/trace/") for f in fds(pid))


def memory(pid):
    return field(pid, "RssAnon")


def talk_all(n):
    """-> their output; n messages by several at once"""
    talkers = [start(talk, "nonsense", runtime, n // N_TALKERS, seed * 1000 + i) for i in range(N_TALKERS)]
    said = [t.communicate(timeout=120 + n // 200)[0].strip() for t in talkers]
    if any(t.returncode for t in talkers):
        fail("nothing was tried: %s" % [t.returncode for t in talkers])
    return said


def the_collector_goes_on_and_serves_the_others():
    # A bit of all that requests are about: filters, channels, a flight recorder to be snapshot.
    collector = begins(start(duet, "collect", "-o", work + "/trace", "-e", "honest:step", "--channel",
                             "ring:events=honest:waits,mode=overwrite,size=1M"))
    both = {"collector": worker_of(collector), "keeper": collector.pid}
    honest = start(hostile, "honest", "1e9")
    talk_all(min(count, 4000))  # tables fill to their limits, memory to its final size
    time.sleep(1.5)  # silent ones are turned away after a second
    before = {who: (descriptors(pid), memory(pid)) for who, pid in both.items()}
    begin = time.monotonic()
    others = start(talk, "sense", runtime, "0")
    said = talk_all(count)
    took = time.monotonic() - begin
    others.terminate()
    n, no_status, no_join, status_ms, join_ms = map(float, others.communicate()[0].split())
    if collector.poll() is not None:
        return fail("the collector ended: %d: %s" % (collector.returncode, collector.stderr.read()))
    if worker_of(collector) != both["collector"]:
        return fail("the collector was replaced: it had died")
    if no_status or no_join:
        fail("of %d proper requests %d, of as many programs %d were turned away" % (n, no_status, no_join))
    if max(status_ms, join_ms) > FAR_TOO_LONG_MS:
        fail("a request waited %.0f ms, a program %.0f" % (status_ms, join_ms))
    for who, pid in both.items():
        until(lambda: descriptors(pid) <= before[who][0],
              lambda: "the %s has %d descriptors as before, not %d" % (who, before[who][0], descriptors(pid)))
        if memory(pid) > before[who][1] + GROWS_MAX_KIB:
            fail("the %s takes %d KiB, took %d" % (who, memory(pid), before[who][1]))
    after = {who: (descriptors(pid), memory(pid)) for who, pid in both.items()}
    honest.end(signal.SIGTERM)
    err = collector.end(signal.SIGTERM)[2]
    if collector.returncode:
        fail("the collector ended with %d: %s" % (collector.returncode, err))
    out = cmd("view", "-e", "honest:step", "--json", work + "/trace")[1]
    events = [json.loads(line) for line in out.splitlines()]
    steps = [e["fields"]["i"] for e in events if e.get("pid") == honest.pid]
    if len(steps) < 10 or steps != list(range(len(steps))):
        fail("%d honest events, not one after the other" % len(steps))
    for line in said:
        print("  " + line)
    print("%d messages in %.1f s; others meanwhile, at worst: a request %.1f ms, joining %.1f ms (of %d each; load %.1f); "
          "descriptors and KiB before and after: %s, %s; %d honest events, all there"
          % (count, took, status_ms, join_ms, n, os.getloadavg()[0], before, after, len(steps)))


run_cases(the_collector_goes_on_and_serves_the_others)
