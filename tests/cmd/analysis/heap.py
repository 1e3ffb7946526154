#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heap.py DUET - `duet report heap` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, kernel, switch, ust

FIELDS = {"malloc": ("size", "ptr"), "calloc": ("nmemb", "size", "ptr"), "free": ("ptr",),
          "realloc": ("in_ptr", "size", "ptr"), "posix_memalign": ("out_ptr", "alignment", "size", "result"),
          "memalign": ("alignment", "size", "ptr"), "aligned_alloc": ("alignment", "size", "ptr")}


def call(time, name, *values, who=(7, 7)):
    return (time, 0, who, "lttng_ust_libc:" + name, dict(zip(FIELDS[name], values)))


def report(duet, where, events, *options):
    return duet.json("report", "heap", *options, ust(where + "/r", events))


def bytes_are_added_up_with_their_peak(duet, where):
    r = report(duet, where, [
        call(1000, "malloc", 100, 0xa0), call(1100, "calloc", 4, 50, 0xb0), call(1200, "free", 0xa0),
        call(1300, "memalign", 64, 10, 0xc0), call(1400, "posix_memalign", 0xd0, 64, 20, 0),
        call(1500, "aligned_alloc", 16, 30, 0xe0), call(1600, "free", 0), call(1700, "malloc", 1, 0)])
    p = r["processes"][0]
    check([p[k] for k in ("n_given", "given_bytes", "n_taken", "n_live", "live_bytes", "n_failed", "n_unknown")],
          [5, 360, 1, 4, 260, 1, 0])
    check((r["peak_bytes"], r["peak_ns"]), (300, EPOCH + 1100))
    check([(o["age_ns"], o["bytes"]) for o in r["oldest"]], [(600, 200), (400, 10), (300, 20), (200, 30)])
    check([(c["up_to_bytes"], c["n"], c["n_live"]) for c in r["classes"]],
          [(16, 1, 1), (32, 2, 2), (128, 1, 0), (256, 1, 1)])


def realloc_grows_moves_fails_and_frees(duet, where):
    r = report(duet, where, [
        call(1000, "realloc", 0, 10, 0xa0), call(1100, "realloc", 0xa0, 30, 0xa0),
        call(1200, "realloc", 0xa0, 25, 0xb0), call(1300, "realloc", 0xb0, 1000, 0),
        call(1400, "malloc", 7, 0xa0), call(1500, "realloc", 0xa0, 0, 0)])
    p = r["processes"][0]
    check([p[k] for k in ("n_reallocs", "n_moved", "grown_bytes", "shrunk_bytes", "n_failed", "n_live", "live_bytes")],
          [2, 1, 20, 5, 1, 1, 25])


def an_address_given_out_while_its_owner_reallocates_lives_twice(duet, where):
    """Thread 7 reallocates a0; before its event comes thread 8 is given a0, and even frees it."""
    events = [call(1000, "malloc", 100, 0xa0), call(1100, "malloc", 5, 0xa0, who=(7, 8)),
              call(1200, "realloc", 0xa0, 200, 0xb0)]
    p = report(duet, where + "/1", events)["processes"][0]
    check([p[k] for k in ("n_live", "live_bytes", "grown_bytes", "n_unseen_ends")], [2, 205, 100, 0])
    events.insert(2, call(1150, "free", 0xa0, who=(7, 8)))
    p = report(duet, where + "/2", events)["processes"][0]
    check([p[k] for k in ("n_live", "live_bytes", "grown_bytes", "n_unknown")], [1, 200, 100, 0])


def a_life_whose_end_was_not_recorded_is_no_leak(duet, where):
    r = report(duet, where, [call(1000, "malloc", 100, 0xa0), call(1100, "malloc", 5, 0xa0)])
    p = r["processes"][0]
    check([p[k] for k in ("n_live", "live_bytes", "n_unseen_ends")], [1, 5, 1])
    check(len(r["oldest"]), 1)


def addresses_belong_to_processes(duet, where):
    r = report(duet, where, [call(1000, "malloc", 100, 0xa0), call(1100, "malloc", 50, 0xa0, who=(9, 9)),
                             call(1200, "free", 0xa0, who=(7, 8)), call(1300, "free", 0xc0)])
    check([(p["pid"], p["live_bytes"], p["n_unknown"]) for p in r["processes"]], [(9, 50, 0), (7, 0, 1)])


def a_program_that_executes_another_leaves_its_heap(duet, where):
    r = report(duet, where, [call(1000, "malloc", 100, 0xa0),
                             (1100, 0, (7, 7), "lttng_ust_statedump:procname", dict(procname="next")),
                             call(1200, "malloc", 60, 0xa0)])
    p = r["processes"][0]
    check([p[k] for k in ("n_at_exec", "at_exec_bytes", "n_live", "live_bytes", "n_unseen_ends", "n_taken")],
          [1, 100, 1, 60, 0, 0])


def the_drawing_covers_the_whole_time(duet, where):
    r = report(duet, where, [call(10**9 * i, "malloc", 10, 0x1000 + i) for i in range(1, 60)] +
               [call(10**9 * 100, "free", 0x1001)])
    check((r["slices"][0]["peak_bytes"], r["slices"][-1]["last_bytes"]), (20, 580))
    check(max(s["peak_bytes"] for s in r["slices"]), 590)
    check(all(s["peak_bytes"] for s in r["slices"]), True)
    check("live bytes over" in duet.text("report", "heap", where + "/r"), True)


def nothing_of_the_heap_is_said_with_what_to_do(duet, where):
    path = kernel(where + "/k", [switch(1000, 0, ("a", 1), ("b", 2))])
    check("lttng_ust_libc" in duet.run("report", "heap", path, status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
