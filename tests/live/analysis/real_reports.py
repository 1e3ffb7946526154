#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_reports.py DUET LIBDUET PROGRAM - why, io and locks agree with the program's own measurements and with the
kernel's counters (schedstat, /proc/self/io) for the same run."""
import json
import json
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import check, Duet, Failed, measured, near, row, run_all

PROGRAM = None


def unseen(t):
    return t["unknown_ns"]


def before_exec_ns(duet, trace, tid):
    """Time on a CPU before exec: `why` leaves it out."""
    lines = duet.text("view", "--json", "-e", "sched_process_exec", trace).splitlines()
    for e in (e for e in map(json.loads, lines) if e["tid"] == int(tid)):
        until = "%d.%09d" % divmod(e["time"], 10**9)
        return row(duet.json("report", "cpu", "--by", "thread", "--to", until, trace)["threads"], tid=int(tid))["cpu_ns"]
    return 0


@measured
def a_thread_s_time_is_that_of_schedstat(duet, where):
    """On a CPU: the first number of schedstat, for threads and a child."""
    before = real.stolen_ns()
    trace, output = real.record_all(duet, where, ["-k", "sched", "-k", "syscalls", "-k", "irq"], [PROGRAM, "cpu"])
    stolen = real.stolen_ns() - before
    # `why` leaves out the time before exec; so must this sum.
    began = json.loads(duet.text("view", "--json", "-e", "sched_process_exec", trace).splitlines()[0])["time"]
    cpu = duet.json("report", "cpu", "--by", "thread", "--from", "%d.%09d" % divmod(began, 10**9), trace)
    for _, name, tid, ns, _ in (s for s in output if s[0] == "thread"):
        t = row(duet.json("report", "why", "-t", tid, trace)["threads"], tid=int(tid))
        on = t["user_ns"] + t["kernel_ns"] + t["irq_ns"] + before_exec_ns(duet, trace, tid)
        if not 0.98 * int(ns) - 2e6 - unseen(t) <= on <= 1.02 * int(ns) + 2e6 + stolen:
            raise Failed("%s: %d ns on a CPU, %d unknown, %d stolen; schedstat says %s" % (
                name, on, unseen(t), stolen, ns))
        near(on + unseen(t), row(cpu["threads"], tid=int(tid))["cpu_ns"], 0.99, 100, "report cpu of " + name)
        print("# %s: %.3f ms on a CPU, schedstat %.3f ms" % (name, on / 1e6, int(ns) / 1e6))


@measured
def a_lock_is_waited_for_as_long_as_its_holder_sleeps(duet, where):
    """Thread "waiter" waits 10 times for a mutex that "holder" holds while it sleeps 20 ms; it measures its waits."""
    trace, output = real.record_all(duet, where, ["-k", "sched", "-k", "syscalls", "-k", "irq"], [PROGRAM, "mutex"])
    output = {s[0]: [int(x) for x in s[1:]] for s in output}
    waiter, waited, n = output["waiter"]
    holder = output["holder"][0]
    r = duet.json("report", "locks", trace)
    e = [e for e in r["wakers"] if e["waiter_tid"] == waiter and e["waker_tid"] == holder]
    e = max(e, key=lambda e: e["ns"])  # the other lock is the barrier
    near(e["n"], n, 0.9, 1.0, "waits")
    near(e["ns"], waited, 0.9, 1.001, "time waited")
    why = duet.json("report", "why", "-t", waiter, trace)
    blocked = [p for p in why["parts"] if p["state"] == "blocked" and
               p["where"] == "futex(%s)" % e["futex"]]
    near(sum(p["ns"] for p in blocked), waited, 0.85, 1.001, "blocked in futex")
    slept = sum(c["ns"] for c in why["chain"] if c["tid"] == holder and "nanosleep" in c["what"])
    near(slept, waited, 0.75, 1.001, "the part in which the holder slept")
    check(sum(s["ns"] for s in why["states"]), why["ns"])


def bytes_are_those_of_proc_self_io(duet, where):
    trace, output = real.record_all(duet, where, ["-k", "syscalls"], [PROGRAM, "io"])
    output = {s[0]: [int(x) for x in s[1:]] for s in output}
    pid, read, written, n_read, n_written = output["io"]
    r = duet.json("report", "io", "--by", "process", trace)
    for direction, want_bytes, want_n in (("read", read, n_read), ("write", written, n_written)):
        p = row(r["processes"], pid=pid, direction=direction)
        # Between its two reads of /proc/self/io; before and after there is a little more.
        near(p["bytes"], want_bytes, 1, 1.2, direction)
        near(p["n"], want_n, 1, 1.3, direction)


if __name__ == "__main__":
    real.need_root()
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([a_thread_s_time_is_that_of_schedstat, a_lock_is_waited_for_as_long_as_its_holder_sleeps,
                      bytes_are_those_of_proc_self_io], Duet(sys.argv[1])))
