#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""syscalls.py DUET - `duet report syscalls` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, ust


def entry(time, tid, call, cpu=0):
    return (time, cpu, tid, "syscall_entry_" + call, dict(arg=0))


def exit(time, tid, call, ret=0, cpu=0):
    return (time, cpu, tid, "syscall_exit_" + call, dict(ret=ret))


def report(duet, where, events, *options):
    return duet.json("report", "syscalls", *options, kernel(where + "/r", events))


def calls_of_threads_may_overlap(duet, where):
    r = report(duet, where, [entry(1000, 1, "read"), entry(1100, 2, "read"), exit(1300, 2, "read", 5),
                             exit(2000, 1, "read", 6)])
    read = row(r["syscalls"], call="read")
    check((read["n"], read["total_ns"], read["min_ns"], read["max_ns"]), (2, 1200, 200, 1000))
    check([(s["duration_ns"], s["time_ns"], s["tid"], s["result"]) for s in r["slowest"]],
          [(1000, EPOCH + 1000, 1, 6), (200, EPOCH + 1100, 2, 5)])


def errors_are_counted_by_name(duet, where):
    events = []
    for i, ret in enumerate([-2, -2, -11, 0, 7, -4096, -512]):
        events += [entry(1000 + 10 * i, 1, "x"), exit(1001 + 10 * i, 1, "x", ret)]
    x = row(report(duet, where, events)["syscalls"], call="x")
    check((x["n"], x["n_errors"], x["errors"]), (7, 4, "ENOENT 2, EAGAIN 1, ERESTARTSYS 1"))


def percentiles_are_exact(duet, where):
    events, time = [], 1000
    for i in range(1000):  # durations 1 ... 1000, shuffled
        events += [entry(time, 1, "x"), exit(time + 1 + i * 377 % 1000, 1, "x")]
        time += 2000
    x = row(report(duet, where, events)["syscalls"], call="x")
    check([x[k] for k in ("p50_ns", "p90_ns", "p99_ns", "max_ns", "min_ns", "total_ns", "mean_ns")],
          [500, 900, 990, 1000, 1, 500500, 500])


def a_recording_may_begin_and_end_in_the_middle(duet, where):
    r = report(duet, where, [exit(1000, 1, "poll", 1), entry(1100, 1, "read"), exit(1200, 1, "read"),
                             entry(1300, 1, "poll")])
    poll = row(r["syscalls"], call="poll")
    check((poll["n"], poll["n_headless"], poll["n_open"], poll["max_ns"]), (2, 1, 1, None))


def a_call_that_does_not_return_is_open(duet, where):
    r = report(duet, where, [entry(1000, 1, "rt_sigreturn"), entry(1100, 1, "read"), exit(1150, 1, "read"),
                             entry(1200, 1, "exit"), (1300, 0, 1, "sched_process_exit", dict(tid=1))])
    check([(c["call"], c["n"], c["n_open"]) for c in sorted(r["syscalls"], key=lambda c: c["call"])],
          [("exit", 1, 1), ("read", 1, 0), ("rt_sigreturn", 1, 1)])


def an_exit_of_another_call_ends_nothing(duet, where):
    r = report(duet, where, [entry(1000, 1, "read"), exit(1100, 1, "write"), exit(1200, 1, "read")])
    check(sorted((c["call"], c["n_open"], c["n_headless"]) for c in r["syscalls"]),
          [("read", 1, 1), ("write", 0, 1)])


def the_return_of_clone_in_the_child_is_no_call(duet, where):
    r = report(duet, where, [entry(1000, 1, "clone"), exit(1100, 2, "clone", 0), exit(1200, 1, "clone", 2)])
    check((r["syscalls"][0]["n"], r["syscalls"][0]["n_headless"]), (1, 0))


def exec_in_a_thread_ends_under_the_number_of_the_process(duet, where):
    r = report(duet, where, [entry(1000, 8, "execve"),
                             (1100, 0, 7, "sched_process_exec", dict(filename="/bin/x", tid=7, old_tid=8)),
                             exit(1200, 7, "execve")])
    check([r["syscalls"][0][k] for k in ("n", "n_open", "n_headless", "max_ns")], [1, 0, 0, 200])


def exec_in_a_thread_leaves_the_call_of_the_first_thread_open(duet, where):
    """Each entry is counted once; the kernel ends the first thread within its call."""
    r = report(duet, where, [entry(900, 7, "futex"), entry(1000, 8, "execve"),
                             (1100, 0, 7, "sched_process_exec", dict(filename="/bin/x", tid=7, old_tid=8)),
                             exit(1200, 7, "execve")])
    check([(c["call"], c["n"], c["n_open"]) for c in r["syscalls"]], [("execve", 1, 0), ("futex", 1, 1)])


def no_duration_spans_a_loss(duet, where):
    events = [entry(1000, 1, "read"), LOST(2000, 0, 3), exit(3000, 1, "read"), entry(3100, 1, "read"),
              exit(3200, 1, "read")]
    r = report(duet, where, events)
    read = row(r["syscalls"], call="read")
    check((read["n"], read["max_ns"], read["n_open"], read["n_headless"]), (3, 100, 1, 1))
    text = duet.text("report", "syscalls", where + "/r")
    check("counts are low: 3 events lost" in text, True, text)


def one_half_of_a_pair_is_reported_with_a_remedy(duet, where):
    path = kernel(where + "/r", [entry(1000, 1, "read"), entry(1100, 1, "read")])
    check("no exits of calls" in duet.text("report", "syscalls", path), True)
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    output = duet.run("report", "syscalls", where + "/u", status=2).stderr
    check("duet record -k syscalls" in output and "of the kernel" in output, True, output)


def threads_of_a_process_are_added_up(duet, where):
    clone = [(900, 0, 1, "syscall_entry_clone", dict(clone_flags=0x10000)),
             (950, 0, 1, "sched_process_fork", dict(parent_comm="a", parent_tid=1, child_comm="a", child_tid=2)),
             exit(960, 1, "clone", 2)]
    calls = [entry(1000, 1, "read"), exit(1100, 1, "read"), entry(1200, 2, "read"), exit(1300, 2, "read"),
             entry(1400, 3, "read"), exit(1500, 3, "read", -4)]
    r = report(duet, where, clone + calls, "--by", "process")
    check(sorted((c["pid"], c["n"], c["n_errors"]) for c in r["syscalls"] if c["call"] == "read"),
          [(1, 2, 0), (3, 1, 1)])


def as_many_slowest_as_asked(duet, where):
    events = []
    for i in range(50):
        events += [entry(10000 * i, 1, "x"), exit(10000 * i + 1 + i * 7 % 50, 1, "x")]
    r = report(duet, where, events, "--slowest", "3")
    check([s["duration_ns"] for s in r["slowest"]], [50, 49, 48])


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
