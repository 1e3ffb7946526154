#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector that is killed, again and again, is replaced; programs go on, and every event is there once.

arguments: DUET PROGRAM LIBDUET [KILLS]      long form: 1000
"""
import collections
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import all_are_there, kill_worker, numbers_of, start_counting, stop_counting  # noqa: E402
from proc import children  # noqa: E402
from recorder import collect  # noqa: E402
from trial import cmd, dice, is_, ok, paths, run, run_cases, until, work, worker_of  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 40
rng = dice()
PATIENCE_S = 300 + 5 * kills  # millions of events are read


def check(trace, counts):
    status, out, err = cmd("view", "-e", "counting:number", trace, timeout=PATIENCE_S)
    ok("lost" not in err, "nothing is lost", err)
    all_are_there(numbers_of(out), counts)
    if len(os.listdir(trace)) > 500:
        return  # Babeltrace 2 looks at each of its streams for each event: it would take hours
    status, out, err = run("babeltrace2", trace, timeout=PATIENCE_S)
    is_(out.count("counting:number"), sum(counts), "babeltrace2 " + err[:200])


def killed_workers_are_replaced():
    c = collect(work + "/killed", "-e", "counting:*")
    p = start_counting(program)
    for _ in range(kills):
        time.sleep(rng.random() * 0.06)
        kill_worker(c)
    late = start_counting(program, 3)
    time.sleep(0.1)
    ok(c.poll() is None, "it still collects")
    counts = stop_counting(p) + stop_counting(late)
    status, _, told = c.end(signal.SIGINT)
    is_(status, 0, "it ends as ever: " + told)
    ok("killed %d times" % kills in told, "the kills are reported: " + told)
    ok("none lost" in told, "nothing is lost: " + told)
    # Threads that attach a session at once are counted one by one: if a successor took longer than registration waits.
    ok(re.search(r"from ([2-9]|\d\d+) programs", told), "both programs joined: " + told)
    check(work + "/killed", counts)


def a_killed_keeper_is_replaced():
    """The worker takes its place, and the recording goes on: sessions_are_started_stopped_and_survive_any_kill.py does it more often."""
    c = collect(work + "/orphan", "-e", "counting:*")
    p = start_counting(program)
    time.sleep(0.1)
    worker = worker_of(c)
    c.end(signal.SIGKILL)
    until(lambda: children(worker), "the worker has one of its own")
    counts = stop_counting(p)
    status, _, err = cmd("stop")
    ok(status == 0 and "none lost" in err, "it is stopped, and nothing is lost: " + err)
    check(work + "/orphan", counts)


def a_successor_waits_for_room():
    """A successor waits for room, as its predecessor would have."""
    disk = work + "/disk"
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]).returncode:
        print("# no right to mount a small disk: not tried")
        return
    try:
        c = collect(disk + "/trace", "-e", "counting:*", "-b", "1M", "--disk-free", "0")
        p = start_counting(program)
        time.sleep(0.1)
        with open(disk + "/filler", "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass
        for _ in range(3):
            kill_worker(c)
        time.sleep(1)
        ok(c.poll() is None, "it is still there")
        counts = stop_counting(p)
        os.unlink(disk + "/filler")
        p = start_counting(program, 3)
        until(lambda: [d for d in os.listdir(disk + "/trace") if d.startswith("ust-")], "it goes on when there is room")
        counts += stop_counting(p)
        status, _, told = c.end(signal.SIGINT)
        is_(status, 0, "it ends as ever: " + told)
        lost = re.search(r"(\d+) LOST", told)
        out = cmd("view", "-e", "counting:number", disk + "/trace")[1]
        found = collections.Counter(re.findall(r"thread = \d+, n = \d+", out))
        ok(found and max(found.values()) == 1, "each once")
        ok(len(found) + int(lost[1] if lost else 0) == sum(counts),
           "%d here and %s lost of %d\n%s" % (len(found), lost and lost[1], sum(counts), told))
    finally:
        subprocess.run(["umount", "-l", disk])


run_cases(killed_workers_are_replaced, a_killed_keeper_is_replaced, a_successor_waits_for_room)
