#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""In a pid namespace of a few hundred pids, short programs of three users follow each other so fast that each pid is used
again and again: no event is lost, each has the name of the program that emitted it, and no user has another's.

arguments: DUET PROGRAM LIVES LIBDUET [N]     N lives of each user; by hand: 50000
"""
import collections
import os
import platform
import sys

from world import ROOTS, World, enter  # first: it finds tests/lib
from proc import field
from recorder import stop, view
from trial import is_, ok, paths, run_cases, skip, until
import trial

program, lives, library = paths(3)
n_lives = int(sys.argv[5]) if len(sys.argv) > 5 else 700
ALICE, BOB, STEPS, PIDS = 65530, 65531, 3, 400
LIMIT = "/proc/sys/kernel/pid_max"


def make_pids_scarce():
    """The limit is this pid namespace's own since Linux 6.14; before, it is the machine's, and is left alone."""
    version = [int(n) for n in platform.release().replace("-", ".").split(".")[:2]]
    if version < [6, 14]:
        return False
    with open(LIMIT, "w") as f:
        f.write(str(PIDS))
    with open(LIMIT) as f:
        return int(f.read()) == PIDS


def check(trace, owner):
    """-> how many different names its events have"""
    found, wrong = collections.Counter(), []
    for e in view(trace, "-e", "lives:life", may_lose=False):
        f = e["fields"]
        found[f["number"], f["step"]] += 1
        if f["owner"] != owner or e.get("proc") != "l%d" % f["number"]:
            wrong.append((e.get("proc"), e.get("vpid"), f))
    is_(wrong[:3], [], "%s: each event is of this user, and under its program's name (%d are not)" % (trace, len(wrong)))
    missing = [k for k in ((i, s) for i in range(n_lives) for s in range(STEPS)) if found[k] != 1]
    is_((missing[:5], len(found)), ([], n_lives * STEPS), "%s: each event is there once" % trace)


def events_and_names_are_those_of_each_life():
    c = world.collect("trace", "-e", "lives:*", "--all-users")
    users = {0: None, ALICE: ALICE, BOB: BOB}
    stay = [world.user(ALICE), world.user(BOB)]
    until(lambda: all("session-default@%d" % u in os.listdir(ROOTS) for u in (ALICE, BOB)), "both users are served")
    running = [trial.start(world.lives, str(n_lives), "6", env=world.env(),
                           **(dict(user=u, group=u, extra_groups=[]) if u else {})) for u in users]
    for p in running:
        status, out, err = p.end()
        is_(status, 0, "the lives end: " + err)
        if are_scarce:
            ok(int(out) <= PIDS, "so few pids", out)
        else:
            print("  (%s pids for %d lives: before Linux 6.14 they are not made scarce)" % (out.strip(), n_lives))
    for p in stay:
        p.end()
    before = field(c.pid, "VmRSS")
    err = stop(c)
    ok("lost" not in err.replace("none lost", ""), "nothing was lost", err)
    print("  (the supervisor had %s KiB)" % before)
    check(world.work + "/trace/ust", 0)
    for uid in ALICE, BOB:
        check("%s/trace/tenant-%d" % (world.work, uid), uid)


def nothing_is_left():
    """Each life left a page behind; the collector has removed those of the dead."""
    for uid in 0, ALICE, BOB:
        directory = "/dev/shm/duet-%d" % uid
        left = [f for f in os.listdir(directory) if f.startswith("app-")]
        ok(len(left) < 100, "pages that are left", "%d" % len(left))


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(program, library, (ALICE, BOB))
world.lives = world.copy(lives, "lives")
trial.duet = world.copy(trial.duet, "duet")
are_scarce = make_pids_scarce()
run_cases(events_and_names_are_those_of_each_life, nothing_is_left)
