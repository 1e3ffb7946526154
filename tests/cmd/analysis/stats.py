#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stats.py DUET - `duet stats` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, HEADER_BYTES, LOST, kernel, switch, ust

A, B, IDLE = ("a", 7), ("b", 8), ("swapper/0", 0)


def recording(where):
    ust(where + "/r/ust", [
        (1000, 0, (7, 7), "shop:order", dict(id=1)),
        (2000, 0, (7, 9), "shop:order", dict(id=2)),
        LOST(2500, 0, 4),
        (3000, 0, (7, 9), "shop:paid", dict(who="me")),
    ])
    kernel(where + "/r/kernel", [switch(1500, 1, IDLE, A), switch(1600, 1, A, B), switch(1001000, 1, B, A)])
    return where + "/r"


def events_are_counted_by_every_distinguishing_key(duet, where):
    s = duet.json("stats", recording(where))
    check((s["n_events"], s["lost_events"], s["lost_packets"]), (6, 4, 0), "totals")
    check((s["begin_ns"], s["end_ns"]), (EPOCH + 1000, EPOCH + 1001000), "times")
    check({e["event"]: e["n"] for e in s["events"]}, {"sched_switch": 3, "shop:order": 2, "shop:paid": 1})
    check({e["process"]: e["n"] for e in s["processes"]}, {"a:7": 4, "b:8": 1, "idle:0": 1})
    check({e["tid"]: e["n"] for e in s["threads"]}, {0: 1, 7: 2, 8: 1, 9: 2})
    check({e["cpu"]: (e["n"], e["lost_events"]) for e in s["cpus"]}, {"0": (3, 4), "1": (3, 0)})
    check(len(s["streams"]), 2)


def threads_of_a_crowd_belong_to_their_process(duet, where):
    """The table of threads grows, and moves, while one is added for its parent."""
    n, thread = 20000, 0x10000
    kernel(where + "/r/kernel", [
        (100, 0, 7, "sched_process_fork", dict(parent_comm="a", parent_tid=1, parent_pid=1, child_comm="web", child_tid=7, child_pid=7)),
        *((1000 + i, 0, 7, "task_newtask", dict(pid=100 + i, comm="web", clone_flags=thread, oom_score_adj=0)) for i in range(n)),
        *((100000 + i, 0, 100 + i, "syscall_entry_getppid", dict(n=1)) for i in range(n))])
    s = duet.json("stats", where + "/r")
    check(sorted(e["n"] for e in s["processes"]), [2 * n + 1], "all events are of one process")


def bytes_are_those_of_events_with_their_headers(duet, where):
    s = duet.json("stats", recording(where))
    check(row(s["events"], event="shop:order")["bytes"], 2 * (HEADER_BYTES + 8 + 8) - HEADER_BYTES)
    check(row(s["events"], event="shop:paid")["bytes"], HEADER_BYTES + 8 + 3)


def rates_are_over_the_whole_time(duet, where):
    s = duet.json("stats", recording(where))
    check(row(s["events"], event="shop:order")["per_second"], 2000.0)


def losses_are_said_first(duet, where):
    text = duet.text("stats", recording(where))
    check("counts are low: 4 events lost" in text.splitlines()[1], True, text)


def one_kind_may_be_chosen_and_lines_limited(duet, where):
    text = duet.text("stats", "--by", "event", "--limit", "1", recording(where))
    check([line for line in text.splitlines() if line.startswith("By ")], ["By event"])
    check("and 2 more" in text, True)
    duet.run("stats", "--by", "colour", where + "/r", status=2)
    duet.run("stats", where + "/nothing", status=2)
    duet.run("stats", status=2)


def values(duet, by, *argv):
    return [(v["value"], v["n"]) for v in duet.json("stats", "--by", by, *argv)["values"]]


def contexts_and_fields_split_the_events(duet, where):
    ust(where + "/r/ust", [(1000, 0, (7, 7, 1000, "/web"), "shop:order", dict(id=1, uid=5)),
                           (2000, 0, (7, 9, 0, "/web"), "shop:order", dict(id=-2, uid=5)),
                           (3000, 0, (8, 8, 1000, "/db"), "shop:paid", dict(who="me")),
                           (4000, 0, (8, 8, 1000, ""), "shop:paid", dict(who="you"))], contexts=("uid", "cgroup"))
    kernel(where + "/r/kernel", [switch(1500, 1, IDLE, A), switch(1600, 1, A, B)])
    path = where + "/r"
    for by in "uid", "ctx.uid", "$ctx.uid":
        check(values(duet, by, path), [("1000", 3), (None, 2), ("0", 1)], by)  # the context, not the field
    check(values(duet, "cgroup", path), [(None, 2), ("/web", 2), ("/db", 1), ("", 1)])
    check(values(duet, "id", path), [(None, 4), ("1", 1), ("-2", 1)])
    check(values(duet, "who", path), [(None, 4), ("me", 1), ("you", 1)])
    check(values(duet, "who", "-f", "$ctx.uid == 1000", path), [(None, 1), ("me", 1), ("you", 1)])
    # Properties of events besides their fields, as in expressions.
    check(values(duet, "$ctx.tid", path), [("7", 2), ("8", 2), ("0", 1), ("9", 1)])
    check(values(duet, "domain", path), [("ust", 4), ("kernel", 2)])
    check(row(duet.json("stats", "--by", "uid", path)["values"], value="0")["bytes"],
          row(duet.json("stats", "--by", "tid", path)["values"], value="9")["bytes"])
    text = duet.text("stats", "--by", "cgroup", path)
    check([line for line in text.splitlines() if line.startswith("By ")], ["By cgroup"])


def an_unknown_name_is_refused_with_a_similar_one(duet, where):
    path = recording(where)
    check("did you mean prev_prio?" in duet.run("stats", "--by", "prev_pri", path, status=2).stderr, True)
    check("no recorded event has" in duet.run("stats", "--by", "ctx.prev_prio", path, status=2).stderr, True)
    duet.run("stats", "--by", "", path, status=2)


def contexts_are_those_of_the_recording(duet, where):
    """Two traces: a class with the context, and a class of the same name without it."""
    ust(where + "/r/a", [(1000, 0, (7, 7, "red"), "shop:order", dict(id=1))], contexts=("colour",))
    ust(where + "/r/b", [(2000, 0, (9, 9), "shop:order", dict(id=1))])
    check(sorted(values(duet, "colour", where + "/r"), key=str), [("red", 1), (None, 1)])


if __name__ == "__main__":
    sys.exit(run_all([events_are_counted_by_every_distinguishing_key, threads_of_a_crowd_belong_to_their_process,
                      bytes_are_those_of_events_with_their_headers, rates_are_over_the_whole_time,
                      losses_are_said_first, one_kind_may_be_chosen_and_lines_limited,
                      contexts_and_fields_split_the_events, contexts_are_those_of_the_recording,
                      an_unknown_name_is_refused_with_a_similar_one],
                     Duet(sys.argv[1])))
