#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The wall clock is set forward and back by days while programs are recorded, and the machine is suspended: every event is
there, in order, at the time of the clock as it was at the beginning; names do not collide, and no trace chunk is removed
before its time.

arguments: DUET COUNTING STEPS LIBDUET       STEPS: programs/steps.c, preloaded into the collector alone
"""
import os
import re
import signal
import struct
import time

import sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import all_are_there, numbers_of, start_counting, stop_counting
from recorder import collect, stop
from trial import cmd, go_on, is_, ok, paths, run_cases, until, work

counting, steps, library = paths(3)
HOUR, DAY = 3600, 86400
env = dict(os.environ, LD_PRELOAD=steps, STEPS=work + "/steps")


def step(wall_s=0, boot_s=0, still_s=0):
    with open(work + "/steps", "r+b" if os.path.exists(work + "/steps") else "wb") as f:
        f.write(struct.pack("<3q", wall_s * 10**9, boot_s * 10**9, still_s * 10**9))


def chunks(trace):
    return sorted(d for d in os.listdir(trace) if d.startswith("piece-"))


def events(trace, counts, begin, end):
    """All of them, in order, between these wall-clock times."""
    status, out, err = cmd("view", "--json", trace)
    is_(status, 0, "view: " + err)
    all_are_there(numbers_of(re.sub(r'"thread":(\d+),"n":(\d+)', r"thread = \1, n = \2", out)), counts, trace)
    times = [int(float(t)) for t in re.findall(r'"time":"?(\d+)', out)]
    times = [t // 10**9 if t > 10**12 else t for t in times]
    ok(times == sorted(times), "times ascend")
    ok(begin - 2 <= times[0] and times[-1] <= end + 2, "they are of this clock", "%s..%s in %s..%s" % (times[0], times[-1], begin, end))


def steps_of_days(name, *options, moves):
    """-> the trace, and the names of its chunks, after each of @moves and a rotation"""
    step()
    trace, begin = work + "/" + name, time.time()
    c = collect(trace, "-e", "count*", "--rotate", "request", *options, env=env)
    p = start_counting(counting)
    for move in moves:
        go_on(p)
        step(**move)
        status, out, err = cmd("rotate", env=env)
        is_(status, 0, "a trace chunk ends: " + err)
        go_on(p)
        status, out, err = cmd("status", env=env)
        is_(status, 0, "status: " + err)
    counts = stop_counting(p)
    stop(c)
    events(trace, counts, begin, time.time())
    return trace


def a_wall_clock_that_is_set_changes_no_time():
    trace = steps_of_days("set", moves=[dict(wall_s=DAY), dict(wall_s=-3 * DAY), dict(wall_s=-3 * DAY + 1), dict()])
    is_(chunks(trace), ["piece-%06d" % i for i in range(1, 6)], "each trace chunk has a name of its own")


def no_trace_chunk_is_removed_before_its_time():
    """It would age by a day at once."""
    trace = steps_of_days("kept", "--keep-last", "1h", moves=[dict(), dict(wall_s=DAY), dict(wall_s=DAY), dict(wall_s=-DAY), dict()])
    is_(len(chunks(trace)), 6, "all are there")


def a_suspended_machine_loses_nothing():
    """The wall clock and CLOCK_BOOTTIME go on, the clock of the events stands still."""
    steps_of_days("suspended", moves=[dict(wall_s=HOUR, boot_s=HOUR), dict(wall_s=9 * DAY, boot_s=9 * DAY)])


def trace_chunks_age_while_the_machine_is_suspended():
    step()
    trace = work + "/aged"
    c = collect(trace, "-e", "count*", "--rotate", "request", "--keep-last", "1h", env=env)
    p = start_counting(counting)
    go_on(p)
    is_(cmd("rotate", env=env)[0], 0, "a trace chunk ends")
    is_(cmd("rotate", env=env)[0], 0, "another, so the archiver has seen both")
    is_(chunks(trace)[0], "piece-000001", "it is young")
    step(wall_s=2 * HOUR, boot_s=2 * HOUR)
    is_(cmd("rotate", env=env)[0], 0, "the next")
    until(lambda: "piece-000001" not in chunks(trace), "the old one is removed")
    stop_counting(p)
    stop(c)


def recordings_of_one_second_have_names_of_their_own():
    """Clocks that go back give the same second twice."""
    os.chdir(work)
    step(still_s=1700000000)
    for i in range(3):
        status, out, err = cmd("start", "again", "-e", "count*", env=env)
        is_(status, 0, "start: " + err)
        is_(cmd("stop", "again", env=env)[0], 0, "stop")
    found = [d for d in os.listdir(work) if "again" in d or d.startswith("duet-2023")]
    is_(len(found), 3, "three directories: %s" % found)


run_cases(a_wall_clock_that_is_set_changes_no_time, no_trace_chunk_is_removed_before_its_time, a_suspended_machine_loses_nothing,
          trace_chunks_age_while_the_machine_is_suspended, recordings_of_one_second_have_names_of_their_own)
