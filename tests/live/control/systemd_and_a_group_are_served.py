#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A group that may record the kernel, and a service manager: we are systemd, and another user.

arguments: DUET UNITS

The other user and the group are made, and removed at the end.
"""
import os
import re
import shutil
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import members  # noqa: E402
import trial  # noqa: E402
from members import lend  # noqa: E402
from proc import kill_tree  # noqa: E402
from recorder import stop  # noqa: E402
from trial import PATIENCE, duet, has_session, is_, ok, run_cases, start, until, work  # noqa: E402

units = os.path.abspath(sys.argv[2])


def run(*args, status=0, **more):
    got, out, err = trial.run(*args, **more)
    is_(got, status, "%s: %s" % (" ".join(args), err))
    return out, err


# ---------------------------------------------------------------- a service manager

def notified():
    """A socket such as systemd's, and the messages on it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(work + "/notify")
    s.settimeout(PATIENCE)
    return s


def a_collector_says_when_it_is_ready():
    for name, address in (("a path", work + "/notify"), ("an abstract name", "\0duet-%d" % os.getpid())):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(address)
            s.settimeout(PATIENCE)
            env = dict(os.environ, NOTIFY_SOCKET=address.replace("\0", "@"))
            c = start(duet, "collect", "-q", "-o", work + "/" + name, env=env)
            is_(s.recv(100), b"READY=1", name)
            ok(has_session(), "and it is")
            stop(c)
    os.unlink(work + "/notify")
    env = dict(os.environ, NOTIFY_SOCKET=work + "/nobody")
    c = start(duet, "collect", "-q", "-o", work + "/alone", env=env)
    until(lambda: has_session(), "no process listens: it collects")
    stop(c)


def units_are_sound():
    if not shutil.which("systemd-analyze"):
        print("# no systemd-analyze: units are not looked at")
        return
    os.mkdir(work + "/units")
    for name in "duet-lend.socket", "duet-lend.service", "duet@.service":
        with open(units + "/" + name) as f:
            text = re.sub(r"ExecStart=\S+", "ExecStart=" + duet, f.read())
        with open(work + "/units/" + name.replace("@", "@web"), "w") as f:
            f.write(text)
    out, err = run("systemd-analyze", "verify", "--man=no", *["./" + n for n in os.listdir(work + "/units")],
                   cwd=work + "/units")
    is_(out + err, "", "systemd reports nothing about them")
    # duet understands the command lines of the units.
    with open(units + "/duet@.service") as f:
        line = re.search(r"ExecStart=\S+ (.*)", f.read())[1]
    args = line.replace("%i", "web").replace("$DUET_OPTIONS", "-e shop:*").split()
    c = start(duet, *args, cwd=work)
    until(lambda: has_session("web"), "the unit's command records")
    stop(c)


# ---------------------------------------------------------------- the group

def as_user(*args, member=True):
    return members.as_user(0, *args, member=member)


def instances(lender):
    """Those that a lender made."""
    # Not where it belongs: it may be mounted there.
    out = run("unshare", "--mount", "sh", "-c", "mount -t tracefs none /mnt && ls /mnt/instances")[0]
    return [n for n in out.split() if n.startswith("duet-%d-" % lender)]


def kernel_events(directory):
    out = run(duet, "stats", "--by", "event", directory)[0]
    return "sched_switch" in out


def members_record_the_kernel_and_others_do_not():
    lender = lend()
    is_(os.stat(work + "/lend.sock").st_mode & 0o777, 0o660, "the socket is the group's alone")
    ok("sched_switch" in run(*as_user(duet, "list", "-k"))[0], "members see all sessions")
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/member", "--", "sleep", "0.1"))
    ok(kernel_events(work + "/u/member"), "they record it")
    err = run(*as_user(duet, "record", "-v", "-k", "sched", "-o", work + "/u/by", "--", "true"))[1]
    ok("by ftrace: BPF programs need root" in err, "BPF programs are not lent: ftrace records, and the reason is reported", err)
    err = run(*as_user(duet, "record", "--kernel-backend=bpf", "-k", "sched", "-o", work + "/u/bpf", "--", "true"), status=2)[1]
    ok("they are not lent" in err, "a user that insists gets the reason", err)
    err = run(*as_user(duet, "record", "-k", "sched", "-o", work + "/u/other", "--", "true", member=False), status=2)[1]
    ok("not in the group" in err, "others get the reason", err)
    until(lambda: not instances(lender.pid), "nothing is left of it")
    stop(lender)
    ok(not os.path.exists(work + "/lend.sock"), "nor of the lender")
    err = run(*as_user(duet, "record", "-k", "sched,syscalls", "-o", work + "/u/other", "--", "true"), status=2)[1]
    ok("duet-lend" in err, "a missing lender is reported", err)
    err = run(*as_user(duet, "record", "-k", "sched", "-o", work + "/u/own", "--", "true"))[1]
    ok("duet-lend" in err, "also if something can be had without", err)


def loans_come_back_however_the_recorder_ends():
    lender = lend()
    run(*as_user(duet, "start", "-q", "-k", "sched", "-o", work + "/u/killed"))
    ok(len(instances(lender.pid)) == 1, "one is lent")
    status = run(*as_user(duet, "status"))[0]
    keeper = int(re.search(r"process (\d+)", status)[1])
    kill_tree(keeper)
    until(lambda: not instances(lender.pid), "both were killed: it is taken back")
    many = [start(*as_user(duet, "record", "-q", "-k", "sched", "-o", "%s/u/many%d" % (work, i), "--", "sleep", "1000"))
            for i in range(4)]
    for p in many:  # a signal that comes earlier ends nothing
        trial.command_of(p, shutil.which("sleep"))
    is_(len(instances(lender.pid)), 4, "four are lent")
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/fifth", "--", "true"), status=2)
    for p in many:
        p.end(signal.SIGTERM)
    until(lambda: not instances(lender.pid), "and none any more")
    stop(lender)


def a_recording_outlives_its_lender():
    lender = lend()
    run(*as_user(duet, "start", "-q", "-k", "sched", "-o", work + "/u/outlives"))
    lender.end(signal.SIGKILL)
    time.sleep(0.1)
    err = run(*as_user(duet, "stop"))[1]
    ok("sched_switch" in err and "none lost" in err, "it goes on, and is whole", err)
    next_one = lend()
    until(lambda: not instances(lender.pid), "the next lender takes back the remains")
    stop(next_one)


def systemd_may_hold_the_socket():
    """LISTEN_FDS: a lender starts with the first request, and ends when nothing is lent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s, notified() as heard:
        s.bind(work + "/lend.sock")
        os.chown(work + "/lend.sock", 0, gid)
        os.chmod(work + "/lend.sock", 0o660)
        s.listen(8)

        def be_systemd():
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)

        lender = start("sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"', duet, "lend", "--idle", "5",
                       env=dict(os.environ, NOTIFY_SOCKET=work + "/notify"), close_fds=False, preexec_fn=be_systemd)
        is_(heard.recv(100), b"READY=1", "it is ready")
        run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/socket", "--", "sleep", "0.1"))
        ok(kernel_events(work + "/u/socket"), "members record")
        is_(lender.wait(), 0, "then it ends by itself")
        said = [heard.recv(100)]
        while said[-1].startswith(b"STATUS="):
            said.append(heard.recv(100))
        is_(said[-1], b"STOPPING=1", "and says so, after its state")
        ok(os.path.exists(work + "/lend.sock"), "the socket is systemd's")
    os.unlink(work + "/lend.sock")
    os.unlink(work + "/notify")


def systemd_itself_activates_it():
    tool = shutil.which("systemd-socket-activate")
    if not tool:
        print("# no systemd-socket-activate")
        return
    a = start(tool, "-l", work + "/lend.sock", "-E", "DUET_LENDER", duet, "lend", "--idle", "1")
    until(lambda: os.path.exists(work + "/lend.sock"), "it listens")
    os.chown(work + "/lend.sock", 0, gid)
    os.chmod(work + "/lend.sock", 0o660)
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/activated", "--", "sleep", "0.1"))
    ok(kernel_events(work + "/u/activated"), "members record")
    is_(a.wait(), 0, "it has ended")


def the_group_is_made():
    global gid
    members.make(1)
    gid = members.gid


cases = [a_collector_says_when_it_is_ready, units_are_sound]
if not members.can_be_made():
    print("# no root, or no tracefs: the group is not tried")
else:
    cases += [the_group_is_made, members_record_the_kernel_and_others_do_not,
              loans_come_back_however_the_recorder_ends, a_recording_outlives_its_lender,
              systemd_may_hold_the_socket, systemd_itself_activates_it]
try:
    run_cases(*cases)
finally:
    trial.close()  # users that have processes cannot be removed
    members.remove()
