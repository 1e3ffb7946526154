#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The collector of a tenant, which reads memory that a stranger writes to, has no more rights than it needs."""
import os
import socket

from world import ROOTS, World, enter, has  # first: it finds tests/lib
import proc
import recorder
from trial import is_, ok, paths, run_cases, skip, until

program, rights, library = paths(3)
ALICE, BOB = 65530, 65531
CHECKPOINT_RESTORE, SYS_PTRACE = 1 << 40, 1 << 19
SO_PASSRIGHTS = 83  # Linux 6.16


def pool_of(pid):
    return {line.split()[4] for line in proc.read(pid, "maps").splitlines() if "memfd:duet-pool" in line}


def numbers(pid, name, base=10):
    for line in proc.read(pid, "status").splitlines():
        if line.startswith(name + ":"):
            return [int(v, base) for v in line.split()[1:]]
    return None


def processes_of(c, program, pid):
    """Of collector @c those that serve the program, process @pid: its keeper and its worker, once both are there."""
    mine = until(lambda: program.record(1) and pool_of(pid), "it has joined")
    found = lambda: [p for p in proc.descendants(c.pid) if pool_of(p) & mine]
    return until(lambda: len(found()) == 2 and found(), "a keeper and a worker")


def shared(pid):
    """Anonymous memory that it shares with its parent."""
    return {line.split()[4] for line in proc.read(pid, "maps").splitlines() if line.endswith("/dev/zero (deleted)")}


def is_confined(pid, owner, capabilities, what):
    uid, gid = numbers(pid, "Uid"), numbers(pid, "Gid")
    is_((len(set(uid[:3])), len(set(gid[:3]))), (1, 1), "%s: one number" % what)
    ok(uid[0] not in (0, owner) and gid[0] not in (0, owner), "%s: the number of no user" % what, str(uid + gid))
    is_((uid[3], gid[3]), (owner, owner), "%s: files are the tenant's" % what)
    is_(numbers(pid, "Groups"), [], "%s: groups" % what)
    for name, wanted in ("CapInh", 0), ("CapPrm", capabilities), ("CapEff", capabilities), ("CapBnd", 0), ("CapAmb", 0):
        is_(numbers(pid, name, 16), [wanted], "%s: %s" % (what, name))
    is_(numbers(pid, "NoNewPrivs"), [1], "%s: no new ones" % what)


def a_users_collector_has_one_capability_and_a_containers_two():
    trace = world.work + "/confined"
    alice, bob = world.user(ALICE), world.user(BOB)
    inside, his = world.container("inside"), world.container("his", user=ALICE)
    mine = numbers(os.getpid(), "CapPrm", 16)[0]
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--containers")
    seen = []
    for p, owner, what in (alice, ALICE, "alice"), (bob, BOB, "bob"), (inside, 0, "container"), (his, ALICE, "her container"):
        pid = p.pid if owner and p in (alice, bob) else proc.descendants(p.p.pid)[-1]
        wanted = mine & (CHECKPOINT_RESTORE | (0 if p in (alice, bob) else SYS_PTRACE))
        both = processes_of(c, p, pid)
        for one in both:
            is_confined(one, owner, wanted, what)
        ok(shared(c.pid), "root's collector has memory that its successors have, too")
        is_(set().union(*map(shared, both)) & shared(c.pid), set(), "%s: memory that it has in common with that one" % what)
        seen.append(numbers(both[0], "Uid")[0])
    is_(len(set(seen)), 4, "each has a number of its own: %r" % seen)
    is_(os.stat(trace).st_mode & 0o777, 0o700, "no other user enters the recording")
    for p in alice, bob, inside, his:
        p.end()
    c.terminate()
    is_(c.wait(), 0, "it ends well")
    is_([n for n in os.listdir("/dev/shm/duet-0") if n.startswith(("s", "."))], ["seats"], "the files it leaves")


def its_rights_permit_nothing_else():
    """A trigger's command has them, but for those to the tenant's files."""
    trace, secret, place = world.work + "/tried", world.work + "/secret", world.work + "/place"
    with open(secret, "w"):
        os.chmod(secret, 0o600)
    os.mkdir(place)
    os.chmod(place, 0o1777)
    alice, bob = world.user(ALICE), world.user(BOB)
    tried = [world.copy(rights, "rights"), place + "/out", os.getpid(), alice.pid, secret, trace, "/dev/shm/duet-0",
             "/dev/shm/duet-%d" % BOB]
    c = world.collect(trace, "-e", "tenants:*", "--all-users", "--trigger", "event tenants:tick if uid == %d -> once, run %s" % (
        ALICE, " ".join(map(str, tried))))
    until(lambda: has("default@%d" % ALICE), "she is served")
    alice.record(1)
    until(lambda: os.path.exists(place + "/out"), "the trigger's command has run")
    with open(place + "/out") as f:
        got = dict(line.rstrip("\n").rsplit(": ", 1) for line in f)
    is_({k: v for k, v in got.items() if v not in ("EPERM", "EACCES")}, {}, "its permitted calls")
    is_(len(got), 10, "all was tried")
    alice.end()
    bob.end()
    c.terminate()
    is_(c.wait(), 0, "it ends well")


def a_command_for_her_program_has_nothing_of_roots_environment():
    trace, place = world.work + "/environment", world.work + "/environment-place"
    os.mkdir(place)
    os.chmod(place, 0o1777)
    script = world.work + "/print-environment"
    with open(script, "w") as f:
        f.write("#!/bin/sh\n/usr/bin/env > %s/fresh && /bin/mv %s/fresh %s/env\n" % (place, place, place))
    os.chmod(script, 0o755)
    alice = world.user(ALICE)
    c = recorder.collect(trace, "-e", "tenants:*", "--all-users", "--trigger",
                         "event tenants:tick if uid == %d -> once, run %s" % (ALICE, script),
                         directory=ROOTS, env=dict(world.env(), SECRET="of root"))
    until(lambda: has("default@%d" % ALICE), "she is served")
    alice.record(1)
    until(lambda: os.path.exists(place + "/env"), "the command has run")
    with open(place + "/env", errors="replace") as f:
        names = [line.split("=")[0] for line in f]
    ok("DUET_TRIGGER" in names, "the facts are there", str(names))
    is_([n for n in names if not n.startswith("DUET_") and n not in ("PWD", "OLDPWD", "SHLVL", "_")], [],
        "and, but for the shell's own, nothing else")
    alice.end()
    c.terminate()
    is_(c.wait(), 0, "it ends well")


def has_passrights():
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.getsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS)
            return True
        except OSError:
            return False


def pass_one(path):
    """-> the answer; None: refused before it was sent"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)
        try:
            socket.send_fds(s, [b"{}"], [0])
            return "sent"
        except PermissionError:
            return "refused"
        except ConnectionError:
            return None


def a_tenant_passes_no_descriptor_to_its_collector():
    """To close one may take hours, if its owner wishes so."""
    if not has_passrights():
        return print("not tried: before Linux 6.16 a socket cannot refuse descriptors")
    alice = world.user(ALICE)
    c = world.collect("passed", "-e", "tenants:*", "--all-users")
    until(lambda: has("default@%d" % ALICE), "she is served")
    door = "/dev/shm/duet-%d/sock-default.root" % ALICE
    is_(until(lambda: pass_one(door), "an answer"), "refused", "a descriptor on the tenant's socket")
    until(lambda: alice.record(1), "it joins nevertheless")
    alice.end()
    c.terminate()
    is_(c.wait(), 0, "it ends well")


if not enter():
    skip("no right to make namespaces")
world = World(program, library)
run_cases(a_users_collector_has_one_capability_and_a_containers_two, its_rights_permit_nothing_else,
          a_command_for_her_program_has_nothing_of_roots_environment,
          a_tenant_passes_no_descriptor_to_its_collector)
