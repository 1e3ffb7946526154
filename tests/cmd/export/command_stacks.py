#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""command_stacks.py DUET - graphs of call stacks of a command, from recordings made by hand: they hold its threads
alone, they say what they draw, and a stack without an end is cut."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../analysis"))
from check import Duet, check, run_all
from make import kernel

MINE, HELPER, OTHER, IDLE = ("mine", 7), ("helper", 8), ("other", 9), ("swapper/0", 0)
SLEEPS = 1


def switch(time, cpu, prev, following, stack, state=0):
    return (time, cpu, prev[1], "sched_switch", dict(
        prev_comm=prev[0], prev_tid=prev[1], prev_prio=20, prev_state=state, next_comm=following[0],
        next_tid=following[1], next_prio=20, callstack_user=stack))


def sample(time, cpu, who, stack):
    return (time, cpu, who[1], "profile", dict(callstack_user=stack))


# Thread 8 of process 7 has no event that shows it to be followed; another program runs between them.
EVENTS = [
    (100, 0, 50, "lttng_statedump_process_state", dict(tid=7, pid=7, ppid=1, name="mine", type=0)),
    (110, 0, 50, "lttng_statedump_process_state", dict(tid=8, pid=7, ppid=1, name="helper", type=0)),
    (120, 0, 50, "lttng_statedump_process_state", dict(tid=9, pid=9, ppid=1, name="other", type=0)),
    (130, 0, 50, "lttng_statedump_file_descriptor", dict(pid=7, fd=0, flags=0, fmode=1, filename="/dev/null")),
    switch(1000, 0, OTHER, MINE, [0x9000]),
    sample(1050, 0, MINE, [0x1000]),
    switch(1100, 0, MINE, OTHER, [0x1000, 0x1100], SLEEPS),  # for 400
    switch(1500, 0, OTHER, MINE, [0x9000]),
    sample(1550, 0, MINE, [0x1000]),
    sample(1560, 0, MINE, [0x1200]),
    switch(1600, 0, MINE, HELPER, [0x1000, 0x1100], SLEEPS),  # for 700
    switch(2000, 0, HELPER, OTHER, [0x2000], SLEEPS),  # for 600
    switch(2300, 0, OTHER, MINE, [0x9000]),  # never back
    switch(2600, 1, OTHER, HELPER, [0x9000]),
]


def folded(duet, trace, *options):
    p = duet.run("export", "folded", *options, trace)
    lines = [line.rsplit(" ", 1) for line in p.stdout.splitlines()]
    return {path: int(n) for path, n in lines}, p.stderr


def followed(where, events=EVENTS):
    return kernel(where + "/r", events, duet_scope="followed")


def a_graph_of_the_time_off_the_cpu_has_threads_of_the_command_alone(duet, where):
    got, said = folded(duet, followed(where), "--weight", "off-cpu")
    check(got, {"mine;0x1100;0x1000": 400 + 700, "helper;0x2000": 600})
    check("not shown: 4 call stacks of threads that the recording does not follow" in said, True, said)


def other_weights_have_no_foreign_stack_either(duet, where):
    trace = followed(where)
    check(folded(duet, trace, "-e", "sched_switch")[0], {"mine;0x1100;0x1000": 2, "helper;0x2000": 1})
    # From each stack to the next event with one of the same thread; helper has none after its switch.
    check(folded(duet, trace, "--weight", "time")[0],
          {"mine;0x1000": 50 + 10, "mine;0x1100;0x1000": 450, "mine;0x1200": 40})


def a_recording_of_the_machine_has_all_threads(duet, where):
    trace = kernel(where + "/r", EVENTS, duet_scope="machine")
    got, said = folded(duet, trace, "--weight", "off-cpu")
    check(got["other;0x9000"], 100 + 500)
    check("not shown" in said, False, said)


def a_graph_draws_samples_or_switches_and_says_so(duet, where):
    trace = followed(where)
    got, said = folded(duet, trace)
    check(got, {"mine;0x1000": 2, "mine;0x1200": 1})
    check("drawn: samples; not the call stacks of other events" in said, True, said)
    check("drawn: time off the CPU, from switches; not the samples" in
          folded(duet, trace, "--weight", "off-cpu")[1], True)
    check("drawn: samples and call stacks of other events together" in
          folded(duet, trace, "--weight", "time")[1], True)
    check(": samples</text>" in duet.text("export", "svg", trace), True)
    check(": time off the CPU, from switches</text>" in
          duet.text("export", "svg", "--weight", "off-cpu", trace), True)
    check(">mine</text>" in duet.text("export", "svg", "--title", "mine", trace), True)


def a_recording_of_one_kind_says_nothing(duet, where):
    trace = followed(where, [e for e in EVENTS if e[3] != "sched_switch"])
    check(folded(duet, trace), ({"mine;0x1000": 2, "mine;0x1200": 1}, ""))


def without_a_sample_the_way_to_the_other_stacks_is_named(duet, where):
    trace = followed(where)
    p = duet.run("export", "folded", "--to", "2023-11-14 22:13:20.000001020", trace, status=2)
    check("nothing is drawn: samples, and there are none" in p.stderr, True, p.stderr)


def a_stack_that_goes_in_a_circle_is_cut_and_marked(duet, where):
    trace = kernel(where + "/r", [
        EVENTS[0],
        sample(1000, 0, MINE, [0x10, 0x20] + [0x30] * 120),
        sample(2000, 0, MINE, [0x10] + [0x20, 0x30, 0x40] * 30 + [0x20, 0x30]),
        sample(3000, 0, MINE, [0x10] + [0x20] * 100 + [0x50]),  # a recursion down from its outermost function
        sample(4000, 0, MINE, [0x10, 0x20, 0x20, 0x20]),
    ])
    got, said = folded(duet, trace)
    check(got, {"mine;[repeats];0x30;0x20;0x10": 1, "mine;[repeats];0x40;0x30;0x20;0x10": 1,
                "mine;0x50" + ";0x20" * 100 + ";0x10": 1, "mine" + ";0x20" * 3 + ";0x10": 1})
    check("cut at [repeats]: 2 call stacks" in said, True, said)


if __name__ == "__main__":
    sys.exit(run_all([a_graph_of_the_time_off_the_cpu_has_threads_of_the_command_alone,
                      other_weights_have_no_foreign_stack_either, a_recording_of_the_machine_has_all_threads,
                      a_graph_draws_samples_or_switches_and_says_so, a_recording_of_one_kind_says_nothing,
                      without_a_sample_the_way_to_the_other_stacks_is_named,
                      a_stack_that_goes_in_a_circle_is_cut_and_marked], Duet(sys.argv[1])))
