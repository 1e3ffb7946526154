#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording shown while it is made is the recording: every event once, in order, whichever process dies meanwhile.

arguments: DUET PROGRAM LIBDUET READER
"""
import os
import random
import re
import signal
import sys
import time

from following import *


def same(name, trace, what, *options):
    got, want = lines(name), view_lines(trace, *options)
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return ok(False, "%s: line %d is %r, not %r" % (what, i + 1, a, b))
    return ok(len(got) == len(want) and got, "%s: %d lines of %d" % (what, len(got), len(want)))


def collectors_are_killed_and_replaced():
    trace = work + "/killed"
    c = collect(trace, "-e", "follow:*")
    p = run_program()
    f = to_file(work + "/a", duet, "view", "--follow", trace)
    j = to_file(work + "/j", duet, "live", "--begin", "--json")  # the only session
    rng = random.Random(1)
    for i in range(8):
        time.sleep(rng.random() * 0.1)
        kill_worker(c)
    late = run_program(3)
    recorder_says_how_far(trace, 2)
    until(lambda: len(lines(work + "/a")) > 100, "events are shown while it records")
    counts = [int(n) for n in (end_program(p) + end_program(late)).split()]
    stop(c, signal.SIGINT, status=None)
    ok(f.wait() == 0 and j.wait() == 0, "it ends with the recording")
    ok(any("has ended" in t for t in lines(work + "/a.err")), "it says so: %r" % lines(work + "/a.err"))
    same(work + "/a", trace, "view --follow")
    same(work + "/j", trace, "live --begin --json", "--json")
    shown = sum("follow:number" in line for line in lines(work + "/a"))
    ok(shown == sum(counts), "%d events of %d are shown" % (shown, sum(counts)))


def pieces_are_followed_through():
    """New pieces, finished ones packed behind our back, and a killed collector."""
    trace = work + "/pieces"
    c = collect(trace, "-e", "follow:*", "--rotate", "20K", "--compress", "zstd")
    f = to_file(work + "/p", duet, "view", "--follow", trace)
    p = run_program()
    until(lambda: os.path.exists(trace + "/piece-000003"), "there are pieces")
    kill_worker(c)
    recorder_says_how_far(trace, 2)
    counts = [int(n) for n in end_program(p).split()]
    stop(c, signal.SIGINT, status=None)
    ok(f.wait() == 0, "it ends with the recording")
    shown = sum("follow:number" in line for line in lines(work + "/p"))
    ok(shown == sum(counts), "%d events of %d are shown: %r" % (shown, sum(counts), lines(work + "/p.err")))
    same(work + "/p", trace, "view --follow")


def filters_wait_for_their_events():
    """Nothing has the field, nor the name, when it begins."""
    trace = work + "/filtered"
    c = collect(trace, "-e", "follow:*")
    f = to_file(work + "/f", duet, "live", "--begin", "-e", "follow:*", "-f", "n % 1000 == 0 && thread == 1", trace)
    recorder_says_how_far(trace)
    p = run_program()
    until(lambda: len(lines(work + "/f")) > 0, "matching events are shown")
    end_program(p)
    stop(c, signal.SIGINT, status=None)
    ok(f.wait() == 0, "it ends")
    found = [int(m) for m in re.findall(r"thread = 1, n = (\d+)", "\n".join(lines(work + "/f")))]
    ok(found == [i * 1000 for i in range(len(found))] and len(found) == len(lines(work + "/f")),
       "only matching events: %r" % found)


def following_from_now_shows_the_end():
    trace = work + "/now"
    c = collect(trace, "-e", "follow:*")
    p = run_program()
    until(lambda: is_written_on(trace) > 1, "the recorder says how far it is")
    f = to_file(work + "/n", duet, "live", "default")
    until(lambda: len(lines(work + "/n")) > 10, "events are shown")
    end_program(p)
    stop(c, signal.SIGINT, status=None)
    ok(f.wait() == 0, "it ends")
    got, want = lines(work + "/n"), view_lines(trace)
    ok(len(got) < len(want), "earlier events are not shown")
    times = lambda some: [re.sub(r" \(.*?\)", "", line, 1) for line in some]  # the first has no difference
    ok(times(got) == times(want[-len(got):]), "the events shown are its end")


def recordings_of_a_relay_are_followed():
    trace, there = work + "/sent", work + "/relay"
    r = start(duet, "relay", "-o", there, "--plain", "-l", "127.0.0.1:0")
    port = re.search(r"port (\d+)", r.stdout.readline())[1]
    c = collect(trace, "-e", "follow:*", "--plain", "--to", "127.0.0.1:" + port)
    p = run_program()
    arrived = lambda: [at for at, _, files in os.walk(there) if at.endswith(".duet") and "clock" in files]
    until(arrived, "it arrives")
    f = to_file(work + "/s", duet, "live", "--begin", there)
    until(lambda: len(lines(work + "/s")) > 10, "events are shown while it records")
    status, out, err = cmd("live", trace)
    ok(status == 2 and "follow it there" in err, "not where it is given back: %r" % err)
    counts = [int(n) for n in end_program(p).split()]
    stop(c, signal.SIGINT, status=None)
    ok(f.wait() == 0, "it ends with the recording")
    shown = sum("follow:number" in line for line in lines(work + "/s"))
    ok(shown == sum(counts), "%d events of %d are shown: %r" % (shown, sum(counts), lines(work + "/s.err")))
    same(work + "/s", arrived()[0][:-6], "live of a relay")
    r.end(signal.SIGTERM)


def a_killed_recorder_is_reported():
    trace = work + "/dead"
    c = to_file(work + "/r", duet, "record", "--no-kernel", "-o", trace, "--", program)
    until(lambda: is_written_on(trace) > 0, "the recorder says how far it is")
    f = to_file(work + "/d", duet, "view", "--follow", trace)
    until(lambda: len(lines(work + "/d")) > 10, "events are shown")
    command = command_of(c, program)
    c.end(signal.SIGKILL)
    kill(command)
    ok(f.wait() == 0, "it ends")
    ok(any("was killed" in t for t in lines(work + "/d.err")), "it says why: %r" % lines(work + "/d.err"))
    same(work + "/d", trace, "the files it left")


def the_reader_may_leave():
    trace = work + "/leave"
    c = collect(trace, "-e", "follow:*")
    p = run_program()
    out = run("sh", "-c", "%s live --begin %s | head -n 3" % (duet, trace))[1]
    ok(out.count("\n") == 3, "three lines: %r" % out)
    f = to_file(work + "/i", duet, "live", trace)
    until(lambda: len(lines(work + "/i")) > 0, "events are shown")
    f.send_signal(signal.SIGINT)
    ok(f.wait() == 0, "Ctrl-C ends it")
    ok(c.poll() is None, "and not the recorder")
    end_program(p)
    stop(c, signal.SIGINT, status=None)


def programs_follow_by_the_library():
    trace = work + "/library"
    c = collect(trace, "-e", "follow:*")
    f = to_file(work + "/l", os.path.abspath(sys.argv[4]), trace)
    p = run_program()
    until(lambda: len(lines(work + "/l")) > 100, "events are given while it records")
    late = run_program(3)
    n = len(lines(work + "/l"))
    until(lambda: any("thread = 3" in line for line in lines(work + "/l")[n:]), "of a program that came later as well")
    counts = [int(n) for n in (end_program(p) + end_program(late)).split()]
    stop(c, signal.SIGINT, status=None)
    is_(f.wait(), 0, "it ends with the recording: %r" % lines(work + "/l.err"))
    got = lines(work + "/l")
    is_(got[-1], "%d events, 0 late" % sum(counts), "all of them")
    is_(got[:-1], [re.search(r"thread = \d+, n = \d+", line)[0] for line in view_lines(trace, "-e", "follow:number")], "in order")


def a_flight_recorder_is_reported_at_once():
    c = begins(start(duet, "collect", "-o", work + "/flight", "-e", "follow:*", "--overwrite"))
    status, out, err = cmd("live")
    ok(status == 2 and not out and "flight recorder" in err and "duet snapshot -s default" in err, err)
    stop(c, signal.SIGINT, status=None)
    c = collect(work + "/rare", "-e", "follow:*", "--channel", "rare:events=follow:none,mode=overwrite")
    p = run_program()
    f = to_file(work + "/part", duet, "live")
    until(lambda: len(lines(work + "/part")) > 0, "the rest is shown")
    ok(any("channel rare" in t for t in lines(work + "/part.err")), "%r" % lines(work + "/part.err"))
    end_program(p)
    stop(c, signal.SIGINT, status=None)
    is_(f.wait(), 0, "it ends")


run_cases(collectors_are_killed_and_replaced, pieces_are_followed_through, filters_wait_for_their_events,
          following_from_now_shows_the_end, recordings_of_a_relay_are_followed, a_killed_recorder_is_reported, the_reader_may_leave,
          programs_follow_by_the_library, a_flight_recorder_is_reported_at_once)
