#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Marks of sys/sdt.h in a program without libduet become ordinary events, written by the program itself: each hit once, with its
operands, in threads and children; the program computes what it computes alone.

arguments: DUET PROGRAM LIBDUET [N]
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record, view  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, start, until, work  # noqa: E402

program, libduet = paths(2)
N = int(sys.argv[4]) if len(sys.argv) > 4 else 5000
MARKS = ("--usdt", program + ":shop:order number text:str sum", "--usdt", program + ":shop:guarded")


def recorded(name, *args, options=(), marks=MARKS):
    """-> the recording, its lines of -v; the program's output is that of a run alone"""
    alone = run(program, *args)[1]
    out, err = record(work + "/" + name, "-v", "--usdt-by", "program", *options, *marks, "--", program, *args)
    is_(out.split("\n")[0], alone.strip(), "%s computes the same" % " ".join(args))
    return work + "/" + name, err


def events(trace, name, *fields):
    return [tuple(e["fields"][f] for f in fields) for e in view(trace, "-e", name, may_lose=False)]


def every_hit_is_an_event_with_its_operands():
    trace, err = recorded("order", "order", str(N))
    ok("shop:order: recorded in the program" in err and "shop:guarded: recorded in the program" in err, "-v says so", err)
    is_(events(trace, "shop:order", "number", "text", "sum"), [(i, "item %d" % i, i * i) for i in range(N)], "the operands")
    is_(len(events(trace, "shop:guarded")), N, "semaphores are counted up")


def an_unwanted_mark_keeps_its_semaphore():
    trace, _ = recorded("unguarded", "order", "10", marks=MARKS[:2])
    is_(len(events(trace, "shop:order")), 10, "the wanted one")
    is_(events(trace, "shop:guarded"), [], "the other one")


def threads_and_children_record():
    trace, _ = recorded("threads", "threads", str(N))
    is_(len(events(trace, "shop:order")), 8 * N, "8 threads")
    trace, _ = recorded("fork", "fork", "100")
    found = view(trace, "-e", "shop:order", may_lose=False)
    is_(len(found), 200, "parent and child")
    is_(len({e["pid"] for e in found}), 2, "two processes")


def is_loaded(pid):
    """It sleeps between its marks.  While the loader works, a program has no C library yet, and is refused."""
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/stat" % pid) as stat:
        return "libc.so.6" in maps.read() and stat.read().rpartition(") ")[2].startswith("S")


def a_running_program_is_attached_to():
    p = start(program, "slow", stdin=subprocess.PIPE)
    until(lambda: is_loaded(p.pid), "its loader is done")
    recorder = start(duet, "record", "-o", work + "/running", "-v", "--usdt-by", "program", "-p", str(p.pid), *MARKS)
    until(lambda: os.path.exists(work + "/running/ust") and len(cmd("view", "-e", "shop:order", work + "/running")[1]) > 1000, "it records")
    n = int(p.communicate()[0])
    status, _, err = recorder.end(signal.SIGINT)
    is_(status, 0, "duet record -p: " + err)
    numbers = [e[0] for e in events(work + "/running", "shop:order", "number")]
    ok(numbers and numbers == list(range(numbers[0], n)), "from one hit on, all", "%d of %d" % (len(numbers), n))
    ok(abs(len(events(work + "/running", "shop:guarded")) - len(numbers)) <= 1, "with the semaphore")


def texts_that_are_none_do_no_harm():
    trace, _ = recorded("text", "text")
    is_(events(trace, "shop:order", "number", "text"), [(1, "(null)"), (2, "(fault)"), (3, "(fault)"), (4, "tea")], "texts")


def contexts_and_filters_are_those_of_events():
    for name, options in (("filter", ()), ("filter_beside", ("-e", "other:*"))):
        trace, _ = recorded(name, "order", "100", options=options, marks=MARKS[:2] + ("-f", 'number >= 90 || text == "item 3"') + MARKS[2:])
        is_([e[0] for e in events(trace, "shop:order", "number")], [3, *range(90, 100)], "filtered in the program")
        is_(len(events(trace, "shop:guarded")), 100, "the other mark has no filter")
    trace, _ = recorded("contexts", "order", "100", options=("-c", "ip"))
    found = view(trace, "-e", "shop:*", may_lose=False)
    is_(len({(e["event"], e["context"]["ip"]) for e in found}), 2, "each mark has an address of its own")


def a_mark_without_room_is_refused_or_left_to_the_kernel():
    status, _, err = cmd("record", "-o", work + "/cramped", "--usdt-by", "program", "--usdt", program + ":shop:cramped", "--", program)
    ok(status != 0 and "no marker can be recorded in the program" in err, "only this one: %s" % err)
    trace, err = recorded("some", "cramped", "10", marks=("--usdt", program + ":shop:*"))
    ok("1 of 3 markers cannot be recorded in the program, left out" in err, "one of them", err)
    ok("shop:cramped: recorded by nobody: no room for a jump around the mark" in err, "the reason", err)


def a_way_that_does_not_exist_is_refused():
    status, _, err = cmd("record", "--usdt-by", "magic", "--usdt", program + ":shop:*", "--", program)
    is_((status, "--usdt-by magic" in err), (2, True), "the message: " + err)


run_cases(every_hit_is_an_event_with_its_operands, an_unwanted_mark_keeps_its_semaphore, threads_and_children_record, a_running_program_is_attached_to,
          texts_that_are_none_do_no_harm, contexts_and_filters_are_those_of_events,
          a_mark_without_room_is_refused_or_left_to_the_kernel, a_way_that_does_not_exist_is_refused)
