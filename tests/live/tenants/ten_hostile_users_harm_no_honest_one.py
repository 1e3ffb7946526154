#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten hostile users attack at once, each in its own way, for as long as one `duet collect --all-users --containers`
records ten honest ones and two honest containers: at the end every event of the honest is there, exactly.  Forged
numbers are named, with the user that forged them and no other.  Babeltrace reads every part.

arguments: DUET HONEST HOSTILE BUGGY TALK FORGER SPOIL CROWD LIVES LIBDUET SECONDS       by hand: 3600

HONEST is programs/tenants.c; HOSTILE, BUGGY, TALK and FORGER are of tests/torture/hostile.  Everything is in
namespaces of its own: mounts, /dev/shm and pids.  Reports the slowest answers, and the most memory and descriptors
of the collectors.
"""
import glob
import itertools
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
from trial import PATIENCE, Failed, fail, is_, ok, paths, run, run_cases, skip, start, until
import trial

FILES = paths(9)
seconds = float(sys.argv[11])
ROUND = str(min(10, seconds / 4))  # seconds
HOSTILE, HONEST, CONTAINERS = list(range(65500, 65510)), list(range(65510, 65520)), list(range(65520, 65522))
QUOTA = 100000  # names of one user in its directory
DISK = "256M"  # what each user's part of the recording may have, in trace chunks
worst = dict.fromkeys(("memory", "descriptors", "tenants", "lateness", "all", "seconds", "processes", "silences"), 0)
slowest, met, seeds = {}, set(), map(str, itertools.count(1))


def home(uid):
    return "/dev/shm/duet-%d" % uid


# ---------------------------------------------------------------- attacks, each by one user, again and again

def attack_files(uid):
    """70 000 names in /dev/shm."""
    loop(lambda: spend(world.crowd, "names", "70000", stdin=subprocess.PIPE, patience=60))


def attack_pools(uid):
    """Pools, headers and pages are overwritten."""
    def once():
        spend(world.hostile, "attack", home(uid), ROUND, next(seeds))
        stay_within_a_quota(home(uid))
    loop(once)


def stay_within_a_quota(path):
    """A user that fills /dev/shm stops the new programs of all; only a quota of the system prevents that."""
    names = os.listdir(path)
    for name in names[QUOTA:]:
        try:
            os.unlink(path + "/" + name)
        except OSError:
            pass


def attack_with_strays(uid):
    loop(lambda: spend(world.buggy, "scribble", home(uid), ROUND, next(seeds), "1000"))


def attack_the_socket(uid):
    """Messages without sense, and descriptors of all kinds."""
    loop(lambda: spend(world.talk, "nonsense", home(uid), "500", next(seeds)))


def attack_descriptors(uid):
    """As many connections as there may be, to its own collector and to those of others, held as long as they last."""
    def once():
        held = []
        paths = [home(of) + "/sock-default.root" for of in [uid] + HONEST]
        for path in paths + [ROOTS + "/sock-default"] + [ROOTS + "/sock-default@%d" % of for of in [uid] + HONEST]:
            for _ in range(300):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.setblocking(False)
                try:
                    s.connect(path)
                    held.append(s)
                    note("sockets" if path == paths[0] else "a socket of others")
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
    loop(lambda: spend(world.spoil, home(uid), world.library, copies, ROUND))


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


def attack_numbers(uid):
    """Times, lengths, counters and chunk numbers that cannot be true."""
    loop(lambda: spend(world.forger, home(uid), "2"))


def attack_mounts(uid):
    """A hundred mount namespaces, each with a /dev/shm of its own."""
    def once():
        with subprocess.Popen([world.crowd, "mounts", "100"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL):
            time.sleep(5)
    loop(once)


ATTACKS = (attack_files, attack_pools, attack_with_strays, attack_the_socket, attack_descriptors, attack_pages, attack_terminals,
           attack_pids, attack_the_disk, attack_names)
FORGERS = [HOSTILE[ATTACKS.index(a)] for a in (attack_files, attack_terminals, attack_the_disk)]  # these do it beside
MOUNTER = HOSTILE[ATTACKS.index(attack_names)]


def spend(*argv, patience=30, **more):
    try:
        r = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=world.env() | {"DUET_LIBRARY": world.library},
                           timeout=patience, **({"stdin": subprocess.DEVNULL} | more))
    except subprocess.TimeoutExpired:
        return
    if r.returncode == 0:
        note(os.path.basename(argv[0]))


def note(what):
    """This attack has met its target; the trial checks that."""
    if what not in met:
        met.add(what)
        with open("%s/met-%d" % (world.work, os.geteuid()), "a") as f:
            f.write(what + "\n")


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
    if status == 2 and is_of_the_hostile(err):
        worst["silences"] += 1
    else:
        ok(status == 0 or (may_fail and status == 1), "duet %s: status %d" % (what, status), err[-400:])
    return out


def is_of_the_hostile(err):
    """Only collectors of hostile users did not answer in time: the users control the work of these collectors."""
    lines = err.strip().split("\n")
    silent = [re.fullmatch(r"duet \w+: session default@(\d+): its collector does not answer \(is it stopped\?\)", line)
              for line in lines]
    return all(m and int(m[1]) in HOSTILE for m in silent)


def look_at_collectors(keeper):
    memory = ticks = n = 0
    for pid in [keeper.pid] + list(proc.descendants(keeper.pid)):
        try:
            own = proc.field(pid, "RssAnon") or 0
            memory, ticks, n = memory + own, ticks + proc.cpu_ticks(pid), n + 1
            worst["memory"] = max(worst["memory"], own)
            worst["descriptors"] = max(worst["descriptors"], len(os.listdir("/proc/%d/fd" % pid)))
        except (OSError, TypeError):
            pass  # it has ended
    worst["all"], worst["seconds"] = max(worst["all"], memory), max(worst["seconds"], ticks / os.sysconf("SC_CLK_TCK"))
    worst["processes"] = max(worst["processes"], n)
    worst["tenants"] = max(worst["tenants"], len([n for n in os.listdir(ROOTS) if n.startswith("session-default@")]))


def processor():
    with open("/proc/cpuinfo") as f:
        return re.search("model name\\s*: (.*)", f.read())[1] + ", %d of them" % os.cpu_count()


# ---------------------------------------------------------------- who forged numbers

IMPOSSIBLE = r"program (\S*) \(pid \d+, uid (\d+)\) wrote [\d a-z,]*impossible"


def check_names_of_forgers(status, summary):
    """`duet status` names each forger, with its user, in the line of that user's part; nobody honest is named."""
    lines = re.findall(r"  IMPOSSIBLE    ([^:]+): (.*)", status)
    forged = {int(label) for label, text in lines if re.match(IMPOSSIBLE, text) and "program forger " in text}
    is_(forged, set(FORGERS), "status names those that forge")
    for label, text in lines:
        ok(label.isdigit() and int(label) in HOSTILE, "a hostile user's part", label + ": " + text)
        ok("uid %s)" % label in text, "and that user", label + ": " + text)
    is_("IMPOSSIBLE" in status, len(lines) > 0, "each line has a label")
    told = re.findall(r"(\S+): (?:program|a program|several).*uid (\d+)\) wrote", summary)
    ok(all(label == uid for label, uid in told), "in the summary each has its user", summary[-2000:])
    named = {int(uid) for _, uid in told}
    ok(set(FORGERS) <= named <= set(HOSTILE), "it names those that forge, and no honest one", summary[-2000:])
    for number in re.findall(r"\d{15,}", status + summary):
        fail("a number that cannot be true is shown: " + number)


def check_recorded_forgers(trace):
    """An event duet:impossible is in the parts of the forgers, and in none of the honest."""
    for part in glob.glob(trace + "/tenant-*"):
        label = part.split("tenant-")[1]
        uids = [e["fields"]["uid"] for e in view(part, "-e", "duet:impossible") if "event" in e]
        is_(set(uids) - {int(label)} if label.isdigit() else uids, set() if label.isdigit() else [], label + ": names its own user")
        if label in map(str, FORGERS):
            ok(uids, label + ": the part names the forger")
        if label not in map(str, HOSTILE):
            is_(uids, [], label + ": nobody is named")


def check_that_others_read(trace, totals):
    """Babeltrace reads each part, and the events of the honest in it."""
    parts = sorted(glob.glob(trace + "/tenant-*"))
    ok(len(parts) >= len(totals), "each has a part", str(parts))
    for part in parts:
        label = part.split("tenant-")[1]
        status, out, err = run("babeltrace2", part, *([] if label in totals else ["-o", "dummy"]), timeout=PATIENCE + seconds)
        is_(status, 0, "%s: babeltrace2: %s" % (label, err[-1500:]))
        if label in totals:
            is_(out.count("tenants:tick:"), totals[label], label + ": all its events, for Babeltrace")


# ---------------------------------------------------------------- the trial

class Honest:
    """A user, or a container, and how much it recorded."""

    def __init__(self, label, uid, first):
        self.label, self.uid, self.first, self.n, self.n_late = label, uid, first, 0, 0

    def record(self):
        self.n = self.first.record(20)

    def record_once(self):
        """A program that comes and goes."""
        world.user(self.uid, "7").end()
        self.n_late += 7

    def check(self, trace):
        """-> the number of its events"""
        events = [e["fields"] for e in view("%s/tenant-%s" % (trace, self.label), "-e", "tenants:tick") if "event" in e]
        ok(all(f["uid"] == self.uid for f in events), self.label + " has its own events alone")
        is_(len(events), self.n + self.n_late, self.label + ": all its events")
        is_([f["n"] for f in events if f["pid"] == self.first.pid], list(range(self.n)), self.label + ": each once, in order")
        return len(events)


def label_of(container):
    own = os.stat("/proc/self/ns/mnt").st_ino
    found = [os.stat("/proc/%d/ns/mnt" % pid).st_ino for pid in [container.p.pid] + list(proc.descendants(container.p.pid))]
    return "mnt-%d:0" % next(ns for ns in found if ns != own)


def begin_the_honest():
    honest = [Honest(str(uid), uid, world.user(uid)) for uid in HONEST]
    for uid in CONTAINERS:
        inside = world.container("container-%d" % uid, user=uid)
        honest.append(Honest(label_of(inside), 0, inside))
    for h in honest:
        until(lambda: os.path.exists("%s/session-default@%s" % (ROOTS, h.label)), "%s is served" % h.label)
    return honest


def begin_the_hostile():
    """-> [(process, its attack)]"""
    for uid in HOSTILE:
        path = "%s/met-%d" % (world.work, uid)
        with open(path, "w"):
            os.chown(path, uid, uid)
        for path in "%s/copies-%d" % (world.work, uid), home(uid):
            os.mkdir(path, 0o700)
            os.chown(path, uid, uid)
    all_of_them = list(zip(HOSTILE, ATTACKS)) + [(uid, attack_numbers) for uid in FORGERS] + [(MOUNTER, attack_mounts)]
    return [(as_user(uid, attack), attack) for uid, attack in all_of_them]


def go_on_until_the_end(c, honest):
    """-> the last answer of `duet status`"""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        begin = time.monotonic()
        for h in honest:
            h.record()
        honest[turn % len(HONEST)].record_once()
        worst["lateness"] = max(worst["lateness"], time.monotonic() - begin)
        if turn % 5 == 0:
            for args in ["status"], ["list", "--all-users"], ["enable", "tenants:*"]:
                timed(*args)
        look_at_collectors(c)
        if c.poll() is not None:
            raise Failed("the collector ended: %s" % c.stderr.read()[-2000:])
        turn += 1
        time.sleep(0.1)
    return timed("status")


def check_that_attacks_met_their_targets():
    for attack, target in ((attack_pools, "hostile"), (attack_with_strays, "buggy"), (attack_the_socket, "talk"),
                           (attack_descriptors, "sockets"), (attack_the_disk, "hostile")) + tuple(
                               (ATTACKS[HOSTILE.index(uid)], "forger") for uid in FORGERS):
        with open("%s/met-%d" % (world.work, HOSTILE[ATTACKS.index(attack)])) as f:
            got = f.read().split("\n")
        ok(target in got, "%s met its target, %s" % (attack.__name__, target), str(got))
        ok("a socket of others" not in got, "and no socket of others")


def end_the_hostile(attackers):
    for pid, attack in attackers:
        is_(os.waitpid(pid, os.WNOHANG), (0, 0), "%s goes on to the end" % attack.__name__)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def processor_time():
    """Seconds of all processes, and of these those without work."""
    with open("/proc/stat") as f:
        ticks = [int(n) / os.sysconf("SC_CLK_TCK") for n in f.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def report(total, honest, sense, load, used, took, err):
    print("%.0f s on %s, load %s, %.0f %% of it used: %d events of %d honest users and %d containers, all there, from %d programs" %
          (seconds, processor(), load, used, total, len(HONEST), len(CONTAINERS), len(honest) + sum(h.n_late for h in honest) // 7))
    print("  slowest answers: %s; on the socket: status %s ms, attaching %s ms, of %s asked %s and %s failed" %
          (", ".join("%s %.2f s" % (a, t) for a, t in slowest.items()), sense[3], sense[4], sense[0], sense[1], sense[2]))
    print("  collectors, the most of one process: %d KiB of its own, %d descriptors; all %d processes: %d KiB, %.1f s of "
          "the processor; %d tenants" % tuple(worst[k] for k in ("memory", "descriptors", "processes", "all", "seconds", "tenants")))
    print("  the end took %.1f s; a turn of the honest took %.2f s at most; %d times only a hostile user's collector did not "
          "answer in time" % (took, worst["lateness"], worst["silences"]))
    print("  " + "\n  ".join(err.splitlines()[-30:])[:4000])


def the_honest_lose_nothing():
    trace = world.work + "/trace"
    c = world.collect("trace", "-e", "tenants:*", "-e", "honest:*", "-e", "lives:*", "--all-users", "--containers",
                      "--rotate", "16M", "--keep-last", DISK)
    honest = begin_the_honest()
    peer = start(world.talk, "sense", ROOTS, "0", env=world.env())
    attackers = begin_the_hostile()
    all_before, idle_before = processor_time()
    told = go_on_until_the_end(c, honest)
    all_after, idle_after = processor_time()
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    n_names = len(os.listdir("/dev/shm"))
    ok(n_names > 70000, "the names were made", "%d" % n_names)
    end_the_hostile(attackers)
    check_that_attacks_met_their_targets()
    for h in honest:
        h.first.end()
    sense = peer.end(signal.SIGTERM)[1].split()
    begin = time.monotonic()
    c.send_signal(signal.SIGTERM)
    err = c.communicate(timeout=PATIENCE + seconds)[1]
    took = time.monotonic() - begin
    ok(c.returncode in (0, 1), "the collector ends: %d" % c.returncode, err[-2000:])
    total = sum(h.check(trace) for h in honest)
    report(total, honest, sense, load, 100 - 100 * (idle_after - idle_before) / (all_after - all_before), took, err)
    is_((sense[1], sense[2]), ("0", "0"), "every question to root's session was answered")
    check_names_of_forgers(told, err)
    check_recorded_forgers(trace)
    check_that_others_read(trace, {h.label: h.n + h.n_late for h in honest})


if not enter():
    skip("no right to make namespaces: nothing is tried")
world = World(FILES[0], FILES[8])
for path, name in zip(FILES[1:8], ("hostile", "buggy", "talk", "forger", "spoil", "crowd", "lives")):
    setattr(world, name, world.copy(path, name))
trial.duet = world.copy(trial.duet, "duet")
run_cases(the_honest_lose_nothing)
