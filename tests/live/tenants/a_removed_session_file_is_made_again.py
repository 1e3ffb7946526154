#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file with the slots of sessions is removed, or overwritten, while they record: it is made again, and
programs that started meanwhile, those before and those after are recorded."""
import collections
import fcntl
import json
import os
import signal
import tempfile

from world import World, enter  # first: it finds tests/lib
import proc
from trial import duet, is_, ok, paths, run, run_cases, skip, until, worker_of

program, library = paths(2)
ALICE = 65530


def directory(uid):
    return "/dev/shm/duet-%d" % uid


def collect_anew(session, *options):
    """-> a collector that records into a new directory"""
    return world.collect(tempfile.mkdtemp(dir=world.work), "-e", "tenants:*", *options, session=session)


def counts(c):
    c.terminate()
    is_(c.wait(), 0, "it ends well: " + c.stderr.so_far())
    status, out, err = run(duet, "view", "--json", "-e", "tenants:*", c.trace, env=world.env())
    is_(status, 0, "view: " + err)
    return collections.Counter(e["pid"] for e in map(json.loads, out.splitlines()) if "fields" in e)


def has_joined(p):
    return "memfd:duet-pool" in proc.read(p.pid, "maps")


class Locked:
    """Meanwhile no collector changes the directory."""
    def __init__(self, where):
        self.fd = os.open(where, os.O_RDONLY)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def spoil(where, how):
    if how == "removed":
        os.unlink(where + "/seats")
    elif how == "cut":
        os.truncate(where + "/seats", 100)
    else:
        with open(where + "/seats", "r+b") as f:
            f.write(b"x" * 5000)


def is_sound(where):
    with open(where + "/seats", "rb") as f:
        return b"one" in f.read()


def the_file_is_made_again_and_all_are_recorded():
    for how in "removed", "cut", "scribbled over":
        c = collect_anew("one")
        before = world.spawn([world.program])
        before.record(5)
        with Locked(directory(0)):
            spoil(directory(0), how)
            meanwhile = world.spawn([world.program, "3"])
            ok(not has_joined(meanwhile), "%s: a new program finds no session" % how)
            before.record(5)
        until(lambda: is_sound(directory(0)), "%s: it is there again" % how)
        n = until(lambda: (n := meanwhile.record(1)) and has_joined(meanwhile) and n, "a program started meanwhile is enabled")
        after = world.spawn([world.program, "7"])
        for p in before, meanwhile, after:
            p.end()
        got = counts(c)
        is_((got[before.pid], got[after.pid]), (10, 7), "%s: those before, and after" % how)
        ok(1 <= got[meanwhile.pid] <= n - 3, "%s: and meanwhile" % how, str(got))


def another_session_that_begins_then_sits_elsewhere():
    c = collect_anew("one")
    p = world.spawn([world.program])
    p.record(5)
    worker = worker_of(c)
    os.kill(worker, signal.SIGSTOP) # so that it does not repair it first
    spoil(directory(0), "removed")
    other = collect_anew("two")
    os.kill(worker, signal.SIGCONT)
    is_(p.record(5), 10, "the program goes on")
    later = world.spawn([world.program, "4"])
    for one in p, later:
        one.end()
    got, of_other = counts(c), counts(other)
    is_((got[p.pid], got[later.pid]), (10, 4), "the first has all")
    is_((of_other[p.pid], of_other[later.pid]), (5, 4), "the second has the events since")


def a_users_session_file_is_made_again_as_the_users():
    alice = world.user(ALICE)
    c = collect_anew("one", "--all-users")
    until(lambda: os.path.exists(directory(0) + "/session-one@%d" % ALICE), "she is served")
    alice.record(5)
    with Locked(directory(ALICE)):
        spoil(directory(ALICE), "removed")
    until(lambda: is_sound(directory(ALICE)), "it is there again")
    is_(os.stat(directory(ALICE) + "/seats").st_uid, ALICE, "it is hers")
    later = world.user(ALICE, "6")
    for p in alice, later:
        p.end()
    got = counts(c)
    is_((got[alice.pid], got[later.pid]), (5, 6), "all is recorded")


if not enter():
    skip("no right to make namespaces")
world = World(program, library)
run_cases(the_file_is_made_again_and_all_are_recorded, another_session_that_begins_then_sits_elsewhere, a_users_session_file_is_made_again_as_the_users)
