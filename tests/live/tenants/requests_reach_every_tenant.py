#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests to a session of many users reach all of its parts, and their answers are joined; a part that does not answer is named."""
import collections
import json
import os
import re
import signal
import socket
import threading
import time

from world import ROOTS, World, enter, has  # first: it finds tests/lib
import proc
from trial import duet, is_, ok, paths, run, run_cases, skip, start, until

program, library = paths(2)
ALICE, BOB = 65530, 65531
SILENT = [65520, 65521, 65522]


def cmd(*args, status=0):
    got, out, err = run(duet, *args, env=world.env())
    is_(got, status, "duet %s: %s" % (" ".join(args), err))
    return out, err


def serves(*labels):
    until(lambda: all(has("default@%s" % n) for n in labels), "served: %s" % (labels,))


def joined(*programs, inside=lambda p: p.pid):
    """All programs have joined, each with at least one event more."""
    for p in programs:
        until(lambda: p.record(1) and "memfd:duet-pool" in proc.read(inside(p), "maps"), "it has joined")


def counts(where):
    out, _ = cmd("view", "--json", "-e", "tenants:*", where)
    return collections.Counter(e["fields"]["uid"] for e in map(json.loads, out.splitlines()) if "fields" in e)


def status_shows_all_parts_in_one_table():
    alice, bob, own = world.user(ALICE), world.user(BOB), world.spawn([world.program])
    c = world.collect("status", "-e", "tenants:*", "--all-users")
    serves(ALICE, BOB)
    joined(alice, bob, own)
    out, _ = cmd("status")
    is_(len(re.findall(r"^\S", out, re.M)), 1, "one session: " + out)
    ok("applications  3 programs" in out, "all programs are counted", out)
    for part in "default ", "default@%d " % ALICE, "default@%d " % BOB:
        is_(len(re.findall("^  " + part, out, re.M)), 2 if part == "default " else 1, "a line of %s: %s" % (part, out))
    for p, label in (alice, str(ALICE)), (bob, str(BOB)), (own, ""):
        ok(re.search(r"^  program +%d .*%s *$" % (p.pid, label), out, re.M), "its program", out)
    told = json.loads(cmd("status", "--json")[0])["sessions"]
    is_([s["session"] for s in told], ["default"], "one session, for programs")
    is_(sorted(p["session"] for p in told[0]["part"]), ["default@%d" % ALICE, "default@%d" % BOB], "its parts")
    is_((told[0]["whole"]["programs"], told[0]["silent"]), (3, []), "of all")
    is_([p["program"][0]["pid"] for p in sorted(told[0]["part"], key=lambda p: p["session"])], [alice.pid, bob.pid], "programs of parts")
    out, _ = cmd("status", "default@%d" % ALICE)
    ok(out.startswith("default@%d: " % ALICE) and "PART" not in out, "one part alone", out)
    out, _ = cmd("list", "--all-users")
    for p in alice, bob, own:
        ok(re.search("^%d " % p.pid, out, re.M), "list has it", out)
    world.end(c, alice, bob, own)


def a_part_that_does_not_answer_is_named():
    alice, bob = world.user(ALICE), world.user(BOB)
    c = world.collect("silent", "-e", "tenants:*", "--all-users")
    serves(ALICE, BOB)
    joined(alice, bob)
    told = json.loads(cmd("status", "--json")[0])["sessions"][0]
    keeper = [p["pid"] for p in told["part"] if p["session"] == "default@%d" % ALICE][0]
    worker = until(lambda: proc.children(keeper), "its collector")[0]
    os.kill(worker, signal.SIGSTOP)
    out, err = cmd("status", status=2)
    ok("default@%d  " % ALICE in out and "does not answer" in out, "in the table", out)
    ok("session default@%d: its collector does not answer" % ALICE in err, "and as an error", err)
    ok(re.search("^  default@%d .* 1 " % BOB, out, re.M), "the others are reported", out)
    os.kill(worker, signal.SIGCONT)
    world.end(c, alice, bob)


def answers_late(connection):
    connection.recv(65536)
    time.sleep(4)
    connection.send(b'{"ok":true,"channels":16,"number":1}\n')


def replace_server(path, answer_to):
    """Takes the place of a part's collector."""
    os.unlink(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    server.listen(64)

    def answer(connection):
        try:
            answer_to(connection)
        except BrokenPipeError:
            pass
        connection.close()

    def serve():
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            threading.Thread(target=answer, args=[connection], daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return server


def parts_that_do_not_answer_delay_no_other():
    """One limit of time, 10 s, for collectors that do not answer, or answer late and often."""
    users = [world.user(uid) for uid in SILENT + [BOB]]
    own = world.spawn([world.program])
    c = world.collect("late", "-e", "tenants:*", "--all-users")
    serves(*SILENT, BOB)
    joined(*users, own)
    parts = json.loads(cmd("status", "--json")[0])["sessions"][0]["part"]
    keepers = {p["session"]: p["pid"] for p in parts}
    workers = [until(lambda: proc.children(keepers["default@%d" % uid]), "its collector")[0] for uid in SILENT]
    server = replace_server(ROOTS + "/sock-default@%d" % SILENT[0], answers_late)
    for worker in workers[1:]:
        os.kill(worker, signal.SIGSTOP)
    for request, shown in (("status",), "  default@%d .* 1 " % BOB), (("disable", "tenants:*"), "in 2 programs"), \
            (("trigger", "list"), "^default@%d:\n *no triggers|no triggers" % BOB):
        begin = time.monotonic()
        out, err = cmd(*request, status=2)
        seconds = time.monotonic() - begin
        ok(9 < seconds < 19, "%s takes one limit of time" % request[0], "%.1f s" % seconds)
        ok(re.search(shown, out, re.M), "%s: the other parts answer" % request[0], out + err)
        for uid in SILENT[1:]:
            ok("session default@%d: its collector does not answer" % uid in err, "%s names those that do not" % request[0],
               err)
    server.close()
    for worker in workers[1:]:
        os.kill(worker, signal.SIGCONT)
    world.end(c, own, *users)


def enable_disable_and_triggers_reach_all():
    alice, own = world.user(ALICE), world.spawn([world.program])
    trace = world.work + "/switched"
    c = world.collect(trace, "-e", "tenants:*", "--all-users")
    serves(ALICE)
    joined(alice, own)
    ok("disabled 2 events in 2 programs" in cmd("disable", "tenants:*")[0], "disable")
    alice.record(10)
    own.record(10)
    ok("enabled 2 events in 2 programs" in cmd("enable", "tenants:*")[0], "enable")
    out, _ = cmd("trigger", "add", "event tenants:tick if n > 1000000 -> notify")
    is_(len(re.findall("trigger 1:", out)), 2, "a trigger in each: " + out)
    is_(len(re.findall("fired 0", cmd("trigger", "list")[0])), 2, "reported for each")
    cmd("trigger", "remove", "1")
    is_(len(re.findall("no triggers", cmd("trigger", "list")[0])), 2, "gone from each")
    world.end(c, alice, own)
    is_({k: v < 10 for k, v in counts(trace).items()}, {ALICE: True, 0: True}, "disabled events were so for both")


def a_snapshot_and_a_rotation_are_of_all():
    alice, bob, own = world.user(ALICE), world.user(BOB), world.spawn([world.program])
    trace, given = world.work + "/flight", world.work + "/given"
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--overwrite")
    serves(ALICE, BOB)
    joined(alice, bob, own)
    for p in alice, bob, own:
        p.record(20)
    for options, where in ((), trace + "/snapshot-1"), (("-o", given), given):
        out, _ = cmd("snapshot", *options)
        ok(out.startswith(where + ": "), "where it is", out)
        is_({uid: n >= 20 for uid, n in counts(where).items()}, {ALICE: True, BOB: True, 0: True}, "the events in it")
        is_([n for n in os.listdir(os.path.dirname(where)) if n.startswith(".%s." % os.path.basename(where))], [],
            "nothing beside it")
    world.end(c, alice, bob, own)
    alice, own = world.user(ALICE), world.spawn([world.program])
    trace = world.work + "/pieces"
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--rotate", "1G")
    serves(ALICE)
    joined(alice, own)
    for p in alice, own:
        p.record(20)
    found = cmd("rotate")[0].split()
    is_(found, [trace + "/piece-000001", trace + "/tenant-%d/piece-000001" % ALICE], "a piece of each")
    is_([{k: v >= 20 for k, v in counts(p).items()} for p in found], [{0: True}, {ALICE: True}], "the events in them")
    world.end(c, alice, own)


def a_part_of_a_snapshot_that_fails_leaves_nothing():
    """Its collector refuses after it wrote a file into the directory that it was given."""
    alice = world.user(ALICE)
    trace = world.work + "/refused"
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--overwrite")
    serves(ALICE)
    joined(alice)
    written = []

    def refuses(connection):
        text, descriptors, _, _ = socket.recv_fds(connection, 65536, 1)
        if b"snapshot" not in text:
            connection.send(json.dumps({"ok": True, "path": trace}).encode())
            return
        with open("/proc/self/fd/%d/part" % descriptors[0], "w") as f:
            f.write("a part")
        written.append(os.readlink("/proc/self/fd/%d" % descriptors[0]))
        os.close(descriptors[0])
        connection.send(b'{"ok":false,"error":"no room"}')

    server = replace_server(ROOTS + "/sock-default@%d" % ALICE, refuses)
    _, err = cmd("snapshot", status=2)
    is_(len(written), 1, "it wrote: " + err)
    ok("default@%d: is not in it" % ALICE in err, "it is named", err)
    is_([n for n in os.listdir(os.path.dirname(written[0])) if n.startswith(".snapshot")], [], "nothing stays beside the snapshot")
    server.close()
    world.end(c, alice)


def a_container_is_called_as_its_part_is():
    one, other = world.container("one"), world.container("other")
    trace = world.work + "/called"
    label = lambda p: "mnt-%d" % os.stat("/proc/%d/ns/mnt" % proc.descendants(p.p.pid)[-1]).st_ino
    c = world.collect(trace, "-e", "tenants:*", "--containers", "--container", label(one))
    serves(label(one) + ":0", label(other) + ":0")
    joined(one, inside=lambda p: proc.descendants(p.p.pid)[-1])
    n = one.record(5)
    other.record(5)
    out, _ = cmd("disable", "--container", label(one) + ":0", "tenants:*")
    ok("disabled 1 event in 1 program" in out, "by its part's name", out)
    one.record(5)
    world.end(c, one, other)
    out, _ = cmd("view", "--json", "-e", "tenants:*", trace)
    where = collections.Counter(e["fields"]["n"] for e in map(json.loads, out.splitlines()) if "fields" in e)
    ok(len(where) and set(where.values()) == {1} and max(where) == n - 1, "of that one alone, until then", str(where))


def live_shows_all():
    alice, own = world.user(ALICE), world.spawn([world.program])
    c = world.collect("live", "-e", "tenants:*", "--all-users")
    serves(ALICE)
    joined(alice, own)
    follower = start(duet, "live", "--begin", "--json", "-e", "tenants:*", env=world.env())
    for p in alice, own:
        p.record(5)
    seen = lambda: {uid for uid in (ALICE, 0) if '"uid":%d,' % uid in follower.stdout.so_far().replace(" ", "")}
    until(lambda: seen() == {ALICE, 0}, lambda: "it shows both: %r" % follower.stdout.so_far()[:300])
    world.end(c, alice, own)
    is_(follower.wait(), 0, "it ends with the recording")


if not enter():
    skip("no right to make namespaces")
world = World(program, library, users=(ALICE, BOB, *SILENT))
run_cases(status_shows_all_parts_in_one_table, a_part_that_does_not_answer_is_named, parts_that_do_not_answer_delay_no_other,
          enable_disable_and_triggers_reach_all,
          a_snapshot_and_a_rotation_are_of_all, a_part_of_a_snapshot_that_fails_leaves_nothing, a_container_is_called_as_its_part_is, live_shows_all)
