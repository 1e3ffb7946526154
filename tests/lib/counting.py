# SPDX-License-Identifier: MIT
"""Programs with threads that count until SIGTERM, each its own numbers, and then print how far each got; and
their events in a recording.  tests/live/control/programs/counting.c is one."""
import collections
import re
import signal

from proc import kill
from trial import command_of, duet, fail, go_on, is_, start, until, worker_of


def start_counting(program, first=0):
    """Its threads are numbered from there; each of them has counted once."""
    p = start(program, first)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    return p


def stop_counting(p):
    """-> how far each thread got"""
    status, out, err = p.end(signal.SIGTERM)
    is_(status, 0, "the program ends as ever")
    return [int(n) for n in out.split()]


def record_counting(program, *options):
    """A `duet record` of such a program, which counts for a while.  -> its messages"""
    p = start(duet, "record", *options, "--", program)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    command = command_of(p, program)
    go_on(command, times=50)
    kill(command, signal.SIGTERM)
    status, _, err = p.end()
    is_(status, 0, "it is recorded: " + err)
    return err


def numbers_of(text):
    """thread -> the numbers, in order"""
    found = collections.defaultdict(list)
    for m in re.finditer(r"thread = (\d+), n = (\d+)", text):
        found[int(m[1])].append(int(m[2]))
    return found


def all_are_there(found, counts, what=""):
    for thread, n in enumerate(counts):
        if found[thread] != list(range(n)):
            seen = collections.Counter(found[thread])
            fail("%s: thread %d: %d events of %d, in order, each once; missing %s, twice %s" %
                 (what, thread, len(found[thread]), n, [i for i in range(n) if not seen[i]][:10],
                  [i for i in seen if seen[i] > 1][:10]))


def the_newest_are_there(found, counts, what=""):
    for thread, n in enumerate(counts):
        if found[thread] != list(range(n - len(found[thread]), n)):
            fail("%s: thread %d: the newest, without a gap" % (what, thread))


def kill_worker(keeper):
    """-> the number of the next one, once it is there"""
    worker = worker_of(keeper)
    kill(worker)
    return until(lambda: worker_of(keeper) != worker and worker_of(keeper), "another collector comes")
