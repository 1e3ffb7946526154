#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpu.py DUET - `duet report cpu` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import LOST, kernel, switch, ust

A, B, IDLE = ("a", 7), ("b", 8), ("swapper/0", 0)
SLEEPS = 1


def report(duet, where, events, *options):
    return duet.json("report", "cpu", *options, kernel(where + "/r", events))


def irq(time, name, tid=7, cpu=0, **fields):
    return (time, cpu, tid, name, fields or dict(vector=236))


def the_state_dump_gives_the_initial_state_of_cpus(duet, where):
    def topology(cpu, package, core):
        return (900, 0, 5, "lttng_statedump_cpu_topology",
                dict(cpu_id=cpu, physical_id=package, core_id=core, vendor="V", model_name="Model 7"))
    events = [topology(0, 0, 0), topology(1, 0, 0), topology(2, 1, 0), switch(1000, 0, A, B), switch(1400, 2, B, IDLE, SLEEPS)]
    r = report(duet, where, events)
    check([(c["cpu"], c["package"], c["core"]) for c in r["cpus"]], [(0, 0, 0), (2, 1, 0)])
    check("3 CPUs in 2 cores, 2 packages: Model 7" in duet.text("report", "cpu", where + "/r"), True)
    r = duet.json("report", "cpu", "--from", "1700000000.00000095", where + "/r")
    check((r["duration_ns"], [c["package"] for c in r["cpus"]]), (400, [0, 1]))
    kernel(where + "/n", [switch(1000, 0, A, B), switch(1400, 0, B, A)])
    check(duet.json("report", "cpu", where + "/n")["cpus"][0]["package"], -1)


def all_time_of_each_cpu_is_accounted_for(duet, where):
    r = report(duet, where, [switch(1000, 0, A, B), switch(1400, 0, B, IDLE, SLEEPS), switch(1500, 1, IDLE, A),
                             switch(1900, 0, IDLE, B), switch(2000, 1, A, IDLE, SLEEPS)])
    check(r["duration_ns"], 1000)
    c = row(r["cpus"], cpu=0)
    check((c["busy_ns"], c["idle_ns"], c["others_ns"], c["unknown_ns"]), (500, 500, 0, 0))
    c = row(r["cpus"], cpu=1)
    check((c["busy_ns"], c["idle_ns"], c["busy_percent"]), (500, 500, 50.0))
    check([(p["process"], p["cpu_ns"], p["n_switches"]) for p in r["processes"]],
          [("a:7", 500, 1), ("b:8", 500, 2)])


def threads_running_at_the_beginning_and_end_are_charged(duet, where):
    r = report(duet, where, [(1000, 0, 7, "syscall_entry_x", dict(a=1)), switch(1300, 0, A, B),
                             (2000, 0, 8, "syscall_entry_x", dict(a=1))], "--by", "thread")
    check([(t["thread"], t["cpu_ns"]) for t in r["threads"]], [("b:8", 700), ("a:7", 300)])


def interrupts_are_nested_and_charged_to_the_innermost(duet, where):
    r = report(duet, where, [
        switch(1000, 0, IDLE, A), irq(1100, "x86_irq_vectors_local_timer_entry"),
        irq(1150, "x86_irq_vectors_local_timer_exit"), irq(1200, "irq_softirq_entry", vec=1),
        irq(1250, "irq_handler_entry", irq=9), irq(1270, "irq_handler_exit", irq=9),
        irq(1300, "irq_softirq_exit", vec=1), irq(1350, "irq_handler_exit", irq=9),
        switch(1500, 0, A, IDLE, SLEEPS)])
    c = row(r["cpus"], cpu=0)
    check((c["irq_ns"], c["n_irqs"], c["softirq_ns"], c["n_softirqs"]), (70, 2, 80, 1))
    check((r["processes"][0]["cpu_ns"], r["processes"][0]["irq_ns"]), (500, 150))


def time_around_a_loss_is_charged_to_no_thread(duet, where):
    r = report(duet, where, [switch(1000, 0, IDLE, A), switch(1100, 0, A, B), LOST(1500, 0, 2),
                             switch(2000, 0, IDLE, A), switch(2100, 0, A, IDLE, SLEEPS)])
    c = row(r["cpus"], cpu=0)
    check((c["busy_ns"], c["unknown_ns"], c["idle_ns"]), (200, 900, 0))


def threads_that_are_not_recorded_are_not_named(duet, where):
    def own(time):
        return (time, 0, 7, "syscall_entry_x", dict(a=1))
    r = report(duet, where, [switch(1000, 0, B, A), own(1010), switch(1100, 0, A, B, SLEEPS),
                             switch(1500, 0, IDLE, A), own(1510), switch(1700, 0, A, IDLE, SLEEPS),
                             switch(2000, 0, IDLE, A)])
    c = row(r["cpus"], cpu=0)
    check((r["is_partial"], c["busy_ns"], c["others_ns"], c["idle_ns"]), (1, 300, 400, 300))
    check([p["process"] for p in r["processes"]], ["a:7"])


def missing_kernel_events_are_reported_with_a_remedy(duet, where):
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k sched" in duet.run("report", "cpu", where + "/u", status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
