#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `duet stop` states: recorded = kept + removed, in events and bytes, whichever collectors and archivers are
killed and whatever retention removes.  Kept is what a reader finds; recorded is what the program counted.

arguments: DUET PROGRAM LIBDUET [KILLS]
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import kill_worker, start_counting, stop_counting  # noqa: E402
from proc import children, kill  # noqa: E402
from recorder import collect, stop  # noqa: E402
from trial import cmd, dice, is_, ok, paths, run_cases, until, work, worker_of  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 6
rng = dice()
NAMES = 6  # events with names of programs, at most, for each trace that begins: one for each program


def found_in(trace):
    """-> events and bytes that are there, counted by a reader and by the sizes of the files"""
    status, out, err = cmd("stats", "--json", trace)
    ok(status == 0, "duet stats: " + err)
    size = sum(os.path.getsize(d + "/" + f) for d, _, files in os.walk(trace) for f in files
               if re.match(r"(cpu|lane|state|kernel|bpf)_\d+$|statedump", f))
    return json.loads(out)["n_events"], size


def size_of(text):
    n, unit = re.match(r"([\d.]+) (\w+)", text).groups()
    return float(n) * {"byte": 1, "bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def is_about(text, size, what):
    """Sizes are printed with two digits or more."""
    ok(abs(size_of(text) - size) <= 0.051 * max(size, 1), "%s: %s printed, %d there" % (what, text, size))


def kill_some(c, times):
    for i in range(times):
        time.sleep(0.02 + rng.random() * 0.06)
        archiver = children(worker_of(c))
        if archiver and i % 3 == 2:
            kill(archiver[0])
        else:
            kill_worker(c)


def record(trace, times, *options):
    """-> what the threads counted, and the messages at the end"""
    c = collect(trace, "-e", "counting:*", *options)
    p = start_counting(program)
    kill_some(c, times)
    until(lambda: "--keep-last" not in options or sorted(n for n in os.listdir(trace) if n.startswith("piece"))[0] >
          "piece-000004", "retention removes some")
    counts = stop_counting(p)
    return sum(counts), stop(c)


def applications(told):
    m = re.search(r"applications +(\d+) events? from \d+ programs?, ([\d.]+ \w+), none lost", told)
    ok(m, "nothing is lost: " + told)
    return int(m[1]), m[2]


def a_replaced_collector_forgets_nothing():
    trace = work + "/replaced"
    counted, told = record(trace, kills)
    ok("killed %d time" % kills in told, told)
    events, size = found_in(trace)
    n, text = applications(told)
    is_(n, events, "events of the recording")
    is_about(text, size, "bytes of the recording")
    ok(counted <= n <= counted + NAMES * (kills + 2), "%d counted by the program, %d recorded" % (counted, n))


def recorded_is_kept_and_removed(trace, *options):
    counted, told = record(trace, kills, "--rotate", "40K", "--keep-last", "3", *options)
    n, _ = applications(told)
    m = re.search(r"pieces +(\d+): (\d+) removed \((\d+) events, ([\d.]+ \w+)\), (\d+) kept \((\d+) events, "
                  r"([\d.]+ \w+)\)", told)
    if not ok(m, "the three sums are there: " + told):
        return
    pieces, gone, gone_events, kept, kept_events = (int(m[i]) for i in (1, 2, 3, 5, 6))
    is_(gone + kept, pieces, "pieces")
    is_(kept, len([f for f in os.listdir(trace) if f.startswith("piece-")]), "pieces that are there")
    is_(gone_events + kept_events, n, "recorded = kept + removed")
    events, size = found_in(trace)
    is_(kept_events, events, "events that are there")
    if "--compress" not in options:
        is_about(m[7], size, "bytes that are there")
    ok(counted <= n <= counted + NAMES * (pieces + kills + 2), "%d counted by the program, %d recorded" % (counted, n))


def recorded_is_kept_and_removed_after_kills():
    recorded_is_kept_and_removed(work + "/kept")


def and_with_compression():
    recorded_is_kept_and_removed(work + "/packed", "--compress", "zstd")


def stop_reads_nothing():
    """The answer comes from counts: it is there although the files cannot be read any more."""
    trace = work + "/unread"
    c = collect(trace, "-e", "counting:*", "--rotate", "request")
    p = start_counting(program)
    until(lambda: cmd("rotate")[0] == 0, "a piece is finished")
    os.rename(trace + "/piece-000001/ust", trace + "/hidden")
    counts = stop_counting(p)
    n, _ = applications(stop(c))
    os.rename(trace + "/hidden", trace + "/piece-000001/ust")
    is_(n, found_in(trace)[0], "all events, those of the hidden files too")
    ok(n >= sum(counts), "of the program")


run_cases(a_replaced_collector_forgets_nothing, recorded_is_kept_and_removed_after_kills, and_with_compression,
          stop_reads_nothing)
