#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One user records as much as the disk holds: the others' events are all there, and what that user lost is counted
exactly and named, with the reason.  A foreign file fills the disk: recording stops before it is full, and goes on.

Each case has a small file system for its recording.

arguments: DUET PROGRAM LIBDUET
"""
import atexit
import json
import os
import re
import shutil
import signal
import subprocess

from world import ROOTS, World, enter  # first: it finds tests/lib
from recorder import view
from trial import is_, ok, paths, run, run_cases, skip, until
import proc
import trial

program, library = paths(2)
ALICE, MALLORY = 65530, 65533
FIRST_UID = 4294836224  # of tenants' collectors
MIB = 1 << 20
world = None


class Disk:
    """A file system of @size MiB at @name, for one recording."""
    def __init__(self, name, size):
        self.path, self.trace = world.work + "/" + name, name + "/trace"
        os.mkdir(self.path)
        atexit.register(subprocess.run, ["umount", "-l", self.path], stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm" % size, "none", self.path], check=True)

    def free(self):
        v = os.statvfs(self.path)
        return v.f_bavail * v.f_frsize

    def end(self):
        subprocess.run(["umount", self.path], check=True)


def status(session="default"):
    _, out, _ = run(trial.duet, "status", "--json", session, env=world.env())
    found = json.loads(out)["sessions"]
    return found[0] if found else None


def written(disk, uid):
    """How many ticks of this user are in the recording."""
    _, out, err = run(trial.duet, "stats", "--json", part(disk, uid))
    return next((e["n"] for e in json.loads(out)["events"] if e["event"] == "tenants:tick"), 0)


def are_served(*users):
    for uid in users:
        until(lambda: os.path.exists(ROOTS + "/session-default@%d" % uid), "%d is served" % uid)


def size_of(path):
    return int(run("du", "-s", "-B1", path)[1].split()[0])


def part(disk, uid):
    return "%s/%s/tenant-%d" % (world.work, disk.trace, uid)


def refusal(uid, reason):
    """Until the part of @uid is refused for @reason; its status."""
    def refused():
        s = status("default@%d" % uid)
        return s if s and reason in s.get("disk_refuses", "") else None
    return until(refused, "%d is refused: %s" % (uid, reason))


def lost_of(err, uid, reason):
    """From the summary: the events that this user lost for this reason, and the trace chunks."""
    m = re.search(r"disk +%d: %s[^:]*:(?: (\d+) events? LOST)?,?(?: (\d+) old)?" % (uid, reason), err)
    return (int(m[1] or 0), int(m[2] or 0)) if m else (0, 0)


def is_drained(uid):
    s = status("default@%d" % uid)
    return s and not s["disk_refuses"] and s["channel"][0]["used_bytes"] <= 2 * s["channel"][0]["chunk_bytes"]


def children_of_tenants(collector):
    """Collectors and archivers of tenants, below their supervisors."""
    own = [pid for pid in proc.descendants(collector.pid) if (proc.field(pid, "Uid") or 0) >= FIRST_UID]
    return [pid for pid in own if proc.field(pid, "PPid") in own]


def end(collector, *programs):
    for p in programs:
        p.end()
    result, _, err = collector.end(signal.SIGTERM)
    is_(result, 0, "the collector ends: " + err)
    for uid in world.users:
        shutil.rmtree("/dev/shm/duet-%d" % uid, ignore_errors=True)
    return err


def is_exact(disk, uid, emitted, err, reason):
    """All that the user emitted is in the recording, or counted as lost for that reason."""
    n, (lost, _) = written(disk, uid), lost_of(err, uid, reason)
    ok(lost > 0, "the summary names user and reason", err)
    is_(n + lost, emitted, "written and lost are all (%d and %d)" % (n, lost))


def a_greedy_user_ends_at_its_share():
    disk = Disk("share", 12)
    c = world.collect(disk.trace, "-e", "tenants:*", "-b", "1M", "--all-users")
    alice, mallory = world.user(ALICE), world.user(MALLORY)
    are_served(ALICE, MALLORY)
    first = alice.record(100)
    for _ in range(4):
        emitted = mallory.record(100000)  # 20 MB in all
    s = refusal(MALLORY, "disk share")
    ok(s["disk_counted"] <= 7 * MIB, "it has half of the disk", str(s))
    honest = alice.record(30000)  # 1.5 MB
    _, out, _ = run(trial.duet, "status", env=world.env())
    ok(re.search(r"disk of %d:.*NO ROOM NOW: disk share" % MALLORY, out), "status names the user and the reason", out)
    err = end(c, alice, mallory)
    is_((first, written(disk, ALICE)), (100, honest), "all events of the honest user are there: " + err)
    is_(lost_of(err, ALICE, "disk share"), (0, 0), "it lost none")
    is_exact(disk, MALLORY, emitted, err, "disk share")
    ok(disk.free() > MIB // 2, "the floor is free", str(disk.free()))
    disk.end()


def a_limit_is_each_users_own():
    disk = Disk("limit", 40)
    c = world.collect(disk.trace, "-e", "tenants:*", "-b", "1M", "--all-users", "--disk", "4M")
    alice, mallory = world.user(ALICE), world.user(MALLORY)
    are_served(ALICE, MALLORY)
    for _ in range(3):
        emitted = mallory.record(100000)
    s = refusal(MALLORY, "disk limit")
    honest = alice.record(10000)
    ok(s["disk_limit"] == 4 * MIB and s["disk_counted"] <= 4 * MIB, "status has limit and use", str(s))
    err = end(c, alice, mallory)
    is_(written(disk, ALICE), honest, "all events of the honest user are there: " + err)
    is_exact(disk, MALLORY, emitted, err, "disk limit")
    ok(size_of(part(disk, MALLORY)) <= 4 * MIB, "the files are within the limit", str(size_of(part(disk, MALLORY))))
    disk.end()


def with_retention_the_oldest_goes_whoever_is_killed():
    disk = Disk("retention", 40)
    dice = trial.dice()
    c = world.collect(disk.trace, "-e", "tenants:*", "--all-users", "--disk", "4M", "--rotate", "1G", "--keep-last", "1d")
    mallory = world.user(MALLORY)
    are_served(MALLORY)
    most = 0
    for i in range(12):
        emitted = mallory.record(15000)  # 450 kB
        victims = children_of_tenants(c)
        if victims:
            try:
                os.kill(dice.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass
        # An archiver that was killed is replaced within a second.
        until(lambda: is_drained(MALLORY), lambda: "the buffers are written: %s" % status("default@%d" % MALLORY))
        most = max(most, size_of(part(disk, MALLORY)))
    last = status("default@%d" % MALLORY)
    err = end(c, mallory)
    ok(last["disk_removed"] > 0, "status counts the old trace chunks", str(last))
    ok(most <= 4 * MIB, "its files stayed within the limit", str(most))
    ok(size_of(part(disk, MALLORY)) <= 4 * MIB, "and are within it", str(size_of(part(disk, MALLORY))))
    numbers = [e["fields"]["n"] for e in view(os.path.join(world.work, disk.trace), "-e", "tenants:tick") if "event" in e]
    ok(numbers and max(numbers) > emitted // 2, "the newest events are there", str(len(numbers)))
    is_(len(set(numbers)), len(numbers), "each once")
    ok(lost_of(err, MALLORY, "disk limit")[1] > 0, "the summary counts the old trace chunks", err)
    disk.end()


def a_foreign_file_does_not_end_a_recording():
    disk = Disk("foreign", 24)
    c = world.collect(disk.trace, "-e", "tenants:*", "-b", "1M", "--all-users", "--disk-free", "4M")
    alice = world.user(ALICE)
    are_served(ALICE)
    alice.record(1000)
    with open(disk.path + "/foreign", "wb") as f:
        while disk.free() > 3 * MIB:
            f.write(bytes(MIB))
            f.flush()
    emitted = alice.record(100000)
    refusal(ALICE, "disk free floor")
    ok(disk.free() >= 2 * MIB, "the floor holds", str(disk.free()))
    os.unlink(disk.path + "/foreign")
    def goes_on():
        return not status("default@%d" % ALICE)["disk_refuses"]
    until(goes_on, "there is room again")
    emitted = alice.record(1000)
    err = end(c, alice)
    is_exact(disk, ALICE, emitted, err, "disk free floor")
    numbers = [e["fields"]["n"] for e in view(os.path.join(world.work, disk.trace), "-e", "tenants:tick") if "event" in e]
    ok(max(numbers) == emitted - 1, "the recording went on", str(max(numbers)))
    disk.end()


def a_part_of_the_disk_follows_its_size():
    disk = Disk("resized", 24)
    c = world.collect(disk.trace, "-e", "tenants:*", "--all-users", "--disk", "50%")
    alice = world.user(ALICE)
    are_served(ALICE)

    def limit_is(mib):
        alice.record(100)
        return status("default@%d" % ALICE)["disk_limit"] == mib * MIB // 2
    until(lambda: limit_is(24), "the limit is half of the file system")
    for mib in 48, 12:
        subprocess.run(["mount", "-o", "remount,size=%dm" % mib, disk.path], check=True)
        until(lambda: limit_is(mib), "it is half of %d MiB" % mib)
    end(c, alice)
    disk.end()


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(program, library, (ALICE, MALLORY))
trial.duet = world.copy(trial.duet, "duet")
run_cases(a_greedy_user_ends_at_its_share, a_limit_is_each_users_own, with_retention_the_oldest_goes_whoever_is_killed,
          a_foreign_file_does_not_end_a_recording, a_part_of_the_disk_follows_its_size)
