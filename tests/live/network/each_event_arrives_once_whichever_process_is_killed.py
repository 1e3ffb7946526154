#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A session that sends: its collector, its sender and the supervisors of both are killed, again and again.  The recording
continues, and every event is at the relay once, or counted as lost.

arguments: DUET PROGRAM LIBDUET [KILLS]      long form: 200
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import numbers_of, start_counting, stop_counting, the_newest_are_there  # noqa: E402
import proc  # noqa: E402
from proc import Noted  # noqa: E402
from relaying import KEY, Link, Relay, make_key  # noqa: E402
from trial import Failed, cmd, dice, duet, go_on, is_, ok, paths, run_cases, until, work  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 16
rng = dice()
os.chdir(work)


def done(*args):
    status, out, err = cmd(*args)
    if status:
        raise Failed("duet %s: status %d: %s" % (" ".join(map(str, args)), status, err))
    return out, err


def pair_of(name):
    """-> a supervisor of this name and its child; None unless both exist"""
    mark = "DUET_RUNTIME_DIR=%s/" % work
    for keeper in proc.everybody():
        if proc.comm(keeper) == name and mark in proc.read(keeper, "environ"):
            below = [c for c in proc.children(keeper) if proc.comm(c) == name]
            if below:
                return keeper, below[0]
    return None


def kill_one(which):
    """0: the supervisor of the collector, 1: the collector, 2: the supervisor of the sender, 3: the sender."""
    def pair():
        return pair_of("duet" if which < 2 else "duet-sender")
    victim = Noted(until(pair, "there are both")[which % 2])
    victim.kill()
    until(victim.is_dead, "it is dead")

    def is_replaced():
        now = pair()
        return now and victim.pid not in now and not any(proc.is_dead(pid) for pid in now)
    until(is_replaced, "another one comes")


def recorded_through(relay, port, n_kills, *more):
    """-> the counts of the threads, the output of `duet stop`, the recording at the relay"""
    done("start", "-o", "here", "-e", "counting:*", "--flush-timeout", "80s", "--to", "127.0.0.1:%d" % port, *KEY, *more)
    p = start_counting(program)
    for _ in range(n_kills):
        go_on(p, times=rng.randrange(1, 30))
        kill_one(rng.randrange(4))
    late = start_counting(program, 3)
    go_on(late)
    counts = stop_counting(p) + stop_counting(late)
    told = done("stop")[1]
    ok(not os.path.exists("here"), "all is sent, and gone from here", told)
    return counts, told, relay.recordings()[-1]


def all_of_it(there, counts, told):
    """A program that starts without a collector records once there is one: the events that it missed are counted."""
    status, out, err = cmd("view", "-e", "counting:number", there)
    is_((status, [l for l in err.splitlines() if "lost" not in l]), (0, []), "it is sound")
    found = numbers_of(out)
    the_newest_are_there(found, counts, there)
    m = re.search(r"(\d+) LOST", told)
    is_(sum(map(len, found.values())) + int(m[1] if m else 0), sum(counts), "events there and events reported as lost are all")
    ok("complete" in open(there + "/.duet/relay").read(), "it is complete")


def whoever_is_killed_each_event_arrives_once():
    relay = Relay("out")
    counts, told, there = recorded_through(relay, relay.port, kills)
    is_(len(relay.recordings()), 1, "it is one recording")
    all_of_it(there, counts, told)
    relay.stop()


def also_over_a_link_that_is_cut():
    relay = Relay("cut")
    link = Link(relay.port, cut=lambda: rng.randrange(300000, 3000000))
    counts, told, there = recorded_through(relay, link.port, kills // 3)
    is_(len(relay.recordings()), 1, "it is one recording")
    all_of_it(there, counts, told)
    link.close()
    relay.stop()


def also_in_pieces():
    relay = Relay("pieces")
    counts, told, there = recorded_through(relay, relay.port, kills // 2, "--rotate", "200000")
    ok(any(n.startswith("piece-") for n in os.listdir(there)), "it is in pieces")
    all_of_it(there, counts, told)
    relay.stop()


def events_refused_by_a_full_spool_are_counted():
    """The relay is down until the spool and the buffers are full; the count of the spool outlives its processes."""
    relay = Relay("full")
    relay.kill()
    done("start", "-o", "here", "-e", "counting:*", "-b", "1M", "--spool", "1M", "--flush-timeout", "80s",
         "--to", "127.0.0.1:%d" % relay.port, *KEY)
    p = start_counting(program)
    until(lambda: re.search(r"[1-9]\d* LOST", cmd("status")[1]), "events are lost")
    for which in 0, 1, 2, 3:
        kill_one(which)
    relay.begin()
    until(lambda: re.search(r"^ *link .*; spool 0 bytes of", cmd("status")[1], re.M), "the spool becomes empty")
    go_on(p)
    counts = stop_counting(p)
    told = done("stop")[1]
    there = relay.recordings()[-1]
    status, out, err = cmd("view", "-e", "counting:number", there)
    found = numbers_of(out)
    m = re.search(r"(\d+) LOST", told)
    if ok(m, "the loss is reported", told):
        is_(sum(map(len, found.values())) + int(m[1]), sum(counts), "events there and lost ones are all")
    ok(all(found[t] == sorted(set(found[t])) for t in found), "in order, each once")
    relay.stop()


make_key("key")
run_cases(whoever_is_killed_each_event_arrives_once, also_over_a_link_that_is_cut, also_in_pieces, events_refused_by_a_full_spool_are_counted)
