#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One user makes very many names, directories or namespaces: the others are recorded as before, those that come later
too, and whatever is not recorded is counted and its payer named.

arguments: DUET PROGRAM CROWD LIBDUET
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from world import ROOTS, World, enter  # first: it finds tests/lib
from recorder import view
from trial import is_, ok, paths, run, run_cases, skip, start, until, work
import trial

program, crowd_program, library = paths(3)
ALICE, BOB, MALLORY = 65530, 65531, 65533
SUBORDINATE, LIMIT = 200000, 32
world = crowd_copy = None


def duet(*args):
    return run(trial.duet, *args, env=world.env())


class Crowd:
    """Mallory's program, started by @before."""
    def __init__(self, *args, before=(), **more):
        self.p = start(*before, crowd_copy, *args, stdin=subprocess.PIPE, **more)
        is_(self.p.stdout.readline(), "ready\n", "the crowd is there")

    def end(self):
        self.p.stdin.close()
        self.p.wait()
        for name in os.listdir("/dev/shm"):
            path = "/dev/shm/" + name
            if os.path.isdir(path) and os.stat(path).st_uid >= MALLORY:
                shutil.rmtree(path)
            elif not os.path.isdir(path):
                os.unlink(path)


def mallory():
    return dict(user=MALLORY, group=MALLORY, extra_groups=[])


def served():
    """The labels of the tenants that have a collector."""
    return [n.split("@")[1] for n in os.listdir(ROOTS) if n.startswith("session-default@")]


def are_recorded_through(crowd, options=("--all-users",), most=None, payer=None):
    """Alice before the crowd, Bob after it: all of their events; of the crowd at most @most collectors, the rest at the
    expense of @payer."""
    alice = world.user(ALICE)
    trace = "trace-%d" % time.monotonic_ns()
    c = world.collect(trace, "-e", "tenants:*", *options)
    until(lambda: str(ALICE) in served(), "alice is served")
    is_(alice.record(10), 10, "alice records")
    crowd = crowd()
    time.sleep(5)  # five scans; a tenant that three do not find is gone
    is_(alice.record(10), 20, "alice goes on")
    ok(str(ALICE) in served(), "alice is served still", str(served()))
    bob = world.user(BOB)
    until(lambda: str(BOB) in served(), "bob is served")
    is_(bob.record(20), 20, "bob records")
    if most:
        strangers = [label for label in served() if label not in (str(ALICE), str(BOB))]
        ok(0 < len(strangers) <= most, "a share of the room for the crowd", "%d of it" % len(strangers))
        _, out, _ = duet("status")
        told = re.search(r"NOT RECORDED +(\d+) users or containers, for lack of room; most of (.*)", out)
        ok(told and int(told[1]) > 0, "status counts the others", out)
        is_(told[2], payer, "and names the payer")
    alice.end()
    bob.end()
    status, _, err = c.end(signal.SIGTERM)
    is_(status, 0, "the collector ends: " + err)
    if most:
        ok("not recorded, for lack of room; most of " + payer in err, "so does the summary", err)
    crowd.end()
    who = [e["fields"]["uid"] for e in view(os.path.join(world.work, trace), "-e", "tenants:tick") if "event" in e]
    is_((who.count(ALICE), who.count(BOB)), (20, 20), "all their events are there")
    for uid in (ALICE, BOB):
        shutil.rmtree("/dev/shm/duet-%d" % uid, ignore_errors=True)


def many_names_hide_no_user():
    are_recorded_through(lambda: Crowd("names", "70000", **mallory()))


def names_in_ones_own_directory_delay_no_answer():
    """Each request to mallory's collector walks over her directory: over 65 536 names, and status says so."""
    home = "/dev/shm/duet-%d" % MALLORY
    os.mkdir(home, 0o700)
    os.chown(home, MALLORY, MALLORY)
    alice = world.user(ALICE)
    c = world.collect("trace-names", "-e", "tenants:*", "--all-users")
    until(lambda: {str(ALICE), str(MALLORY)} <= set(served()), "both are served")
    for i in range(90000):
        os.mknod("%s/app-%d" % (home, i))
    until(lambda: "%d: the runtime directory has more than 65536 names" % MALLORY in duet("status")[1], "status names her")
    ok("%d: the runtime" % ALICE not in duet("status")[1], "and nobody else")
    is_(alice.record(10), 10, "alice records")
    alice.end()
    is_(c.end(signal.SIGTERM)[0], 0, "the collector ends")
    shutil.rmtree(home)
    n = [e for e in view(os.path.join(world.work, "trace-names"), "-e", "tenants:tick") if "event" in e]
    is_(len(n), 10, "all of alice's events are there")
    shutil.rmtree("/dev/shm/duet-%d" % ALICE, ignore_errors=True)


def directories_of_no_program_have_one_share():
    are_recorded_through(lambda: Crowd("directories", str(SUBORDINATE), "40"), most=LIMIT,
                         payer="directories without a running program")


def subordinate_uids_are_at_their_users_expense():
    def crowd():
        """A user namespace of mallory's, with uids that newuidmap would give."""
        script = ("import os,sys,ctypes; l=ctypes.CDLL(None); l.unshare(0x10000000); print('made',flush=True);"
                  "sys.stdin.readline(); os.setresgid(0,0,0); os.setresuid(0,0,0);"
                  "os.execv(sys.argv[1],sys.argv[1:])")
        c = Crowd.__new__(Crowd)
        c.p = start(sys.executable, "-c", script, crowd_copy, "uids", "1", "40", str(SUBORDINATE), stdin=subprocess.PIPE,
                    **mallory())
        is_(c.p.stdout.readline(), "made\n", "the user namespace")
        for what in ("uid_map", "gid_map"):
            with open("/proc/%d/%s" % (c.p.pid, what), "w") as f:
                f.write("0 %d 1000\n" % SUBORDINATE)
        c.p.stdin.write("\n")
        c.p.stdin.flush()
        is_(c.p.stdout.readline(), "ready\n", "the crowd is there")
        return c
    are_recorded_through(crowd, most=LIMIT, payer="user %d" % MALLORY)


def a_container_has_one_share():
    def crowd():
        return Crowd("directories", str(SUBORDINATE), "40", before=["unshare", "-m", "--propagation", "private", "sh", "-c",
                     'mount -t tmpfs -o mode=1777 none /dev/shm && exec "$0" "$@"'])
    alice = world.user(ALICE)
    c = world.collect("trace-container", "-e", "tenants:*", "--all-users", "--containers")
    until(lambda: str(ALICE) in served(), "alice is served")
    inside = crowd()
    until(lambda: len(served()) > LIMIT, "the container's share is served")
    time.sleep(2)
    labels = [label for label in served() if label != str(ALICE)]
    is_(len(labels), LIMIT, "and no more")
    container = labels[0].split(":")[0]
    ok("most of container " + container in duet("status")[1], "status names it", duet("status")[1])
    alice.end()
    is_(c.end(signal.SIGTERM)[0], 0, "the collector ends")
    inside.end()


def many_mount_namespaces_hide_no_container():
    crowd = Crowd("mounts", "4200", **mallory())
    inside = world.container("late")
    c = world.collect("trace-mounts", "-e", "tenants:*", "--containers")
    until(lambda: [label for label in served() if label.endswith(":0")], "the container that came last is served")
    is_(inside.record(10), 10, "it records")
    inside.end()
    is_(c.end(signal.SIGTERM)[0], 0, "the collector ends")
    crowd.end()
    is_(len([e for e in view(os.path.join(world.work, "trace-mounts"), "-e", "tenants:tick") if "event" in e]), 10,
        "all its events are there")


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(program, library, (ALICE, BOB))
trial.duet = world.copy(trial.duet, "duet")
crowd_copy = world.copy(crowd_program, "crowd")
run_cases(many_names_hide_no_user, names_in_ones_own_directory_delay_no_answer,
          directories_of_no_program_have_one_share, subordinate_uids_are_at_their_users_expense,
          a_container_has_one_share, many_mount_namespaces_hide_no_container)
