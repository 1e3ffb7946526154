#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Of a session of all users that is sent, each user's part arrives as a recording of its own; its sender has
few rights, and may be killed.

arguments: DUET PROGRAM LIBDUET
"""
import collections
import json
import os
import re
import shutil

from world import World, enter, has  # first: it finds tests/lib
import proc
from relaying import KEY, Relay, make_key
from trial import duet, is_, ok, paths, run, run_cases, skip, until

program, library = paths(2)
ALICE, BOB = 65530, 65531
FIRST_NUMBER = 4294836224  # of tenants' collectors: src/collect/tenant/sandbox.c


def cmd(*args, status=0):
    got, out, err = run(duet, *args, env=world.env())
    is_(got, status, "duet %s: %s" % (" ".join(args), err))
    return out, err


def collect_and_send(trace, port, *options):
    """-> a collector, once it and those of both users record"""
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--to", "127.0.0.1:%d" % port, *KEY, *options)
    for name in "default@%d" % ALICE, "default@%d" % BOB:
        until(lambda: has(name) or c.poll() is not None, name + " records")
    return c


def joined(*programs):
    """-> how many events each has made until it had joined: some of these are missing"""
    def count(p):
        n = p.record(1)
        return n * ("memfd:duet-pool" in proc.read(p.pid, "maps"))
    return [until(lambda: count(p), "it has joined") for p in programs]


def begin():
    return [world.user(ALICE), world.user(BOB), world.spawn([world.program])]


def sweep():
    for uid in ALICE, BOB:
        shutil.rmtree("/dev/shm/duet-%d" % uid, ignore_errors=True)


def uids(where):
    out, _ = cmd("view", "--json", "-e", "tenants:*", where)
    return collections.Counter(e["fields"]["uid"] for e in map(json.loads, out.splitlines()) if "fields" in e)


def by_session(relay):
    """-> session's name: its recording"""
    return {re.sub(r"-\d{8}-\d{6}(-\d+)?$", "", os.path.basename(r)): r for r in relay.recordings()}


def begin_of(recording):
    try:
        with open(recording + "/.duet/relay") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def are_apart(relay, least):
    """Each has all of the user's own events, and no others."""
    there = by_session(relay)
    is_(sorted(there), ["default", "default@%d" % ALICE, "default@%d" % BOB], "three recordings")
    for name, uid, n in zip(("default@%d" % ALICE, "default@%d" % BOB, "default"), (ALICE, BOB, 0), least):
        got = uids(there[name])
        is_(sorted(got), [uid], "of this user alone, in " + name)
        ok(got[uid] >= n, "all of them: %d of %d" % (got[uid], n))
        ok("complete" in open(there[name] + "/.duet/relay").read(), name + " is complete")
    out, err = cmd("view", "-e", "tenants:*", *there.values())
    is_(len(out.splitlines()), sum(uids(r)[u] for r in there.values() for u in (ALICE, BOB, 0)), "opened together: " + err)


def senders(c):
    """-> (keeper, sender) of each part"""
    all_of = [p for p in proc.everybody() if proc.comm(p) == "duet-sender"]
    return [(p, k[0]) for p in all_of for k in [[c for c in proc.children(p) if c in all_of]] if k]


def of_a_tenant(pid):
    return (proc.field(pid, "Uid") or 0) >= FIRST_NUMBER


def each_users_part_arrives_as_a_recording_of_its_own():
    relay = Relay("out")
    programs = begin()
    c = collect_and_send("here", relay.port)
    until(lambda: len(senders(c)) == 3 and sum(of_a_tenant(s) for _, s in senders(c)) == 2, "each has a sender")
    tenants = [s for _, s in senders(c) if of_a_tenant(s)]
    is_(len({proc.field(s, "Uid") for s in tenants}), 2, "each a number of its own")
    collectors = {proc.field(p, "Uid") for p in proc.everybody() if of_a_tenant(p) and proc.comm(p) == "duet"}
    ok(not collectors & {proc.field(s, "Uid") for s in tenants}, "not a user with a collector, which could read it")
    for s in tenants:
        is_([re.search(r"^%s:\s*(\S+)" % n, proc.read(s, "status"), re.M)[1] for n in ("CapEff", "CapPrm", "NoNewPrivs")],
            ["0" * 16, "0" * 16, "1"], "it has no capability")
        ok(not [f for f in proc.fds(s) if "memfd" in f or "/dev/shm/duet" in f], "nor any user's memory: %s" % proc.fds(s))
    before = joined(*programs)
    least = [p.record(1000) - n for p, n in zip(programs, before)]
    world.end(c, *programs)
    ok(not os.path.exists("here"), "all is sent, and gone from here")
    are_apart(relay, least)
    relay.stop()
    sweep()


def a_killed_sender_is_replaced():
    relay = Relay("killed")
    programs = begin()
    c = collect_and_send("here", relay.port, "--rotate", "20K")
    before = joined(*programs)
    for which in 0, 1, 0, 1:
        for keeper, sender in until(lambda: [p for p in senders(c) if of_a_tenant(p[1])] * (len(senders(c)) == 3), "all are there"):
            victim = proc.Noted((keeper, sender)[which])
            victim.kill()
            proc.wait_for_end([victim])
        least = [p.record(500) - n for p, n in zip(programs, before)]
    world.end(c, *programs)
    ok(not os.path.exists("here"), "all is sent, and gone from here")
    are_apart(relay, least)
    relay.stop()
    sweep()


def unsent_parts_are_sent_later():
    relay = Relay("later")
    programs = begin()
    c = collect_and_send("here", relay.port, "--flush-timeout", "1s")
    before = joined(*programs)
    # Killed while it makes a directory it makes another one later.
    until(lambda: len([r for r in relay.recordings() if begin_of(r)]) == 3, "all have begun")
    relay.kill()
    least = [p.record(700) - n for p, n in zip(programs, before)]
    for p in programs:
        p.end()
    c.terminate()
    is_(c.wait(), 2, "unsent parts are reported: " + c.stderr.so_far())
    ok("not all of it was sent" in c.stderr.so_far(), "of other users, too", c.stderr.so_far())
    is_(sorted(d for d in os.listdir("here") if d[0] != "." and d.startswith("tenant")), ["tenant-%d" % ALICE, "tenant-%d" % BOB],
        "it lies here")
    relay.begin()
    # A part is read and removed with the rights of its owner.
    secret = "here/tenant-%d/.duet/secret" % ALICE
    with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write("not for this user")
    out, err = cmd("send", "--flush-timeout", "1s", *KEY, "here", "127.0.0.1:%d" % relay.port, status=2)
    ok("tenant-%d/.duet/secret" % ALICE in err, "files the user cannot read are not sent", err)
    os.remove(secret)
    cmd("send", "--remove", *KEY, "here", "127.0.0.1:%d" % relay.port)
    ok(not os.path.exists("here"), "all is sent, and gone from here")
    are_apart(relay, least)
    relay.stop()
    sweep()


if not enter():
    skip("no right to make namespaces")
world = World(program, library)
os.chdir(world.work)
make_key("key")
run_cases(each_users_part_arrives_as_a_recording_of_its_own, a_killed_sender_is_replaced, unsent_parts_are_sent_later)
