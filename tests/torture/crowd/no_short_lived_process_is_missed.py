#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Very many processes that live for some milliseconds, one after the other: none is missed, and collector and keeper
stay as they are.

arguments: DUET CROWD LIBDUET N [WIDTH [MS]]      whole: 100000
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import (begins, cmd, duet, fail, is_, paths, run, run_cases, runtime, start, until, work,  # noqa: E402
                   worker_of)
from watch import Watch  # noqa: E402

crowd, library = paths(2)
n = int(sys.argv[4])
width, ms = (sys.argv[5:] + ["32", "10"][len(sys.argv) - 5:])[:2]
EVENTS = 5
GROWS_MAX_KIB, GROWS_MAX_FDS = 2 << 10, 2
WATCH_S = 0.5


def check_events(trace):
    seen = {}
    status, text, told = cmd("view", trace, timeout=600)
    is_(status, 0, "view: " + told)
    for m in re.finditer(r"crowd:step \{ who = (\d+), i = (\d+) \}", text):
        seen.setdefault(int(m.group(1)), []).append(int(m.group(2)))
    missed = [i for i in range(n) if i not in seen]
    partly = [i for i in seen if seen[i] != list(range(EVENTS))]
    if missed or partly or len(seen) != n:
        fail("of %d processes %d are missed, %d not whole: %s" % (n, len(missed), len(partly), (missed + partly)[:5]))


def none_is_missed():
    trace = work + "/trace"
    collector = begins(start(duet, "collect", "-o", trace, "-e", "crowd:*"))
    # The recording's files come with the first event of a CPU.
    watches = {who: Watch(pid, WATCH_S, trace + "/") for who, pid in
               (("collector", worker_of(collector)), ("keeper", collector.pid))}
    begin = time.monotonic()
    made = int(run(crowd, "lives", n, EVENTS, width, ms, timeout=3600)[1])
    took = time.monotonic() - begin
    if made != n:
        return fail("only %d of %d processes could be made" % (made, n))
    until(lambda: not [f for f in os.listdir(runtime) if f.startswith("app-")], "no page of a dead program is left")
    # The last sample is of a collector at rest: in the middle of the crowd some connections are open.
    time.sleep(2 * WATCH_S)
    status, _, said = collector.end(signal.SIGTERM)
    if status or "none lost" not in said:
        fail("the collector: %d: %s" % (status, said))
    for who, w in watches.items():
        fds, kib = w.growth(w.fds), w.growth(w.kib)
        if fds > GROWS_MAX_FDS or kib > GROWS_MAX_KIB:
            fail("the %s grew by %d descriptors and %d KiB" % (who, fds, kib))
        print("  %s: at most %d descriptors, %d KiB; at the end more than in the first fifth: %+d, %+d; %.2f s of CPU"
              % (who, max(w.fds), max(w.kib), fds, kib, w.cpu))
    check_events(trace)
    print("%d processes of %s ms, %s at a time, in %.1f s (load %.1f): %d events each, all there"
          % (n, ms, width, took, os.getloadavg()[0], EVENTS))


run_cases(none_is_missed)
