#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A signal handler that leaves a large event by siglongjmp loses that event alone: its chunk is used again.

arguments: DUET PROGRAM LIBDUET
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, work  # noqa: E402

program, library = paths(2)
JUMPS, LAST = 1000, 100
# Without giving back, all chunks of the pool are taken after a fifth of the jumps.
CHUNKS = 128


def recorded(trace, name):
    status, out, err = cmd("view", "--csv", "-e", name, trace)
    is_(status, 0, err)
    return out.count(name)


def a_jump_loses_one_event(*how):
    trace = work + "/trace" + "".join(how)
    # Writers wait for the disk, so an event is lost only if it is left, or if no chunk comes free.
    out, err = record(trace, "--no-kernel", "--channel",
                      "big:events=jumps:large,events=jumps:last,count=%d,mode=block,wait=5s" % CHUNKS,
                      "-e", "jumps:*", "--", program, str(JUMPS), str(LAST), *how)
    attempted, completed, jumps = map(int, out.split())
    is_(jumps, JUMPS, "the handler left so often")
    n = recorded(trace, "jumps:large")
    m = re.search(r"(\d+) LOST", err)
    lost = int(m.group(1)) if m else 0
    ok(completed <= n <= attempted, "completed events are recorded", "%d <= %d <= %d" % (completed, n, attempted))
    # An event that is left while it waits for a chunk has not begun.
    ok(0 < lost <= attempted - n, "those left on their way are counted, and no others", "%d of %d" % (lost, attempted - n))
    is_(recorded(trace, "jumps:last"), LAST, "the chunks are there again")


def a_jump_from_the_threads_stack_loses_one_event():
    a_jump_loses_one_event()


def a_jump_from_another_stack_loses_one_event():
    a_jump_loses_one_event("alt")


run_cases(a_jump_from_the_threads_stack_loses_one_event, a_jump_from_another_stack_loses_one_event)
