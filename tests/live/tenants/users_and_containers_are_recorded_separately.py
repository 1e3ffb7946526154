#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other users' programs and those in containers are recorded by one collector of root, each user's in its own
memory, whatever the user does in its directory; and nothing is left behind."""
import collections
import fcntl
import glob
import json
import os
import re
import signal
import socket
import stat
import subprocess

from world import World, enter  # first: it finds tests/lib
from proc import children, descendants, is_dead, kill, kill_tree, read
from trial import PATIENCE, duet, failures, is_, ok, paths, run_cases, skip, start, until, work
from trial import run as run_command

program, library = paths(2)
ALICE, BOB, CAROL = 65530, 65531, 65532
world = None


class Answer:
    def __init__(self, told):
        self.returncode, self.stdout, self.stderr = told


def run(*args):
    return Answer(run_command(duet, *args, env=world.env()))


def names(where, prefix=""):
    try:
        return sorted(n for n in os.listdir(where) if n.startswith(prefix))
    except (FileNotFoundError, NotADirectoryError):
        return []


def directory(uid):
    return "/dev/shm/duet-%d" % uid


def remains(but=None):
    """Files of collectors, of all users and of containers that run."""
    found = []
    for where in glob.glob("/dev/shm/duet-*") + glob.glob("/proc/[0-9]*/root/dev/shm/duet-*"):
        if but and os.path.samefile(where, but):
            continue
        found += [where + "/" + n for n in names(where) if n.startswith(("session", "sock", "."))]
    return found


class Collector:
    number = 0

    def __init__(self, *options):
        Collector.number += 1
        self.trace = "%s/trace-%d" % (world.work, Collector.number)
        self.p = start(duet, "collect", "-e", "tenants:*", "-o", self.trace, *options, env=world.env())
        until(lambda: names(directory(0), "session-default"), "the collector is ready")

    def serves(self, *labels):
        until(lambda: all(os.path.exists("%s/session-default@%s" % (directory(0), n)) for n in labels),
                 "served: %s" % (labels,))

    def end(self, but=None):
        status, _, self.err = self.p.end(signal.SIGTERM)
        is_(status, 0, "the collector ends well: " + self.err)
        is_(remains(but), [], "the files left behind")
        m = re.search(r"(\d+) LOST", self.err)
        self.lost = int(m.group(1)) if m else 0
        return self

    def events(self, below=""):
        p = run("view", "--json", "-e", "tenants:*", self.trace + below)
        is_(p.returncode, 0, "view: " + p.stderr)
        return [e for e in map(json.loads, p.stdout.splitlines()) if "fields" in e]

    def counts(self, below="", key="uid"):
        return dict(collections.Counter(e["fields"][key] for e in self.events(below)))


def label_of(program, number=0):
    """The name of the container of a program of ours."""
    for pid in [program.p.pid] + descendants(program.p.pid):
        ns = os.stat("/proc/%d/ns/mnt" % pid).st_ino  # it runs until we end it
        if ns != os.stat("/proc/self/ns/mnt").st_ino:
            return "mnt-%d:%d" % (ns, number)
    raise AssertionError("no container")


def pool_of(pid):
    """-> which memory the process records into"""
    return {line.split()[4] for line in read(pid, "maps").splitlines() if "memfd:duet-pool" in line}


# ---------------------------------------------------------------- users

def every_user_has_a_trace_and_a_memory_of_its_own():
    alice, bob = world.user(ALICE), world.user(BOB)
    c = Collector("--all-users")
    c.serves(ALICE, BOB)
    is_((alice.record(100), bob.record(50)), (100, 50), "those that ran")
    later = world.user(ALICE, "7")
    pools = [pool_of(p.p.pid) for p in (alice, bob, later)]
    is_([len(p) for p in pools], [1, 1, 1], "each records into one memory")
    is_((pools[0] == pools[2], pools[0] == pools[1]), (True, False), "which is that user's")
    carol = world.user(CAROL)
    c.serves(CAROL)
    carol.record(30)
    world.user(CAROL, "5").end()
    own = world.spawn([world.program, "11"])
    for p in (alice, bob, carol, later, own):
        p.end()
    c.end()
    is_((c.counts(), c.lost), ({ALICE: 107, BOB: 50, CAROL: 35, 0: 11}, 0), "all is recorded")
    for uid, n in ((ALICE, 107), (BOB, 50), (CAROL, 35), (0, 11)):
        is_(c.counts("/tenant-%d/ust/uid/%d" % (uid, uid) if uid else "/ust/uid/0"), {uid: n},
            "user %d, below the user's number" % uid)
    is_("from 6 programs" in c.err, True, "all programs are counted: " + c.err)


def a_group_may_read_all_parts_and_nobody_else():
    group, outside = 12, 0o007
    alice = world.user(ALICE)
    c = Collector("--all-users", "--group", "man")  # group 12 on every Debian
    c.serves(ALICE)
    alice.record(10)
    alice.end()
    c.end()
    is_(c.counts(), {ALICE: 10}, "all is recorded")
    found = [os.path.join(where, name) for where, below, files in os.walk(c.trace) for name in below + files]
    ok(any("/tenant-%d/" % ALICE in path for path in found), "a part of hers", str(found))
    is_([path for path in found if os.stat(path).st_gid != group or os.stat(path).st_mode & outside], [],
        "what another group has, or all users")


def attempt(uid, do):
    """The result for a user: "", or the error's name."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            do()
            os.write(w, b"")
        except OSError as e:
            os.write(w, type(e).__name__.encode())
        finally:
            os._exit(0)
    os.close(w)
    answer = os.read(r, 100).decode()
    os.close(r)
    os.waitpid(pid, 0)
    return answer


def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)


def no_user_reaches_another_users_memory():
    alice, bob = world.user(ALICE), world.user(BOB)
    c = Collector("--all-users")
    c.serves(ALICE, BOB)
    alice.record(1)
    bob.record(1)
    for what, path in (("directory", directory(BOB)), ("socket", directory(BOB) + "/sock-default.root"),
                       ("root's socket for the user", directory(0) + "/sock-default@%d" % BOB)):
        do = (lambda: os.listdir(path)) if what == "directory" else (lambda: connect(path))
        is_(attempt(ALICE, do), "PermissionError", "Alice and Bob's " + what)
    everybody = descendants(c.p.pid) + [c.p.pid]
    is_(len(everybody) >= 6, True, "there are a warden, and two processes for each: %r" % everybody)
    for pid in everybody:
        for what, do in (("descriptors", lambda: os.listdir("/proc/%d/fd" % pid)),
                         ("memory", lambda: open("/proc/%d/mem" % pid)), ("life", lambda: os.kill(pid, 9))):
            got = attempt(ALICE, do)
            ok(got == "PermissionError" or got and is_dead(pid), "a collector's " + what, got)
    workers = {pid: pool_of(pid) for pid in everybody}
    is_([pid for pid, pools in workers.items() if len(pools) > 1], [], "no process maps two users' memory")
    is_(attempt(ALICE, lambda: connect(directory(ALICE) + "/sock-default.root")), "", "Alice and her own socket")
    for p in (alice, bob):
        p.end()
    c.end()
    is_(c.counts(), {ALICE: 1, BOB: 1}, "the recorded events")


def a_user_asks_nothing_of_roots_session():
    alice = world.user(ALICE)
    c = Collector("--all-users")
    c.serves(ALICE)

    def ask():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(PATIENCE)
        s.connect(directory(ALICE) + "/sock-default.root")
        s.send(b'{"verb":"stop"}')
        if s.recv(100):
            raise BlockingIOError
    is_(attempt(ALICE, ask), "", "it receives nothing")
    is_(run("status", "default@%d" % ALICE).returncode, 0, "root asks, and is answered")
    is_(run("disable", "-s", "default@%d" % ALICE, "tenants:*").returncode, 0, "root disables")
    alice.record(5)
    is_(run("enable", "-s", "default@%d" % ALICE, "tenants:*").returncode, 0, "root enables")
    alice.record(5)
    alice.end()
    c.end()
    is_(c.counts(), {ALICE: 5}, "the enabled events")


def files_of_a_hostile_user_harm_that_user_alone():
    victim = world.work + "/victim"
    with open(victim, "w") as f:
        f.write("precious")
    os.chmod(victim, 0o600)

    subprocess.run(["rm", "-rf", directory(ALICE)])

    def traps():
        here = directory(ALICE)
        os.mkdir(here, 0o700)
        for n in ("session-default.root", "sock-default.root", "session-default", "app-1-1", "seats", ".default.root.1"):
            os.symlink(victim, here + "/" + n)
        os.mkfifo(here + "/app-2-2")
        os.mkfifo(here + "/session-fifo")
        os.mkfifo(here + "/app-%d-%d" % (os.getpid(), os.stat("/proc/self").st_dev))
        os.mkdir(here + "/app-3-3")
        os.mkdir(here + "/session-directory")
        with open(here + "/app-4-4", "w") as f:
            f.write("x" * 5000)
        for i in range(2000):
            os.close(os.open(here + "/app-%d-9" % (i + 10), os.O_CREAT | os.O_WRONLY, 0o600))
    is_(attempt(ALICE, traps), "", "the traps are set")

    lock = os.open(directory(ALICE), os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    bob = world.user(BOB)
    # Not the user's: a link, another user's directory, one that others may write to.
    os.symlink(directory(BOB), "/dev/shm/duet-65520")
    os.mkdir("/dev/shm/duet-65521", 0o700)
    os.mkdir("/dev/shm/duet-65522", 0o777)
    os.chmod("/dev/shm/duet-65522", 0o777)
    os.chown("/dev/shm/duet-65522", 65522, 65522)
    os.mkfifo("/dev/shm/duet-65523")
    with open("/dev/shm/duet-65524", "w"):
        pass
    try:
        c = Collector("--all-users")
        c.serves(BOB)
        bob.record(10)
        until(lambda: names(directory(0), "session-default@%d" % ALICE), "Alice is served in spite of all")
        alice = world.user(ALICE, "3")
        alice.end()
        bob.end()
        is_(names(directory(0), "session-default@655%s" % "2"), [], "no other user is served")
        c.end(but=directory(ALICE))
        is_((c.counts().get(BOB), c.counts().get(ALICE)), (10, 3), "their recorded events")
        made = [n for n in names(directory(ALICE)) if not os.path.islink(directory(ALICE) + "/" + n) and
                os.lstat(directory(ALICE) + "/" + n).st_uid != ALICE]
        is_(made, [], "files of root's in her directory")
    finally:
        os.close(lock)
        for n in ("0", "2"):
            path = "/dev/shm/duet-6552" + n
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
        os.rmdir("/dev/shm/duet-65521")
        os.unlink("/dev/shm/duet-65523")
        os.unlink("/dev/shm/duet-65524")
        subprocess.run(["rm", "-rf", directory(ALICE)])
    with open(victim) as f:
        is_((f.read(), os.stat(victim).st_uid, stat.S_IMODE(os.stat(victim).st_mode)), ("precious", 0, 0o600),
            "the victim's file")


def a_users_own_sessions_go_on_beside_roots():
    alice, own = world.user(ALICE), world.spawn([world.program])
    c = Collector("--all-users")
    c.serves(ALICE)
    trace = world.work + "/alice"
    os.mkdir(trace)
    os.chown(trace, ALICE, ALICE)
    a = start(duet, "collect", "-e", "tenants:*", "-o", trace, env=world.env(), user=ALICE, group=ALICE,
              extra_groups=[])
    until(lambda: names(directory(ALICE), "session-default"), "hers is ready")
    until(lambda: len(names(directory(ALICE), "session-")) == 2, "and root's is beside it")
    until(lambda: re.search("user %d:(.|\n)*[(]default(.root)?, default" % ALICE, run("list", "--all-users").stdout),
             "root's list of all users shows both")
    is_(alice.record(10), 10, "recorded by both")
    p = run("disable", "tenants:*")
    is_("disabled 2 events in 2 programs" in p.stdout, True, "one command for all users: " + p.stdout + p.stderr)
    is_(alice.record(10), 20, "recorded by hers alone")
    is_(own.record(10), 10, "not recorded")
    is_(run("status").stdout.count("default@%d" % ALICE), 1, "status has a part for each")
    status, _, told = a.end(signal.SIGTERM)
    is_(("20" in told, status), (True, 0), "hers ends well")
    alice.end()
    own.end()
    is_(run("stop", "--all").returncode, 0, "root stops all at once")
    is_(c.p.wait(), 0, "and it ends")
    is_(remains(), [], "the files left behind")
    is_(c.counts(), {ALICE: 10}, "root's recorded events")


# ---------------------------------------------------------------- containers

def containers_are_recorded_from_outside():
    for what, user in (("root", None), ("a user", ALICE)):
        inside = world.container("c-" + what.replace(" ", "-"), user=user)
        pids = set(descendants(inside.p.pid))
        label = label_of(inside)
        c = Collector("--containers")
        c.serves(label)
        is_(inside.record("40t"), 40, "the one that ran records")
        inside.end()
        later = world.container("later", "9", user=user)
        later_label = label_of(later)
        pids |= set(descendants(later.p.pid))
        c.serves(later_label)
        is_(later.record("20t"), 29, "the one that came records")
        later.end()
        c.end()
        events = c.events()
        is_((len(c.events("/tenant-%s" % label)), c.lost), (40, 0),
            "a container of %s, below its name" % what)
        is_(len(c.events("/tenant-%s" % later_label)) >= 20, True, "the one that came")
        for e in events:
            is_((e.get("vpid"), e.get("vtid")), (e["fields"]["pid"], e["fields"]["tid"]), "its own numbers are recorded")
            if failures:
                break
        is_({e["pid"] for e in events} - pids, set(), "and those by which we see the processes")


# ---------------------------------------------------------------- the end

def killed_collectors_are_swept_up():
    alice, inside = world.user(ALICE), world.container("swept")
    c = Collector("--all-users", "--containers")
    c.serves(ALICE, label_of(inside))
    alice.record(1)
    everybody = kill_tree(c.p.pid)
    c.p.wait()
    until(lambda: all(p.is_dead() for p in everybody), "all are dead")
    is_(remains() != [], True, "they leave files")
    run("list")
    is_(remains(), [], "the next command takes them away")
    is_((alice.record(1), inside.record(1)), (2, 1), "the programs go on")
    alice.end()
    inside.end()


def keeper_and_worker(session):
    """As its collector reports, once both are there."""
    p = run("status", "--json", session)
    keeper = json.loads(p.stdout)["sessions"][0]["pid"] if not p.returncode else 0
    workers = children(keeper) if keeper else []
    return (keeper, workers[0]) if workers else None


def a_killed_collector_is_replaced_and_the_others_go_on():
    alice, bob = world.user(ALICE), world.user(BOB)
    c = Collector("--all-users")
    c.serves(ALICE, BOB)
    alice.record(5)
    bob.record(5)
    session = "default@%d" % ALICE
    for number, who in enumerate(("keeper", "worker")):
        before = until(lambda: keeper_and_worker(session), "a keeper and a worker")
        kill(before[number])
        again = until(lambda: [p for p in [keeper_and_worker(session)] if p and before[number] not in p],
                      lambda: "a %s again: %s" % (who, run("status", session)))[0]
        is_(again[0], before[0] if number else before[1], "the keeper then")
        is_((alice.record(5), bob.record(5)), (10 + 5 * number, 10 + 5 * number), "the programs go on")
    later = world.user(ALICE, "4")
    for p in (alice, bob, later):
        p.end()
    c.end()
    is_((c.counts(), c.lost), ({ALICE: 19, BOB: 15}, 0), "all is recorded")


def a_killed_warden_ends_its_collectors_alone():
    alice, own = world.user(ALICE), world.spawn([world.program])
    c = Collector("--all-users")
    c.serves(ALICE)
    alice.record(5)
    warden = [p for p in descendants(c.p.pid) if len(descendants(p)) > 1 or
              any(descendants(g) for g in descendants(p))][0]
    kill(warden)
    until(lambda: not names(directory(ALICE), "session"), "the collectors have ended")
    own.record(3)
    alice.end()
    own.end()
    c.end()
    is_((c.counts(), "was killed" in c.err), ({ALICE: 5, 0: 3}, True), "events recorded, and reported as lost")


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(program, library)
duet = world.copy(duet, "duet") # users run it, too
run_cases(every_user_has_a_trace_and_a_memory_of_its_own, a_group_may_read_all_parts_and_nobody_else,
          no_user_reaches_another_users_memory,
          a_user_asks_nothing_of_roots_session, a_users_own_sessions_go_on_beside_roots,
          files_of_a_hostile_user_harm_that_user_alone, containers_are_recorded_from_outside,
          killed_collectors_are_swept_up, a_killed_collector_is_replaced_and_the_others_go_on,
          a_killed_warden_ends_its_collectors_alone)
