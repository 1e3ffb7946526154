#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs and events of a session of many users can be chosen as in any other: by program, user, container and level, from the
start and while it runs, for present users and later ones."""
import collections
import json
import os
import shutil

from world import World, enter  # first: it finds tests/lib
import proc
from trial import duet, is_, paths, run, run_cases, skip, start, until

program, library = paths(2)
ALICE, BOB, CAROL = 65530, 65531, 65532
recordings = 0


def has(session):
    return os.path.exists("/dev/shm/duet-0/session-" + session)


def cmd(*args, status=0):
    got, out, err = run(duet, *args, env=world.env())
    is_(got, status, "duet %s: %s" % (" ".join(map(str, args)), err))
    return out


class Recording:
    def __init__(self, *options):
        global recordings
        recordings += 1
        self.trace = "%s/chosen-%d" % (world.work, recordings)
        self.c = start(duet, "collect", "-o", self.trace, "--all-users", *options, env=world.env())
        until(lambda: has("default") or self.c.poll() is not None, "it records")
        is_(self.c.poll(), None, "it goes on: " + self.c.stderr.so_far())
        self.programs = {}

    def user(self, name, uid, binary="program"):
        """Another program of that user, once the user's part serves it."""
        if not os.path.exists(world.work + "/" + binary):
            os.symlink("program", world.work + "/" + binary)
        p = world.spawn([world.work + "/" + binary], user=uid, group=uid, extra_groups=[])
        until(lambda: not uid or has("default@%d" % uid), "user %d is served" % uid)
        self.programs[name] = p
        return p

    def container(self, name, user=None):
        p = self.programs[name] = world.container(name, user=user)
        pid = proc.descendants(p.p.pid)[-1]
        number = os.stat("/proc/%d/ns/mnt" % pid).st_ino
        until(lambda: has("default@mnt-%d:0" % number), "%s is served" % name)
        p.label, p.inside = "mnt-%d:0" % number, pid
        return p

    def goes_on(self, *names):
        """These have joined, and each records the events requested of it."""
        for name in names:
            p = self.programs[name]
            pid = getattr(p, "inside", p.pid)
            until(lambda: p.record(1) and "memfd:duet-pool" in proc.read(pid, "maps"), "%s has joined" % name)
        self.first = {name: p.record(1) for name, p in self.programs.items()}
        for p in self.programs.values():
            p.record(5)

    def end(self):
        """-> the recorded events by user: name -> events, of those that it wrote at the last goes_on"""
        pids = {getattr(p, "inside", p.pid): name for name, p in self.programs.items()}
        for p in self.programs.values():
            p.end()
        self.c.terminate()
        is_(self.c.wait(), 0, "it ends well: " + self.c.stderr.so_far())
        for uid in ALICE, BOB, CAROL:
            shutil.rmtree("/dev/shm/duet-%d" % uid, ignore_errors=True)
        status, out, _ = run(duet, "view", "--json", self.trace, env=world.env())
        found = collections.defaultdict(set)
        for e in map(json.loads, out.splitlines() if not status else ()):
            if e["event"].startswith(("tenants:", "levels:")) and e["fields"]["n"] >= self.first[pids[e["pid"]]]:
                found[pids[e["pid"]]].add(e["event"].split(":")[1])
        return {name: sorted(events) for name, events in found.items()}


def programs_are_chosen_by_name_of_all_users():
    r = Recording("-e", "tenants:tick", "--program", "web*")
    r.user("own", 0, "web-own")
    r.user("alice", ALICE, "web-a")
    r.user("alice's other", ALICE, "cron")
    r.user("bob", BOB)
    r.user("bob's web", BOB, "web-b")
    r.goes_on("own", "alice", "bob's web")
    is_(r.end(), {"own": ["tick"], "alice": ["tick"], "bob's web": ["tick"]}, "by name")


def users_are_chosen_by_number():
    r = Recording("-e", "tenants:tick", "--uid", ALICE)
    r.user("own", 0)
    r.user("alice", ALICE)
    r.user("bob", BOB)
    r.user("alice's second", ALICE)
    r.goes_on("alice", "alice's second")
    is_(r.end(), {"alice": ["tick"], "alice's second": ["tick"]}, "one of them")
    r = Recording("-e", "tenants:tick", "--uid", "!%d" % ALICE)
    r.user("own", 0)
    r.user("alice", ALICE)
    r.user("bob", BOB)
    r.goes_on("own", "bob")
    is_(r.end(), {"own": ["tick"], "bob": ["tick"]}, "all but one")


def later_users_are_chosen_by_later_requests():
    r = Recording("-e", "other:*")
    r.user("own", 0)
    cmd("enable", "--uid", "%d,%d" % (ALICE, BOB), "tenants:tick", status=2)  # they are not there yet
    cmd("disable", "--program", "cron", "tenants:tick", status=2)
    r.user("alice", ALICE)
    r.user("bob", BOB)
    r.user("bob's cron", BOB, "cron")
    r.user("carol", CAROL)
    r.goes_on("alice", "bob")
    is_(r.end(), {"alice": ["tick"], "bob": ["tick"]}, "by user and program")


def events_are_chosen_by_level_of_all_users():
    r = Recording("-e", "tenants:*", "--level", "warning", "-e", "levels:*", "--level", "warning")
    r.user("own", 0)
    r.user("alice", ALICE)
    r.goes_on("own", "alice")
    cmd("enable", "--level", "debug", "--uid", ALICE, "tenants:*")
    r.user("bob", BOB)
    r.user("alice's second", ALICE)
    r.goes_on("alice's second", "bob")
    is_(r.end(), {"own": ["alarm"], "bob": ["alarm"], "alice": ["alarm", "tick"], "alice's second": ["alarm", "tick"]}, "by level")


def containers_are_chosen_beside_users():
    r = Recording("--containers", "-e", "other:*")
    one, his = r.container("one"), r.container("his", user=ALICE)
    r.container("other")
    r.user("bob", BOB)
    for p in one, his:
        cmd("enable", "--container", p.label, "tenants:tick")
    r.goes_on("one", "his")
    is_(r.end(), {"one": ["tick"], "his": ["tick"]}, "two of them")
    r = Recording("--containers", "-e", "tenants:tick", "--container", "!no-such-name")
    r.user("own", 0)
    r.user("alice", ALICE)
    r.container("one")
    r.goes_on("own", "alice", "one")
    is_(r.end(), {"own": ["tick"], "alice": ["tick"], "one": ["tick"]}, "all but one that is not there")


if not enter():
    skip("no right to make namespaces")
world = World(program, library)
run_cases(programs_are_chosen_by_name_of_all_users, users_are_chosen_by_number, later_users_are_chosen_by_later_requests,
          events_are_chosen_by_level_of_all_users, containers_are_chosen_beside_users)
