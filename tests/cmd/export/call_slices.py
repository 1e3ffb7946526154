#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""call_slices.py DUET - calls of programs in `duet export perfetto` and `chrome`, on recordings made by hand."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../analysis"))
from check import Duet, check, run_all
from make import EPOCH, LOST, kernel
from make_call_trees import calls
import perfetto

TREE = [("main", 1000, 21000, [("read_page", 4000, 16000, [("fill", 5000, 15500, [])]), ("work", 17000, 17200, [])])]


def recording(where, events=()):
    r = calls(where + "/r", {11: TREE}, events=events)
    kernel(r + "/kernel", [(6000, 0, 11, "syscall_entry_read", dict(fd=7)), (14000, 0, 11, "syscall_exit_read", dict(ret=5))])
    return r


def slices(duet, *argv):
    p = subprocess.run([duet.path, "export", "perfetto", *argv], stdout=subprocess.PIPE, check=True)
    t = perfetto.Trace(p.stdout)
    return sorted((b, e, name) for name, b, e, _ in perfetto.slices(t.of_thread(11)))


def perfetto_has_calls_around_system_calls(duet, where):
    check(slices(duet, recording(where)),
          [(EPOCH + b, EPOCH + e, n) for b, e, n in ((1000, 21000, "main"), (4000, 16000, "read_page"),
                                                     (5000, 15500, "fill"), (6000, 14000, "read"), (17000, 17200, "work"))])


def calls_open_at_the_beginning_begin_there(duet, where):
    begin = "%d.%09d" % divmod(EPOCH + 5500, 10**9)
    check(slices(duet, "--from", begin, recording(where)),
          [(EPOCH + b, EPOCH + e, n) for b, e, n in ((5500, 15500, "fill"), (5500, 16000, "read_page"), (5500, 21000, "main"),
                                                     (6000, 14000, "read"), (17000, 17200, "work"))])


def a_loss_of_events_ends_no_call(duet, where):
    r = recording(where, events=[(4500, 0, (10, 11), "shop:order", dict(id=1)), LOST(4600, 0, 3)])
    check([n for _, _, n in slices(duet, r)], ["main", "read_page", "fill", "read", "work"])


def chosen_events_come_without_calls(duet, where):
    r = recording(where)
    check(slices(duet, "-e", "syscall_*", r), [(EPOCH + 6000, EPOCH + 14000, "read")])


def deep_calls_beyond_the_limit_keep_the_others_right(duet, where):
    tree = []
    for depth in reversed(range(400)):
        tree = [("f", 1000 + depth, 5000 - depth, tree)]
    r = calls(where + "/r", {11: tree})
    e = [x["ph"] for x in json.loads(duet.text("export", "chrome", r))["traceEvents"] if x["ph"] in "BE"]
    check((e.count("B"), e.count("E")), (256, 256))


sys.exit(run_all([perfetto_has_calls_around_system_calls, calls_open_at_the_beginning_begin_there,
                  a_loss_of_events_ends_no_call, chosen_events_come_without_calls,
                  deep_calls_beyond_the_limit_keep_the_others_right], Duet(sys.argv[1])))
