#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calls.py DUET - `duet report functions` on recordings made by hand."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, switch, wakeup
from make_calls import PID, Batch, program

A, B, IDLE = ("a", PID), ("b", 8), ("swapper/0", 0)
NAMES = ["main", "work", "leaf"]
PARTS = ("user_ns", "kernel_ns", "blocked_ns", "runnable_ns", "interrupted_ns")


def report(duet, where, *options):
    return duet.json("report", "functions", *options, where)


def parts(r, name):
    f = row(r["functions"], function=name)
    check(sum(f[p] for p in PARTS), f["total_ns"], "the parts of " + name)
    check(sum(f["self_" + p] for p in PARTS), f["self_ns"], "the parts of " + name + " itself")
    return tuple(f[p] for p in PARTS)


def simple():
    """main 1000..9000 calls work 2000..5000, which calls leaf twice, 3000..3100 and 3200..3500."""
    b = Batch(1000)
    b.call(3100, 100, 3, 2).call(3500, 300, 3, 2).call(5000, 3000, 2, 1).call(9000, 8000, 1, 0)
    return b


def a_function_has_its_calls_and_times(duet, where):
    r = report(duet, program(where + "/r", NAMES, [simple().event(9500)], hook=90))
    check([f["function"] for f in r["functions"]], ["main", "work", "leaf"])
    f = row(r["functions"], function="leaf")
    check((f["n"], f["total_ns"], f["self_ns"], f["mean_ns"], f["min_ns"], f["max_ns"], f["file"]),
          (2, 400, 400, 200, 100, 300, "made"))
    check([row(r["functions"], function=n)["self_ns"] for n in ("main", "work")], [5000, 2600])
    check([(e["caller"], e["callee"], e["n"], e["total_ns"]) for e in r["callers"]],
          [("-", "main", 1, 8000), ("main", "work", 1, 3000), ("work", "leaf", 2, 400)])
    check([(s["duration_ns"], s["time_ns"] - EPOCH, s["function"]) for s in r["slowest"]][:2],
          [(8000, 1000, "main"), (3000, 2000, "work")])
    check([(f["hook_ns"], f["hook_heavy"]) for f in r["functions"]], [(90, ""), (90, ""), (90, "!")])


def a_pattern_selects_file_and_function(duet, where):
    path = program(where + "/r", NAMES, [simple().event(9500)])
    for pattern, want in (("leaf", ["leaf"]), ("made:w*", ["work"]), ("other:w*", None), ("made:*", NAMES)):
        if want:
            check([f["function"] for f in report(duet, path, "--function", pattern)["functions"]], want, pattern)
        else:
            duet.run("report", "functions", "--function", pattern, path, status=2)
    text = duet.run("report", "functions", "--function", "leav", path, status=2).stderr
    check("leaf" in text, True, text)


def recursion_counts_once_in_total(duet, where):
    b = Batch(1000).call(3000, 1000, 2, 2).call(4000, 3000, 2, 1).call(5000, 4000, 2, 0)
    f = row(report(duet, program(where + "/r", NAMES, [b.event(6000)]))["functions"], function="work")
    check((f["n"], f["total_ns"], f["self_ns"]), (3, 4000, 4000))


def a_call_over_two_batches_has_one_time(duet, where):
    one = Batch(1000).call(2000, 500, 3, 1).open(1, 1200, 0)
    two = Batch(3000, sequence=1).call(4000, 500, 3, 1).call(5000, 3800, 1, 0)
    r = report(duet, program(where + "/r", NAMES, [one.event(3000), two.event(5500)]))
    f = row(r["functions"], function="main")
    check((f["n"], f["total_ns"], f["self_ns"]), (1, 3800, 2800))


def unfinished_batches_and_open_frames_count(duet, where):
    one = Batch(1000).call(2000, 500, 3, 1).open(1, 1200, 0)
    two = Batch(3000, sequence=1).call(4000, 500, 3, 1)
    r = report(duet, program(where + "/r", NAMES, [one.event(3000), (9200, 0, (PID, PID), "shop:end", dict(id=1))],
                             areas=[two.area(frames=[(1200, 1), (4500, 2)])]))
    check([(f["function"], f["n"], f["n_open"], f["total_ns"]) for f in r["functions"]],
          [("work", 1, 1, 4700), ("main", 1, 1, 8000), ("leaf", 2, 0, 1000)])
    check(r["n_lost_batches"], 0)


def a_batch_recorded_as_event_counts_once(duet, where):
    r = report(duet, program(where + "/r", NAMES, [simple().event(9500)], areas=[simple().area()]))
    check(r["n_calls"], 4)


def lost_and_torn_batches_are_shown(duet, where):
    one = Batch(1000).call(2000, 500, 3, 1).open(1, 1200, 0)
    three = Batch(6000, sequence=2, lost=5).call(7000, 100, 3, 1).note(1, 3)
    three.bytes += b"\0\0\0" + b"\x05\x05\x0c"
    path = program(where + "/r", NAMES, [one.event(3000), three.event(7500)])
    r = report(duet, path)
    check((r["n_lost_batches"], r["n_lost_calls"], r["n_torn"], r["n_calls"]), (1, 8, 1, 3))
    check(row(r["functions"], function="main")["n_open"], 1)
    check("thread 7: 1 batches lost" in duet.text("report", "functions", path), True, "losses for people")


def damage_ends_a_batch_and_is_counted(duet, where):
    b = simple()
    b.bytes += b"\xff" * 40
    r = report(duet, program(where + "/r", NAMES, [b.event(9500)]))
    check((r["n_damaged"], r["n_calls"]), (1, 4))


def functions_without_a_plan_have_numbers(duet, where):
    path = program(where + "/r", NAMES, [simple().event(9500)])
    os.unlink(os.path.join(path, ".duet/plans", os.listdir(os.path.join(path, ".duet/plans"))[0]))
    r = report(duet, path)
    check((r["n_without_plan"], [f["function"] for f in r["functions"]]), (1, ["#1", "#2", "#3"]))
    os.unlink(os.path.join(path, ".duet/calls/7-1"))
    r = report(duet, path)
    check((r["n_without_file"], r["n_calls"]), (1, 4))


def elided_functions_are_listed(duet, where):
    r = report(duet, program(where + "/r", NAMES, [simple().event(9500)], states={3: (2, 300, 3000)}))
    check([(e["function"], e["n"], e["mean_ns"]) for e in r["elided"]], [("leaf", 300, 10)])


def a_profile_is_part_of_the_report(duet, where):
    area = Batch(1000).area(paths=[(0, 0, 0, 0, 0), (0, 1, 2, 2, 5000), (1, 2, 10, 5, 1000), (2, 3, 100, 0, 0)])
    r = report(duet, program(where + "/r", NAMES, [(2000, 0, (PID, PID), "shop:end", dict(id=1))], areas=[area]))
    check([(f["function"], f["n"], f["total_ns"], f["self_ns"]) for f in r["functions"]],
          [("main", 2, 5000, 3000), ("work", 10, 2000, 2000), ("leaf", 100, 0, 0)])


def a_recording_without_calls_is_refused(duet, where):
    from make import kernel
    kernel(where + "/r", [switch(1000, 0, A, B)])
    check("--graph" in duet.run("report", "functions", where + "/r", status=2).stderr, True)


def syscall(time, tid, name, cpu=0, **fields):
    return (time, cpu, tid, name, fields)


def time_splits_into_five_parts(duet, where):
    """main 1000..9000: work 2000..8000 makes a read 2500..7000, in which it is blocked 3000..5000 and runnable 5000..6000;
    an interrupt 7200..7300; preempted 8200..8600."""
    k = [switch(900, 0, IDLE, A),
         syscall(2500, PID, "syscall_entry_read", fd=3, count=10),
         switch(3000, 0, A, B, 1), wakeup(5000, 0, B, A), switch(6000, 0, B, A),
         syscall(7000, PID, "syscall_exit_read", ret=5),
         (7200, 0, PID, "irq_handler_entry", dict(irq=5, name="eth0")),
         (7300, 0, PID, "irq_handler_exit", dict(irq=5, ret=1)),
         switch(8200, 0, A, B, 0), switch(8600, 0, B, A),
         switch(9600, 0, A, IDLE, 1)]
    b = Batch(1000).call(8000, 6000, 2, 1).call(9000, 8000, 1, 0)
    r = report(duet, program(where + "/r", NAMES, [b.event(9500)], k))
    check(parts(r, "work"), (500 + 200 + 700, 500 + 1000, 2000, 1000, 100))
    check(parts(r, "main"), (1400 + 1000 + 200 + 400, 1500, 2000, 1400, 100))
    check((r["n_crossings"], r["n_misnested"]), (0, 0))


def kernel_functions_are_kernel_time(duet, where):
    k = [switch(900, 0, IDLE, A),
         (3000, 0, PID, "funcgraph_entry", dict(func=0x1000, depth=0)),
         (3200, 0, PID, "funcgraph_entry", dict(func=0x2000, depth=1)),
         (3300, 0, PID, "funcgraph_exit", dict(func=0x2000, depth=1, duration=100)),
         (4000, 0, PID, "funcgraph_exit", dict(func=0x1000, depth=0, duration=1000))]
    b = Batch(1000).call(5000, 3000, 2, 0)
    r = report(duet, program(where + "/r", NAMES, [b.event(9500)], k))
    check(parts(r, "work"), (2000, 1000, 0, 0, 0))


def a_crossing_is_counted_and_cut(duet, where):
    k = [switch(900, 0, IDLE, A), syscall(2500, PID, "syscall_entry_read", fd=3, count=10),
         syscall(7000, PID, "syscall_exit_read", ret=5)]
    b = Batch(1000).call(3000, 1000, 2, 1).call(9000, 8000, 1, 0)
    r = report(duet, program(where + "/r", NAMES, [b.event(9500)], k))
    check(r["n_crossings"], 1)
    check(parts(r, "work"), (500, 500, 0, 0, 0))
    check(parts(r, "main"), (7500, 500, 0, 0, 0))


def a_loss_in_the_kernel_keeps_the_sum(duet, where):
    k = [switch(900, 0, IDLE, A), syscall(2500, PID, "syscall_entry_read", fd=3, count=10), LOST(4000, 0, 5),
         switch(8500, 0, B, A)]
    b = Batch(1000).call(9000, 8000, 1, 0)
    r = report(duet, program(where + "/r", NAMES, [b.event(9500)], k))
    parts(r, "main")


def open_calls_end_with_their_thread(duet, where):
    k = [switch(900, 0, IDLE, A), (4000, 0, PID, "sched_process_exit", dict(comm="a", tid=PID, prio=20)),
         switch(4100, 0, A, B, 0x40), switch(90000, 0, B, IDLE)]
    b = Batch(1000).call(3000, 1000, 2, 1).open(1, 1000, 0)
    r = report(duet, program(where + "/r", NAMES, [b.event(3500)], k))
    check(row(r["functions"], function="main")["total_ns"], 3100)


def a_range_selects_calls(duet, where):
    b = Batch(1000)
    for i in range(1, 100):
        b.call(1000 + i * 1000, 500, 3, 1)
    b.call(200000, 199000, 1, 0)
    path = program(where + "/r", NAMES, [b.event(200500)])
    r = report(duet, path, "--from", "22:13:20.00001", "--to", "22:13:20.00002")
    check([(f["function"], f["n"]) for f in r["functions"]], [("main", 1), ("leaf", 11)])


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
