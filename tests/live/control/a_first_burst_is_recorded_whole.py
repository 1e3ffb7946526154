#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command whose two busy threads write nine million events a second, from its first moment, into the smallest pool
loses nothing.

Its pool begins with 8 MiB and has 64 soon after; 140 MB are written in half a second, so the collector has to come in
time again and again.  On a busy machine it may get no CPU for longer than that.  So in the short form WHOLE recordings
have to be whole before as many lose something; in all of them recorded and lost events are those made.  The model
`bursts_wait_for_the_collector_without_loss` has the same burst without other load.

arguments: DUET PROGRAM LIBDUET [RECORDINGS [RATE]]     long form: 20, on an idle machine: all have to be whole.  Above
some 20 million a second, which fast processors reach, disk and collector may be too slow.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import duet, is_, paths, run, run_cases, work  # noqa: E402

program, library = paths(2)
all_of = int(sys.argv[4]) if len(sys.argv) > 4 else 0
RATE = int(sys.argv[5]) if len(sys.argv) > 5 else 9000000
EVENTS_EACH, WHOLE = 2000000, 3


def one():
    """-> events lost, made a second"""
    out = work + "/burst"
    status, said, err = run(duet, "record", "--no-kernel", "-o", out, "-e", "burst:*", "--", program, EVENTS_EACH, RATE)
    is_(status, 0, "duet record: " + err)
    made, rate = (int(n) for n in said.split()[-2:])
    lost = sum(int(n) for n in re.findall(r"(\d+) LOST", err))
    status, stats, more = run(duet, "stats", "--json", out)
    found = re.search(r'"event": *"burst:event"[^}]*"n": *(\d+)', stats) or re.search(r'"n": *(\d+)[^}]*"burst:event"', stats)
    is_(int(found[1]) + lost, made, "recorded and lost are those made (%d lost; %s)" % (lost, err + more))
    run("rm", "-rf", out)
    return lost, rate


def the_first_burst_is_whole():
    whole, lossy, need = [], [], all_of or WHOLE
    while len(whole) < need and len(lossy) < (1 if all_of else need):
        lost, rate = one()
        (lossy if lost else whole).append((lost, rate))
    print("# %d whole, %d not; %.1f M events a second" % (len(whole), len(lossy), rate / 1e6))
    is_(len(whole), need, "recordings are whole; lost, events a second: " + str(lossy))


run_cases(the_first_burst_is_whole)
