#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""locks.py DUET - `duet report locks` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, ust, wakeup

A, B, C = ("a", 7), ("b", 8), ("c", 9)
EAGAIN, EINTR, ETIMEDOUT = -11, -4, -110
WAIT, WAKE, LOCK_PI, PRIVATE = 0, 1, 6, 128


def enter(time, who, op, address=0x1000):
    return (time, 0, who[1], "syscall_entry_futex", dict(uaddr=address, op=op, val=0))


def leave(time, who, ret=0):
    return (time, 0, who[1], "syscall_exit_futex", dict(ret=ret))


def threads(*who):
    """All of one process, with the leader A."""
    return [(10, 0, 1, "lttng_statedump_process_state", dict(tid=w[1], pid=7, ppid=1, name=w[0])) for w in who]


def report(duet, where, events, *options):
    return duet.json("report", "locks", *options, kernel(where + "/r", events))


def a_wait_has_the_thread_that_ended_it(duet, where):
    r = report(duet, where, threads(A, B) + [
        enter(1000, A, WAIT | PRIVATE), enter(1500, B, WAKE | PRIVATE), wakeup(1600, 0, B, A), leave(1700, B, 1),
        leave(1800, A, 0)])
    f = r["futexes"][0]
    check((len(r["futexes"]), f["pid"], f["address"], f["n"], f["total_ns"], f["n_wakes"], f["n_woken"]),
          (1, 7, "0x1000", 1, 800, 1, 1))
    check([(e["waiter"], e["waker"], e["n"], e["ns"]) for e in r["wakers"]], [("a:7", "b:8", 1, 800)])
    check([(s["duration_ns"], s["time_ns"] - EPOCH, s["waker"]) for s in r["slowest"]], [(800, 1000, "b:8")])


def the_ways_a_wait_ends_are_distinguished(duet, where):
    r = report(duet, where, [
        enter(1000, A, WAIT), leave(1010, A, EAGAIN), enter(1100, A, WAIT), leave(1200, A, ETIMEDOUT),
        enter(1300, A, LOCK_PI), leave(1400, A, EINTR), enter(1500, A, WAIT),
        (1600, 0, 7, "sched_process_exit", dict(tid=7))])
    f = r["futexes"][0]
    check((f["n"], f["n_changed"], f["n_timed_out"], f["n_interrupted"], f["n_open"], f["is_pi"]),
          (2, 1, 1, 1, 1, 1))
    check(f["n"] + f["n_changed"] + f["n_open"], r["n_calls"])


def no_wait_spans_a_loss(duet, where):
    r = report(duet, where, [enter(1000, A, WAIT), LOST(1500, 0, 2), leave(1800, A, 0)])
    check((r["n_waits"], r["futexes"][0]["n_open"], r["lost_events"]), (0, 1, 2))


def equal_addresses_of_two_processes_are_two_futexes(duet, where):
    r = report(duet, where, [enter(1000, A, WAIT), leave(1100, A), enter(1000, C, WAIT), leave(1300, C)])
    check([(f["pid"], f["total_ns"]) for f in r["futexes"]], [(9, 300), (7, 100)])


def locks_of_a_program_are_held_from_one_event_to_the_other(duet, where):
    u = ust(where + "/u", [(1000, 0, (7, 7), "lock:taken", dict(name="x")), (1300, 0, (7, 7), "lock:left", dict(name="x")),
                           (1400, 0, (7, 8), "lock:taken", dict(name="y")), (1500, 0, (7, 8), "lock:left", dict(name="y")),
                           (1600, 0, (7, 8), "lock:taken", dict(name="x")), (1700, 0, (7, 8), "lock:left", dict(name="x"))])
    r = duet.json("report", "locks", "--pair", "lock:taken", "lock:left", "--by", "name", u)
    check(sorted((h["key"], h["n"], h["total_ns"], h["max_ns"]) for h in r["held"]),
          [("x", 2, 400, 300), ("y", 1, 100, 100)])


def missing_events_are_reported_with_a_remedy(duet, where):
    path = kernel(where + "/r", [enter(1000, A, WAIT), leave(1100, A)])
    check("record with -k sched" in duet.text("report", "locks", path), True)
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k syscalls" in duet.run("report", "locks", where + "/u", status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
