#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording in chunks: whichever process is killed, and when, every event is there once; each chunk can be read alone.

arguments: DUET PROGRAM LIBDUET [KILLS]      long form: 500
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import (all_are_there, kill_worker, numbers_of, start_counting, stop_counting,  # noqa: E402
                      the_newest_are_there)
from proc import children, kill  # noqa: E402
from recorder import collect, stop  # noqa: E402
from trial import cmd, command_of, dice, duet, ok, paths, run, run_cases, start, until, work  # noqa: E402
from trial import worker_of  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 25
rng = dice()
PATIENCE_S = 300 + 5 * kills  # millions of events are read
PACKED_S = 120 + 2 * kills  # at its end a collector packs all pieces first


def numbers_in(trace):
    status, out, err = cmd("view", "-e", "counting:number", trace, timeout=PATIENCE_S)
    is_empty = status == 2 and "nothing recorded is called so" in err  # a short piece may have no event
    ok(is_empty or status == 0 and "lost" not in err, "%s: %s" % (trace, err[:300]))
    return numbers_of(out)


def babeltrace(trace):
    status, out, err = run("babeltrace2", trace, timeout=300)
    ok(status == 0 and not err, "babeltrace2 %s: %s" % (trace, err[:300]))
    return numbers_of(out)


def pieces(trace):
    return sorted(n for n in os.listdir(trace) if n.startswith("piece-"))


def all_alone(trace, counts, reader):
    """Each chunk read alone: together they are the whole.  Around a seam, and more so after a kill, earlier
    events may be in the later chunk."""
    together = collections.defaultdict(list)
    for name in pieces(trace):
        ok(os.path.exists("%s/%s/.duet/finished" % (trace, name)), name + " is finished")
        for thread, ns in reader("%s/%s" % (trace, name)).items():
            together[thread] += ns
    all_are_there(collections.defaultdict(list, {t: sorted(ns) for t, ns in together.items()}), counts,
         "pieces alone, " + reader.__name__)


def asked_for(trace):
    c = collect(trace, "-e", "counting:*", "--rotate", "request")
    p = start_counting(program)
    for i in range(1, 6):
        time.sleep(0.05)
        status, out, err = cmd("rotate")
        ok(out == "%s/piece-%06d\n" % (os.path.realpath(trace), i), "it says where: %r %s" % (out, err))
        ok(os.path.exists(out.strip() + "/.duet/finished"), "and that is finished")
    counts = stop_counting(p)
    told = stop(c, signal.SIGINT, timeout=PACKED_S)
    ok("none lost" in told and re.search(r"pieces +6\n", told), told)
    all_are_there(numbers_in(trace), counts, "duet view")
    all_are_there(babeltrace(trace), counts, "babeltrace2")
    all_alone(trace, counts, numbers_in)
    all_alone(trace, counts, babeltrace)


def kill_something(c):
    """The worker, or the process that handles its chunks."""
    tidy = children(worker_of(c)) if rng.random() < 0.3 else []
    if tidy:
        kill(tidy[0])
    else:
        kill_worker(c)
    return not tidy


def killed(trace, *options):
    c = collect(trace, "-e", "counting:*", *options)
    p = start_counting(program)
    n = 0
    for _ in range(kills):
        time.sleep(rng.random() * 0.08)
        if rng.random() < 0.3:
            cmd("rotate")
        n += kill_something(c)
    late = start_counting(program, 3)
    time.sleep(0.1)
    ok(c.poll() is None, "it still collects")
    counts = stop_counting(p) + stop_counting(late)
    told = stop(c, signal.SIGINT, timeout=PACKED_S)
    ok(not n or "killed %d time" % n in told, "the kills are reported: " + told)
    ok("none lost" in told, "nothing is lost: " + told)
    all_are_there(numbers_in(trace), counts, "killed, " + " ".join(options))
    all_alone(trace, counts, numbers_in)
    return counts


def killed_packing(trace):
    counts = killed(trace, "--rotate", "60000", "--compress", "zstd", "--sync", "rotate")
    plain = [f for d, _, files in os.walk(trace) for f in files
             if not f.endswith(".zst") and "/.duet" not in d and "/index" not in d]
    ok(not plain, "all is compressed: %s" % plain[:5])
    hidden = [f for d, _, files in os.walk(trace) for f in files if f.startswith(".")]
    ok(not hidden, "nothing half made is left: %s" % hidden[:5])
    status, _, err = cmd("export", "ctf", "-o", trace + "-plain", trace)
    if ok(status == 0, "export: " + err):
        all_are_there(babeltrace(trace + "-plain"), counts, "exported")


def old_ones_go(trace):
    c = collect(trace, "-e", "counting:*", "--rotate", "20000", "--keep-last", "3")
    p = start_counting(program)
    until(lambda: len(pieces(trace)) > 3 and pieces(trace)[0] > "piece-000005", lambda: "old pieces go: %s" % pieces(trace))
    counts = stop_counting(p)
    told = stop(c, signal.SIGINT, timeout=PACKED_S)
    ok("removed" in told, told)
    left = pieces(trace)
    ok(len(left) == 3, "three are left: %s" % left)
    ok(not [n for n in os.listdir(trace) if n.startswith(".piece")], "nothing half removed is left")
    found = numbers_in(trace)
    the_newest_are_there(found, counts)


def followed_while_packed(trace):
    """A follower sees every event, also when files are packed while it reads them."""
    c = collect(trace, "-e", "counting:*", "--rotate", "60000", "--compress", "zstd")
    p = start_counting(program)
    until(lambda: pieces(trace), "there is something")
    f = start(duet, "view", "--follow", "-e", "counting:number", trace)
    time.sleep(1.5)
    counts = stop_counting(p)
    stop(c, signal.SIGINT, timeout=PACKED_S)
    status, seen, told = f.end()
    ok(status == 0 and "shown" not in told, "follow: " + told)
    all_are_there(numbers_of(seen), counts, "followed")


def sent_ones_go(trace):
    """Chunks that arrived at the relay are removed here, and are there once."""
    relay = start(duet, "relay", "--plain", "--listen", "127.0.0.1:0", "-o", trace + "-relay")
    port = re.search(r"port (\d+)", relay.stdout.readline())[1]
    c = start(duet, "record", "--no-kernel", "-o", trace, "--rotate", "50000", "--plain", "--to", "127.0.0.1:" + port,
              "--", program)
    ok(c.stdout.readline() == "ready\n", "the program runs")
    until(lambda: pieces(trace) and pieces(trace)[0] > "piece-000003", "pieces go when they have arrived")
    kill(command_of(c, program), signal.SIGTERM)
    status, out, told = c.end()
    counts = [int(n) for n in out.split()]
    ok(status == 0 and "removed" in told and len(counts) == 3, told)
    relay.end(signal.SIGINT)
    all_are_there(numbers_in(trace + "-relay"), counts, "on the relay")


def old_ones_go_and_all_is_killed(trace):
    c = collect(trace, "-e", "counting:*", "--rotate", "20000", "--keep-last", "5", "--compress", "zstd")
    p = start_counting(program)
    for _ in range(kills):
        time.sleep(rng.random() * 0.08)
        kill_something(c)
    # Events that a killed one had not written are in a later chunk than those it had, though perhaps older.  So that the seam is
    # none of a kill, all those go.
    last = int(pieces(trace)[-1][6:])
    until(lambda: int(pieces(trace)[0][6:]) > last + 1, "pieces of kills go")
    counts = stop_counting(p)
    stop(c, signal.SIGINT, timeout=PACKED_S)
    ok(0 < len(pieces(trace)) <= 5, "at most five are left: %s" % pieces(trace))
    found = numbers_in(trace)
    the_newest_are_there(found, counts)


def free_bytes(path):
    s = os.statvfs(path)
    return s.f_bavail * s.f_frsize


def on_a_small_disk():
    disk = work + "/disk"
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]).returncode:
        print("# no right to mount a small disk: not tried")
        return
    try:
        small_disk_is_enough(disk + "/kept")
        shutil.rmtree(disk + "/kept")
        full_disk(disk + "/full")
    finally:
        subprocess.run(["umount", "-l", disk])


def small_disk_is_enough(trace):
    """Removal in time makes room for new events."""
    c = collect(trace, "-e", "counting:*", "--rotate", "300K", "--keep-last", "1M", "--compress", "zstd")
    p = start_counting(program)
    until(lambda: pieces(trace) and pieces(trace)[0] > "piece-000008", "it goes on and on")
    counts = stop_counting(p)
    told = stop(c, signal.SIGINT, timeout=PACKED_S)
    ok("none lost" in told, told)
    found = numbers_in(trace)
    ok(all(found[thread] for thread in range(len(counts))), "some of all threads")
    the_newest_are_there(found, counts, "small disk")


def full_disk(trace):
    """Whole packets or none; lost events are counted; it goes on when there is room."""
    saved = work + "/saved"
    os.mkdir(saved)
    c = collect(trace, "-e", "counting:*", "--rotate", "300K", "-b", "1M", "--disk-free", "0")
    p = start_counting(program)
    until(lambda: free_bytes(os.path.dirname(trace)) < 100000, "the disk fills")
    until(lambda: json.loads(cmd("status", "--json")[1])["sessions"][0]["lost"], "and the buffers")
    before = pieces(trace)
    ok(len(before) > 2, "full: %s" % before)
    for name in before[:-2]:
        shutil.copytree(trace + "/" + name, saved + "/" + name)
    for name in before[:-2]:
        shutil.rmtree(trace + "/" + name)
    until(lambda: pieces(trace)[-1] > before[-1], "it goes on when there is room")
    counts = stop_counting(p)
    told = stop(c, signal.SIGINT, timeout=PACKED_S)
    lost = re.search(r"(\d+) LOST", told)
    for name in pieces(trace):
        shutil.move(trace + "/" + name, saved)
    _, out, err = cmd("view", "-e", "counting:number", saved)
    found = numbers_of(out)
    ok("damage" not in err and "remain" not in err, err[:500])
    here = sum(len(set(found[t])) for t in found)
    ok(here == sum(len(found[t]) for t in found), "each once")
    ok(all(found[t] == sorted(found[t]) for t in found), "in order")
    ok(lost and here + int(lost[1]) == sum(counts), "%d here and %s lost of %d\n%s" % (here, lost and lost[1], sum(counts), told))
    status, out, err = run("babeltrace2", saved, timeout=300)
    ok(status == 0 and out.count("counting:number") == here, "babeltrace2: " + err[:300])


def a_requested_rotation_is_finished():
    asked_for(work + "/asked")


def every_event_survives_kills():
    killed(work + "/killed", "--rotate", "60000", "--rotate", "100ms")


def and_packing():
    killed_packing(work + "/packed")


def old_pieces_go():
    old_ones_go(work + "/kept")


def pieces_that_were_sent_go():
    sent_ones_go(work + "/sent")


def pieces_are_followed_while_they_are_packed():
    followed_while_packed(work + "/followed")


def old_pieces_go_while_all_is_killed():
    old_ones_go_and_all_is_killed(work + "/kept-killed")


run_cases(on_a_small_disk, a_requested_rotation_is_finished, every_event_survives_kills, and_packing, old_pieces_go,
          pieces_that_were_sent_go, pieces_are_followed_while_they_are_packed, old_pieces_go_while_all_is_killed)
