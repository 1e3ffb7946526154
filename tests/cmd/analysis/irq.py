#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""irq.py DUET - `duet report irq` on recordings made by hand."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, switch, ust

A, IDLE = ("a", 7), ("swapper/0", 0)


def entry(time, cpu, tid, irq=5, name="eth0"):
    return (time, cpu, tid, "irq_handler_entry", dict(irq=irq, name=name))


def leave(time, cpu, tid, irq=5):
    return (time, cpu, tid, "irq_handler_exit", dict(irq=irq, ret=1))


def soft(time, cpu, tid, what, vec=3):
    return (time, cpu, tid, "irq_softirq_" + what, dict(vec=vec))


def report(duet, where, events, *options):
    return duet.json("report", "irq", *options, kernel(where + "/r", events))


def nested_ones_have_their_own_time(duet, where):
    """A soft interrupt of 1000 ns, interrupted by a hard one of 300 ns."""
    r = report(duet, where, [soft(1000, 0, 7, "entry"), entry(1200, 0, 7), leave(1500, 0, 7), soft(2000, 0, 7, "exit"),
                             entry(3000, 0, 0), leave(3100, 0, 0)])
    n = row(r["interrupts"], name="NET_RX")
    check((n["kind"], n["n"], n["total_ns"], n["own_ns"]), ("softirq", 1, 1000, 700))
    n = row(r["interrupts"], name="eth0")
    check((n["kind"], n["number"], n["n"], n["total_ns"], n["max_ns"]), ("irq", 5, 2, 400, 300))
    check(r["own_ns"], 1100)
    check([(v["tid"], v["n"], v["own_ns"]) for v in r["interrupted"]], [(7, 2, 1000), (0, 1, 100)])
    check([(s["duration_ns"], s["time_ns"] - EPOCH, s["name"]) for s in r["slowest"]],
          [(1000, 1000, "NET_RX"), (300, 1200, "eth0"), (100, 3000, "eth0")])


def a_soft_one_waits_from_its_first_raise(duet, where):
    r = report(duet, where, [soft(1000, 0, 7, "raise"), soft(1100, 0, 7, "raise"), soft(1000, 1, 7, "raise"),
                             soft(1400, 0, 7, "entry"), soft(1500, 0, 7, "exit")])
    check(row(r["interrupts"], name="NET_RX")["wait_max_ns"], 400)


def vectors_are_named_and_cpus_separate(duet, where):
    r = report(duet, where, [(1000, c, 7, "x86_irq_vectors_local_timer_entry", dict(vector=236)) for c in (0, 1)] +
               [(1000 + d, c, 7, "x86_irq_vectors_local_timer_exit", dict(vector=236)) for c, d in ((0, 50), (1, 70))],
               "--by", "cpu")
    check([(n["kind"], n["name"], n["cpu"], n["total_ns"]) for n in r["interrupts"]],
          [("vector", "local_timer", 1, 70), ("vector", "local_timer", 0, 50)])


def halves_are_counted_and_have_no_duration(duet, where):
    r = report(duet, where, [leave(900, 0, 7), entry(1000, 0, 7), switch(1100, 0, A, IDLE), entry(1200, 0, 7),
                             LOST(1300, 0, 1), leave(1400, 0, 7), entry(1500, 0, 7)])
    check((r["n"], r["n_left"], r["n_headless"], r["interrupts"], r["lost_events"]), (0, 3, 2, [], 1))


def names_that_events_lack_are_those_of_the_state_dump(duet, where):
    def dump(time, irq, action):
        return (time, 0, 7, "lttng_statedump_interrupt", dict(irq=irq, name="PCI-MSIX", action=action))

    def named(events, *options):
        return {s["name"] for s in report(duet, where + "/%d" % len(os.listdir(where)), events, *options)["slowest"]}
    bare = [(1000, 0, 7, "irq_handler_entry", dict(irq=5)), leave(1300, 0, 7)]
    check(named(bare), {"irq 5"})
    check(named(bare + [dump(1400, 6, "disk"), dump(1500, 5, "eth9"), dump(1600, 5, "other")]), {"eth9"})
    check(named([dump(900, 5, "eth9")] + bare, "--from", "+100ns"), {"eth9"})
    check(named([dump(900, 5, "")] + bare), {"irq 5"})
    # The name in the first entry is used; a handler that ended before its name was known gets it later.
    check(named([leave(900, 0, 7), entry(1000, 0, 7), leave(1100, 0, 7)]), {"eth0"})


def without_interrupts_it_explains_how_to_record_them(duet, where):
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k irq" in duet.run("report", "irq", where + "/u", status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
