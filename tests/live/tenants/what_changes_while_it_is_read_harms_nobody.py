#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user's control pages, session files and libraries are cut and rewritten while root's collector and commands read them;
its runtime directory is exchanged; root's is read-only for a while.  Nothing crashes or hangs, and the others' events are all
there.

arguments: DUET PROGRAM SPOIL LIBDUET [SECONDS]      by hand: 600
"""
import os
import shutil
import subprocess
import sys
import time

from world import ROOTS, World, enter  # first: it finds tests/lib
from recorder import stop, view
from trial import is_, ok, paths, run, run_cases, skip, start, until
import trial

program, spoil, library = paths(3)
seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
ALICE, BOB, MALLORY = 65530, 65531, 65533
THEIRS = "/dev/shm/duet-%d" % MALLORY


def served():
    return [n.split("@")[1] for n in os.listdir(ROOTS) if n.startswith("session-default@")]


def mallory(*argv):
    return start(*argv, env=world.env(), user=MALLORY, group=MALLORY, extra_groups=[])


def survives(*args):
    """A command ends by itself, with a status of its own."""
    status, out, err = run(trial.duet, *args, env=world.env())
    ok(status in (0, 1, 2) and "Assertion" not in err, "%s: status %d" % (" ".join(map(str, args)), status), err[-500:])
    ok("\033" not in out + err, "%s: no escape sequence reaches the terminal" % " ".join(map(str, args)), repr((out + err)[-300:]))


def was_never_replaced(trace):
    """A collector that died was replaced by one that writes beside it."""
    again = [os.path.join(d, n) for d, names, _ in os.walk(trace) for n in names if n.startswith(("ust-", "kernel-"))]
    is_(again, [], "no collector died, not even the hostile user's own")


def alices(trace):
    return len([e for e in view(trace + "/tenant-%d" % ALICE, "-e", "tenants:tick") if "event" in e])


def pages_and_libraries_are_cut_while_they_are_read():
    alice = world.user(ALICE)
    trace = world.work + "/cut"
    c = world.collect("cut", "-e", "tenants:*", "--all-users")
    until(lambda: str(ALICE) in served(), "alice is served")
    copies = world.work + "/copies"
    os.mkdir(copies)
    os.chown(copies, MALLORY, MALLORY)
    p = mallory(world.spoil, THEIRS, world.library, copies, seconds)
    is_(p.stdout.readline(), "ready\n", "pages are there")
    n = 0
    while p.poll() is None:
        n = alice.record(10)
        for args in (["list"], ["list", p.pid], ["doctor", p.pid], ["status"], ["list", "--all-users"],
                     ["enable", "tenants:*"], ["doctor"]):
            survives(*args)
    ok(int(p.stdout.read()) > 100, "pages were changed")
    ok(str(MALLORY) in served(), "its directory was served")
    was_never_replaced(trace)
    is_(c.poll(), None, "the collector goes on")
    n = alice.record(10)
    alice.end()
    stop(c, status=None)
    ok(c.returncode in (0, 1), "the collector ends: %d" % c.returncode)
    is_(alices(trace), n, "all of alice's events are there")
    shutil.rmtree(THEIRS)


def exchange(path, other):
    """As mallory: puts other things in the place of its directory, and that back, until the time is over.  -> how often"""
    kinds = (lambda: os.symlink(other, path), lambda: os.symlink("/root", path), lambda: os.mkfifo(path),
             lambda: os.mkdir(path, 0o777), lambda: os.mkdir(path, 0), lambda: open(path, "w").close(), lambda: os.mkdir(path, 0o700))
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        os.rename(path, path + "-aside")
        kinds[n % len(kinds)]()
        time.sleep(0.01)
        n += 1
        os.rename(path, "%s-gone%d" % (path, n))
        os.rename(path + "-aside", path)
        time.sleep(0.002)
    return n


def exchanges(path, other):
    """-> the process that does it, and the descriptor that its count comes from"""
    ours, its = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setresgid(MALLORY, MALLORY, MALLORY)
            os.setresuid(MALLORY, MALLORY, MALLORY)
            os.write(its, b"%d" % exchange(path, other))
        finally:
            os._exit(0)
    os.close(its)
    return pid, ours


def a_directory_is_exchanged_while_it_is_served():
    """By links to another user's and to root's home, by FIFOs, files, directories open to all, and its own again."""
    alice = world.user(ALICE)
    bad = world.user(MALLORY)
    trace = world.work + "/exchanged"
    c = world.collect("exchanged", "-e", "tenants:*", "--all-users")
    for uid in ALICE, MALLORY:
        until(lambda: str(uid) in served(), "both are served")
    inside = set(os.listdir("/dev/shm/duet-%d" % ALICE))
    pid, counted = exchanges(THEIRS, "/dev/shm/duet-%d" % ALICE)
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        n = alice.record(10)
        for args in ["list", "--all-users"], ["status"], ["enable", "tenants:*"]:
            survives(*args)
    ok(int(os.read(counted, 20) or 0) > 20, "it was exchanged")
    os.close(counted)
    n = alice.record(10)
    is_(set(os.listdir("/dev/shm/duet-%d" % ALICE)), inside, "nothing was made in alice's directory")
    alice.end()
    bad.end()
    stop(c, status=None)
    ok(c.returncode in (0, 1), "the collector ends: %d" % c.returncode)
    is_(alices(trace), n, "all of alice's events are there")
    for name in os.listdir("/dev/shm"):
        if name.startswith("duet-%d" % MALLORY):
            path = "/dev/shm/" + name
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                shutil.rmtree(path)
            else:
                os.unlink(path)


def mount(*args):
    return subprocess.run(args, stderr=subprocess.DEVNULL).returncode


def a_runtime_directory_may_be_read_only_for_a_while():
    alice = world.user(ALICE)
    mine = world.spawn([world.program])
    trace = world.work + "/readonly"
    c = world.collect("readonly", "-e", "tenants:*", "--all-users")
    until(lambda: str(ALICE) in served(), "alice is served")
    is_((alice.record(10), mine.record(10)), (10, 10), "both record")
    ok(mount("mount", "-o", "remount,ro", "/dev/shm"), "the kernel refuses it while pages are mapped")
    is_((mount("mount", "--bind", "/dev/shm", "/dev/shm"), mount("mount", "-o", "remount,bind,ro", "/dev/shm")), (0, 0),
        "a read-only mount on top")
    try:
        is_((alice.record(10), mine.record(10)), (20, 20), "programs that are attached record on")
        late = world.user(BOB, "5")  # it can make no page
        late.end()
        for args in ["status"], ["list"], ["list", "--all-users"], ["enable", "tenants:x"], ["doctor"]:
            survives(*args)
    finally:
        is_(mount("umount", "-l", "/dev/shm"), 0, "it is taken away")
    is_((alice.record(10), mine.record(10)), (30, 30), "and afterwards")
    bob = world.user(BOB)
    until(lambda: str(BOB) in served(), "a later user is served again")
    is_(bob.record(10), 10, "bob records")
    for p in alice, mine, bob:
        p.end()
    stop(c)
    is_(alices(trace), 30, "all of alice's events are there")
    is_(len([e for e in view(trace + "/ust", "-e", "tenants:tick") if "event" in e]), 30, "and root's")


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(program, library, (ALICE, BOB))
world.spoil = world.copy(spoil, "spoil")
trial.duet = world.copy(trial.duet, "duet")
run_cases(pages_and_libraries_are_cut_while_they_are_read, a_directory_is_exchanged_while_it_is_served,
          a_runtime_directory_may_be_read_only_for_a_while)
