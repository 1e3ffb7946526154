#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names in the runtime directory and the output change into links, FIFOs, directories and back while commands run; other
users try to interfere.  No command hangs or dies, nothing outside is touched, and others get nothing.

arguments: DUET HOSTILE LIBDUET SECONDS [SEED]      by hand: 600
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

from users import OTHER, become  # first: it finds tests/lib
from trial import PATIENCE, begins, dice, duet, fail, has_session, paths, run_cases, start, until, work
from trial import runtime as run

hostile, library = paths(2)
seconds = float(sys.argv[4])
seed = int(sys.argv[5]) if len(sys.argv) > 5 else dice().randrange(1 << 20)
outside = work + "/outside"
os.chmod(work, 0o755)
CANARY = b"not yours\n" * 1000


# ---------------------------------------------------------------- names that change

def put(path, kind, rng):
    """Makes @path something else, in one step."""
    fresh = "%s/.fresh-%d" % (os.path.dirname(path), rng.randrange(1 << 40))
    if kind == "link":
        os.symlink(outside, fresh)
    elif kind == "dangling":
        os.symlink(work + "/nothing", fresh)
    elif kind == "hard link":
        os.link(outside, fresh)
    elif kind == "fifo":
        os.mkfifo(fresh)
    elif kind == "socket":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(fresh)
        if rng.randrange(2):
            s.listen(1)  # without an answer: closed below
        s.close()
    elif kind == "empty":
        open(fresh, "w").close()
    elif kind == "noise":
        with open(fresh, "wb") as f:
            f.write(rng.randbytes(rng.randrange(20000)))
    elif kind == "directory":
        os.mkdir(fresh)
    try:
        os.rename(fresh, path)
    except OSError:
        (os.rmdir if kind == "directory" else os.unlink)(fresh)


def change_names(own_seed):
    """In a process of its own, until it is killed."""
    rng = random.Random(own_seed)
    kinds = ["link", "dangling", "hard link", "fifo", "socket", "empty", "noise", "directory"]
    proc = os.lstat("/proc/self").st_dev
    while True:
        try:
            names = [run + "/" + n for n in ("session-default", "session-x", "sock-x", "sock-default", "app-1-%d" % proc,
                                             "app-%d-%d" % (rng.randrange(1, 1 << 22), proc))]
            names += [run + "/" + n for n in os.listdir(run) if n.startswith((".session", "app-")) and rng.randrange(4) == 0]
            names += [work + "/out/" + n for n in ("metadata", ".duet", "ust", "x")]
            name = rng.choice(names)
            what = rng.randrange(4)
            if what == 0 and os.path.lexists(name):
                os.rename(name, name + "-away")
                time.sleep(rng.random() / 1000)
                os.rename(name + "-away", name)
            elif what == 1:
                (os.rmdir if os.path.isdir(name) and not os.path.islink(name) else os.unlink)(name)
            else:
                put(name, rng.choice(kinds), rng)
        except OSError:
            pass


def command(rng):
    kind = rng.randrange(8)
    if kind < 3:
        return [duet, rng.choice(["list", "status"])]
    if kind < 5:
        return [duet, rng.choice(["enable", "disable"]), "honest:*"]
    if kind == 5:
        return [duet, "snapshot", "-o", work + "/out/snapshot-%d" % rng.randrange(3)]
    if kind == 6:
        return [duet, "record", "--no-kernel", "-q", "-o", work + "/out", "--", hostile, "honest", "0.05"]
    return [hostile, "honest", "0.02"]


def names_change_while_commands_run():
    rng = random.Random(seed)
    os.mkdir(work + "/out")
    collector = begins(start(duet, "collect", "-o", work + "/trace", "-e", "honest:*"))
    attackers = []
    for i in range(2):
        pid = os.fork()
        if not pid:
            try:
                change_names(seed * 10 + i)
            finally:
                os._exit(1)
        attackers.append(pid)
    try:
        end, n = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            c = command(rng)
            try:
                # Its own signals alone would end it: it is not let read the terminal's.
                p = subprocess.run(c, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE,
                                   stdin=subprocess.DEVNULL)
                if p.returncode < 0 or p.returncode > 2:
                    fail("%s: status %d: %s" % (" ".join(c), p.returncode, p.stderr[-300:]))
            except subprocess.TimeoutExpired:
                fail("%s hangs" % " ".join(c))
            n += 1
    finally:
        for pid in attackers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if collector.poll() is not None:
        fail("the collector ended with %d" % collector.returncode)
    collector.end(signal.SIGTERM)
    with open(outside, "rb") as f:
        if f.read() != CANARY or os.stat(outside).st_mode & 0o777 != 0o600:
            fail("the file outside was touched")
    print("%d commands, while the names of their files change all the time" % n)


# ---------------------------------------------------------------- other users

def as_other(what):
    """-> the errors that another user gets"""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        become(OTHER)()
        done = []
        for name, f in what:
            try:
                f()
                done.append(name)
            except (OSError, PermissionError):
                pass
        os.write(w, "\n".join(done).encode())
        os._exit(0)
    os.close(w)
    os.waitpid(pid, 0)
    with os.fdopen(r) as f:
        return f.read().split("\n") if f else []


def talk_to(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(PATIENCE)
    s.connect(path)
    s.send(b'{"verb":"status"}\n')
    if not s.recv(8192):
        raise OSError("no answer")


def others_get_nothing():
    if os.geteuid():
        return print("other users: not tried, as that takes root")
    until(lambda: shutil.rmtree(run, ignore_errors=True) or not os.path.exists(run), "a directory of its own")
    collector = start(duet, "collect", "-o", work + "/trace2", "-e", "honest:*")
    program = start(hostile, "honest", "1000")
    until(lambda: has_session() and any(n.startswith("app-") for n in os.listdir(run)), "a collector and a program")
    for mode in (0o700, 0o755):  # in the second they see the names, and get no further
        os.chmod(run, mode)
        page = [run + "/" + n for n in os.listdir(run) if n.startswith("app-")][0]
        tries = [("list", lambda: os.listdir(run) if mode == 0o700 else open(run + "/x")),
                 ("read the session", lambda: open(run + "/session-default", "rb").read()),
                 ("write the session", lambda: open(run + "/session-default", "r+b").write(b"x")),
                 ("read a page", lambda: open(page, "rb").read()), ("write a page", lambda: open(page, "r+b").write(b"x")),
                 ("talk", lambda: talk_to(run + "/sock-default")), ("remove", lambda: os.unlink(page)),
                 ("rename", lambda: os.rename(run + "/session-default", run + "/session-mine")),
                 ("make", lambda: open(run + "/app-1-1", "w")), ("remove the socket", lambda: os.unlink(run + "/sock-default")),
                 ("signal the collector", lambda: os.kill(collector.pid, signal.SIGTERM)),
                 ("its descriptors", lambda: os.listdir("/proc/%d/fd" % collector.pid)),
                 ("its memory", lambda: open("/proc/%d/mem" % collector.pid, "rb"))]
        done = [d for d in as_other(tries) if d]
        if done:
            fail("another user may, with mode %o: %s" % (mode, ", ".join(done)))
        p = subprocess.run([duet, "status"], preexec_fn=become(OTHER), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode not in (1, 2) or p.stderr.count("\n") != 1:
            fail("duet status of another user: status %d: %s%s" % (p.returncode, p.stdout, p.stderr))
        p = subprocess.run([hostile, "honest", "0.02"], preexec_fn=become(OTHER), stdout=subprocess.DEVNULL)
        if p.returncode:
            fail("a program of another user ended with %d" % p.returncode)
    if collector.poll() is not None or program.poll() is not None:
        fail("an honest process ended")
    program.end(signal.SIGTERM)
    if collector.end(signal.SIGTERM)[0]:
        fail("the collector ended with %d" % collector.returncode)
    print("another user: %d attempts in a directory of mode 700 and 755, none had success" % len(tries))


with open(outside, "wb") as f:
    os.fchmod(f.fileno(), 0o600)
    f.write(CANARY)
run_cases(names_change_while_commands_run, others_get_nothing)
