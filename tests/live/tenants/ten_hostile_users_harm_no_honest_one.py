#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten hostile users attack at once, each in its own way, for as long as one `duet collect --all-users` records ten honest
ones: at the end every event of the honest is there, exactly.

arguments: DUET HONEST HOSTILE BUGGY TALK SPOIL CROWD LIVES LIBDUET SECONDS       by hand: 3600

HONEST is programs/tenants.c; HOSTILE, BUGGY and TALK are of tests/torture/hostile.  Everything is in namespaces of its own: mounts, /dev/shm and pids.  Reports
the slowest answers, and the most memory and descriptors of the collectors.
"""
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

from world import ROOTS, World, enter  # first: it finds tests/lib
import proc
from recorder import view
from trial import PATIENCE, fail, is_, ok, paths, run, run_cases, skip, start, until
import trial

FILES = paths(8)
seconds = float(sys.argv[10])
HOSTILE, HONEST = list(range(65500, 65510)), list(range(65510, 65520))
DISK = "256M"  # what each user's part of the recording may have, in trace chunks
worst = {"memory": 0, "descriptors": 0, "tenants": 0, "lateness": 0}
slowest = {}


def home(uid):
    return "/dev/shm/duet-%d" % uid


# ---------------------------------------------------------------- attacks, each by one user, again and again

def attack_files(uid):
    """70 000 names in /dev/shm."""
    loop(lambda: spend(world.crowd, "names", "70000", stdin=subprocess.PIPE, patience=60))


def attack_pools(uid):
    """Pools, headers and pages are overwritten."""
    loop(lambda: spend(world.hostile, "attack", home(uid), "10", str(uid)))


def attack_with_strays(uid):
    loop(lambda: spend(world.buggy, "scribble", home(uid), "10", str(uid), "1000"))


def attack_the_socket(uid):
    """Messages without sense, and descriptors of all kinds."""
    loop(lambda: spend(world.talk, "nonsense", home(uid), "2000", str(uid)))


def attack_descriptors(uid):
    """As many connections as there may be, to its own collector and to those of others, held as long as they last."""
    def once():
        held = []
        for target in [uid] + HONEST + [0]:
            for _ in range(300):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.setblocking(False)
                try:
                    s.connect(home(target) + "/sock-default")
                    held.append(s)
                except OSError:
                    s.close()
                    break
        time.sleep(2)
        for s in held:
            s.close()
    loop(once)


def attack_pages(uid):
    """Control pages, session files and libraries are cut while they are read."""
    copies = "%s/copies-%d" % (world.work, uid)
    loop(lambda: spend(world.spoil, home(uid), world.library, copies, "10"))


def attack_terminals(uid):
    """Programs whose names are escape sequences, controls and bidirectional overrides."""
    names = ["\033]0;owned\007", "\033[2J\033[31m", "\u009b31m", "\u202eevil", "a\nb\tc", "\\\"}{", "%s%n%d", "x" * 250]

    def once():
        for name in names:
            subprocess.run([name, "life"], executable=world.lives, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
    loop(once)


def attack_pids(uid):
    """Short lives as fast as they come."""
    loop(lambda: spend(world.lives, "2000", "20"))


def attack_the_disk(uid):
    """Bursts of as many events as one processor can emit."""
    def once():
        spend(world.hostile, "honest", "0.2")
        time.sleep(0.5)
    loop(once)


def attack_names(uid):
    """Its directory is exchanged for links, FIFOs and files, and is filled with others."""
    kinds = (lambda p: os.symlink(home(HONEST[0]), p), lambda p: os.symlink("/root", p), os.mkfifo, lambda p: os.mkdir(p, 0o777),
             lambda p: open(p, "w").close())
    n = 0

    def once():
        nonlocal n
        n += 1
        path = home(uid)
        os.rename(path, path + "-aside")
        kinds[n % len(kinds)](path)
        time.sleep(0.02)
        os.rename(path, path + "-gone")
        os.rename(path + "-aside", path)
        if os.path.isdir(path + "-gone") and not os.path.islink(path + "-gone"):
            os.rmdir(path + "-gone")
        else:
            os.unlink(path + "-gone")
        for i in range(20):
            for make in (os.mkfifo, lambda p: os.symlink("/dev/zero", p)):
                try:
                    make("%s/app-%d-%d" % (path, 200000 + i, n % 7))
                except FileExistsError:
                    os.unlink("%s/app-%d-%d" % (path, 200000 + i, n % 7))
        time.sleep(0.05)
    loop(once)


ATTACKS = (attack_files, attack_pools, attack_with_strays, attack_the_socket, attack_descriptors, attack_pages, attack_terminals,
           attack_pids, attack_the_disk, attack_names)


def spend(*argv, patience=30, **more):
    try:
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=world.env() | {"DUET_LIBRARY": world.library},
                       timeout=patience, **({"stdin": subprocess.DEVNULL} | more))
    except subprocess.TimeoutExpired:
        pass


def loop(once):
    while True:
        try:
            once()
        except OSError:  # its own directory is in the way, or a limit
            time.sleep(0.05)


def as_user(uid, attack):
    """-> the process, a group of its own, within limits as an administrator sets them"""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        attack(uid)
    finally:
        os._exit(1)


# ---------------------------------------------------------------- what is measured

def timed(*args, may_fail=True):
    begin = time.monotonic()
    status, out, err = run(trial.duet, *args, env=world.env())
    took = time.monotonic() - begin
    what = " ".join(args)
    slowest[what] = max(slowest.get(what, 0), took)
    ok(status == 0 or (may_fail and status == 1), "duet %s: status %d" % (what, status), err[-400:])


def look_at_collectors(keeper):
    for pid in [keeper.pid] + list(proc.descendants(keeper.pid)):
        try:
            worst["memory"] = max(worst["memory"], proc.field(pid, "RssAnon") or 0)
            worst["descriptors"] = max(worst["descriptors"], len(os.listdir("/proc/%d/fd" % pid)))
        except OSError:
            pass  # it has ended
    worst["tenants"] = max(worst["tenants"], len([n for n in os.listdir(ROOTS) if n.startswith("session-default@")]))


def processor():
    with open("/proc/cpuinfo") as f:
        return re.search("model name\\s*: (.*)", f.read())[1] + ", %d of them" % os.cpu_count()


# ---------------------------------------------------------------- the trial

def the_honest_lose_nothing():
    trace = world.work + "/trace"
    c = world.collect("trace", "-e", "tenants:*", "-e", "honest:*", "-e", "lives:*", "--all-users", "--rotate", "16M", "--keep-last", DISK)
    honest = {uid: world.user(uid) for uid in HONEST}
    counts = dict.fromkeys(HONEST, 0)
    for uid in HONEST:
        until(lambda: os.path.exists("%s/session-default@%d" % (ROOTS, uid)), "honest user %d is served" % uid)
    for uid in HOSTILE:
        os.mkdir("%s/copies-%d" % (world.work, uid))
        os.chown("%s/copies-%d" % (world.work, uid), uid, uid)
        os.mkdir(home(uid), 0o700)
        os.chown(home(uid), uid, uid)
    peer = start(world.talk, "sense", ROOTS, "0", env=world.env())
    attackers = [as_user(uid, attack) for uid, attack in zip(HOSTILE, ATTACKS)]
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        begin = time.monotonic()
        for uid, p in honest.items():
            counts[uid] = p.record(20)
        for uid in HONEST[turn % 10:turn % 10 + 1]:  # programs that come and go
            late = world.user(uid, "7")
            late.end()
            lates[uid] = lates.get(uid, 0) + 7
        worst["lateness"] = max(worst["lateness"], time.monotonic() - begin)
        if turn % 5 == 0:
            for args in ["status"], ["list", "--all-users"], ["enable", "tenants:*"]:
                timed(*args)
        look_at_collectors(c)
        if c.poll() is not None:
            return fail("the collector ended: %s" % c.stderr.read()[-2000:])
        turn += 1
        time.sleep(0.1)
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    n_names = len(os.listdir("/dev/shm"))
    ok(n_names > 70000, "the names were made", "%d" % n_names)
    for pid, attack in zip(attackers, ATTACKS):
        is_(os.waitpid(pid, os.WNOHANG), (0, 0), "%s goes on to the end" % attack.__name__)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for p in honest.values():
        p.end()
    sense = peer.end(signal.SIGTERM)[1].split()
    begin = time.monotonic()
    c.send_signal(signal.SIGTERM)
    err = c.communicate(timeout=PATIENCE + seconds)[1]
    took = time.monotonic() - begin
    ok(c.returncode in (0, 1), "the collector ends: %d" % c.returncode, err[-2000:])
    total = 0
    for uid in HONEST:
        events = [e["fields"] for e in view("%s/tenant-%d" % (trace, uid), "-e", "tenants:tick") if "event" in e]
        ok(all(f["uid"] == uid for f in events), "user %d has its own events alone" % uid)
        is_(len(events), counts[uid] + lates.get(uid, 0), "user %d: all its events" % uid)
        n = [f["n"] for f in events if f["pid"] == honest[uid].pid]
        is_(n, list(range(counts[uid])), "user %d: each once, in order" % uid)
        total += len(events)
    print("%.0f s on %s, load %s: %d events of %d honest users, all there, from %d programs" %
          (seconds, processor(), load, total, len(HONEST), len(HONEST) + sum(lates.values()) // 7))
    print("  slowest answers: %s; on the socket: status %s ms, attaching %s ms, of %s asked %s and %s failed" %
          (", ".join("%s %.2f s" % (a, t) for a, t in slowest.items()), sense[3], sense[4], sense[0], sense[1], sense[2]))
    print("  collectors, the most of one process: %d KiB of its own, %d descriptors; %d tenants; the end took %.1f s; "
          "a turn of the honest took %.2f s at most" % (worst["memory"], worst["descriptors"], worst["tenants"], took, worst["lateness"]))
    print("  " + "\n  ".join(line for line in err.splitlines()[-60:] if "not recorded" in line or "lost" in line)[:3000])
    is_((sense[1], sense[2]), ("0", "0"), "every question to root's session was answered")


if not enter():
    skip("no right to make namespaces: nothing is tried")
lates = {}
world = World(FILES[0], FILES[7])
for path, name in zip(FILES[1:7], ("hostile", "buggy", "talk", "spoil", "crowd", "lives")):
    setattr(world, name, world.copy(path, name))
trial.duet = world.copy(trial.duet, "duet")
run_cases(the_honest_lose_nothing)
