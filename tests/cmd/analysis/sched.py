#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sched.py DUET - `duet report sched` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, switch, ust, wakeup

A, B, C, IDLE = ("a", 7), ("b", 8), ("c", 9), ("swapper/0", 0)
SLEEPS = 1


def report(duet, where, events, *options):
    return duet.json("report", "sched", *options, kernel(where + "/r", events))


def a_wait_is_from_waking_to_running(duet, where):
    r = report(duet, where, [wakeup(1000, 0, IDLE, A), wakeup(1100, 0, IDLE, A, "sched_wakeup"),
                             switch(1500, 0, IDLE, A), switch(1600, 0, A, IDLE, SLEEPS),
                             wakeup(2000, 0, IDLE, A), switch(2100, 0, IDLE, A)])
    a = row(r["threads"], thread="a:7")
    check((a["n"], a["total_ns"], a["max_ns"], a["n_switches"], a["n_preempted"]), (2, 600, 500, 2, 0))
    check([(s["duration_ns"], s["time_ns"], s["tid"], s["cpu"], s["after"]) for s in r["slowest"]],
          [(500, EPOCH + 1000, 7, 0, "wakeup"), (100, EPOCH + 2000, 7, 0, "wakeup")])


def a_preempted_thread_waits_too_and_is_counted_apart(duet, where):
    for i, state in enumerate((0, 0x100)):
        r = report(duet, where + "/%d" % i, [switch(1000, 0, IDLE, A), switch(1100, 0, A, B, state),
                                             switch(1400, 0, B, A, SLEEPS)])
        a = row(r["threads"], thread="a:7")
        check((a["n"], a["n_preempted"], a["preempted_ns"], a["preempted_max_ns"]), (0, 1, 300, 300))
        check(r["slowest"][0]["after"], "preemption")


def a_wakeup_of_a_running_thread_begins_nothing(duet, where):
    r = report(duet, where, [switch(1000, 0, IDLE, A), wakeup(1100, 1, B, A), switch(1200, 0, A, IDLE, SLEEPS),
                             wakeup(1300, 1, B, A), switch(1350, 0, IDLE, A)])
    a = row(r["threads"], thread="a:7")
    check((a["n"], a["max_ns"]), (1, 50))


def no_wait_spans_a_loss(duet, where):
    r = report(duet, where, [switch(500, 0, IDLE, B), wakeup(1000, 0, B, A), LOST(1500, 0, 1),
                             switch(2000, 0, B, A), switch(2100, 0, A, B, SLEEPS)])
    check((row(r["threads"], thread="a:7")["n"], r["n_cut"], r["lost_events"]), (0, 1, 1))


def threads_that_are_not_followed_are_left_out(duet, where):
    """A is recorded.  B is preempted; its next run is not recorded; later its switch away is."""
    r = report(duet, where, [switch(1000, 0, B, A, 0), (1100, 0, 7, "syscall_entry_read", dict(fd=0)),
                             switch(1200, 0, A, C, SLEEPS), wakeup(1900, 0, C, A), switch(2000, 0, B, A, 0),
                             switch(2500, 0, A, B, 0)])
    check([t["thread"] for t in r["threads"]], ["a:7"])
    check((r["threads"][0]["max_ns"], r["n_left_out"]), (100, 2))
    text = duet.text("report", "sched", where + "/r")
    check("--all-kernel" in text, True)


def dead_threads_wait_for_nothing_and_numbers_come_again(duet, where):
    r = report(duet, where, [switch(1000, 0, IDLE, A), (1100, 0, 7, "sched_process_exit", dict(tid=7)),
                             switch(1200, 0, A, B, 0x20),
                             (1300, 0, 8, "sched_process_fork", dict(
                                 parent_comm="b", parent_tid=8, child_comm="b2", child_tid=7)),
                             wakeup(1400, 0, B, ("b2", 7), "sched_wakeup_new"), switch(1500, 0, B, ("b2", 7))])
    check(sorted((t["thread"], t["n"], t["max_ns"]) for t in r["threads"] if t["tid"] == 7),
          [("a:7", 0, None), ("b2:7", 1, 100)])


def one_half_of_a_pair_is_reported_with_a_remedy(duet, where):
    path = kernel(where + "/r", [switch(1000, 0, A, B), switch(1100, 0, B, A)])
    check("no wakeups were recorded" in duet.text("report", "sched", path), True)
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k sched" in duet.run("report", "sched", where + "/u", status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
