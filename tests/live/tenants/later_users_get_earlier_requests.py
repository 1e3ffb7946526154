#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests to a session of many users hold for users that come later, too; and a listener to its
triggers gets the firings of all users."""
import collections
import json
import os
import signal

from world import World, enter, has  # first: it finds tests/lib
import proc
from trial import duet, is_, ok, paths, run, run_cases, skip, start, until, worker_of

program, library = paths(2)
ALICE, BOB, CAROL = 65530, 65531, 65532
TRIGGER = "event tenants:tick if n % 5 == 3 -> notify, every 0s"


def cmd(*args, status=0):
    got, out, err = run(duet, *args, env=world.env())
    is_(got, status, "duet %s: %s" % (" ".join(args), err))
    return out


def comes(uid, *args):
    """A user's first program, once the user's part of the session serves it."""
    p = world.user(uid, *args)
    until(lambda: has("default@%d" % uid), "user %d is served" % uid)
    return p


def recorded(c):
    """user -> the numbers of the user's events"""
    found = collections.defaultdict(list)
    for e in map(json.loads, cmd("view", "--json", "-e", "tenants:*", c.trace).splitlines()):
        if "fields" in e:
            found[e["fields"]["uid"]].append(e["fields"]["n"])
    return dict(found)


def joins(p):
    """It has joined: later events are recorded.  -> its next number"""
    return until(lambda: (n := p.record(1)) and "memfd:duet-pool" in proc.read(p.pid, "maps") and n, "it has joined")


def goes_on(p):
    """-> the numbers of five events, each of which is recorded"""
    n = joins(p)
    p.record(5)
    return set(range(n, n + 5))


def disabled_events_stay_so_for_later_users():
    c = world.collect("disabled", "--all-users", "-e", "tenants:*")
    own, alice = world.spawn([world.program]), comes(ALICE)
    cmd("disable", "tenants:*")
    bob = comes(BOB)
    second = world.user(BOB, "5")
    before = {uid: p.record(5) for uid, p in ((0, own), (ALICE, alice), (BOB, bob))}
    cmd("enable", "tenants:*")
    carol = comes(CAROL)
    wanted = {0: goes_on(own), ALICE: goes_on(alice), BOB: goes_on(bob), CAROL: goes_on(carol)}
    world.end(c, own, alice, bob, second, carol)
    got = recorded(c)
    is_({uid: sorted(n - set(got.get(uid, []))) for uid, n in wanted.items()}, {uid: [] for uid in wanted}, "missing events")
    is_([(uid, n) for uid in before for n in got.get(uid, []) if n < before[uid]], [], "disabled events")


def enabled_events_keep_filter_and_channel_for_later_users():
    """Also when root's collector was killed meanwhile: its state is kept."""
    c = world.collect("enabled", "--all-users", "-e", "other:*", "--channel", "rare:events=other:rare")
    own = world.spawn([world.program])
    cmd("enable", "-f", "n > 90", "nobody:*", status=2)  # no program has it yet
    cmd("enable", "-f", "n % 2 == 1", "--channel", "rare", "tenants:tick")
    workers = lambda: [p for p in proc.children(c.pid) if "memfd:duet-pool" in proc.read(p, "maps")]  # not the warden
    worker = until(workers, "root's collector")[0]
    os.kill(worker, signal.SIGKILL)
    until(lambda: [p for p in workers() if p != worker], "root's collector is another one")
    cmd("enable", "-f", "n > 6", "--program", "nobody", "tenants:tick", status=2)
    alice = comes(ALICE)
    wanted = {0: goes_on(own), ALICE: goes_on(alice)}
    world.end(c, own, alice)
    got = recorded(c)
    files = [os.path.join(at, n) for at, _, names in os.walk(c.trace) for n in names]
    for uid, n in wanted.items():
        is_(sorted({i for i in n if i % 2} - set(got.get(uid, []))), [], "events of %d missing" % uid)
        is_([i for i in got.get(uid, []) if i % 2 == 0], [], "events of %d that no filter let pass" % uid)
        ok(sum(os.path.getsize(f) for f in files if "/uid/%d/" % uid in f and "/rare_cpu" in f), "in its channel, of %d" % uid)


def received(listener):
    """-> the parts of its messages"""
    return {json.loads(line)["session"] for line in listener.stdout.so_far().splitlines()}


def receives(listener, programs, labels):
    """Sooner or later, as long as they go on."""
    wanted = {"default@%d" % n if n else "default" for n in labels}
    until(lambda: all([p.record(5) for p in programs]) and received(listener) == wanted,
          lambda: "it receives %r: %r" % (wanted, received(listener)))


def triggers_hold_for_later_users_and_all_firings_are_received():
    c = world.collect("triggers", "--all-users", "-e", "tenants:*")
    own, alice = world.spawn([world.program]), comes(ALICE)
    cmd("trigger", "add", "event tenants:tick if n > 1000000 -> notify")
    cmd("trigger", "add", TRIGGER)
    cmd("trigger", "remove", "1")
    bob = comes(BOB)
    is_(cmd("trigger", "list").count("  2  event tenants:tick if n %"), 3, "it has its number in all parts")
    is_(cmd("trigger", "list").count("1000000"), 0, "removed triggers are nowhere")
    listener = start(duet, "trigger", "watch", env=world.env())
    receives(listener, (own, alice, bob), (0, ALICE, BOB))
    carol = comes(CAROL)
    receives(listener, (carol,), (0, ALICE, BOB, CAROL))
    cmd("trigger", "remove", "2")
    is_(cmd("trigger", "list").count("no triggers"), 4, "gone from all")
    world.end(c, own, alice, bob, carol)
    is_(listener.wait(), 0, "it ends with the session")


def a_listener_receives_from_the_successor_of_a_killed_collector():
    c = world.collect("successor", "--all-users", "-e", "tenants:*", "--trigger", TRIGGER)
    alice = comes(ALICE)
    listener = start(duet, "trigger", "watch", env=world.env())
    receives(listener, (alice,), (ALICE,))
    part = json.loads(cmd("status", "--json", "default@%d" % ALICE))["sessions"][0]["pid"]
    n = len(listener.stdout.so_far())
    worker = worker_of(part)
    os.kill(worker, signal.SIGKILL)
    until(lambda: [p for p in proc.children(part) if p != worker], "it has a successor")
    until(lambda: alice.record(5) and len(listener.stdout.so_far()) > n + 2000, "and continues")
    world.end(c, alice)
    is_(listener.wait(), 0, "it ends with the session")


def a_trigger_about_the_kernel_is_of_the_whole_session_alone():
    if run(duet, "record", "-q", "-k", "sched_switch", "-o", world.work + "/try", "true", env=world.env())[0]:
        return print("not tried: the kernel cannot be recorded here")
    c = world.collect("kernel", "--all-users", "-e", "tenants:*", "-k", "sched_switch",
                      "--trigger", "event kernel:sched_switch -> notify")
    own, alice = world.spawn([world.program]), comes(ALICE)
    cmd("trigger", "add", "event kernel:sched_switch if next_tid == 999999999 -> notify")
    is_(cmd("trigger", "list").count("no triggers"), 1, "her part has none")
    wanted = {0: goes_on(own), ALICE: goes_on(alice)}
    world.end(c, own, alice)
    got = recorded(c)
    is_({uid: sorted(n - set(got.get(uid, []))) for uid, n in wanted.items()}, {0: [], ALICE: []}, "missing events")


if not enter():
    skip("no right to make namespaces")
world = World(program, library, users=(ALICE, BOB, CAROL))
run_cases(disabled_events_stay_so_for_later_users, enabled_events_keep_filter_and_channel_for_later_users,
          triggers_hold_for_later_users_and_all_firings_are_received, a_listener_receives_from_the_successor_of_a_killed_collector,
          a_trigger_about_the_kernel_is_of_the_whole_session_alone)
