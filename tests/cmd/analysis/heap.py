#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heap.py DUET - `duet report heap` on recordings made by hand."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
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
    """Thread 7 reallocates a0; before its event is recorded, thread 8 gets a0, and even frees it."""
    events = [call(1000, "malloc", 100, 0xa0), call(1100, "malloc", 5, 0xa0, who=(7, 8)),
              call(1200, "realloc", 0xa0, 200, 0xb0)]
    p = report(duet, where + "/1", events)["processes"][0]
    check([p[k] for k in ("n_live", "live_bytes", "grown_bytes", "n_unseen_ends")], [2, 205, 100, 0])
    events.insert(2, call(1150, "free", 0xa0, who=(7, 8)))
    p = report(duet, where + "/2", events)["processes"][0]
    check([p[k] for k in ("n_live", "live_bytes", "grown_bytes", "n_unknown")], [1, 200, 100, 0])


def an_allocation_without_a_recorded_end_is_no_leak(duet, where):
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


def the_drawing_covers_all_of_the_time(duet, where):
    r = report(duet, where, [call(10**9 * i, "malloc", 10, 0x1000 + i) for i in range(1, 60)] +
               [call(10**9 * 100, "free", 0x1001)])
    check((r["slices"][0]["peak_bytes"], r["slices"][-1]["last_bytes"]), (20, 580))
    check(max(s["peak_bytes"] for s in r["slices"]), 590)
    check(all(s["peak_bytes"] for s in r["slices"]), True)
    check("live bytes over" in duet.text("report", "heap", where + "/r"), True)


def stacked(time, name, *values, stack, who=(7, 7)):
    time, cpu, who, name, fields = call(time, name, *values, who=who)
    return (time, cpu, who, name, dict(fields, callstack_user=[a + 1 for a in stack]))


def mapped(where, *lines):
    os.mkdir(where + "/r/.duet")
    with open(where + "/r/.duet/maps", "w") as f:
        f.write("\n".join(lines) + "\n")
    return where + "/r"


MAPS = ["1000-2000 0 - /x/shop", "5000-6000 3000 - /x/libcart.so.1", "7000-8000 0 - /x/libc.so.6",
        "9000-a000 0 - /x/libduet-libc.so"]


def sites(duet, trace):
    keys = ("file", "site", "for", "live_bytes", "n_live", "given_bytes", "n_given", "peak_bytes")
    return [tuple(s[k] for k in keys) for s in duet.json("report", "heap", trace)["sites"]]


def the_caller_is_the_first_frame_outside_the_allocator(duet, where):
    ust(where + "/r", [
        stacked(1000, "malloc", 100, 0xa0, stack=[0x9010, 0x1234, 0x5010]),
        stacked(1100, "malloc", 50, 0xb0, stack=[0x1234, 0x5010]),
        stacked(1200, "free", 0xb0, stack=[0x1300]),
        stacked(1300, "calloc", 2, 400, 0xc0, stack=[0x9010, 0x5678]),
        stacked(1400, "realloc", 0xa0, 10, 0xa0, stack=[0x5abc]),  # the block belongs to the last caller of realloc
        stacked(1500, "malloc", 7, 0xd0, stack=[0x7777, 0x7888, 0x1888, 0x1234]),  # as strdup does
        stacked(1600, "malloc", 6, 0xe0, stack=[0x7777]),
        stacked(1700, "malloc", 5, 0xf0, stack=[0x9010]),  # no other caller is visible
        stacked(1800, "malloc", 4, 0xf8, stack=[0xdead0]),
        stacked(1900, "malloc", 3, 0xff, stack=[])])
    check(sites(duet, mapped(where, "process 7 0", *MAPS)), [
        ("libcart.so.1", "0x3678", None, 800, 1, 800, 1, 800),
        ("libcart.so.1", "0x3abc", None, 10, 1, 10, 1, 10),
        ("libc.so.6", "0x777", "0x888", 7, 1, 7, 1, 7),
        ("libc.so.6", "0x777", None, 6, 1, 6, 1, 6),
        ("libduet-libc.so", "0x10", None, 5, 1, 5, 1, 5),
        ("?", "0xdead0", None, 4, 1, 4, 1, 4),
        ("?", "?", None, 3, 1, 3, 1, 3),
        ("shop", "0x234", None, 0, 0, 150, 2, 150)])
    text = duet.text("report", "heap", where + "/r")
    check("By call site" in text and "-c callstack" not in text, True)


def a_place_is_one_site_wherever_it_is_mapped(duet, where):
    ust(where + "/r", [stacked(1000, "malloc", 100, 0xa0, stack=[0x1234]),
                       stacked(1100, "malloc", 50, 0xa0, stack=[0x11234], who=(9, 9)),
                       stacked(1200, "malloc", 5, 0xb0, stack=[0xdead0]),
                       stacked(1300, "malloc", 4, 0xb0, stack=[0xdead0], who=(9, 9))])  # an address without a known function
    check(sites(duet, mapped(where, "process 7 0", *MAPS, "process 9 0", "11000-12000 0 - /x/shop")), [
        ("shop", "0x234", None, 150, 2, 150, 2, 150), ("?", "0xdead0", None, 5, 1, 5, 1, 5),
        ("?", "0xdead0", None, 4, 1, 4, 1, 4)])


def a_library_that_went_while_mappings_were_read_has_its_name(duet, where):
    """The mappings of 1000 were read a little later, when the library was gone; the call of 1050 was still in it."""
    ust(where + "/r", [stacked(1050, "malloc", 100, 0xa0, stack=[0x5010]),
                       stacked(1060, "malloc", 5, 0xb0, stack=[0xdead0])])
    check(sites(duet, mapped(where, "process 7 0", *MAPS, "process 7 1000", MAPS[0], "process 7 2000", MAPS[0])), [
        ("libcart.so.1", "0x3010", None, 100, 1, 100, 1, 100), ("?", "0xdead0", None, 5, 1, 5, 1, 5)])


def sites_drop_blocks_after_exec_and_reused_addresses(duet, where):
    trace = ust(where + "/r", [stacked(1000, "malloc", 100, 0xa0, stack=[0x1234]),
                               (1100, 0, (7, 7), "lttng_ust_statedump:procname", dict(procname="next")),
                               stacked(1200, "malloc", 60, 0xa0, stack=[0x1235]),
                               stacked(1300, "malloc", 70, 0xa0, stack=[0x1236])])
    check(sites(duet, trace), [("?", "0x1236", None, 70, 1, 70, 1, 70), ("?", "0x1234", None, 0, 0, 100, 1, 100),
                               ("?", "0x1235", None, 0, 0, 60, 1, 60)])


def without_call_stacks_it_explains_how_to_record_them(duet, where):
    trace = ust(where + "/r", [call(1000, "malloc", 100, 0xa0)])
    check("-c callstack" in duet.text("report", "heap", trace), True)
    check("sites" in duet.json("report", "heap", trace), False)


def missing_heap_events_are_reported_with_a_remedy(duet, where):
    path = kernel(where + "/k", [switch(1000, 0, ("a", 1), ("b", 2))])
    check("lttng_ust_libc" in duet.run("report", "heap", path, status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
