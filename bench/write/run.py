#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the write path in one table: duet, LTTng-UST where it is installed, and a reference, in one run.

usage: run.py [--only event|start|find] [--json FILE] [--rounds N] [--realtime] PART...
       (`ninja -C build bench-write` passes the parts that were built)

All take turns, N rounds, so that a noisy minute affects all of them.  A figure is the median of the rounds, with the
lowest and the highest.  On a shared machine --realtime (root) runs everything measured, the collectors too, with
real-time priority; the caches are still shared.  JSON, ROUNDS and REALTIME in the environment mean the same as the
options.
"""
import argparse
import datetime
import os
import signal
import sys

sys.dont_write_bytecode = True
from begin import Begin
from event import Events
from find import Find
from table import Table, machine, processor
from tracers import Duet, Lttng, Work


def arguments():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    p.add_argument("--only", choices=("event", "start", "find"))
    p.add_argument("--json", default=os.environ.get("JSON"))
    p.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", "5")))
    p.add_argument("--realtime", action="store_true", default=bool(os.environ.get("REALTIME")))
    p.add_argument("parts", nargs="+")
    return p.parse_args()


def load():
    with open("/proc/loadavg") as f:
        return f.read().split()[0]


def measure(a, table, work, parts):
    duet = Duet(work, parts["duet"], parts["libduet.so.0"])
    lttng = Lttng(work)
    if "event-lttng" not in parts or not lttng.up():
        lttng = None
    programs = {name.split("-")[-1]: path for name, path in parts.items() if name.startswith("program-")}
    programs["start"] = parts["start"]
    events = Events(table, work, duet, parts["event-duet"], lttng, parts.get("event-lttng"))
    kinds = {"event": events, "start": Begin(table, work, duet, lttng, programs, parts["libempty.so"]),
             "find": Find(table, work, duet, lttng, parts["libduet-libc.so.0"])}
    for _ in range(a.rounds):
        for name, kind in kinds.items():
            if a.only in (None, name):
                kind.round()
    if a.only in (None, "event"):
        for i in range(a.rounds):
            events.collectors(("empty", "int", "int+str16", "8ints") if not i else ("int",))


def main():
    a = arguments()
    parts = {os.path.basename(p): p for p in a.parts}
    table, work = Table(), Work()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    before = load()
    if a.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    try:
        measure(a, table, work, parts)
    finally:
        work.close()
    head = "%s; %s; load before %s, after %s%s" % (datetime.date.today(), machine(), before, load(),
                                                   "; real-time priority" if a.realtime else "")
    print("# %s; median (min-max) of %d rounds" % (head, a.rounds))
    table.print()
    print("\n%s" % ("Rows whose events were lost in part say so." if table.has_losses() else "No event was lost."))
    for why in table.refuted:
        print("# not proved: %s" % why)
    if a.json:
        with open(a.json, "w") as f:
            f.write(table.as_json(machine=head, processor=processor(), benchmark="write") + "\n")
    sys.exit(1 if table.refuted else 0)


main()
