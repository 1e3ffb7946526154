#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_sched.py DUET LIBDUET PROGRAM - waits and CPU time are what the program and the kernel's own
accounts (schedstat, rusage) say of the same run."""
import os
import sys

sys.dont_write_bytecode = True  # beside the sources
import real
from check import Duet, Failed, check, near, row, run_all

PROGRAM = None


def a_woken_thread_waits_while_its_waker_computes(duet, where):
    """Twenty wakeups on one CPU by a thread that then computes for 2 ms.  The scheduler may let the
    woken one (SCHED_BATCH, which does not preempt) on at a tick; mostly it waits them out."""
    trace, said = real.record(duet, where, ["-k", "sched"], [PROGRAM, "waits"])
    woken = int(said[0][1])
    r = duet.json("report", "sched", "--slowest", "10", trace)
    t = row(r["threads"], tid=woken)
    if not 20 <= t["n"] <= 40:
        raise Failed("%d waits, not a few more than 20: %r" % (t["n"], t))
    near(t["p90_ns"], 2e6, 0.9, 50, "the wait that 90 % do not exceed")
    if not any(s["tid"] == woken for s in r["slowest"]):
        raise Failed("none of the longest waits is its: %r" % r["slowest"])


if __name__ == "__main__":
    real.need_root()
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([a_woken_thread_waits_while_its_waker_computes], Duet(sys.argv[1])))
