#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_sched.py DUET LIBDUET PROGRAM - waits and CPU time agree with the program's and the kernel's own numbers
(schedstat, rusage) for the same run."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import check, Duet, Failed, measured, near, row, run_all

PROGRAM = None


@measured
def a_woken_thread_waits_while_its_waker_computes(duet, where):
    """Twenty wakeups on one CPU by a thread that then computes for 2 ms.  The scheduler may run the
    woken thread (SCHED_BATCH, which does not preempt) at a tick; mostly it runs afterwards."""
    trace, output = real.record_all(duet, where, ["-k", "sched"], [PROGRAM, "waits"])
    woken = int(output[0][1])
    r = duet.json("report", "sched", "--slowest", "10", trace)
    t = row(r["threads"], tid=woken)
    if not 20 <= t["n"] <= 40:
        raise Failed("%d waits, not a few more than 20: %r" % (t["n"], t))
    near(t["max_ns"], 2e6, 0.95, 100, "the longest wait")
    near(t["p50_ns"], 2e6, 0.2, 50, "the wait that half do not exceed")
    if not any(s["tid"] == woken for s in r["slowest"]):
        raise Failed("none of the longest waits is its: %r" % r["slowest"])


def threads_and_turns(duet, where, options):
    """The report's rows of program.c's threads, and the kernel's numbers as the threads read them."""
    before = real.stolen_ns()
    trace, output = real.record_all(duet, where, options, [PROGRAM, "cpu"])
    stolen = real.stolen_ns() - before
    r = duet.json("report", "cpu", "--by", "thread", trace)
    for _, name, tid, ns, turns in output:
        yield name, row(r["threads"], tid=int(tid)), int(ns), int(turns), r, stolen


def agrees(name, t, ns, r, stolen):
    """Never too much; too little by no more than the kernel did not report (see analysis/coverage.c)."""
    unseen = sum(c["unseen_ns"] for c in r["cpus"])
    if not 0.98 * ns - 2e6 - unseen <= t["cpu_ns"] <= 1.02 * ns + 2e6 + stolen:
        raise Failed("%s: %d ns (%d unseen, %d stolen), and schedstat says %d" % (name, t["cpu_ns"], unseen, stolen, ns))


@measured
def cpu_time_is_that_of_schedstat(duet, where):
    """Each thread of two processes; after reading schedstat a thread makes only a few system calls.  -k irq
    because schedstat counts interrupts as the thread's time, too."""
    for name, t, ns, turns, r, stolen in threads_and_turns(duet, where, ["-k", "sched", "-k", "irq"]):
        agrees(name, t, ns, r, stolen)
        print("# %s: %.3f ms, schedstat %.3f ms, %d switches, rusage %d" % (
            name, t["cpu_ns"] / 1e6, ns / 1e6, t["n_switches"], turns))
        near(t["n_switches"], turns, 0 if r["n_unseen"] else 0.9, 1.1, "switches of " + name)


@measured
def with_the_whole_machine_all_time_is_accounted_for(duet, where):
    for name, t, ns, turns, r, stolen in threads_and_turns(duet, where, ["-k", "sched", "--all-kernel"]):
        agrees(name, t, ns, r, stolen)
    for c in r["cpus"]:
        check(c["busy_ns"] + c["idle_ns"] + c["others_ns"] + c["unknown_ns"], r["duration_ns"], "CPU %s" % c)
        near(c["busy_ns"] + c["idle_ns"] + c["unseen_ns"], r["duration_ns"], 0.98, 1, "CPU %s" % c)
        check(r["is_partial"], 0)


if __name__ == "__main__":
    real.need_root()
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([a_woken_thread_waits_while_its_waker_computes, cpu_time_is_that_of_schedstat,
                      with_the_whole_machine_all_time_is_accounted_for], Duet(sys.argv[1])))
