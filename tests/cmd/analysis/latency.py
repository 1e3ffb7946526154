#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""latency.py DUET - `duet report latency` on recordings made by hand."""
import json
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, run_all
from make import EPOCH, Hex, LOST, kernel, ust


def mark(time, name, pid=7, tid=7, cpu=0, **fields):
    return (time, cpu, (pid, tid), "shop:" + name, fields or dict(id=0))


def report(duet, where, events, *options, a="shop:begin", b="shop:end"):
    return json.loads(duet.run("report", "latency", a, b, "--json", *options, ust(where + "/r", events)).stdout)


def counts(r):
    return [r[k] for k in ("n_a", "n_b", "n_abandoned", "n_pending", "n_without_a")]


def a_thread_is_timed_by_itself(duet, where):
    r = report(duet, where, [mark(1000, "begin"), mark(1100, "begin", tid=8), mark(1300, "end", tid=8),
                             mark(2000, "end")])
    check((r["times"][0]["n"], r["times"][0]["total_ns"]), (2, 1200))
    check([(s["duration_ns"], s["time_ns"], s["end_ns"], s["thread"]) for s in r["slowest"]],
          [(1000, EPOCH + 1000, EPOCH + 2000, "?:7"), (200, EPOCH + 1100, EPOCH + 1300, "?:8")])


def a_field_joins_threads_and_processes(duet, where):
    for n, (x, y) in enumerate(((1, 2), ("eins", "zwei"))):
        r = report(duet, "%s/%d" % (where, n), [
            mark(1000, "begin", id=x), mark(1100, "begin", id=y), mark(1500, "end", pid=9, tid=9, id=y),
            mark(2000, "end", pid=9, tid=9, id=x)], "--by", "id")
        check([(s["duration_ns"], s["key"], s["to_thread"]) for s in r["slowest"]],
              [(1000, str(x), "?:9"), (400, str(y), "?:9")])


def hexadecimal_fields_are_shown_in_hexadecimal(duet, where):
    """In text for people; JSON has the number as before."""
    path = ust(where + "/r", [mark(1000, "begin", p=Hex(0xabc0)), mark(1500, "end", p=Hex(0xabc0))])
    check("0xabc0" in duet.text("report", "latency", "begin", "end", "--by", "p", path), True)
    check(duet.json("report", "latency", "begin", "end", "--by", "p", path)["slowest"][0]["key"], str(0xabc0))


def one_is_not_called_many(duet, where):
    path = ust(where + "/r", [mark(1000, "begin"), mark(1100, "end"), LOST(1200, 0, 1), mark(1300, "begin")])
    output = duet.text("report", "latency", "begin", "end", path)
    for wanted in ("3 events in ", "counts are low: 1 event lost (record with a larger -b, or", "1 of begin without a end until the end"):
        check(wanted in output, True, wanted)
    check(duet.text("stats", ust(where + "/one", [mark(1000, "begin")])).startswith("1 event in "), True)


def every_a_and_b_is_accounted_for(duet, where):
    r = report(duet, where, [mark(900, "end"), mark(1000, "begin"), mark(1100, "begin"), mark(1200, "end"),
                             mark(1300, "begin")])
    check((counts(r), r["times"][0]["n"], r["times"][0]["max_ns"]), ([3, 2, 1, 1, 1], 1, 100))


def an_event_like_both_ends_and_begins(duet, where):
    r = report(duet, where, [mark(1000, "tick"), mark(1100, "tick"), mark(1300, "tick")], a="tick", b="tick")
    check((r["times"][0]["n"], r["times"][0]["min_ns"], r["times"][0]["max_ns"]), (2, 100, 200))


def no_time_spans_a_loss(duet, where):
    r = report(duet, where, [mark(1000, "begin"), LOST(1500, 0, 1), mark(2000, "end"), mark(2100, "begin"),
                             mark(2200, "end")])
    check((r["times"][0]["n"], r["times"][0]["max_ns"], r["lost_events"]), (1, 100, 1))


def the_histogram_has_a_row_for_each_power_of_two(duet, where):
    events = []
    for i, d in enumerate((1, 2, 3, 1000, 1023, 1024)):
        events += [mark(10000 * i, "begin"), mark(10000 * i + d, "end")]
    r = report(duet, where, events)
    check([(h["from_ns"], h["n"]) for h in r["histogram"] if h["n"]], [(0, 1), (2, 2), (512, 2), (1024, 1)])
    check(len(r["histogram"]), 11)
    text = duet.text("report", "latency", "shop:begin", "shop:end", where + "/r")
    check("####" in text and "█" not in text, True, text)


def events_of_the_kernel_and_of_applications_are_joined(duet, where):
    ust(where + "/r/ust", [mark(1000, "begin", tid=7)])
    kernel(where + "/r/kernel", [(1400, 0, 7, "syscall_entry_write", dict(fd=1))])
    r = json.loads(duet.run("report", "latency", "begin", "syscall_entry_w*", "--json", where + "/r").stdout)
    check(r["times"][0]["max_ns"], 400)


def missing_events_are_reported(duet, where):
    ust(where + "/r", [mark(1000, "begin"), mark(1100, "end")])
    output = duet.run("report", "latency", "begin", "nothing", where + "/r", status=2).stderr
    check("matches nothing" in output, True, output)
    output = duet.run("report", "latency", "begin", "end", "--by", "colour", where + "/r", status=2).stderr
    check("has this field" in output, True, output)
    duet.run("report", "latency", "begin", status=2)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
